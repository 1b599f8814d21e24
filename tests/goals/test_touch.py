"""Touch: lowest points of real geometry against brute force, derivatives, and contacts that do not enter."""

from __future__ import annotations

from pathlib import Path

import coal
import numpy as np
import pytest
import trimesh
from geometry_cases import (
    assert_derivative_is_exact,
    bent_tube,
    bumpy_ball,
    carrier,
    core_errors,
    core_rows,
    random_pose,
    random_primitive,
    saved,
)
from random_trees import random_description
from scipy.spatial.transform import Rotation

import memetik as mk
from memetik.errors import GoalError, UnknownNameError
from memetik.geometry.hulls import hull_graph
from memetik.geometry.shapes import Box, Capsule, Cylinder, Sphere
from memetik.robot.robot import Robot

HALF = 0.5e-5
"""Metres: half the default tolerance, which the residual is less by."""


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def brute_gap(robot: Robot, q: np.ndarray, vertices: np.ndarray, point: np.ndarray, normal: np.ndarray) -> float:
    pose = robot.pose("body", q)
    return float(((vertices @ pose[:3, :3].T + pose[:3, 3] - point) @ normal).min())


@pytest.mark.parametrize("kind", ["ball", "bumps", "tube", "box", "cloud"])
def test_hull_walk_finds_the_lowest_of_all_vertices(kind: str, tmp_path: Path) -> None:
    """Random configurations lane by lane: each walk starts from whatever the lane's last configuration left."""
    rng = np.random.default_rng(7)
    meshes = {
        "ball": lambda: trimesh.creation.icosphere(subdivisions=4, radius=0.1),
        "bumps": lambda: bumpy_ball(rng),
        "tube": bent_tube,
        "box": lambda: trimesh.creation.box((0.1, 0.2, 0.3)).subdivide().subdivide().subdivide(),
        "cloud": lambda: trimesh.Trimesh(rng.normal(size=(500, 3)), rng.permutation(np.arange(498)).reshape(-1, 3)),
    }
    mesh = meshes[kind]()
    origin = random_pose(rng)
    robot = carrier(saved(mesh, tmp_path), origins=[origin])
    used = np.asarray(mesh.vertices)[np.unique(mesh.faces)]
    vertices = used @ origin[:3, :3].T + origin[:3, 3]
    for _ in range(5):
        point, normal = rng.normal(size=3), unit(rng.normal(size=3))
        configurations = robot.random(rng, 400)
        configurations[200:] = configurations[200] + np.cumsum(0.01 * rng.normal(size=(200, 6)), axis=0)
        found = core_rows(robot, mk.Touch("body", point, normal), configurations)[:, 0] + HALF
        expected = [brute_gap(robot, q, vertices, point, normal) for q in configurations]
        assert np.abs(found - expected).max() < 1e-12


def test_configurations_exactly_along_edges_and_faces_of_a_hull(tmp_path: Path) -> None:
    """Ties: all corners of a face are equally low, and any of them will do."""
    mesh = trimesh.creation.box((0.2, 0.2, 0.2)).subdivide().subdivide()
    robot = carrier(saved(mesh, tmp_path))
    turns = [Rotation.from_euler("xyz", angles) for angles in np.ndindex(4, 4, 4)]
    for normal in ("x", "y", "z", (1.0, 1.0, 0.0), (1.0, 1.0, 1.0)):
        goal = mk.Touch("body", (0, 0, 0), normal)
        configurations = np.array([[*np.zeros(3), *turn.as_euler("XYZ")] for turn in turns])
        found = core_rows(robot, goal, configurations)[:, 0] + HALF
        expected = [brute_gap(robot, q, np.asarray(mesh.vertices), np.zeros(3), goal.normal) for q in configurations]
        assert np.abs(found - expected).max() < 1e-12


def test_hull_has_its_corners_and_edges_only() -> None:
    corners, starts, neighbours = hull_graph(np.asarray(trimesh.creation.box((1, 1, 1)).subdivide().vertices))
    assert sorted(map(tuple, corners)) == sorted(map(tuple, trimesh.creation.box((1, 1, 1)).vertices))
    degrees = np.diff(starts)
    assert degrees.sum() == len(neighbours) == 2 * (3 * 8 - 6)  # a triangulated polyhedron has 3 V - 6 edges
    flat, starts, neighbours = hull_graph(
        np.column_stack([np.random.default_rng(0).normal(size=(30, 2)), np.zeros(30)])
    )
    assert len(flat) == 30
    assert len(neighbours) == 0


def test_lowest_points_of_primitives_agree_with_coal() -> None:
    for number in range(60):
        rng = np.random.default_rng(200 + number)
        shape, origin = random_primitive(rng), random_pose(rng)
        robot = carrier(shape, origins=[origin])
        q, normal = robot.random(rng), unit(rng.normal(size=3))
        pose = robot.pose("body", q) @ origin
        point = pose[:3, 3] - normal * rng.uniform(0.5, 1.0)
        result = coal.DistanceResult()
        place = coal.Transform3s(pose[:3, :3], pose[:3, 3])
        space = coal.Halfspace(normal, float(normal @ point))
        coal.distance(as_coal(shape), place, space, coal.Transform3s(), coal.DistanceRequest(), result)
        goal = mk.Touch("body", point, normal)
        assert core_rows(robot, goal, q[None])[0, 0] + HALF == pytest.approx(result.min_distance, abs=1e-9)
        assert core_errors(robot, goal, q)[0] == pytest.approx(result.min_distance - HALF, abs=1e-9)


