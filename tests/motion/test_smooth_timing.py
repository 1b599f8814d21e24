"""Jerk-limited motion through corners: limits by differences of samples, averages against a convolution of samples."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik import _core
from memetik.motion.planning.free_space import space_for
from memetik.motion.planning.proofs import certify
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.timing import exceeding, time_path


@pytest.fixture(scope="module")
def ur5() -> mk.Robot:
    return mk.load_robot("ur5")


def crooked(robot: mk.Robot, rng: int, count: int = 6) -> np.ndarray:
    return np.clip(robot.random(rng, count), -1.5, 1.5)


@pytest.mark.parametrize("rng", range(6))
def test_limits_up_to_the_jerk_hold_between_fine_samples(ur5, rng):
    limits = MotionLimits.of(ur5, jerk=np.linspace(8.0, 60.0, 6))
    points = crooked(ur5, rng)
    found = time_path(ur5, points, limits=limits)
    t = np.linspace(-0.05, found.duration + 0.05, 40_001)
    inside = (t >= 0.0) & (t <= found.duration)
    velocity = np.where(inside[:, None], found.velocity(t), 0.0)
    acceleration = np.where(inside[:, None], found.acceleration(t), 0.0)
    # A step of the acceleration anywhere, at the ends too, would show as a jerk without bound.
    assert (np.abs(np.diff(acceleration, axis=0)) <= limits.jerk * t[1:2] - limits.jerk * t[:1] + 1e-9).all()
    assert (np.abs(velocity) <= limits.velocity * (1.0 + 1e-9)).all()
    assert (np.abs(acceleration) <= limits.acceleration * (1.0 + 1e-9)).all()
    np.testing.assert_allclose(found.at([0.0, found.duration]), points[[0, -1]], atol=1e-12)


def test_corners_are_passed_in_motion(ur5):
    found = time_path(ur5, crooked(ur5, 3))
    speeds = np.linalg.norm(found.velocity(np.linspace(0.2, found.duration - 0.2, 2001)), axis=1)
    assert speeds.min() > 0.05


def test_an_average_is_the_convolution_with_a_window(ur5):
    blended = time_path(ur5, crooked(ur5, 4), method="blends")
    window = 0.23
    times, coefficients = _core.averaged(blended.coefficients, np.diff(blended.times), window)
    found = mk.Trajectory(blended.joint_names, times, coefficients)
    assert found.duration == pytest.approx(blended.duration + window)
    shares = (np.arange(4000) + 0.5) / 4000
    for t in np.linspace(0.0, found.duration, 41):
        mean = blended.at(t - window * shares).mean(axis=0)
        np.testing.assert_allclose(found.at(t), mean, atol=2e-7)


def test_a_short_motion_takes_less_than_twice_the_least_time(ur5):
    limits = MotionLimits.of(ur5, velocity=1.0, acceleration=2.0, jerk=20.0)
    points = np.stack([np.zeros(6), np.full(6, 0.005)])
    least = 4.0 * np.cbrt(0.005 / (2.0 * 20.0))
    assert least < time_path(ur5, points, limits=limits).duration < 1.5 * least


@pytest.mark.parametrize("beside", [1e-4, 3e-3])
@pytest.mark.parametrize("way", [0.3, 1.0])
def test_what_cuts_a_corner_is_proved_free(gantry, way, beside):
    """A post that the blended motion passes within `beside`, and the average of it would touch."""
    points = way * np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    blended, average = (time_path(gantry, points, method=method) for method in ("blends", "smooth"))
    middle = blended.at(0.5 * blended.duration)
    inwards = np.array([-1.0, 1.0]) / np.sqrt(2.0)
    cut = float(((average.at(0.5 * average.duration) - middle) * inwards).sum())
    assert cut > 1.2 * beside
    scene = mk.Scene()
    scene.add_sphere("post", 0.05, mk.transform((*(middle + (0.1 + beside) * inwards), 0.0)))
    space = space_for(gantry, scene)
    assert certify(time_path(gantry, points, method="blends", space=space), space).free
    assert not certify(average, space).free
    found = time_path(gantry, points, space=space)
    assert certify(found, space).free
    assert exceeding(found, MotionLimits.of(gantry)) is None
    assert found.duration < 1.5 * average.duration


def test_torques_and_the_speed_of_a_link_hold_on_averages(ur5):
    points = crooked(ur5, 7, 4)
    effort = 1.6 * np.abs(ur5.gravity_torques(ur5.random(5, 200))).max(axis=0) + 2.0
    found = time_path(ur5, points, limits=MotionLimits.of(ur5, effort=effort))
    t = np.linspace(0.0, found.duration, 4000)
    torques = np.abs(ur5.inverse_dynamics(found.at(t), found.velocity(t), found.acceleration(t)))
    assert (torques <= effort * 1.002).all()
    slow = time_path(ur5, points, tool_speed=(ur5.tip, 0.1))
    t = np.linspace(0.0, slow.duration, 4001)
    places = ur5.pose(ur5.tip, slow.at(t))[:, :3, 3]
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=1) / t[1]
    assert 0.09 < speeds.max() < 0.1 * 1.003


def test_a_plan_keeps_its_jerks_and_says_so_to_a_controller(ur5):
    limits = MotionLimits.of(ur5)
    found = mk.plan(ur5, np.full(6, -1.0), start=np.full(6, 0.4))
    assert found.success
    assert found.trajectory is not None
    assert (found.trajectory.peaks(3) <= limits.jerk * (1.0 + 1e-6)).all()


def test_motions_of_no_pieces_and_windows_of_no_width_are_refused():
    with pytest.raises(ValueError, match="at least one piece"):
        _core.averaged(np.empty((0, 3, 2)), np.empty(0), 0.1)
    with pytest.raises(ValueError, match="window must be"):
        _core.averaged(np.ones((1, 3, 2)), np.ones(1), 0.0)
