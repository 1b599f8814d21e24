"""Moves of a task: lines are straight and free, descents can be finished, what lies on what."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.motion.planning.moves import MoveError, MovePlanner, allowed, resting_on
from memetik.motion.planning.tool_target import grasp_targets

pytest.importorskip("coal")
START = np.array([0.0, -1.4, 1.6, -1.77, -1.57, 0.0])


@pytest.fixture(scope="module")
def ur5() -> mk.Robot:
    return mk.load_robot("ur5")


@pytest.fixture
def scene(ur5) -> mk.Scene:
    scene = mk.Scene()
    scene.add_box("table", (1.0, 1.0, 0.02), mk.transform((0.6, 0.0, -0.02)))
    x, y, _ = ur5.pose(ur5.tip, START)[:3, 3]
    scene.add_box("cube", (0.05, 0.05, 0.05), mk.transform((x, y, 0.015)))
    return scene


def check_on_line(robot: mk.Robot, trajectory: mk.Trajectory, start: np.ndarray, end: np.ndarray) -> None:
    points = robot.pose(robot.tip, trajectory.at(np.linspace(0.0, trajectory.duration, 200)))[:, :3, 3]
    along = (end - start) / np.linalg.norm(end - start)
    off = points - start - ((points - start) @ along)[:, None] * along
    assert np.linalg.norm(off, axis=1).max() < 1e-3
    np.testing.assert_allclose(points[[0, -1]], [start, end], atol=1e-4)


def test_a_line_is_straight_within_the_limits_and_starts_where_the_arm_is(ur5, scene):
    planner = MovePlanner(ur5, scene, speed=0.5)
    here = ur5.pose(ur5.tip, START)
    target = mk.transform((0.0, 0.1, 0.1)) @ here
    line = planner.line(START, ur5.tip, target)
    np.testing.assert_array_equal(line.start, START)
    check_on_line(ur5, line, here[:3, 3], target[:3, 3])
    assert (line.peaks(1) <= planner.limits.velocity * (1.0 + 1e-6)).all()
    assert (line.peaks(2) <= planner.limits.acceleration * (1.0 + 1e-6)).all()
    np.testing.assert_allclose(planner.limits.velocity, 0.5 * ur5.velocity)
    np.testing.assert_allclose(line.velocity(np.array([0.0, line.duration])), 0.0, atol=1e-9)


def test_half_the_speed_takes_longer(ur5, scene):
    target = mk.transform((0.0, 0.2, 0.1)) @ ur5.pose(ur5.tip, START)
    fast, slow = (MovePlanner(ur5, scene, speed=speed).line(START, ur5.tip, target).duration for speed in (1.0, 0.5))
    assert 1.1 * fast < slow < 2.2 * fast


def test_a_line_into_something_says_how_far_it_goes(ur5, scene):
    scene.add_box("wall", (0.5, 0.02, 0.8), mk.transform((0.5, 0.35, 0.4)))
    target = mk.transform((0.0, 0.4, 0.0)) @ ur5.pose(ur5.tip, START)
    with pytest.raises(MoveError, match=r"the line ends after \d+% of 0.400 m"):
        MovePlanner(ur5, scene).line(START, ur5.tip, target)


def test_a_line_out_of_reach_is_refused(ur5, scene):
    target = mk.transform((1.5, 0.0, 0.0)) @ ur5.pose(ur5.tip, START)
    with pytest.raises(MoveError, match="the line ends after"):
        MovePlanner(ur5, scene).line(START, ur5.tip, target)


def test_a_descent_leads_straight_down_to_its_foot_and_can_be_finished(ur5, scene):
    planner = MovePlanner(ur5, scene)
    start = START + np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    targets = grasp_targets(scene["cube"].pose, None, planner.axis, "free")
    heights = (0.15, 0.06, 0.04)
    down = planner.descent(start, ur5.tip, targets, heights, [("cube", link) for link in ur5.links])
    assert len(down.lines) == 2
    np.testing.assert_array_equal(down.approach.start, start)
    for before, after in zip((down.approach, *down.lines), down.lines, strict=False):
        np.testing.assert_allclose(before.end, after.start, atol=1e-12)
    tops = [ur5.pose(ur5.tip, q)[2, 3] - down.foot[2, 3] for q in (down.lines[0].start, down.lines[0].end)]
    np.testing.assert_allclose(tops, heights[:2], atol=1e-3)
    np.testing.assert_allclose(ur5.pose(ur5.tip, down.lines[-1].end)[2, 3] - down.foot[2, 3], heights[2], atol=1e-3)
    for line in down.lines:
        check_on_line(ur5, line, *(ur5.pose(ur5.tip, q)[:3, 3] for q in (line.start, line.end)))


def test_a_descent_to_where_nothing_reaches_names_the_place(ur5, scene):
    planner = MovePlanner(ur5, scene)
    targets = grasp_targets(mk.transform((2.0, 0.0, 0.1)), None, planner.axis, "free")
    with pytest.raises(MoveError, match=r"no configuration puts 'tool0' at \(2.000"):
        planner.descent(START, ur5.tip, targets, (0.1, 0.0))


def test_a_motion_to_a_pose_ends_there_and_one_into_the_table_does_not_begin(ur5, scene):
    planner = MovePlanner(ur5, scene)
    target = mk.transform((0.0, 0.2, 0.1)) @ ur5.pose(ur5.tip, START)
    motion = planner.to_pose(START, ur5.tip, target)
    np.testing.assert_allclose(ur5.pose(ur5.tip, motion.end), target, atol=1e-4)
    with pytest.raises(MoveError, match="configurations:"):
        planner.to_pose(START, ur5.tip, mk.transform((0.0, 0.0, -0.6)) @ target)


def test_pairs_are_allowed_for_a_while_and_those_that_were_stay(scene):
    scene.allow("cube", "table")
    with allowed(scene, [("cube", "table"), ("cube", "tool0"), ("cube", "tool0")]):
        assert ("cube", "tool0") in scene.allowed
    assert ("cube", "tool0") not in scene.allowed
    assert ("cube", "table") in scene.allowed


def test_an_object_rests_on_what_is_below_it(scene):
    assert resting_on(scene, "cube", scene["cube"].pose) == ("table",)
    assert resting_on(scene, "cube", mk.transform((0.4, 0.0, 0.3))) == ()


def test_a_planner_is_near_while_the_fingers_stay(ur5, scene):
    planner = MovePlanner(ur5, scene, fixed={"finger": 0.02})
    assert planner.near({"finger": 0.021})
    assert not planner.near({"finger": 0.03})
    assert not planner.near({})


def test_a_descent_on_which_the_closed_gripper_would_touch_is_refused(ur5, scene):
    class OnlyOnTheLine:
        """Free at the object, in collision above it."""

        def collides(self, q: np.ndarray) -> np.ndarray | bool:
            return np.ones(len(q), dtype=bool) if q.ndim == 2 else False

    planner = MovePlanner(ur5, scene)
    targets = grasp_targets(scene["cube"].pose, None, planner.axis, "free")
    touch = [("cube", link) for link in ur5.links]
    with pytest.raises(MoveError, match="the closed gripper would touch something"):
        planner.descent(START, ur5.tip, targets, (0.15, 0.04), touch, [OnlyOnTheLine()])