def as_coal(shape: object) -> coal.ShapeBase:
    if isinstance(shape, Box):
        return coal.Box(*shape.size)
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius)
    if isinstance(shape, Capsule):
        return coal.Capsule(shape.radius, shape.length)
    assert isinstance(shape, Cylinder)
    return coal.Cylinder(shape.radius, shape.length)


def test_scalar_check_and_search_agree_on_meshes(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    robot = carrier(saved(bumpy_ball(rng), tmp_path), Capsule(0.05, 0.2), origins=[random_pose(rng), random_pose(rng)])
    for q in robot.random(rng, 30):
        goal = mk.Touch("body", rng.normal(size=3), unit(rng.normal(size=3)))
        assert core_errors(robot, goal, q)[0] == pytest.approx(abs(core_rows(robot, goal, q[None])[0, 0]), abs=1e-12)


def test_jacobian_equals_finite_differences(tmp_path: Path) -> None:
    told = 0
    for number in range(30):
        rng = np.random.default_rng(300 + number)
        robot = Robot(random_description(rng, 8))
        links = [k.name for k in robot.description.links if k.collisions and robot.moves(k.name).any()]
        if not links:
            continue
        link = str(rng.choice(links))
        others = [name for name in robot.links if name != link]
        reference = str(rng.choice(others)) if rng.random() < 0.5 else None
        for q in robot.random(rng, 3):
            goal = mk.Touch(link, rng.normal(size=3), unit(rng.normal(size=3)), relative_to=reference)
            told += assert_derivative_is_exact(robot, goal, q)
    assert told > 50
    rng = np.random.default_rng(9)
    robot = carrier(saved(bumpy_ball(rng), tmp_path), origins=[random_pose(rng)], arm=True)
    goal = mk.Touch("body", (0, 0, 0), (1, 2, 3))
    assert sum(assert_derivative_is_exact(robot, goal, q) for q in robot.random(rng, 40)) > 30


def test_solutions_touch_and_never_enter(tmp_path: Path) -> None:
    """A foot of any shape on slopes: every vertex is on or above the plane, one of them within the tolerance."""
    rng = np.random.default_rng(10)
    mesh = bumpy_ball(rng)
    robot = carrier(saved(mesh, tmp_path), arm=True)
    vertices = np.asarray(mesh.vertices)
    solved = 0
    for number in range(30):
        reached = robot.random(rng)
        normal = unit(rng.normal(size=3))
        pose = robot.pose("body", reached)
        point = pose[:3, 3] + brute_gap(robot, reached, vertices, pose[:3, 3], normal) * normal
        solution = mk.solve(robot, mk.Touch("body", point, normal), seed=robot.random(rng), rng=number)
        assert solution.success
        solved += 1
        assert -1e-12 <= brute_gap(robot, solution.q, vertices, point, normal) <= 1e-5 + 1e-12
    assert solved == 30


def test_a_finger_touches_a_table_given_at_each_solve() -> None:
    panda = mk.load_robot("panda")
    problem = mk.Problem(
        panda, [mk.Touch("panda_leftfinger", None, "z", tolerance=1e-4), mk.AlignAxis("panda_hand", "z", "-z")]
    )
    for height in (0.0, 0.1, 0.3):
        solution = problem.solve((0.0, 0.0, height), timeout=1.0)
        assert solution.success
        collisions = panda.description.links[panda.link_index("panda_leftfinger")].collisions
        pose = panda.pose("panda_leftfinger", solution.q)
        lowest = np.inf
        for geometry in collisions:
            corners = np.array(list(np.ndindex(2, 2, 2))) - 0.5
            corners = corners * geometry.shape.size @ geometry.origin[:3, :3].T + geometry.origin[:3, 3]
            lowest = min(lowest, float((corners @ pose[:3, :3].T + pose[:3, 3])[:, 2].min()))
        assert height - 1e-9 <= lowest <= height + 1e-4 + 1e-9


def test_errors_say_what_is_wrong() -> None:
    panda = mk.load_robot("panda")
    with pytest.raises(GoalError, match="has no collision geometry"):
        mk.Problem(panda, mk.Touch("panda_link8", (0, 0, 0)))
    with pytest.raises(UnknownNameError, match="hnad"):
        mk.Problem(panda, mk.Touch("hnad", (0, 0, 0)))
    with pytest.raises(GoalError, match="the normal of Touch must have a direction"):
        mk.Touch("panda_hand", (0, 0, 0), (0, 0, 0))
    with pytest.raises(GoalError, match="the tolerance of Touch must be positive"):
        mk.Touch("panda_hand", (0, 0, 0), tolerance=0.0)
    with pytest.raises(GoalError, match="needs the name of a link"):
        mk.Touch("", (0, 0, 0))
    assert (
        repr(mk.Touch("foot", (0, 0, 1), "z", name="step"))
        == "Touch('foot', name='step', point=[0., 0., 1.], normal=[0., 0., 1.])"
    )


def test_the_normal_and_the_point_may_be_given_at_each_solve() -> None:
    robot = carrier(Sphere(0.05))
    rng = np.random.default_rng(11)
    turned = mk.Problem(robot, [mk.Touch("body", (0.1, 0.0, 0.2), None, name="wall")])
    placed = mk.Problem(robot, [mk.Touch("body", None, None, name="wall")])
    for _ in range(10):
        pose = random_pose(rng)
        point, normal = pose[:3, 3], pose[:3, 2]
        solution = placed.solve({"wall": pose})
        assert solution.success
        assert (solution.q[:3] - point) @ normal - 0.05 == pytest.approx(HALF, abs=HALF)
        solution = turned.solve(3.0 * normal)
        assert solution.success
        assert (solution.q[:3] - (0.1, 0.0, 0.2)) @ normal - 0.05 == pytest.approx(HALF, abs=HALF)
