"""Trajectories: points and derivatives at their ends, parts, joins and samplings, with nothing lost at the last one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from memetik.errors import InvalidInputError
from memetik.motion.timing.trajectory import Trajectory, join

NAMES = ("a", "b")


def wavy(rng: int = 0, points: int = 6, at_rest: bool = False, orders: int = 2) -> Trajectory:
    generator = np.random.default_rng(rng)
    times = np.concatenate([[0.0], np.cumsum(generator.uniform(0.2, 0.7, points - 1))])
    rows = list(generator.normal(size=(orders, points, 2)))
    if at_rest:
        for row in rows[1:]:
            row[[0, -1]] = 0.0
    return Trajectory.from_points(NAMES, times, *rows)


def test_points_alone_are_joined_by_straight_motions():
    curve = Trajectory.from_points(NAMES, [0.0, 1.0, 3.0], [[0.0, 1.0], [2.0, 1.0], [2.0, -3.0]])
    np.testing.assert_allclose(curve.at([0.5, 1.0, 2.0]), [[1.0, 1.0], [2.0, 1.0], [2.0, -1.0]])
    np.testing.assert_allclose(curve.velocity([0.5, 2.0]), [[2.0, 0.0], [0.0, -2.0]])
    np.testing.assert_array_equal(curve.acceleration([0.5, 2.0]), np.zeros((2, 2)))


@settings(derandomize=True, max_examples=40, deadline=None)
@given(rng=st.integers(0, 1000), orders=st.integers(1, 3))
def test_pieces_are_the_least_polynomials_through_their_derivatives(rng, orders):
    """scipy's Bernstein polynomials from derivatives are unique, so that they must agree."""
    generator = np.random.default_rng(rng)
    times = np.concatenate([[0.0], np.cumsum(generator.uniform(0.1, 1.0, 4))])
    rows = generator.normal(size=(orders, 5, 2))
    curve = Trajectory.from_points(NAMES, times, *rows)
    t = np.linspace(0.0, times[-1], 200)
    for column in range(2):
        truth = BPoly.from_derivatives(times, rows[:, :, column].T)
        np.testing.assert_allclose(curve.at(t)[:, column], truth(t), atol=1e-8)


