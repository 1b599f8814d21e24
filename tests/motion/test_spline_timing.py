"""Splines through the path's points, by stretching and by toppra: the curve is scipy's, toppra's path is not left."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import memetik as mk
from memetik.motion.planning.free_space import CheckerSpace
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.timing import METHODS, TimingError, exceeding, time_path
from memetik.motion.timing.trajectory import Trajectory


def path(rng: int, count: int = 5) -> np.ndarray:
    return np.random.default_rng(rng).uniform(-1.0, 1.0, (count, 2))


def jumps(trajectory: Trajectory, order: int) -> float:
    """The largest jump of a derivative between neighbouring pieces, from the pieces alone."""
    spans = np.diff(trajectory.times)
    largest = 0.0
    for k in range(len(spans) - 1):
        pieces = [np.polynomial.Polynomial(trajectory.coefficients[k + side, :, j]) for side in (0, 1) for j in (0, 1)]
        ends = [p.deriv(order)(spans[k]) if order else p(spans[k]) for p in pieces[:2]]
        starts = [p.deriv(order)(0.0) if order else p(0.0) for p in pieces[2:]]
        largest = max(largest, float(np.abs(np.subtract(ends, starts)).max()))
    return largest


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rng", range(3))
def test_positions_and_velocities_do_not_jump_between_pieces(gantry, method, rng):
    found = time_path(gantry, path(rng), method=method)
    assert jumps(found, 0) < 1e-8
    assert jumps(found, 1) < 1e-6


@pytest.mark.parametrize("rng", range(3))
def test_the_spline_is_scipys_through_the_points_at_its_own_times(gantry, rng):
    points = path(rng)
    found = time_path(gantry, points, method="spline")
    assert len(found) == len(points)
    truth = CubicSpline(found.times, points, bc_type="clamped")
    t = np.linspace(0.0, found.duration, 300)
    np.testing.assert_allclose(found.at(t), truth(t), atol=1e-9)
    np.testing.assert_allclose(found.positions, points, atol=1e-9)
    assert jumps(found, 2) < 1e-6


def test_every_interval_of_a_spline_is_about_as_short_as_it_can_be(gantry):
    found = time_path(gantry, path(4), method="spline")
    limits = MotionLimits.of(gantry)
    assert exceeding(found, limits) is None
    used = max((found.peaks(1) / limits.velocity).max(), np.sqrt((found.peaks(2) / limits.acceleration).max()))
    assert used > 0.97


def test_two_points_are_reached_through_their_middle(gantry):
    found = time_path(gantry, [[0.0, 0.0], [1.0, -0.5]], method="spline")
    np.testing.assert_allclose(found.at(0.5 * found.duration), [0.5, -0.25], atol=1e-9)
    assert len(found) == 3
    np.testing.assert_allclose(found.velocity([0.0, found.duration]), 0.0, atol=1e-12)


def toppra_path(points: np.ndarray):
    toppra = pytest.importorskip("toppra")
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    return toppra.SplineInterpolator(s, points, bc_type="natural"), s


@pytest.mark.parametrize("rng", range(3))
def test_toppras_trajectory_stays_on_its_spline(gantry, rng):
    points = path(rng)
    curve, s = toppra_path(points)
    dense = curve(np.linspace(0.0, s[-1], 20_000))
    found = time_path(gantry, points, method="toppra")
    for q in found.at(np.linspace(0.0, found.duration, 200)):
        assert np.linalg.norm(dense - q, axis=1).min() < 4e-4
    for point in points:
        assert np.linalg.norm(found.at(np.linspace(0.0, found.duration, 5000)) - point, axis=1).min() < 1e-3


def test_toppras_duration_is_that_of_the_package_and_little_more(gantry):
    toppra = pytest.importorskip("toppra")
    from toppra import algorithm, constraint

    points = path(7)
    curve, s = toppra_path(points)
    limits = MotionLimits.of(gantry)
    both = [np.stack([-row, row], axis=1) for row in (limits.velocity, limits.acceleration)]
    constraints = [constraint.JointVelocityConstraint(both[0]), constraint.JointAccelerationConstraint(both[1])]
    instance = algorithm.TOPPRA(constraints, curve, gridpoints=np.linspace(0.0, s[-1], 400))
    toppra.setup_logging("CRITICAL")
    theirs = instance.compute_trajectory(0.0, 0.0).duration
    ours = time_path(gantry, points, method="toppra")
    assert 0.98 * theirs < ours.duration < 1.1 * theirs
    assert exceeding(ours, limits) is None


def test_toppra_keeps_forces(gantry):
    limits = MotionLimits.of(gantry, effort={"x": 1.0})
    found = time_path(gantry, path(2), method="toppra", limits=limits)
    t = np.linspace(0.0, found.duration, 3000)
    assert np.abs(found.acceleration(t)[:, 0]).max() <= 0.5 * 1.01  # a newton on two kilograms
    assert found.duration > time_path(gantry, path(2), method="toppra").duration


class Beyond:
    """Forbids what lies beyond a line of joint space."""

    def __init__(self, most: float):
        self.most = most

    def collides(self, q: np.ndarray) -> np.ndarray:
        return np.asarray(q)[..., 1] > self.most


@pytest.mark.parametrize("method", ["spline", "toppra"])
def test_a_spline_that_swings_into_something_gets_more_points_until_it_does_not(gantry, method):
    points = np.array([[-0.5, 0.0], [0.0, 0.5], [0.3, 0.5], [0.8, 0.0]])
    alone = time_path(gantry, points, method=method)
    swing = alone.at(np.linspace(0.0, alone.duration, 2000))[:, 1].max()
    assert swing > 0.51
    checker = Beyond(0.508)
    found = time_path(gantry, points, method=method, space=CheckerSpace(gantry, checker), timeout=60.0)
    assert not checker.collides(found.at(np.linspace(0.0, found.duration, 5000))).any()
    assert exceeding(found, MotionLimits.of(gantry)) is None
    np.testing.assert_allclose(found.end, points[-1], atol=1e-9)


@pytest.mark.parametrize("method", ["spline", "toppra"])
def test_a_path_that_is_blocked_itself_is_refused_with_advice(gantry, method):
    with pytest.raises(TimingError, match=r"cannot be proved free.*try method='blends'"):
        time_path(gantry, path(1), method=method, space=CheckerSpace(gantry, Beyond(-2.0)), timeout=0.05)


@pytest.mark.parametrize("method", ["spline", "toppra"])
def test_a_spline_that_swings_beyond_a_position_limit_gets_more_points(method, gantry):
    tight = gantry.with_limits({"y": (-2.0, 0.505)})
    points = np.array([[-0.5, 0.0], [0.0, 0.5], [0.3, 0.5], [0.8, 0.0]])
    assert time_path(gantry, points, method=method).at(np.linspace(0.0, 3.0, 3000))[:, 1].max() > 0.505
    found = time_path(tight, points, method=method, timeout=60.0)
    assert found.at(np.linspace(0.0, found.duration, 3000))[:, 1].max() <= 0.505 + 1e-6


def test_all_methods_agree_on_the_time_of_a_straight_motion(ur5):
    """From rest to rest on a line the optimum is a trapezoid; splines and limits of the jerk cost a little."""
    points = np.stack([np.zeros(6), np.array([1.0, -0.5, 0.8, 0.2, -1.2, 0.6])])
    least = time_path(ur5, points, method="blends").duration
    found = {method: time_path(ur5, points, method=method).duration for method in METHODS}
    assert found["toppra"] == pytest.approx(least, rel=0.03)
    assert least <= found["ruckig"] <= found["smooth"] < 1.5 * least
    assert least <= found["spline"] < 1.5 * least
    assert isinstance(time_path(ur5, points), mk.Trajectory)
