"""Limits of motions: where they come from, how they are scaled, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.planning.free_space import motion_levers
from memetik.motion.timing.limits import JERK_UP, SPEED_UP, MotionLimits
from memetik.motion.timing.timing import TimingError, distinct, exceeding, slow_down, time_path


@pytest.fixture(scope="module")
def ur5() -> mk.Robot:
    return mk.load_robot("ur5")


def test_what_the_description_says_holds_and_the_rest_follows_from_it(ur5):
    limits = MotionLimits.of(ur5)
    np.testing.assert_array_equal(limits.velocity, ur5.velocity)
    described = np.isfinite(ur5.acceleration)
    np.testing.assert_allclose(limits.acceleration, np.where(described, ur5.acceleration, limits.velocity / SPEED_UP))
    np.testing.assert_allclose(limits.jerk, limits.acceleration / JERK_UP)
    assert limits.effort is None


def test_scales_are_shares_and_the_jerk_goes_with_the_acceleration(ur5):
    full, half = MotionLimits.of(ur5), MotionLimits.of(ur5, velocity_scale=0.5, acceleration_scale=0.25)
    np.testing.assert_allclose(half.velocity, 0.5 * full.velocity)
    given = MotionLimits.of(ur5, acceleration=4.0, acceleration_scale=0.25)
    np.testing.assert_allclose(given.acceleration, 1.0)
    np.testing.assert_allclose(given.jerk, 0.25 * 4.0 / JERK_UP)


def test_a_number_many_numbers_and_names_are_taken(ur5):
    name = ur5.joint_names[2]
    np.testing.assert_array_equal(MotionLimits.of(ur5, velocity=0.3).velocity, np.full(6, 0.3))
    np.testing.assert_array_equal(MotionLimits.of(ur5, velocity=np.arange(1.0, 7.0)).velocity, np.arange(1.0, 7.0))
    named = MotionLimits.of(ur5, velocity={name: 0.1}).velocity
    assert named[2] == 0.1
    np.testing.assert_array_equal(np.delete(named, 2), np.delete(ur5.velocity, 2))


@pytest.mark.parametrize("scale", [0.0, -1.0, 1.5, np.nan])
def test_shares_outside_zero_to_one_are_refused(ur5, scale):
    with pytest.raises(InvalidInputError, match="velocity_scale is a share"):
        MotionLimits.of(ur5, velocity_scale=scale)


def test_limits_that_are_no_limits_are_refused_with_the_joint(ur5):
    with pytest.raises(InvalidInputError, match=ur5.joint_names[1]):
        MotionLimits.of(ur5, velocity={ur5.joint_names[1]: 0.0})
    with pytest.raises(InvalidInputError, match="6 numbers"):
        MotionLimits.of(ur5, acceleration=[1.0, 2.0])


@pytest.mark.parametrize("rng", range(3))
def test_blends_keep_slower_limits_at_one_kilohertz(ur5, rng):
    limits = MotionLimits.of(ur5, velocity_scale=0.3, acceleration_scale=0.2)
    trajectory = time_path(ur5, np.clip(ur5.random(rng, 5), -2.0, 2.0), limits=limits)
    t = np.arange(0.0, trajectory.duration, 1e-3)
    assert (np.abs(np.diff(trajectory.at(t), axis=0)) <= 1e-3 * limits.velocity * (1.0 + 1e-6)).all()
    assert (np.abs(trajectory.acceleration(t)) <= limits.acceleration * (1.0 + 1e-6)).all()
    assert exceeding(trajectory, MotionLimits.of(ur5, velocity_scale=0.05)) is not None


def test_a_trajectory_is_slowed_down_by_just_enough(ur5):
    trajectory = time_path(ur5, np.clip(ur5.random(2, 4), -2.0, 2.0))
    limits = MotionLimits.of(ur5, velocity_scale=0.4)
    slower = slow_down(trajectory, limits)
    assert exceeding(slower, limits) is None
    assert exceeding(slower.stretched(0.97), limits) is not None
    assert slow_down(slower, limits) is slower


@pytest.mark.parametrize("speed", [0.5, 0.1])
def test_the_tool_never_exceeds_its_speed(ur5, speed):
    points = np.array(
        [[0.0, -1.2, 1.4, -1.7, -1.5, 0.0], [0.8, -1.0, 1.2, -1.7, -1.5, 0.0], [0.9, -1.4, 1.6, -1.7, -1.5, 1]]
    )
    trajectory = time_path(ur5, points, tool_speed=(ur5.tip, speed))
    t = np.linspace(0.0, trajectory.duration, 3000)
    J = ur5.jacobian(ur5.tip, trajectory.at(t))[:, :3]
    speeds = np.linalg.norm(np.einsum("nij,nj->ni", J, trajectory.velocity(t)), axis=1)
    assert speeds.max() <= speed * 1.01
    assert speeds.max() >= speed * 0.9  # and it is used


def test_repeated_points_are_left_out(ur5):
    q = ur5.random(0, 2)
    path = np.stack([q[0], q[0], q[1], q[1] + 1e-12])
    np.testing.assert_array_equal(distinct(path), q)
    assert time_path(ur5, path).duration == time_path(ur5, q).duration


def test_an_arm_that_cannot_carry_itself_is_named(ur5):
    outstretched = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0, 0.0, 0.0]])
    with pytest.raises(TimingError, match="cannot carry the arm's weight"):
        time_path(ur5, outstretched, limits=MotionLimits.of(ur5, effort=5.0))


@pytest.mark.parametrize("name", ["ur5", "panda", "pr2"])
def test_no_point_moves_farther_than_the_levers_say(name):
    robot = mk.load_robot(name)
    levers = motion_levers(robot)
    rng = np.random.default_rng(4)
    q = robot.random(4, 100)
    other = robot.clip(q + rng.normal(size=q.shape) * 0.2)
    bound = np.abs(other - q) @ levers
    for link in robot.tips:
        moved = np.linalg.norm(robot.pose(link, other)[:, :3, 3] - robot.pose(link, q)[:, :3, 3], axis=1)
        assert (moved <= bound + 1e-9).all()