def test_times_may_begin_anywhere_and_are_counted_from_zero():
    late = Trajectory.from_points(NAMES, [5.0, 6.0], [[0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_array_equal(late.times, [0.0, 1.0])
    single = Trajectory.from_points(NAMES, [5.0], [[0.3, 0.4]])
    assert single.duration == 0.0
    np.testing.assert_array_equal(single.at(0.0), [0.3, 0.4])


@pytest.mark.parametrize(
    ("times", "coefficients", "message"),
    [
        ([0.1, 1.0], np.zeros((1, 2, 2)), "start at 0"),
        ([], np.zeros((1, 2, 2)), "start at 0"),
        ([0.0, 1.0, 0.5], np.zeros((2, 2, 2)), "rise"),
        ([[0.0], [1.0]], np.zeros((1, 2, 2)), "start at 0"),
        ([0.0, 1.0], np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        ([0.0, 1.0], np.zeros((1, 2, 3)), r"need \(1, degree \+ 1, 2\)"),
        ([0.0, 1.0], np.full((1, 2, 2), np.nan), "finite"),
        ([0.0, np.inf], np.zeros((1, 2, 2)), "finite"),
    ],
)
def test_what_is_no_trajectory_is_refused(times, coefficients, message):
    with pytest.raises(InvalidInputError, match=message):
        Trajectory(NAMES, times, coefficients)


def test_rows_that_do_not_fit_are_refused_by_name():
    with pytest.raises(InvalidInputError, match="3 times need one row each"):
        Trajectory.from_points(NAMES, [0.0, 1.0, 2.0], np.zeros((2, 2)))
    with pytest.raises(InvalidInputError, match="velocities have shape"):
        Trajectory.from_points(NAMES, [0.0, 1.0], np.zeros((2, 2)), np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match="accelerations have shape"):
        Trajectory.from_points(NAMES, [0.0, 1.0], np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((1, 2)))


def test_nobody_can_change_a_trajectory_by_its_arrays():
    times, coefficients = np.array([0.0, 1.0]), np.ones((1, 2, 2))
    curve = Trajectory(NAMES, times, coefficients)
    times[1], coefficients[0, 0, 0] = 9.0, 9.0
    np.testing.assert_array_equal(curve.times, [0.0, 1.0])
    np.testing.assert_array_equal(curve.coefficients, np.ones((1, 2, 2)))
    with pytest.raises(ValueError, match="read-only"):
        curve.times[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        curve.coefficients[0, 0, 0] = 1.0


def test_the_rows_at_the_times_are_those_that_were_given():
    generator = np.random.default_rng(4)
    rows = generator.normal(size=(3, 5, 2))
    curve = Trajectory.from_points(NAMES, np.arange(5.0), *rows)
    for found, given_rows in zip((curve.positions, curve.velocities, curve.accelerations), rows, strict=True):
        np.testing.assert_allclose(found, given_rows, atol=1e-9)
    np.testing.assert_allclose(curve.start, rows[0, 0])
    np.testing.assert_allclose(curve.end, rows[0, -1])


def test_at_a_jump_of_the_acceleration_the_one_that_follows_counts():
    curve = Trajectory(("a",), [0.0, 1.0, 2.0], [[[0.0], [0.0], [1.0]], [[1.0], [2.0], [-1.0]]])
    np.testing.assert_allclose(curve.acceleration([0.0, 1.0 - 1e-9, 1.0, 2.0]), [[2.0], [2.0], [-2.0], [-2.0]])
    np.testing.assert_allclose(curve.velocity([1.0 - 1e-9, 1.0]), 2.0, atol=1e-8)


def test_one_time_gives_one_row_and_others_are_refused():
    curve = wavy()
    assert curve.at(0.1).shape == (2,)
    assert curve.at([0.1]).shape == (1, 2)
    for wrong in (np.nan, np.inf, [[0.1]]):
        with pytest.raises(InvalidInputError, match="seconds"):
            curve.at(wrong)


def test_derivatives_are_those_of_the_values():
    curve, step = wavy(1, orders=3), 1e-5
    t = np.linspace(0.01, curve.duration - 0.01, 57)
    for value, slope in ((curve.at, curve.velocity), (curve.velocity, curve.acceleration)):
        np.testing.assert_allclose((value(t + step) - value(t - step)) / (2.0 * step), slope(t), atol=1e-4)
    middles = 0.5 * (curve.times[1:] + curve.times[:-1])
    numeric = (curve.acceleration(middles + step) - curve.acceleration(middles - step)) / (2.0 * step)
    np.testing.assert_allclose(numeric, curve.jerk(middles), rtol=1e-5, atol=1e-3)


def test_standing_still_takes_its_time_and_has_no_speed():
    resting = Trajectory.resting(NAMES, [0.1, 0.2], 3.0)
    assert resting.duration == 3.0
    np.testing.assert_array_equal(resting.at(2.9), [0.1, 0.2])
    np.testing.assert_array_equal(resting.peaks(1), [0.0, 0.0])
    assert resting.length == 0.0
    assert len(Trajectory.resting(NAMES, [0.1, 0.2])) == 1


def test_the_length_of_a_quarter_circle_is_that_of_its_arc():
    t = np.linspace(0.0, 0.5 * np.pi, 30)
    circle = np.stack([np.cos(t), np.sin(t)], axis=1)
    tangent = np.stack([-np.sin(t), np.cos(t)], axis=1)
    assert Trajectory.from_points(NAMES, t, circle, tangent).length == pytest.approx(0.5 * np.pi, rel=1e-5)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(rng=st.integers(0, 1000), cuts=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)))
def test_a_part_is_the_whole_over_its_time(rng, cuts):
    curve = wavy(rng)
    begin, end = sorted(share * curve.duration for share in cuts)
    part = curve.between(begin, end)
    assert part.duration == pytest.approx(end - begin, abs=1e-12)
    t = np.linspace(0.0, part.duration, 37)
    np.testing.assert_allclose(part.at(t), curve.at(begin + t), atol=1e-9)
    inner = t[1:-1] if part.duration > 1e-6 else t[:0]
    np.testing.assert_allclose(part.velocity(inner), curve.velocity(begin + inner), atol=1e-6)


def test_a_part_between_two_points_of_it_holds_just_the_pieces_between():
    curve = wavy(2)
    part = curve.between(float(curve.times[1]), float(curve.times[4]))
    assert len(part) == 4
    np.testing.assert_allclose(part.times, curve.times[1:5] - curve.times[1])
    np.testing.assert_allclose(part.end, curve.positions[4], atol=1e-12)


@pytest.mark.parametrize(("begin", "end"), [(-0.1, 0.5), (0.5, 0.4), (0.0, 99.0)])
def test_parts_beyond_the_trajectory_are_refused(begin, end):
    with pytest.raises(InvalidInputError, match="is not within"):
        wavy().between(begin, end)


def test_a_part_of_no_time_stands_where_the_whole_is():
    curve = wavy(3)
    part = curve.between(0.5, 0.5)
    assert part.duration == 0.0
    np.testing.assert_allclose(part.at(0.0), curve.at(0.5))


def test_joined_trajectories_run_one_after_the_other_whatever_their_degree():
    first = Trajectory.from_points(NAMES, [0.0, 1.0], [[0.0, 0.0], [1.0, 2.0]])
    second = Trajectory.from_points(NAMES, [0.0, 2.0], [[1.0, 2.0], [0.0, 0.0]], np.zeros((2, 2)), np.zeros((2, 2)))
    whole = join([first, Trajectory.resting(NAMES, [1.0, 2.0]), second])
    assert whole.duration == 3.0
    assert len(whole) == 3
    t = np.linspace(0.0, 2.0, 20)
    np.testing.assert_allclose(whole.at(1.0 + t), second.at(t), atol=1e-12)
    np.testing.assert_allclose(whole.at(0.5 * t), first.at(0.5 * t), atol=1e-12)
    assert first.then(second) == join([first, second])


def test_a_rest_between_two_motions_keeps_its_time():
    first = Trajectory.from_points(NAMES, [0.0, 1.0], [[0.0, 0.0], [1.0, 2.0]])
    pause = Trajectory.resting(NAMES, [1.0, 2.0], 0.5)
    whole = join([first, pause, Trajectory.from_points(NAMES, [0.0, 1.0], [[1.0, 2.0], [3.0, 2.0]])])
    assert whole.duration == 2.5
    np.testing.assert_allclose(whole.at([1.0, 1.25, 1.5]), [[1.0, 2.0]] * 3)


def test_what_cannot_be_joined_is_refused_with_its_number():
    curve = Trajectory.from_points(NAMES, [0.0, 1.0], [[0.0, 0.0], [1.0, 2.0]])
    with pytest.raises(InvalidInputError, match="no trajectory"):
        join([])
    with pytest.raises(InvalidInputError, match="trajectory 2 is of other joints: x"):
        join([curve, Trajectory.resting(("x",), [0.0])])
    with pytest.raises(InvalidInputError, match=r"trajectory 3 does not begin .* joint 'b' jumps by 0.1"):
        join([curve, Trajectory.resting(NAMES, [1.0, 2.0], 1.0), Trajectory.resting(NAMES, [1.0, 2.1], 1.0)])
    assert join([Trajectory.resting(NAMES, [1.0, 2.0])] * 2).duration == 0.0


@pytest.mark.parametrize("duration", [1.0, 0.999, 1.001, 0.013])
@pytest.mark.parametrize("rate", [10.0, 100.0, 333.0])
def test_a_sampling_that_ends_at_rest_has_equal_intervals_and_the_last_point(duration, rate):
    zero = np.zeros((2, 2))
    curve = Trajectory.from_points(NAMES, [0.0, duration], [[0.0, 1.0], [1.0, -1.0]], zero, zero)
    sampled = curve.resampled(rate)
    np.testing.assert_allclose(np.diff(sampled.times), 1.0 / rate, rtol=1e-9)
    assert duration + 1.999 / rate < sampled.duration < duration + 3.0 / rate
    np.testing.assert_allclose(sampled.start, curve.start, atol=1e-12)
    np.testing.assert_allclose(sampled.end, curve.end, atol=1e-12)
    for rates in (sampled.velocity, sampled.acceleration):
        np.testing.assert_allclose(rates([0.0, sampled.duration]), 0.0, atol=1e-8)
    off = np.abs(sampled.positions - curve.at(sampled.times - 1.0 / rate))
    assert (off <= curve.peaks(2) / (6.0 * rate**2) + 1e-12).all()


@pytest.mark.parametrize("rate", [20.0, 47.0, 100.0])
def test_a_sampling_is_never_faster_and_never_accelerates_harder_than_the_way(rate):
    """Accelerations that switch between two samples made a cubic through them accelerate 1.5 times as hard."""
    curve = Trajectory(NAMES, [0.0, 1.0, 2.0], [
        [[0.0, 0.0], [0.0, 0.0], [0.5, 0.25]], [[0.5, 0.25], [1.0, 0.5], [-0.5, -0.25]],
    ])  # fmt: skip
    sampled = curve.resampled(rate)
    for order in (1, 2):
        assert (sampled.peaks(order) <= curve.peaks(order) * (1.0 + 1e-6)).all()
    fifth = Trajectory.from_points(NAMES, sampled.times, sampled.positions, sampled.velocities, sampled.accelerations)
    t = np.linspace(0.0, sampled.duration, 999)
    np.testing.assert_allclose(fifth.at(t), sampled.at(t), atol=1e-12)


def test_a_sampling_that_ends_in_motion_ends_on_time_and_keeps_its_velocity():
    curve = Trajectory.from_points(NAMES, [0.0, 1.05], [[0.0, 0.0], [1.05, 2.1]])
    sampled = curve.resampled(10.0)
    assert sampled.duration == pytest.approx(1.05)
    np.testing.assert_allclose(np.diff(sampled.times)[:-1], 0.1)
    np.testing.assert_allclose(sampled.velocity(sampled.duration), [1.0, 2.0], atol=1e-9)


@settings(derandomize=True, max_examples=25, deadline=None)
@given(rng=st.integers(0, 1000))
def test_a_fine_sampling_stays_on_the_curve(rng):
    curve = wavy(rng, at_rest=True)
    t = np.linspace(0.0, curve.duration, 300)
    off = np.abs(curve.resampled(200.0).at(t + 1.0 / 200.0) - curve.at(t))
    assert (off <= curve.peaks(2) / (6.0 * 200.0**2) + 1e-12).all()


def test_bad_rates_and_factors_are_refused():
    for wrong in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(InvalidInputError, match="rate"):
            wavy().resampled(wrong)
        with pytest.raises(InvalidInputError, match="factor"):
            wavy().stretched(wrong)
    resting = Trajectory.resting(NAMES, [0.0, 1.0])
    assert resting.resampled(50.0) is resting


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_stretching_scales_each_derivative_by_its_power(factor):
    curve = wavy(5, orders=3)
    slow = curve.stretched(factor)
    t = np.linspace(0.0, curve.duration, 41)[:-1]
    assert slow.duration == pytest.approx(factor * curve.duration)
    for order, (now, before) in enumerate(
        ((slow.at, curve.at), (slow.velocity, curve.velocity), (slow.acceleration, curve.acceleration)),
    ):
        np.testing.assert_allclose(now(factor * t), before(t) / factor**order, atol=1e-7)
    np.testing.assert_allclose(slow.peaks(3), curve.peaks(3) / factor**3, rtol=1e-9)


def test_equal_means_the_same_joints_times_and_pieces():
    curve = wavy(6)
    assert curve == Trajectory(NAMES, curve.times, curve.coefficients)
    assert curve != Trajectory(("a", "c"), curve.times, curve.coefficients)
    assert curve != Trajectory(NAMES, 2.0 * curve.times, curve.coefficients)
    assert curve != Trajectory(NAMES, curve.times, curve.coefficients + 1e-12)
    assert curve != "curve"
    with pytest.raises(TypeError):
        hash(curve)


def test_its_summary_counts_joints_points_and_seconds():
    curve = wavy(7)
    assert repr(curve) == f"<Trajectory: 2 joints, 6 points, {curve.duration:.3f} s>"
    assert len(curve) == 6
    assert curve.dof == 2
