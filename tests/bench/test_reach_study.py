"""Reach studies, against closed forms, exact collision checks and other placements."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import trimesh

import memetik as mk
from memetik.bench.reach.base import Region, base_coordinates, base_pose, place_base
from memetik.bench.reach.file import ReachStudy, load_study, save_study
from memetik.bench.reach.map import even_directions, reach_map
from memetik.bench.reach.map_output import map_page, map_ply
from memetik.bench.reach.output import heat_part, ply_bytes, reach_page
from memetik.bench.reach.scores import joint_margins, parse_weights
from memetik.bench.reach.study import BLOCKED, OUT_OF_REACH, REACHED, ReachSetup, least_standoff, reach_study
from memetik.errors import InvalidInputError
from memetik.geometry.shapes import TriangleMesh
from memetik.geometry.surface_points import sample_triangles


@pytest.fixture(scope="module")
def torus() -> TriangleMesh:
    solid = trimesh.creation.torus(0.3, 0.1, major_sections=24, minor_sections=12)
    solid.apply_translation((0.7, 0.0, 0.5))
    return TriangleMesh(solid.vertices, solid.faces, "torus")


@pytest.fixture(scope="module")
def study(torus: TriangleMesh):
    robot = mk.load_robot("ur10")
    scene = mk.Scene()
    scene.add_mesh("surface", torus)
    setup = ReachSetup(robot, scene, evaluations=1500)
    points, normals = sample_triangles(torus.triangles, 60, 0)
    return setup, points, normals, reach_study(setup, points, normals, passes=2)


def test_reached_targets_are_reached_free_of_collision(study) -> None:
    setup, points, normals, result = study
    assert 0.3 < result.coverage < 1.0
    exact = mk.CollisionModel(setup.robot, setup.scene)
    for k in np.flatnonzero(result.reached):
        pose = setup.robot.pose(setup.link, result.q[k])
        assert pose[:3, 3] == pytest.approx(points[k] + setup.standoff * normals[k], abs=2e-5)
        assert pose[:3, 2] == pytest.approx(-normals[k], abs=2e-5)
        assert not exact.collides(result.q[k])
        assert setup.robot.within_limits(result.q[k])


def test_the_second_pass_never_makes_it_worse(study) -> None:
    passes = study[3].passes
    assert len(passes) == 2
    assert passes[1][0] >= passes[0][0]
    assert passes[1][1] > passes[0][1]


def test_without_obstacles_more_is_reached_and_nothing_is_blocked(study) -> None:
    setup, points, normals, confined = study
    alone = reach_study(ReachSetup(setup.robot, None, standoff=setup.standoff), points, normals, passes=1)
    assert alone.coverage >= confined.coverage
    assert not (alone.state == BLOCKED).any()
    assert (confined.state == BLOCKED).any() or alone.coverage == confined.coverage


def test_a_study_does_not_depend_on_where_the_world_is(study) -> None:
    """The robot at another base, and all targets moved likewise: the same configurations."""
    setup, points, normals, _ = study
    few = slice(0, 12)
    base = mk.transform((0.4, -0.3, 0.2), rpy=(0.0, 0.0, 0.7))
    there = points[few] @ base[:3, :3].T + base[:3, 3], normals[few] @ base[:3, :3].T
    here = reach_study(ReachSetup(setup.robot, None, standoff=0.02), points[few], normals[few], passes=1)
    moved = reach_study(ReachSetup(setup.robot.at(base), None, standoff=0.02), *there, passes=1)
    assert (here.state == moved.state).all()


def test_targets_beyond_the_arm_are_out_of_reach() -> None:
    robot = mk.load_robot("ur5")
    points = np.array([[0.4, 0.1, 0.4], [5.0, 0.0, 0.0]])
    result = reach_study(ReachSetup(robot), points, np.array([[0.0, 0.0, 1.0]] * 2))
    assert result.state.tolist() == [REACHED, OUT_OF_REACH]
    assert result.score[1] == 0.0


def test_the_tool_keeps_as_far_off_as_its_shape_needs() -> None:
    robot = mk.load_robot("ur10").with_tool((0.0, 0.0, 0.0), collisions=[(mk.Box((0.02, 0.02, 0.2)), np.eye(4))])
    assert least_standoff(robot, robot.tip) == pytest.approx(0.1 + 0.005)
    assert least_standoff(robot, robot.tip, "x") < 0.1


def test_margins_are_measured_to_the_nearest_limit() -> None:
    robot = mk.load_robot("ur5").with_limits({"elbow_joint": (-1.0, 1.0)})
    q = np.zeros((3, 6))
    q[1, 2], q[2, 2] = 0.5, 1.0
    assert joint_margins(robot, robot.tip, q) == pytest.approx([1.0, 0.5, 0.0])


def test_scores_combine_by_weight_and_wrong_ones_are_told() -> None:
    assert parse_weights("manipulability,margin=2") == {"manipulability": 1.0, "margin": 2.0}
    for text, said in (("beauty", "beauty"), ("margin=much", "much"), ("margin=-1", "positive")):
        with pytest.raises(InvalidInputError, match=said):
            parse_weights(text)
    with pytest.raises(InvalidInputError, match="clearance needs a scene"):
        ReachSetup(mk.load_robot("ur5"), None, weights={"clearance": 1.0})


@pytest.mark.parametrize(
    ("points", "normals", "said"),
    [
        (np.zeros((2, 3)), np.zeros((1, 3)), "shape"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "N > 0"),
        (np.full((1, 3), np.nan), np.ones((1, 3)), "finite"),
        (np.zeros((1, 3)), np.zeros((1, 3)), "zero"),
    ],
)
def test_bad_targets_are_refused(points: np.ndarray, normals: np.ndarray, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        reach_study(ReachSetup(mk.load_robot("ur5")), points, normals)


def test_the_page_and_the_coloured_surface_can_be_read(study, torus: TriangleMesh, tmp_path: Path) -> None:
    setup, _, _, result = study
    page = reach_page("a <b>", setup, torus, result)
    assert "a &lt;b&gt;" in page
    assert "http://" not in page
    path = tmp_path / "heat.ply"
    path.write_bytes(ply_bytes(heat_part(torus, result)))
    again = trimesh.load(path)
    assert again.area == pytest.approx(torus.area, rel=1e-3)
    colors = np.unique(again.visual.vertex_colors[:, :3], axis=0)
    assert len(colors) > 5


def test_a_study_is_read_as_it_was_written(study, torus: TriangleMesh, tmp_path: Path) -> None:
    setup, points, normals, result = study
    path = tmp_path / "study.npz"
    save_study(ReachStudy("ur10", setup, torus, result), path)
    assert [file.name for file in tmp_path.iterdir()] == ["study.npz"]  # no obstacles but the surface
    again = load_study(path)
    assert again.setup.robot == setup.robot
    assert again.setup.scene is not None
    assert list(again.setup.scene.names) == ["surface"]
    for name in ("link", "axis", "free_spin", "standoff", "evaluations", "weights", "rng"):
        assert getattr(again.setup, name) == getattr(setup, name)
    for name in ("points", "normals", "state", "q", "score"):
        np.testing.assert_array_equal(getattr(again.result, name), getattr(result, name))
    assert again.result.passes == result.passes
    few = slice(0, 4)
    first, second = (reach_study(s, points[few], normals[few], passes=1) for s in (setup, again.setup))
    np.testing.assert_array_equal(first.q, second.q)


def test_studies_of_other_versions_and_broken_ones_are_refused(study, torus: TriangleMesh, tmp_path: Path) -> None:
    setup, _, _, result = study
    path = tmp_path / "study.npz"
    save_study(ReachStudy("ur10", setup, torus, result), path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    facts = json.loads(str(arrays["study"]))
    for changed, said in (
        ({"study": np.array(json.dumps({**facts, "schema": "memetik.reach_study/2"}))}, "reach_study/2"),
        ({"study": np.array(json.dumps({**facts, "robot": "ur5e_of_nobody"}))}, "cannot be opened"),
        ({"q": arrays["q"][:, :-1]}, "shape"),
        ({"state": arrays["state"] + 7}, "no known state"),
        ({"study": np.array("[7]")}, "the reach study .* must be an object"),
        ({"study": np.array("{}")}, "schema is None"),
    ):
        np.savez(path, **{**arrays, **changed})
        with pytest.raises(InvalidInputError, match=said):
            load_study(path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InvalidInputError, match="not a reach study"):
        load_study(path)


def test_the_best_base_is_nearer_than_a_bad_one(torus: TriangleMesh) -> None:
    robot = mk.load_robot("ur5").at(mk.transform((-1.5, 0.0, 0.0)))
    scene = mk.Scene()
    scene.add_mesh("surface", torus)
    points, normals = sample_triangles(torus.triangles, 30, 1)
    setup = ReachSetup(robot, scene, evaluations=600)
    before = reach_study(setup, points, normals, passes=1)
    found = place_base(setup, points, normals, Region((-1.5, 1.0), (-1.0, 1.0)), places=24, finalists=1, passes=1)
    place, result = found.best[0]
    assert len(found.looked_at) == 24
    assert result.coverage > before.coverage
    # The study at that place is what a robot that stands there does.
    again = reach_study(ReachSetup(robot.at(place.pose), scene, evaluations=600), points, normals, passes=1)
    assert again.coverage == result.coverage
    assert (scene["surface"].pose == np.eye(4)).all()


def test_few_places_are_looked_at_in_several_generations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later places gather around the best: with a budget below that of one large generation, too."""
    import memetik.bench.reach.base as reach_base

    points = np.array([[0.5, 0.2, 0.4], [0.4, -0.2, 0.3]])
    setup = ReachSetup(mk.load_robot("ur3"), None, evaluations=200)
    generations = []
    around = reach_base._around
    monkeypatch.setattr(reach_base, "_around", lambda *given: generations.append(given[1]) or around(*given))
    found = place_base(setup, points, np.array([[0.0, 0.0, 1.0]] * 2), Region((-3.0, 3.0), (-3.0, 3.0)), places=20,
                       finalists=1, passes=1)  # fmt: skip
    assert len(found.looked_at) == 20
    assert len(generations) == 4
    with pytest.raises(InvalidInputError, match="at least at 4"):
        place_base(setup, points, points, Region((0.0, 1.0), (0.0, 1.0)), places=3)


