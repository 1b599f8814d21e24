"""Proofs of the core: a motion that is called free is free by exact geometry, at any sampling."""

from itertools import pairwise

import numpy as np
import pytest

import memetik as mk
from memetik.bench.scenarios.surroundings import make_surroundings
from memetik.motion.planning.free_space import PROVED, space_for
from memetik.motion.planning.paths import find_path, shorten
from memetik.motion.planning.proofs import certify
from memetik.motion.timing.timing import time_path

pytest.importorskip("coal")


@pytest.fixture(scope="module", params=["panda", "ur10", "pr2"])
def setting(request):
    robot = mk.load_robot(request.param)
    if request.param == "pr2":
        robot = robot.group("right_arm_and_torso")
    scene = make_surroundings("Shelf", front={"panda": 0.45, "ur10": 0.55, "pr2": 1.0}[request.param]).scene
    scene.add_sphere("ball", 0.1, mk.transform((0.5, -0.6, 0.8) if request.param == "pr2" else (0.3, 0.4, 0.5)))
    return robot, scene, space_for(robot, scene), mk.CollisionModel(robot, scene)


def test_edges_called_free_are_free(setting):
    robot, _, space, exact = setting
    rows = robot.random(3, 400)
    rows = rows[~exact.collides(rows)]
    free, blocked = 0, 0
    for a, b in pairwise(rows[:41]):
        touches = exact.collides(a + np.linspace(0.0, 1.0, 80)[:, None] * (b - a)).any()
        if space.quick_edge(a, b):
            assert not touches
            free += 1
        else:
            blocked += touches
    assert free > 3
    assert blocked > 3


def test_spreads_called_proved_hold_no_collision(setting):
    robot, _, space, exact = setting
    rng = np.random.default_rng(0)
    rows = robot.random(5, 300)
    spread = rng.uniform(0.0, 0.01, rows.shape)
    proved = np.flatnonzero(space.states(rows, spread) == PROVED)[:60]
    assert len(proved) > 10
    for k in proved:
        corners = rows[k] + spread[k] * rng.choice([-1.0, 1.0], (12, robot.dof))
        assert not exact.collides(corners).any()


def test_curved_trajectories_are_certified_or_refused(setting):
    robot, _, space, exact = setting
    rows = robot.random(7, 60)
    rows = rows[~exact.collides(rows)]
    outcomes = set()
    for k in range(0, 12, 2):
        trajectory = time_path(robot, rows[k : k + 2], method="spline")
        proof = certify(trajectory, space)
        outcomes.add(proof.free)
        dense = exact.collides(trajectory.at(np.linspace(0.0, trajectory.duration, 150)))
        if proof.free:
            assert not dense.any()
        else:
            assert proof.time is not None
    assert outcomes == {True, False}


def test_shorter_paths_stay_free_and_are_not_longer(setting):
    robot, _, space, exact = setting
    rows = robot.random(11, 200)
    rows = rows[~exact.collides(rows)]
    found = [find_path(space, rows[k], rows[k + 1], smooth=False, timeout=3.0) for k in range(8)]
    bent = [result.points for result in found if result.success and len(result.points) > 2]
    assert bent
    for points in bent[:3]:
        short = shorten(space, points)
        assert all(space.edge(a, b) for a, b in pairwise(short))
        length = [np.linalg.norm(np.diff(path, axis=0), axis=1).sum() for path in (points, short)]
        assert length[1] <= length[0] * (1.0 + 1e-9)
        dense = np.concatenate([a + np.linspace(0, 1, 40)[:, None] * (b - a) for a, b in pairwise(short)])
        assert not exact.collides(dense).any()


def test_a_start_that_is_nearly_in_collision_is_left(setting):
    robot, scene, _, exact = setting
    rows = robot.random(13, 4000)
    rows = rows[exact.collides(rows, 0.004) & ~exact.collides(rows, 0.0005)][:3]
    goal = next(q for q in robot.random(17, 200) if not exact.collides(q))
    left = [mk.plan(robot, goal, scene=scene, start=q, path_timeout=5.0) for q in rows]
    assert len(left) > 0
    assert any(plan.success for plan in left)
    for plan in left:
        if plan.success:
            t = np.linspace(0.0, plan.duration, 150)
            assert not exact.collides(plan.trajectory.at(t)).any()


def test_a_goal_a_hair_from_a_wall_is_reached():
    robot = mk.load_robot("panda")
    goal = robot.neutral
    hand = robot.pose("panda_hand", goal)[:3, 3]
    scene = mk.Scene()
    scene.add_box("wall", (0.6, 0.1, 0.6), mk.transform((hand[0], hand[1] + 0.4, hand[2])))
    exact = mk.CollisionModel(robot, scene, self_collision=False)
    scene.move("wall", mk.transform((hand[0], hand[1] + 0.4 - float(exact.distance(goal)) + 2e-5, hand[2])))
    assert 0.0 < exact.distance(goal) < 4e-5
    start = robot.q({"panda_joint1": -1.0}, goal)
    plan = mk.plan(robot, goal, scene=scene, start=start, path_timeout=10.0)
    assert plan.success, plan.explain()
    np.testing.assert_allclose(plan.trajectory.end, goal, atol=1e-9)
    assert not exact.collides(plan.trajectory.at(np.linspace(0.0, plan.duration, 400))).any()
