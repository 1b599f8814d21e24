"""PointDistance: distances from real geometry, their derivatives, and shafts that pass holes."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import coal
import numpy as np
import pytest
import trimesh
from geometry_cases import (
    arc_point,
    assert_derivative_is_exact,
    bent_tube,
    bumpy_ball,
    carrier,
    core_errors,
    core_rows,
    primitive_distance,
    random_pose,
    random_primitive,
    saved,
    signed_distance,
)
from random_trees import random_description

import memetik as mk
from memetik.errors import GoalError, UnknownNameError
from memetik.geometry.shapes import Box, Capsule
from memetik.robot.robot import Robot
from memetik.solve.tracker import Tracker


def seen(robot: Robot, q: np.ndarray, point: np.ndarray, link: str = "body") -> np.ndarray:
    pose = robot.pose(link, q)
    return pose[:3, :3].T @ (point - pose[:3, 3])


def test_distance_to_primitives_is_the_least_of_their_closed_forms() -> None:
    for number in range(40):
        rng = np.random.default_rng(number)
        shapes = [random_primitive(rng) for _ in range(rng.integers(1, 4))]
        origins = [random_pose(rng) for _ in shapes]
        robot = carrier(*shapes, origins=origins)
        q = robot.random(rng)
        inside = origins[0] @ np.append(rng.uniform(-0.05, 0.05, 3), 1.0)
        for local in (inside[:3], rng.uniform(-0.5, 0.5, 3)):
            pose = robot.pose("body", q)
            point = pose[:3, :3] @ local + pose[:3, 3]
            expected = min(
                primitive_distance(s, o[:3, :3].T @ (local - o[:3, 3])) for s, o in zip(shapes, origins, strict=True)
            )
            goal = mk.PointDistance("body", point, 0.0)
            assert core_rows(robot, goal, q[None])[0, 0] == pytest.approx(expected, abs=1e-12)
            assert core_errors(robot, goal, q)[0] == pytest.approx(abs(expected), abs=1e-12)


def test_distance_to_a_mesh_is_exact_and_signed(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for number, mesh in enumerate((bent_tube(), bumpy_ball(rng, 2), trimesh.creation.annulus(0.05, 0.1, 0.2))):
        origin = random_pose(rng)
        robot = carrier(saved(mesh, tmp_path, f"mesh{number}"), origins=[origin])
        configurations = robot.random(rng, 64)
        rows = []
        for q in configurations:
            triangle = mesh.triangles[rng.integers(len(mesh.faces))]
            local = rng.dirichlet(np.ones(3)) @ triangle + 0.03 * rng.normal(size=3) * rng.integers(2)
            at = robot.pose("body", q) @ origin @ np.append(local, 1.0)
            goal = mk.PointDistance("body", at[:3], 0.0)
            expected = signed_distance(mesh, local)
            rows.append((core_rows(robot, goal, q[None])[0, 0], core_errors(robot, goal, q)[0], expected))
        found, errors, expected = np.array(rows).T
        assert np.abs(found - expected).max() < 1e-9
        assert np.abs(errors - np.abs(expected)).max() < 1e-9
        assert (expected < -1e-4).any()
        assert (expected > 1e-4).any()


def test_distance_agrees_with_coal_outside_of_a_mesh(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    mesh = bent_tube()
    robot = carrier(saved(mesh, tmp_path))
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(mesh.faces), len(mesh.vertices))
    for triangle in mesh.triangles:
        model.addTriangle(*triangle)
    model.endModel()
    for q in robot.random(rng, 40):
        pose, point = robot.pose("body", q), rng.uniform(-0.3, 0.3, 3) + q[:3]
        result = coal.DistanceResult()
        ball = coal.Sphere(0.01)
        place = coal.Transform3s(pose[:3, :3], pose[:3, 3])
        coal.distance(model, place, ball, coal.Transform3s(np.eye(3), point), coal.DistanceRequest(), result)
        if result.min_distance <= 1e-3:
            continue
        goal = mk.PointDistance("body", point, 0.0, radius=0.01)
        assert core_rows(robot, goal, q[None])[0, 0] == pytest.approx(result.min_distance, abs=1e-6)


def test_faces_inside_of_overlapping_bodies_do_not_count(tmp_path: Path) -> None:
    first, second = trimesh.creation.box((0.2, 0.1, 0.1)), trimesh.creation.box((0.1, 0.2, 0.1))
    robot = carrier(saved(trimesh.util.concatenate([first, second]), tmp_path))
    shapes = Box((0.2, 0.1, 0.1)), Box((0.1, 0.2, 0.1))
    rng = np.random.default_rng(3)
    q = robot.random(rng)
    for local in rng.uniform(-0.12, 0.12, (60, 3)):
        pose = robot.pose("body", q)
        goal = mk.PointDistance("body", pose[:3, :3] @ local + pose[:3, 3], 0.0)
        expected = min(primitive_distance(shape, local) for shape in shapes)
        assert core_rows(robot, goal, q[None])[0, 0] == pytest.approx(expected, abs=1e-9)


def test_a_room_inside_of_a_body_is_outside_of_it(tmp_path: Path) -> None:
    room = trimesh.creation.box((0.1, 0.1, 0.1))
    room.invert()
    mesh = trimesh.util.concatenate([trimesh.creation.box((0.2, 0.2, 0.2)), room])
    robot = carrier(saved(mesh, tmp_path))
    q = np.zeros(6)
    for local, expected in (((0, 0, 0), 0.05), ((0.07, 0, 0), -0.02), ((0.12, 0, 0), 0.02)):
        assert core_rows(robot, mk.PointDistance("body", local, 0.0), q[None])[0, 0] == pytest.approx(expected)


def test_an_open_mesh_is_a_shell_without_an_inside(tmp_path: Path) -> None:
    box = trimesh.creation.box((0.2, 0.2, 0.2))
    box.update_faces(box.face_normals[:, 2] < 0.5)  # without its top
    robot = carrier(saved(box, tmp_path))
    assert core_rows(robot, mk.PointDistance("body", (0, 0, -0.05), 0.0), np.zeros((1, 6)))[0, 0] == pytest.approx(0.05)


def test_jacobian_equals_finite_differences_on_random_trees() -> None:
    told = 0
    for number in range(30):
        rng = np.random.default_rng(100 + number)
        robot = Robot(random_description(rng, 8))
        links = [k.name for k in robot.description.links if k.collisions and robot.moves(k.name).any()]
        if not links:
            continue
        link = str(rng.choice(links))
        others = [name for name in robot.links if name != link]
        reference = str(rng.choice(others)) if rng.random() < 0.5 else None
        for q in robot.random(rng, 3):
            goal = mk.PointDistance(link, rng.normal(size=3), 0.1, radius=0.02, relative_to=reference)
            told += assert_derivative_is_exact(robot, goal, q)
    assert told > 50


def test_jacobian_equals_finite_differences_for_meshes(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    robot = carrier(
        saved(bent_tube(), tmp_path), Capsule(0.01, 0.1), origins=[random_pose(rng), random_pose(rng)], arm=True
    )
    told = 0
    for q in robot.random(rng, 60):
        pose = robot.pose("body", q)
        point = pose[:3, 3] + rng.uniform(-0.3, 0.3, 3)
        told += assert_derivative_is_exact(robot, mk.PointDistance("body", point, 0.0), q)
    assert told > 40


def test_a_curved_shaft_passes_a_hole(tmp_path: Path) -> None:
    """The hole's middle comes to lie on the shaft's middle line, wherever along the arc."""
    tube = bent_tube()
    robot = carrier(saved(tube, tmp_path))
    rng = np.random.default_rng(5)
    hole = np.array([0.1, 0.2, 0.3])
    goals = [mk.PointDistance("body", None, (-math.inf, -0.018)), mk.Position("body", None)]
    problem = mk.Problem(robot, goals)
    middle = np.array([arc_point(share) for share in np.linspace(0.0, 1.0, 400)])
    for number in range(20):
        end = hole + 0.1 * rng.normal(size=3) / math.sqrt(3.0)
        end = hole + (end - hole) * min(1.0, 0.25 / np.linalg.norm(end - hole))
        solution = problem.solve(hole, end, seed=robot.random(rng), rng=number, timeout=1.0)
        assert solution.success
        local = seen(robot, solution.q, hole)
        assert signed_distance(tube, local) <= -0.018 + 1e-9
        assert np.linalg.norm(middle - local, axis=1).min() < 0.003


def test_a_tracker_keeps_a_moving_hole_on_a_curved_shaft(tmp_path: Path) -> None:
    tube = bent_tube()
    robot = carrier(saved(tube, tmp_path))
    tracker = Tracker(mk.Problem(robot, mk.PointDistance("body", None, (-math.inf, -0.01))), seed=np.zeros(6))
    for k in range(150):
        hole = arc_point(0.2) + 0.05 * np.array([math.sin(0.02 * k), 1.0 - math.cos(0.02 * k), 0.01 * k])
        q = tracker.step(hole).q
        assert signed_distance(tube, seen(robot, q, hole)) <= -0.009


def test_threads_and_batches_find_the_same(tmp_path: Path) -> None:
    robot = carrier(saved(bent_tube(), tmp_path), arm=True)
    rng = np.random.default_rng(7)
    points = np.array([robot.pose("body", q)[:3, 3] for q in robot.random(rng, 12)])
    problem = mk.Problem(robot, mk.PointDistance("body", None, 0.01))
    batch = problem.solve(points, evaluations=20000, threads=2)
    for k, point in enumerate(points):
        answers = [problem.solve(point, evaluations=20000, rng=(0, k), threads=threads).q for threads in (1, 2)]
        assert np.array_equal(answers[0], answers[1])
        assert batch.success[k]
        assert np.array_equal(answers[0], batch[k].q)


def test_a_range_is_kept_by_the_geometry_itself() -> None:
    panda = mk.load_robot("panda")
    rng = np.random.default_rng(6)
    point = np.array([0.5, 0.1, 0.4])
    problem = mk.Problem(panda, mk.PointDistance("panda_hand", point, (0.02, 0.03), radius=0.05))
    shapes = panda.description.links[panda.link_index("panda_hand")].collisions
    for number in range(10):
        solution = problem.solve(seed=panda.random(rng), rng=number)
        assert solution.success
        local = seen(panda, solution.q, point, "panda_hand")
        gap = min(primitive_distance(g.shape, g.origin[:3, :3].T @ (local - g.origin[:3, 3])) for g in shapes) - 0.05
        assert 0.02 <= gap <= 0.03


def test_errors_say_what_is_wrong() -> None:
    panda = mk.load_robot("panda")
    with pytest.raises(
        GoalError, match="'panda_hand_tcp' has no collision geometry; links that have it: 'panda_link0'"
    ):
        mk.Problem(panda, mk.PointDistance("panda_hand_tcp", (0, 0, 0)))
    with pytest.raises(UnknownNameError, match="hnad"):
        mk.Problem(panda, mk.PointDistance("hnad", (0, 0, 0)))
    with pytest.raises(GoalError, match="radius of PointDistance must not be negative"):
        mk.PointDistance("panda_hand", (0, 0, 0), radius=-0.1)
    with pytest.raises(GoalError, match="lower below upper"):
        mk.PointDistance("panda_hand", (0, 0, 0), (1.0, 0.0))
    with pytest.raises(GoalError, match="3 finite numbers"):
        mk.PointDistance("panda_hand", (0, 0))


def test_repr_shows_what_was_asked_and_goals_pickle() -> None:
    goal = mk.PointDistance("tip", (0, 0, 1), (0.1, 0.2), radius=0.005, weight=2.0)
    assert repr(goal) == "PointDistance('tip', weight=2.0, point=[0., 0., 1.], distance=(0.1, 0.2), radius=0.005)"
    copy = pickle.loads(pickle.dumps(goal))
    assert repr(copy) == repr(goal)
