"""Timing: limits hold at all times, and the time is what others need too."""

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.planning.free_space import space_for
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.rest_segments import reduced
from memetik.motion.timing.ruckig import state_to_state, straight
from memetik.motion.timing.timing import METHODS, TimingError, exceeding, time_path
from memetik.motion.timing.trajectory import Trajectory


@pytest.fixture(scope="module")
def ur5() -> mk.Robot:
    return mk.load_robot("ur5")


def random_path(robot: mk.Robot, rng: int, count: int = 5) -> np.ndarray:
    return np.clip(robot.random(rng, count), -2.0, 2.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rng", range(4))
def test_limits_hold_on_a_fine_sampling(ur5, method, rng):
    points = random_path(ur5, rng)
    trajectory = time_path(ur5, points, method=method)
    limits = MotionLimits.of(ur5)
    t = np.linspace(0.0, trajectory.duration, 20_001)
    q = trajectory.at(t)
    step = t[1]
    assert (np.abs(np.diff(q, axis=0)) / step <= limits.velocity * (1.0 + 1e-6)).all()
    assert (np.abs(trajectory.acceleration(t)) <= limits.acceleration * (1.0 + 1e-6)).all()
    assert exceeding(trajectory, limits) is None
    np.testing.assert_allclose(trajectory.velocity(np.array([0.0, trajectory.duration])), 0.0, atol=1e-6)
    np.testing.assert_allclose(q[[0, -1]], points[[0, -1]], atol=1e-9)


@pytest.mark.parametrize("method", ["toppra", "spline", "ruckig"])
def test_curves_pass_their_points(ur5, method):
    points = random_path(ur5, 11)
    trajectory = time_path(ur5, points, method=method)
    dense = trajectory.at(np.linspace(0.0, trajectory.duration, 20_001))
    for point in points:
        assert np.abs(dense - point).max(axis=1).min() < 2e-3


def test_a_straight_motion_takes_the_time_of_a_trapezoid(ur5):
    points = np.stack([np.zeros(6), np.full(6, 1.5)])
    limits = MotionLimits.of(ur5)
    speed, rise = (1.0 / (1.5 / limits.velocity).max()), (1.0 / (1.5 / limits.acceleration).max())
    ramp = speed / rise
    expected = 2.0 * ramp + (1.0 - rise * ramp**2) / speed if rise * ramp**2 < 1.0 else 2.0 / np.sqrt(rise)
    found = time_path(ur5, points, method="blends")
    assert found.duration == pytest.approx(expected, rel=2e-3)
    assert found.duration >= expected * (1.0 - 1e-9)
    np.testing.assert_allclose(found.velocity(found.duration), 0.0, atol=1e-12)


def test_blends_are_as_fast_as_the_package_on_a_smooth_path(ur5):
    """On a path of many points along a smooth curve, blends and the spline are nearly the same curve."""
    s = np.linspace(0.0, 1.0, 120)[:, None]
    points = np.sin(np.pi * s * np.array([1.0, 0.8, 0.5, 1.2, 0.7, 1.1])) * np.array([1.0, 0.7, 0.9, 0.6, 0.8, 1.0])
    ours, theirs = time_path(ur5, points, method="blends"), time_path(ur5, points, method="toppra")
    assert ours.duration == pytest.approx(theirs.duration, rel=0.03)


def test_torques_are_kept(ur5):
    points = random_path(ur5, 3)
    gravity = np.abs(ur5.gravity_torques(random_path(ur5, 5, 200))).max(axis=0)
    effort = 1.6 * gravity + 2.0
    free, bound = MotionLimits.of(ur5), MotionLimits.of(ur5, effort=effort)
    trajectory = time_path(ur5, points, limits=bound)
    t = np.linspace(0.0, trajectory.duration, 4000)
    torques = np.abs(ur5.inverse_dynamics(trajectory.at(t), trajectory.velocity(t), trajectory.acceleration(t)))
    assert (torques <= effort * 1.002).all()
    assert trajectory.duration > time_path(ur5, points, limits=free).duration


def test_jerk_is_kept_and_velocities_at_the_ends_are_met(ur5):
    limits = MotionLimits.of(ur5)
    start, end = np.full(6, 0.2), np.array([0.3, -0.2, 0.1, 0.0, 0.1, -0.1])
    trajectory = time_path(
        ur5, np.stack([np.zeros(6), np.full(6, 0.7)]), method="ruckig", start_velocity=start, end_velocity=end
    )
    assert (trajectory.peaks(3) <= limits.jerk * (1.0 + 1e-6)).all()
    np.testing.assert_allclose(trajectory.velocity(0.0), start, atol=1e-7)
    np.testing.assert_allclose(trajectory.velocity(trajectory.duration), end, atol=1e-7)


def test_motion_from_rest_to_rest_is_straight_and_as_fast_as_one_joint_allows(ur5):
    limits = MotionLimits.of(ur5)
    rng = np.random.default_rng(0)
    for start, end in ur5.random(rng, 400).reshape(200, 2, 6):
        trajectory = straight(ur5.joint_names, start, end, limits)
        q = trajectory.at(np.linspace(0.0, trajectory.duration, 50))
        along = (q - start) @ (end - start) / ((end - start) @ (end - start))
        np.testing.assert_allclose(q, start + along[:, None] * (end - start), atol=1e-9)
        shares = [(trajectory.peaks(k) / limit).max() for k, limit in ((1, limits.velocity), (2, limits.acceleration))]
        assert max(shares) <= 1.0 + 1e-6
        alone = max(
            state_to_state(
                (name,),
                a,
                b,
                MotionLimits(*(x[k : k + 1] for x in (limits.velocity, limits.acceleration, limits.jerk))),
            ).duration
            for k, (name, a, b) in enumerate(zip(ur5.joint_names, start[:, None], end[:, None], strict=True))
        )
        assert trajectory.duration >= alone - 1e-9


def test_points_are_reduced_with_a_check(ur5):
    pytest.importorskip("coal")
    trajectory = time_path(ur5, random_path(ur5, 2))
    few = reduced(trajectory, 16)
    assert len(few) <= 16
    assert exceeding(few, MotionLimits.of(ur5)) is None
    t = np.linspace(0.0, 1.0, 300)
    assert np.abs(few.at(t * few.duration)[[0, -1]] - trajectory.at(t * trajectory.duration)[[0, -1]]).max() < 1e-9
    scene = mk.Scene()
    middle = ur5.pose(ur5.tip, trajectory.at(0.5 * trajectory.duration))[:3, 3]
    scene.add_sphere("ball", 0.05, mk.transform(middle))
    with pytest.raises(TimingError, match="too few"):
        reduced(trajectory, 16, space=space_for(ur5, scene, self_collision=False))


def test_a_path_of_one_point_stands_still(ur5):
    assert time_path(ur5, np.zeros((3, 6))).duration == 0.0


def test_what_a_method_cannot_do_is_refused(ur5):
    points = random_path(ur5, 1, 2)
    with pytest.raises(InvalidInputError, match="ruckig"):
        time_path(ur5, points, start_velocity=np.ones(6))
    with pytest.raises(InvalidInputError, match="unknown"):
        time_path(ur5, points, method="fast")
    with pytest.raises(InvalidInputError, match="positive"):
        MotionLimits.of(ur5, velocity={"elbow_joint": 0.0})


def test_bounds_catch_what_samples_miss():
    """A spike between two samples: the polynomial's own bound sees it."""
    spike = Trajectory.from_points(("a",), [0.0, 1.0, 1.0001, 2.0], [[0.0], [0.0], [0.001], [0.001]], np.zeros((4, 1)))
    limits = MotionLimits(np.array([1.0]), np.array([1e9]), np.array([1e9]))
    assert np.abs(spike.velocity(np.linspace(0.0, 2.0, 101))).max() < 1.0
    assert "velocity" in (exceeding(spike, limits) or "")
