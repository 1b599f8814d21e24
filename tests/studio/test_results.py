"""Searches and reach studies to look at, without a browser."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.studio.evolution import landscape, record_evolution
from memetik.studio.files import Folder
from memetik.studio.results import _check_origin, study_reach
from memetik.studio.setup import SetUp
from memetik.studio.solving import LiveSolver, targets_of


def test_a_search_is_recorded_generation_by_generation() -> None:
    setup = SetUp("panda")
    problem = LiveSolver().problem(setup.state)
    assert problem is not None
    seed = setup.robot.random(3)
    evolution = record_evolution(problem, targets_of(setup.state, problem), seed, evaluations=4000)
    assert len(evolution) > 1
    assert evolution.postures.shape[2] == 8
    assert (np.diff(evolution.costs, axis=1) >= 0.0).all()  # the best of a generation comes first
    assert evolution.solution.success
    # A posture's cost is that of the pose it has: the best is nearer to the target than the worst.
    tip, target = problem.goals[0].links[0], setup.state.goals[0].target
    best, worst = (setup.robot.pose(tip, evolution.postures[-1, k])[:3, 3] for k in (0, -1))
    assert np.linalg.norm(best - target[:3, 3]) < np.linalg.norm(worst - target[:3, 3])
    picture = landscape(evolution)
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    assert (picture == 0).all(axis=2).any()


def test_the_reach_over_an_object_is_a_coloured_surface() -> None:
    robot = mk.load_robot("ur5")
    scene = mk.Scene()
    scene.add_box("block", (0.2, 0.2, 0.2), mk.transform((0.5, 0.0, 0.2)))
    picture = study_reach(robot, scene, "block", "tool0", 40)
    assert len(picture.colors) == len(picture.vertices)
    assert 0.0 <= picture.colors.min() <= picture.colors.max() <= 1.0
    assert "of 40 targets" in picture.sentence


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
