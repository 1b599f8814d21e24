"""Jerk-limited motions: durations of the double-S profile in closed form, and ruckig's own answers at every time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memetik as mk
from memetik.motion.planning.free_space import space_for
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.ruckig import state_to_state, straight
from memetik.motion.timing.timing import TimingError, time_path

ruckig = pytest.importorskip("ruckig")


def double_s(distance: float, velocity: float, acceleration: float, jerk: float) -> float:
    """Seconds from rest to rest (Biagiotti and Melchiorri, Trajectory Planning for Automatic Machines, 3.4)."""
    if velocity * jerk < acceleration**2:
        ramp = 2.0 * np.sqrt(velocity / jerk)
    else:
        ramp = acceleration / jerk + velocity / acceleration
    if distance / velocity >= ramp:
        return distance / velocity + ramp
    if distance <= 2.0 * acceleration**3 / jerk**2:
        return 4.0 * float(np.cbrt(distance / (2.0 * jerk)))
    push = acceleration / jerk
    return 2.0 * (0.5 * push + float(np.sqrt(0.25 * push**2 + distance / acceleration)))


def limits_of(*rows: float | tuple[float, ...]) -> MotionLimits:
    return MotionLimits(*(np.atleast_1d(np.array(row, dtype=float)) for row in rows))


@pytest.mark.parametrize(
    ("distance", "velocity", "acceleration", "jerk"),
    [
        (10.0, 1.0, 2.0, 20.0),  # all three limits are reached
        (10.0, 1.0, 20.0, 4.0),  # the acceleration is not
        (0.3, 1.0, 2.0, 20.0),  # the velocity is not
        (0.01, 1.0, 2.0, 20.0),  # neither is
    ],
)
def test_each_kind_of_profile_takes_its_time(distance, velocity, acceleration, jerk):
    found = straight(("a",), np.zeros(1), np.array([distance]), limits_of(velocity, acceleration, jerk))
    assert found.duration == pytest.approx(double_s(distance, velocity, acceleration, jerk), rel=1e-7)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(
    distance=st.floats(1e-3, 10.0),
    velocity=st.floats(0.1, 5.0),
    acceleration=st.floats(0.1, 20.0),
    jerk=st.floats(0.5, 200.0),
    sign=st.sampled_from([-1.0, 1.0]),
)
def test_from_rest_to_rest_takes_the_time_of_the_double_s(distance, velocity, acceleration, jerk, sign):
    found = straight(("a",), np.zeros(1), np.array([sign * distance]), limits_of(velocity, acceleration, jerk))
    assert found.duration == pytest.approx(double_s(distance, velocity, acceleration, jerk), rel=1e-6)
    assert found.end[0] == pytest.approx(sign * distance, rel=1e-9)
    for order, limit in ((1, velocity), (2, acceleration), (3, jerk)):
        assert found.peaks(order)[0] <= limit * (1.0 + 1e-5)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(rng=st.integers(0, 10_000))
def test_a_straight_motion_of_many_joints_is_that_of_its_slowest_shares(rng):
    generator = np.random.default_rng(rng)
    start, way = generator.normal(size=(2, 4))
    way[generator.integers(4)] = 0.0  # one joint stays
    rows = generator.uniform(0.5, 5.0, (3, 4)) * np.array([[1.0], [3.0], [20.0]])
    found = straight(tuple("abcd"), start, start + way, MotionLimits(*rows))
    moved = np.abs(way) > 0.0
    shares = [(row[moved] / np.abs(way[moved])).min() for row in rows]
    assert found.duration == pytest.approx(double_s(1.0, *shares), rel=1e-6)
    q = found.at(np.linspace(0.0, found.duration, 60))
    along = (q - start) @ way / (way @ way)
    np.testing.assert_allclose(q, start + along[:, None] * way, atol=1e-9)
    assert (np.diff(along) > -1e-12).all()
    for order, row in enumerate(rows, 1):
        assert (found.peaks(order) <= row * (1.0 + 1e-5)).all()


def test_no_distance_takes_no_time():
    found = straight(("a", "b"), np.array([0.1, 0.2]), np.array([0.1, 0.2]), limits_of((1, 1), (1, 1), (1, 1)))
    assert found.duration == 0.0
    np.testing.assert_array_equal(found.start, [0.1, 0.2])


@pytest.mark.parametrize("rng", range(8))
def test_pieces_are_what_ruckig_says_at_every_time(rng):
    generator = np.random.default_rng(rng)
    start, end, rate, last = generator.uniform(-1.0, 1.0, (4, 3))
    push = generator.uniform(-0.5, 0.5, 3)
    limits = limits_of((1.5, 2.0, 1.2), (3.0, 4.0, 5.0), (20.0, 30.0, 40.0))
    found = state_to_state(tuple("abc"), start, end, limits, rate, last, push)
    asked = ruckig.InputParameter(3)
    asked.current_position, asked.current_velocity, asked.current_acceleration = start, rate, push
    asked.target_position, asked.target_velocity = end, last
    asked.max_velocity, asked.max_acceleration, asked.max_jerk = limits.velocity, limits.acceleration, limits.jerk
    truth = ruckig.Trajectory(3)
    ruckig.Ruckig(3).calculate(asked, truth)
    assert found.duration == pytest.approx(truth.duration)
    for t in np.linspace(0.0, truth.duration, 101):
        position, velocity, acceleration = truth.at_time(t)[:3]
        np.testing.assert_allclose(found.at(t), position, atol=1e-7)
        np.testing.assert_allclose(found.velocity(t), velocity, atol=1e-6)
        if np.abs(found.times - t).min() > 1e-6:
            np.testing.assert_allclose(found.acceleration(t), acceleration, atol=1e-5)


def test_the_states_at_both_ends_are_met():
    limits = limits_of((2.0, 2.0), (5.0, 5.0), (50.0, 50.0))
    rate, last, push = np.array([0.5, -0.3]), np.array([-0.2, 0.4]), np.array([1.0, -2.0])
    found = state_to_state(("a", "b"), np.zeros(2), np.array([0.5, -1.0]), limits, rate, last, push)
    np.testing.assert_allclose(found.velocity(0.0), rate, atol=1e-9)
    np.testing.assert_allclose(found.acceleration(0.0), push, atol=1e-7)
    np.testing.assert_allclose(found.velocity(found.duration), last, atol=1e-7)
    np.testing.assert_allclose(found.end, [0.5, -1.0], atol=1e-9)


def test_unlimited_limits_are_taken():
    found = straight(("a",), np.zeros(1), np.ones(1), limits_of(1.0, np.inf, np.inf))
    assert found.duration == pytest.approx(1.0, rel=1e-2)


def test_a_speed_that_cannot_be_had_is_refused():
    limits = limits_of(1.0, 2.0, 20.0)
    with pytest.raises(TimingError, match="ruckig"):
        state_to_state(("a",), np.zeros(1), np.ones(1), limits, end_velocity=np.array([3.0]))


def test_the_arm_stops_at_every_corner(gantry):
    points = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 0.6], [-0.2, 0.6]])
    found = time_path(gantry, points, method="ruckig")
    limits = MotionLimits.of(gantry)
    expected = [
        double_s(way, *(row[k] for row in (limits.velocity, limits.acceleration, limits.jerk)))
        for way, k in ((0.5, 0), (0.6, 1), (0.7, 0))
    ]
    assert found.duration == pytest.approx(sum(expected), rel=1e-6)
    corners = np.cumsum(expected)[:-1]
    np.testing.assert_allclose(found.at(corners), points[1:-1], atol=1e-6)
    np.testing.assert_allclose(found.velocity(corners), 0.0, atol=1e-6)
    assert (found.peaks(3) <= limits.jerk * (1.0 + 1e-6)).all()


def test_velocities_at_the_ends_belong_to_the_first_and_the_last_segment_only(gantry):
    points = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 0.6]])
    start, end = np.array([0.3, 0.0]), np.array([0.0, 0.4])
    found = time_path(gantry, points, method="ruckig", start_velocity=start, end_velocity=end)
    np.testing.assert_allclose(found.velocity(0.0), start, atol=1e-9)
    np.testing.assert_allclose(found.velocity(found.duration), end, atol=1e-7)
    rows = found.at(np.linspace(0.0, found.duration, 2000))
    nearest = np.linalg.norm(rows - points[1], axis=1).argmin()
    at_corner = found.velocity(np.linspace(0.0, found.duration, 2000)[nearest])
    assert np.linalg.norm(at_corner) < 0.02


def test_standing_still_with_a_velocity_goes_there_and_back(gantry):
    """At 0.5 m/s it cannot stop at once: it goes on and comes back."""
    found = time_path(gantry, [[0.0, 0.0]], method="ruckig", start_velocity=np.array([0.5, 0.0]))
    assert found.duration > 0.2
    assert found.at(np.linspace(0.0, found.duration, 100))[:, 0].max() > 0.05
    np.testing.assert_allclose(found.end, 0.0, atol=1e-9)


def test_a_motion_whose_velocity_carries_it_into_something_is_refused(gantry):
    pytest.importorskip("coal")
    scene = mk.Scene()
    scene.add_box("wall", (2.0, 0.1, 0.2), mk.transform((0.0, 0.2, 0.0)))
    space = space_for(gantry, scene)
    points = [[0.0, 0.0], [0.5, 0.0]]
    along = time_path(gantry, points, method="ruckig", space=space, start_velocity=np.array([0.5, 0.0]))
    assert along.duration > 0.0
    with pytest.raises(TimingError, match=r"not free at \d.*wall"):
        time_path(gantry, points, method="ruckig", space=space, start_velocity=np.array([0.0, 0.9]))


def test_a_velocity_beyond_the_limit_at_an_end_is_refused(gantry):
    with pytest.raises(TimingError):
        time_path(gantry, [[0.0, 0.0], [1.0, 0.0]], method="ruckig", end_velocity=np.array([5.0, 0.0]))


def test_a_motion_whose_velocity_carries_it_beyond_a_position_limit_is_refused(gantry):
    """At 0.9 m/s and 2 m/s^2 the slide needs 0.2 m to stop, and has 0.05 m left."""
    points = [[1.95, 0.0], [1.0, 0.0]]
    assert time_path(gantry, points, method="ruckig").at(0.1)[0] <= 1.95
    with pytest.raises(TimingError, match=r"'x'.*position limits"):
        time_path(gantry, points, method="ruckig", start_velocity=np.array([0.9, 0.0]))