def test_the_clearance_of_a_configuration_is_not_the_tools_gap_to_the_surface(torus: TriangleMesh) -> None:
    robot = mk.load_robot("ur10")
    scene = mk.Scene()
    scene.add_mesh("surface", torus)
    setup = ReachSetup(robot, scene, weights={"clearance": 1.0}, evaluations=1500)
    points, normals = sample_triangles(torus.triangles, 24, 0)
    result = reach_study(setup, points, normals, passes=1)
    metres = result.scores.FULL_CLEARANCE * result.scores.clearance[result.reached]
    assert np.ptp(metres) > 0.01
    exact = mk.CollisionModel(robot, scene)
    tool = {"wrist_3_link", "ee_link", "tool0"}
    for q, told in zip(result.q[result.reached][:8], metres, strict=False):
        other = scene.copy()
        for name in tool & {link.name for link in robot.description.links}:
            other.allow(name, "surface")
        assert told <= mk.CollisionModel(robot, other).clearance(q) + 1e-6
        assert exact.clearance(q) < 0.012  # the tool itself is there


def test_the_tilt_of_a_base_stays_while_its_place_is_looked_for() -> None:
    tilted = mk.transform((0.1, 0.2, 0.3), rpy=(0.4, -0.3, 1.2))
    at, tilt = base_coordinates(tilted)
    assert base_pose(at, tilt) == pytest.approx(tilted)
    setup = ReachSetup(mk.load_robot("ur3").at(tilted), None, evaluations=200)
    region = Region((0.1, 0.1), (0.2, 0.2), (0.3, 0.3), (1.2, 1.2), tilt=tilt)
    found = place_base(setup, np.array([[0.4, 0.3, 0.5]]), np.array([[0.0, 0.0, 1.0]]), region, places=4, passes=1)
    assert found.best[0][0].pose == pytest.approx(tilted)


