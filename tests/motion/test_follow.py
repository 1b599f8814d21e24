"""Cartesian motion: the tool stays on its curve, joints do not jump, and what cannot be followed is told."""

from itertools import pairwise

import numpy as np
import pytest

import memetik as mk
from memetik.motion.planning.cartesian import arc, line, spline, waypoints

pytest.importorskip("coal")

START = np.array([0.0, -1.2, 1.6, -1.9, -1.57, 0.0])


@pytest.fixture(scope="module")
def ur5() -> mk.Robot:
    return mk.load_robot("ur5")


def moved(pose: np.ndarray, *way: float) -> np.ndarray:
    result = pose.copy()
    result[:3, 3] += way
    return result


def off_segments(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """(N,) distances from points to a polyline."""
    distances = []
    for a, b in pairwise(corners):
        share = np.clip((points - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
        distances.append(np.linalg.norm(points - a - share[:, None] * (b - a), axis=1))
    return np.min(distances, axis=0)


def test_a_circle_is_round_and_ends_where_it_should():
    first = mk.transform((0.3, 0.0, 0.2))
    last = mk.transform((0.0, 0.3, 0.2), rpy=(0.0, 0.0, 1.0))
    path = arc(first, (0.3 * np.cos(0.4), 0.3 * np.sin(0.4), 0.2), last)
    poses = path(np.linspace(0.0, 1.0, 50))
    np.testing.assert_allclose(np.hypot(poses[:, 0, 3], poses[:, 1, 3]), 0.3, atol=1e-12)
    np.testing.assert_allclose(poses[[0, -1]], [first, last], atol=1e-12)
    assert path.length == pytest.approx(0.3 * np.pi / 2.0)


def test_a_spline_goes_through_its_poses():
    poses = [mk.transform((0.1 * k, 0.05 * k**2, 0.3), rpy=(0.2 * k, 0.0, 0.1 * k)) for k in range(5)]
    path = spline(poses)
    np.testing.assert_allclose(path(path.knots), poses, atol=1e-9)


def test_samples_hold_the_knots_and_keep_the_step():
    path = waypoints([mk.transform((0.0, 0.0, 0.0)), mk.transform((0.1, 0.0, 0.0)), mk.transform((0.1, 0.25, 0.0))])
    s = path.samples(0.02)
    assert set(np.round(path.knots, 12)) <= set(np.round(s, 12))
    assert np.linalg.norm(np.diff(path(s)[:, :3, 3], axis=0), axis=1).max() <= 0.02 + 1e-9


def test_the_tool_stays_on_straight_lines(ur5):
    first = ur5.pose(ur5.tip, START)
    corners = [first, moved(first, 0.1, 0.25, -0.05), moved(first, 0.1, -0.15, 0.05)]
    plan = mk.follow(ur5, corners, start=START)
    assert plan.success, plan.explain()
    assert plan.fraction == 1.0
    q = plan.trajectory.at(np.linspace(0.0, plan.duration, 800))
    poses = ur5.pose(ur5.tip, q)
    assert off_segments(poses[:, :3, 3], np.array(corners)[:, :3, 3]).max() < 5e-4
    np.testing.assert_allclose(poses[:, :3, :3], np.broadcast_to(first[:3, :3], (800, 3, 3)), atol=5e-3)
    assert (plan.trajectory.peaks(1) <= ur5.velocity * (1.0 + 1e-6)).all()
    assert (plan.trajectory.peaks(2) <= ur5.acceleration * (1.0 + 1e-6)).all()


def test_a_start_elsewhere_is_left_by_a_planned_motion(ur5):
    first = ur5.pose(ur5.tip, START)
    start = START + 0.3
    plan = mk.follow(ur5, line(first, moved(first, 0.0, 0.2, 0.0)), start=start)
    assert plan.success, plan.explain()
    np.testing.assert_allclose(plan.trajectory.start, start)
    refused = mk.follow(ur5, line(first, moved(first, 0.0, 0.2, 0.0)), start=start, approach=False)
    assert refused.reason == "start not on the path"


def test_free_spin_follows_where_a_full_pose_cannot(ur5):
    # The last joint may turn little: a path that turns the pose far can be followed only if the spin is free.
    stiff = ur5.with_limits({"wrist_3_joint": (-0.4, 0.4)})
    first = stiff.pose(stiff.tip, START)
    turned = moved(first, 0.05, 0.2, 0.0) @ mk.transform(rpy=(0.0, 0.0, 2.5))
    whole = mk.follow(stiff, line(first, turned), start=START)
    assert not whole.success
    assert 0.0 < whole.fraction < 1.0
    assert whole.reason == "followed in part"
    free = mk.Pose(stiff.tip, rotation_tolerance=(1e-4, 1e-4, np.inf))
    plan = mk.follow(stiff, line(first, turned), goals=[free], start=START)
    assert plan.success, plan.explain()
    axis = stiff.pose(stiff.tip, plan.trajectory.at(np.linspace(0.0, plan.duration, 300)))[:, :3, 2]
    np.testing.assert_allclose(axis, np.broadcast_to(first[:3, 2], axis.shape), atol=5e-3)


def test_what_is_out_of_reach_is_followed_as_far_as_it_goes(ur5):
    first = ur5.pose(ur5.tip, START)
    plan = mk.follow(ur5, line(first, moved(first, 0.0, 2.0, 0.0)), start=START)
    assert not plan.success
    assert 0.1 < plan.fraction < 0.9
    end = ur5.pose(ur5.tip, plan.trajectory.end)[:3, 3]
    np.testing.assert_allclose(end, first[:3, 3] + [0.0, 2.0 * plan.fraction, 0.0], atol=1e-3)


def test_a_wall_in_the_way_ends_the_path_before_it(ur5):
    first = ur5.pose(ur5.tip, START)
    scene = mk.Scene()
    scene.add_box("wall", (0.6, 0.01, 0.6), mk.transform(first[:3, 3] + [0.0, 0.25, 0.0]))
    plan = mk.follow(ur5, line(first, moved(first, 0.0, 0.4, 0.0)), scene=scene, start=START)
    assert not plan.success
    assert plan.fraction < 0.6
    model = mk.CollisionModel(ur5, scene)
    assert not model.collides(plan.trajectory.at(np.linspace(0.0, plan.duration, 200))).any()


def test_the_tool_keeps_its_speed(ur5):
    first = ur5.pose(ur5.tip, START)
    plan = mk.follow(ur5, line(first, moved(first, 0.1, 0.25, 0.0)), start=START, tool_speed=0.1)
    t = np.linspace(0.0, plan.duration, 2000)
    x = ur5.pose(ur5.tip, plan.trajectory.at(t))[:, :3, 3]
    speed = np.linalg.norm(np.diff(x, axis=0), axis=1) / np.diff(t)
    assert speed.max() < 0.101
    assert np.median(speed) > 0.095


def test_waypoints_may_be_goals(ur5):
    first = ur5.pose(ur5.tip, START)[:3, 3]
    goals = [[mk.Position(ur5.tip, first + np.array([0.0, 0.01 * k, 0.0]))] for k in range(12)]
    plan = mk.follow(ur5, goals, start=START)
    assert plan.success, plan.explain()
    end = ur5.pose(ur5.tip, plan.trajectory.end)[:3, 3]
    np.testing.assert_allclose(end, first + np.array([0.0, 0.11, 0.0]), atol=1e-4)
