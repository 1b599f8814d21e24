"""The last look at a trajectory: which limit it exceeds, how much slower keeps it, and what a method cannot do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.timing import time_path as exported
from memetik.motion.timing.limits import DEFAULT_VELOCITY, SPEED_UP, MotionLimits
from memetik.motion.timing.timing import METHODS, distinct, exceeding, slow_down, time_path
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.description import Description, Joint, Link
from memetik.robot.robot import Robot

NAMES = ("a", "b")


def limits(velocity: float = 10.0, acceleration: float = 100.0, jerk: float = 1000.0) -> MotionLimits:
    return MotionLimits(*(np.full(2, value) for value in (velocity, acceleration, jerk)))


def bump(height: float, seconds: float = 1.0) -> Trajectory:
    """The second joint goes up by `height`: 10 x^3 - 15 x^4 + 6 x^5, peaks 1.875, 5.7735, 60."""
    zero = np.zeros((2, 2))
    return Trajectory.from_points(NAMES, [0.0, seconds], [[0.0, 0.0], [0.0, height]], zero, zero)


def test_the_limit_that_is_exceeded_is_named_with_joint_and_numbers():
    assert exceeding(bump(1.0), limits(velocity=1.88)) is None
    said = exceeding(bump(1.0), limits(velocity=1.87))
    assert said is not None
    assert said == "velocity 1.875 of joint 'b' exceeds its limit 1.87."
    assert exceeding(bump(1.0), limits(acceleration=5.78)) is None
    assert exceeding(bump(-1.0), limits(acceleration=5.77)) == (
        "acceleration 5.774 of joint 'b' exceeds its limit 5.77."
    )


def test_velocities_are_looked_at_before_accelerations():
    assert "velocity" in (exceeding(bump(1.0), limits(1.0, 1.0)) or "")


def test_a_bound_above_the_limit_is_looked_at_more_closely_before_it_counts():
    """The coarse bound of the acceleration lies above its peak, 5.7735; the fine one hardly."""
    curve = bump(1.0)
    assert curve.peaks(2)[1] > 5.8
    assert exceeding(curve, limits(acceleration=5.775)) is None


def test_one_joint_that_is_too_fast_is_enough():
    each = MotionLimits(np.array([1e-3, 2.0]), np.full(2, 100.0), np.full(2, 1e3))
    assert exceeding(bump(1.0), each) is None  # the first joint does not move
    other = MotionLimits(np.array([2.0, 1e-3]), np.full(2, 100.0), np.full(2, 1e3))
    assert "'b'" in (exceeding(bump(1.0), other) or "")


def test_a_torque_that_is_exceeded_names_the_joint_and_how_often(gantry):
    """Two kilograms at 2 m/s^2 need four newtons of the first slide."""
    found = time_path(gantry, [[0.0, 0.0], [1.0, 0.0]])
    weak = MotionLimits.of(gantry, effort={"x": 2.0})
    said = exceeding(found, weak, gantry)
    assert said is not None
    assert said.startswith("torque of joint 'x' is 2.0")
    assert exceeding(found, weak) is None  # without the robot nothing is known of torques
    assert exceeding(found, MotionLimits.of(gantry, effort={"x": 4.1}), gantry) is None


@settings(derandomize=True, max_examples=40, deadline=None)
@given(velocity=st.floats(0.2, 5.0), acceleration=st.floats(0.2, 20.0))
def test_slowing_down_keeps_both_limits_and_attains_one(velocity, acceleration):
    chosen = limits(velocity, acceleration)
    slow = slow_down(bump(1.0), chosen)
    assert exceeding(slow, chosen) is None
    needed = max(1.0, 1.875 / velocity, np.sqrt(5.7735 / acceleration))
    assert slow.duration == pytest.approx(needed, rel=2e-2)
    np.testing.assert_allclose(slow.end, [0.0, 1.0], atol=1e-12)


def test_the_jerk_counts_only_where_it_is_asked_for():
    chosen = limits(jerk=60.0 / 8.0)
    assert slow_down(bump(1.0), chosen).duration == 1.0
    assert slow_down(bump(1.0), chosen, jerk=True).duration == pytest.approx(2.0, rel=1e-3)


def test_what_keeps_its_limits_is_returned_as_it_is():
    curve = bump(1.0)
    assert slow_down(curve, limits()) is curve


def test_only_repetitions_are_left_out_and_returns_are_kept():
    a, b = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    np.testing.assert_array_equal(distinct(np.stack([a, a, b, b, a])), [a, b, a])
    np.testing.assert_array_equal(distinct(a[None]), a[None])
    near = a + np.array([0.0, 5e-9])
    np.testing.assert_array_equal(distinct(np.stack([a, near])), [a, near])


def test_a_joint_that_moves_alone_is_not_a_repetition(gantry):
    found = time_path(gantry, [[0.0, 0.0], [0.0, 0.5], [0.5, 0.5]])
    np.testing.assert_allclose(found.end, [0.5, 0.5])
    assert found.duration > 1.0


@pytest.mark.parametrize("method", METHODS)
def test_a_point_alone_is_stood_at(gantry, method):
    found = time_path(gantry, [[0.3, -0.2]] * 3, method=method)
    assert found.duration == 0.0
    np.testing.assert_array_equal(found.start, [0.3, -0.2])


@pytest.mark.parametrize("method", ["toppra", "spline", "ruckig"])
def test_only_blends_limit_the_speed_of_a_link(gantry, method):
    with pytest.raises(InvalidInputError, match=f"'{method}' does not limit the tool's speed"):
        time_path(gantry, [[0.0, 0.0], [1.0, 0.0]], method=method, tool_speed=("ball", 0.1))


@pytest.mark.parametrize("method", ["blends", "toppra", "spline"])
@pytest.mark.parametrize("end", ["start_velocity", "end_velocity"])
def test_only_ruckig_begins_or_ends_in_motion(gantry, method, end):
    with pytest.raises(InvalidInputError, match="need 'ruckig'"):
        time_path(gantry, [[0.0, 0.0], [1.0, 0.0]], method=method, **{end: np.array([0.1, 0.0])})


def test_a_name_that_is_nearly_right_is_suggested(gantry):
    with pytest.raises(InvalidInputError, match=r"'blend' is unknown; .*blends"):
        time_path(gantry, [[0.0, 0.0], [1.0, 0.0]], method="blend")
    assert exported is time_path


@pytest.mark.parametrize("points", [np.zeros((2, 3)), np.full((2, 2), np.nan)])
def test_points_of_another_robot_are_refused(gantry, points):
    with pytest.raises(mk.MemetikError):
        time_path(gantry, points)


def bare(kind: str) -> Robot:
    """A joint of which the description says nothing but its range."""
    joint = Joint("only", kind, "base", "arm", lower=(-1.0,), upper=(1.0,))
    return Robot(Description("bare", (Link("base"), Link("arm")), (joint,)))


@pytest.mark.parametrize(("kind", "turns"), [("revolute", True), ("prismatic", False)])
def test_a_joint_without_limits_gets_cautious_ones(kind, turns):
    found = MotionLimits.of(bare(kind))
    assert found.velocity[0] == DEFAULT_VELOCITY[turns]
    assert found.acceleration[0] == pytest.approx(DEFAULT_VELOCITY[turns] / SPEED_UP)


def test_a_velocity_that_is_given_sets_the_acceleration_that_is_not():
    found = MotionLimits.of(bare("revolute"), velocity=0.2)
    assert found.acceleration[0] == pytest.approx(0.2 / SPEED_UP)


def test_the_velocity_scale_does_not_lower_a_described_acceleration(ur5):
    slow = MotionLimits.of(ur5, velocity_scale=0.1)
    np.testing.assert_allclose(slow.acceleration, ur5.acceleration)
    np.testing.assert_allclose(slow.velocity, 0.1 * ur5.velocity)


def test_efforts_are_those_of_the_description_or_given_ones(ur5):
    assert MotionLimits.of(ur5, effort=False).effort is None
    np.testing.assert_array_equal(MotionLimits.of(ur5, effort=True).effort, ur5.effort)
    given_ones = MotionLimits.of(ur5, effort={"elbow_joint": 3.0}).effort
    assert given_ones is not None
    assert given_ones[2] == 3.0
    np.testing.assert_array_equal(np.delete(given_ones, 2), np.delete(ur5.effort, 2))


@pytest.mark.parametrize("wrong", [-1.0, np.nan, [1.0, 0.0, 1.0, 1.0, 1.0, 1.0], "fast"])
@pytest.mark.parametrize("which", ["velocity", "acceleration", "jerk", "effort"])
def test_a_limit_that_is_no_positive_number_is_refused_by_name(ur5, which, wrong):
    with pytest.raises(InvalidInputError, match=which):
        MotionLimits.of(ur5, **{which: wrong})


def test_a_limit_of_a_joint_that_is_not_there_is_refused(ur5):
    with pytest.raises(mk.UnknownNameError, match="elbo_joint"):
        MotionLimits.of(ur5, velocity={"elbo_joint": 1.0})


def test_limits_do_not_share_memory_with_the_robot(ur5):
    found = MotionLimits.of(ur5)
    found.velocity[0] = 99.0
    assert MotionLimits.of(ur5).velocity[0] != 99.0
