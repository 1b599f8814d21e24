"""Searches and reach studies to look at, without a browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trimesh
from browser import panel_of, wait_for

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.studio.app import Studio
from memetik.studio.panels.results import ResultsPanel
from memetik.studio.session.evolution import landscape, record_evolution
from memetik.studio.session.files import Folder
from memetik.studio.session.results import _check_origin, load_reach, study_reach
from memetik.studio.session.session import Session
from memetik.studio.session.solving import LiveSolver, targets_of


def test_a_search_is_recorded_generation_by_generation() -> None:
    session = Session("panda")
    problem = LiveSolver().problem(session.state)
    assert problem is not None
    seed = session.robot.random(3)
    evolution = record_evolution(problem, targets_of(session.state, problem), seed, evaluations=4000)
    assert len(evolution) > 1
    assert evolution.configurations.shape[2] == 8
    assert (np.diff(evolution.costs, axis=1) >= 0.0).all()  # the best of a generation comes first
    assert evolution.solution.success
    # A configuration's cost is that of the pose it has: the best is nearer to the target than the worst.
    tip, target = problem.goals[0].links[0], session.state.goals[0].target
    best, worst = (session.robot.pose(tip, evolution.configurations[-1, k])[:3, 3] for k in (0, -1))
    assert np.linalg.norm(best - target[:3, 3]) < np.linalg.norm(worst - target[:3, 3])
    picture = landscape(evolution)
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    assert (picture == 0).all(axis=2).any()


def test_the_reach_over_an_object_is_a_coloured_surface() -> None:
    robot = mk.load_robot("ur5")
    scene = mk.Scene()
    scene.add_box("block", (0.2, 0.2, 0.2), mk.transform((0.5, 0.0, 0.2)))
    results = study_reach(robot, scene, "block", "tool0", 40)
    assert results.heat is not None
    assert results.heat.name == "block"
    assert len(results.heat.colors) == len(results.heat.vertices)
    assert 0.0 <= results.heat.colors.min() <= results.heat.colors.max() <= 1.0
    assert "of 40 targets" in results.sentence
    assert set(results.configurations) == {
        k for k, status in enumerate(results.statuses) if status.startswith("reached")
    }


@pytest.fixture(scope="module")
def study_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `memetik reach` leaves behind: a wall before a ur5 with a post in the way, studied."""
    folder = tmp_path_factory.mktemp("study")
    wall = trimesh.creation.box((0.05, 1.6, 0.8))
    wall.apply_translation((0.6, 0.0, 0.4))
    wall.export(folder / "wall.stl")
    obstacles = mk.Scene()
    obstacles.add_cylinder("post", 0.03, 0.6, mk.transform((0.3, 0.3, 0.3)))
    obstacles.save(folder / "post.toml")
    command = [sys.executable, "-m", "memetik.cli", "reach", "ur5", "wall.stl", "--scene", "post.toml"]
    options = ["--targets", "40", "--evaluations", "800", "--passes", "1", "--base", "0 0 0.1", "-o", "wall.npz"]
    subprocess.run([*command, *options], cwd=folder, check=True, capture_output=True)
    (folder / "other.npz").write_bytes(b"PK nothing of the kind")
    return folder


def test_a_reach_study_of_the_command_line_opens_in_the_studio(study_folder: Path) -> None:
    with Studio("panda", port=0, folder=study_folder) as studio:
        panel = panel_of(studio, ResultsPanel)
        assert set(panel._file.options) == {"wall.npz", "other.npz"}
        studio.loop.post(lambda: panel.open_study("wall.npz"))
        results = wait_for(lambda: panel._results, "the study is shown")
        assert studio.loop.wait_idle(30.0)
        assert studio.state.robot.name == "ur5"
        np.testing.assert_allclose(studio.state.robot.base_pose[:3, 3], (0.0, 0.0, 0.1))
        assert set(studio.state.scene.objects) == {"post", "surface"}
        assert not studio.scene_view._nodes["surface"][1].visible  # the heat map is in its place
        assert "of 40 targets" in panel._told.content
        reached = next(iter(results.configurations))
        missed = next(k for k in range(40) if k not in results.configurations)
        assert tuple(results.colors[reached]) != tuple(results.colors[missed])

        studio.loop.post(lambda: panel._clicked(reached))
        assert studio.loop.wait_idle(30.0)
        assert f"Target {reached}: reached, score" in panel._about.content
        np.testing.assert_allclose(studio.state.q, results.configurations[reached][0], atol=1e-6)
        np.testing.assert_allclose(studio.state.goals[0].target, results.of(reached)[0])
        studio.loop.post(lambda: panel.show_target(reached, again=True))
        assert studio.loop.wait_idle(30.0)
        assert "Solved again: solved" in panel._about.content
        tip = studio.state.robot.pose(studio.state.goals[0].goal.links[0], studio.state.q)
        np.testing.assert_allclose(tip[:3, 3], results.of(reached)[0], atol=2e-5)

        studio.loop.post(lambda: panel._clicked(missed))
        assert studio.loop.wait_idle(30.0)
        assert "0 configurations" in panel._about.content

        studio.loop.post(lambda: studio.session.remove_object("surface"))
        assert studio.loop.wait_idle(30.0)
        assert panel._results is None  # a heat map of something that is gone would be a lie


def test_what_is_no_study_is_told(study_folder: Path) -> None:
    folder = Folder(study_folder)
    with pytest.raises(InvalidInputError, match="not a reach study"):
        load_reach(study_folder / "other.npz", folder)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        load_reach(study_folder / "gone.npz", folder)


def test_targets_of_a_study_in_the_studio_are_clicked_and_undone(tmp_path: Path) -> None:
    with Studio("ur5", port=0, folder=tmp_path) as studio:
        panel, goals = panel_of(studio, ResultsPanel), studio.state.goals
        studio.loop.post(
            lambda: studio.session.add_object(mk.Box((0.2, 0.2, 0.2)), mk.transform((0.5, 0.0, 0.2)), "block")
        )
        assert studio.loop.wait_idle(30.0)
        panel._surface.value, panel._count.value = "block", 50
        studio.loop.post(lambda: panel._study_reach())
        results = wait_for(lambda: panel._results, "the study is done")
        assert [entry.name for entry in studio.state.goals] == [entry.name for entry in goals]
        reached = next(iter(results.configurations))
        studio.loop.post(lambda: panel._clicked(reached))
        assert studio.loop.wait_idle(30.0)
        np.testing.assert_allclose(studio.state.q, results.configurations[reached][0], atol=1e-6)
        studio.loop.post(studio.session.undo)
        assert studio.loop.wait_idle(30.0)
        assert [entry.name for entry in studio.state.goals] == [entry.name for entry in goals]


def test_stores_cannot_name_files_outside_the_folder(tmp_path) -> None:
    folder = Folder(tmp_path)
    _check_origin({"robot": "panda", "scenario": "Random"}, folder)
    _check_origin({"robot": "pr2:left_arm", "scenario": "Clutter:3"}, folder)
    for origin in (
        {"robot": "/etc/passwd", "scenario": "Random"},
        {"robot": "panda", "scenario": "../other.toml"},
    ):
        with pytest.raises(InvalidInputError, match="outside the folder"):
            _check_origin(origin, folder)
