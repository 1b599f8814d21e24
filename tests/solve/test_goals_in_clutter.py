"""Goals other than poses, on robots with their real meshes among obstacles, judged by coal."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import memetik as mk
from memetik.collision.exact import CollisionModel

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "robot"))
from public_robots import robot_file

TIPS = {"panda.urdf": "panda_hand_tcp", "ur5_robot.urdf": "tool0"}


@pytest.fixture(scope="module", params=TIPS)
def cell(request) -> tuple[mk.Robot, str, mk.Scene]:
    rng, scene = np.random.default_rng(3), mk.Scene()
    for k in range(12):
        place = rng.uniform(-0.8, 0.8, 3)
        while np.linalg.norm(place) < 0.35:
            place = rng.uniform(-0.8, 0.8, 3)
        scene.add_box(f"box{k}", rng.uniform(0.05, 0.25, 3), mk.transform(place, rpy=rng.uniform(-3.0, 3.0, 3)))
    return mk.load_robot(robot_file(request.param)), TIPS[request.param], scene


@pytest.mark.parametrize("kind", ["position", "distance", "look at", "position, kept apart"])
def test_targets_of_free_configurations_are_reached_without_collision(cell, kind: str):
    robot, tip, scene = cell
    truth, rng = CollisionModel(robot, scene), np.random.default_rng(4)
    margin = 0.01 if kind == "position, kept apart" else 0.0
    free = [q for q in robot.random(rng, 60) if not truth.collides(q, margin)][:12]
    goal = {"distance": mk.Distance(tip, distance=0.1), "look at": mk.LookAt(tip, axis="z")}.get(kind, mk.Position(tip))
    problem = mk.Problem(robot, goal, scene=scene, margin=margin)
    reached = 0
    for q in free:
        pose = robot.pose(tip, q)
        target = pose[:3, 3] + (0.1 * pose[:3, 2] if kind in ("distance", "look at") else 0.0)
        found = problem.solve(target, evaluations=40_000)
        reached += found.success
        if not found.success:
            continue
        assert not truth.collides(found.q, margin)
        reached_pose = robot.pose(tip, found.q)
        towards = target - reached_pose[:3, 3]
        if kind == "distance":
            assert abs(np.linalg.norm(towards) - 0.1) < 1e-4
        elif kind == "look at":
            assert towards @ reached_pose[:3, 2] > (1.0 - 1e-8) * np.linalg.norm(towards)
        else:
            assert np.linalg.norm(towards) < 1e-4
    assert reached == len(free) > 4


def test_answers_do_not_depend_on_threads_or_on_what_was_asked_before(cell):
    robot, tip, scene = cell
    problem = mk.Problem(robot, [mk.Position(tip), mk.AlignAxis(tip, axis="z", to="-z")], scene=scene)
    targets = np.random.default_rng(5).uniform(-0.5, 0.5, (12, 3))
    first = [problem.solve(target, evaluations=3000, rng=(0, k)) for k, target in enumerate(targets)]
    method = mk.methods.Memetic(neighbours=False)
    batch = problem.solve(targets, evaluations=3000, method=method, threads=2)
    for k in reversed(range(len(targets))):
        again = problem.solve(targets[k], evaluations=3000, rng=(0, k), threads=2)
        assert again.success == first[k].success == batch.success[k]
        if again.success:
            assert np.array_equal(again.q, first[k].q)
            assert np.array_equal(again.q, batch.q[k])