def test_a_map_keeps_clear_of_the_scene() -> None:
    scene = mk.Scene()
    scene.add_box("wall", (0.1, 3.0, 3.0), mk.transform((0.25, 0.0, 0.0)))
    robot = mk.load_robot("ur3")
    options = {"size": 0.2, "directions": 2, "evaluations": 200}
    alone, beside = reach_map(robot, **options), reach_map(robot, **options, scene=scene)
    assert alone.centres[:, 0].max() > 0.3
    assert beside.centres[:, 0].max() < 0.3
    assert 0.3 * alone.volume < beside.volume < alone.volume


def test_bases_turn_about_their_own_axis() -> None:
    pose = base_pose((1.0, 2.0, 3.0, math.pi / 2))
    assert pose[:3, 3] == pytest.approx((1.0, 2.0, 3.0))
    assert pose[:3, 0] == pytest.approx((0.0, 1.0, 0.0), abs=1e-12)


def test_directions_cover_the_sphere_evenly() -> None:
    directions = even_directions(200)
    assert np.linalg.norm(directions, axis=1) == pytest.approx(np.ones(200))
    assert np.abs(directions.mean(axis=0)).max() < 0.02
    nearest = np.sort(directions @ directions.T, axis=1)[:, -2]
    assert np.degrees(np.arccos(nearest)).min() > 8.0


def test_the_map_of_a_ball_joint_arm_is_the_ball_it_reaches() -> None:
    """Two links of 0.4 m on a shoulder with three axes reach the whole ball of 0.8 m, and nothing else."""
    robot = mk.robot_from_dh(
        [[0, 0, 0, math.pi / 2], [0, 0, 0.4, 0], [0, 0, 0.4, 0]], limits=[(-math.pi, math.pi)] * 3, name="ball"
    )
    found = reach_map(robot, size=0.1, directions=1, self_collision=False, evaluations=400)
    far = np.linalg.norm(found.centres, axis=1)
    assert far.max() <= 0.8 + 1e-6
    assert found.volume == pytest.approx(4 / 3 * math.pi * 0.8**3, rel=0.08)
    assert (
        trimesh.load(trimesh.util.wrap_as_stream(map_ply(found)), file_type="ply").vertices.shape == found.centres.shape
    )
    assert "cubic metres" in map_page(robot, found)
    for axis in range(3):
        assert np.isfinite(found.projection(axis)).any()


def test_maps_of_too_many_cells_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="larger"):
        reach_map(mk.load_robot("ur10"), size=0.001)


def test_surface_that_nobody_asked_about_stays_grey():
    from memetik.bench.reach.output import NOT_ASKED, sentence
    from memetik.geometry.shapes import TriangleMesh
    from memetik.geometry.surface_points import sample_triangles
    from memetik.geometry.tessellate import as_mesh

    box = as_mesh(mk.shapes.Box((0.4, 0.4, 0.4)))
    mesh = TriangleMesh(box.vertices + np.array([0.7, 0.0, 0.4]), box.faces)
    points, normals = sample_triangles(mesh.triangles, 200, 0)
    top = normals[:, 2] > 0.9
    setup = ReachSetup(mk.load_robot("ur10"), None)
    result = reach_study(setup, points[top], normals[top], passes=1)
    shown = heat_part(mesh, result)
    grey = np.isclose(shown.colors, NOT_ASKED).all(axis=1)
    height = shown.vertices[:, 2]
    assert not grey[height > height.max() - 1e-6].any()
    assert grey[height < height.min() + 1e-6].all()
    assert "whole surface" not in sentence(setup, result)
