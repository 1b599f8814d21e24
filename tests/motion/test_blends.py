"""Blended paths against closed forms, on a gantry: its joint space is the plane, so that corners can be computed."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memetik as mk
from memetik.motion.planning.free_space import CheckerSpace, space_for
from memetik.motion.planning.proofs import certify
from memetik.motion.timing import timing
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.timing import TimingError, exceeding

BALL = 0.05
"""Radius of the ball that the gantry carries, metres."""

time_path = partial(timing.time_path, method="blends")

CORNER = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
INSIDE = np.array([0.86, 0.14])
"""Inside the corner: the largest blend passes it, the straight segments do not."""


def trapezoid(distance: float, velocity: float, acceleration: float) -> float:
    """Seconds from rest to rest."""
    if distance >= velocity**2 / acceleration:
        return distance / velocity + velocity / acceleration
    return 2.0 * float(np.sqrt(distance / acceleration))


def dense(trajectory: mk.Trajectory, count: int = 4001) -> np.ndarray:
    return trajectory.at(np.linspace(0.0, trajectory.duration, count))


def nearest(trajectory: mk.Trajectory, point: np.ndarray) -> float:
    return float(np.linalg.norm(dense(trajectory) - point, axis=1).min())


class Disc:
    """Forbids a disc of joint space."""

    def __init__(self, centre: np.ndarray, radius: float):
        self.centre, self.radius = centre, radius

    def collides(self, q: np.ndarray) -> np.ndarray:
        return np.linalg.norm(np.asarray(q) - self.centre, axis=-1) < self.radius


@pytest.mark.parametrize("distance", [0.01, 0.3, 0.499, 0.501, 1.5])
@pytest.mark.parametrize("direction", [(1.0, 0.0), (0.0, -1.0), (-1.0, 0.5)])
def test_a_straight_motion_takes_the_time_of_a_trapezoid_or_a_triangle(gantry, distance, direction):
    """The limits of the gantry: 1 m/s, 2 m/s^2. The joint that goes farther sets the pace."""
    found = time_path(gantry, [[0.0, 0.0], distance * np.array(direction)])
    assert found.duration == pytest.approx(trapezoid(distance, 1.0, 2.0), rel=3e-3)
    assert found.duration >= trapezoid(distance, 1.0, 2.0) * (1.0 - 1e-9)


@settings(derandomize=True, max_examples=25, deadline=None)
@given(
    way=st.tuples(st.floats(0.05, 1.5), st.floats(0.05, 1.5)),
    velocity=st.tuples(st.floats(0.2, 3.0), st.floats(0.2, 3.0)),
    acceleration=st.tuples(st.floats(0.3, 6.0), st.floats(0.3, 6.0)),
)
def test_the_slower_joint_sets_velocity_and_acceleration_each(gantry, way, velocity, acceleration):
    end = np.array(way)
    speed, rise = (np.array(velocity) / end).min(), (np.array(acceleration) / end).min()
    limits = MotionLimits(np.array(velocity), np.array(acceleration), np.full(2, 1e6))
    found = time_path(gantry, np.stack([np.zeros(2), end]), limits=limits)
    assert found.duration == pytest.approx(trapezoid(1.0, speed, rise), rel=4e-3)


@settings(derandomize=True, max_examples=20, deadline=None)
@given(rng=st.integers(0, 1000), count=st.integers(3, 6))
def test_limits_hold_on_every_path_and_the_ends_are_those_of_the_path(gantry, rng, count):
    points = np.random.default_rng(rng).uniform(-1.5, 1.5, (count, 2))
    found = time_path(gantry, points)
    assert exceeding(found, MotionLimits.of(gantry)) is None
    np.testing.assert_allclose(found.start, points[0], atol=1e-9)
    np.testing.assert_allclose(found.end, points[-1], atol=1e-9)
    np.testing.assert_allclose(found.velocity([0.0, found.duration]), 0.0, atol=1e-6)
    joints = found.times[1:-1]
    np.testing.assert_allclose(found.at(joints - 1e-9), found.at(joints), atol=1e-7)
    np.testing.assert_allclose(found.velocity(joints - 1e-9), found.velocity(joints), atol=1e-5)


@settings(derandomize=True, max_examples=10, deadline=None)
@given(rng=st.integers(0, 1000))
def test_a_path_takes_as_long_backwards(gantry, rng):
    points = np.random.default_rng(rng).uniform(-1.5, 1.5, (4, 2))
    assert time_path(gantry, points).duration == pytest.approx(time_path(gantry, points[::-1]).duration, rel=5e-3)


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_slower_limits_stretch_the_same_motion(gantry, share):
    """Velocities by a share and accelerations by its square are the same motion in more time."""
    points = np.random.default_rng(5).uniform(-1.5, 1.5, (5, 2))
    fast = time_path(gantry, points)
    slow = time_path(gantry, points, limits=MotionLimits.of(gantry, velocity=share, acceleration=2.0 * share**2))
    assert slow.duration == pytest.approx(fast.duration / share, rel=1e-4)
    t = np.linspace(0.0, 1.0, 200)
    np.testing.assert_allclose(slow.at(slow.duration * t), fast.at(fast.duration * t), atol=1e-3)


def test_a_blend_takes_half_of_the_segments_and_passes_the_corner_at_a_quarter_of_its_diagonal(gantry):
    found = time_path(gantry, CORNER)
    rows = dense(found)
    assert nearest(found, CORNER[1]) == pytest.approx(0.5 * np.sqrt(2.0) / 4.0, abs=1e-3)
    np.testing.assert_allclose(rows[rows[:, 0] < 0.499, 1], 0.0, atol=1e-9)
    np.testing.assert_allclose(rows[rows[:, 1] > 0.501, 0], 1.0, atol=1e-9)
    x, y = rows.T
    assert (x - y <= 1.0 + 1e-9).all()  # never outside the corner
    assert (y >= -1e-9).all()
    assert (x <= 1.0 + 1e-9).all()


def test_blends_of_neighbouring_corners_do_not_overlap(gantry):
    """A short segment between two long ones: each of its corners takes half of it."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.2], [0.0, 0.2]])
    found = time_path(gantry, points)
    rows = dense(found)
    assert nearest(found, np.array([1.0, 0.1])) < 1e-3
    assert nearest(found, points[1]) == pytest.approx(0.1 * np.sqrt(2.0) / 4.0, abs=1e-3)
    assert (np.abs(rows[rows[:, 0] < 0.899][:, 1] - 0.1) >= 0.1 - 1e-9).all()


def test_corners_are_not_stopped_at(gantry):
    found = time_path(gantry, CORNER)
    t = np.linspace(0.2, found.duration - 0.2, 500)
    assert np.linalg.norm(found.velocity(t), axis=1).min() > 0.3
    assert found.duration < 2.0 * trapezoid(1.0, 1.0, 2.0) - 0.3


@pytest.mark.parametrize("deviation", [0.02, 0.005, 1e-3])
def test_a_deviation_that_is_asked_for_is_what_the_link_leaves_the_corner_by(gantry, deviation):
    found = time_path(gantry, CORNER, deviation=("ball", deviation))
    assert nearest(found, CORNER[1]) == pytest.approx(deviation, rel=0.05)


def test_a_generous_deviation_changes_nothing(gantry):
    assert time_path(gantry, CORNER, deviation=("ball", 1.0)).duration == time_path(gantry, CORNER).duration


def test_a_blend_does_not_cut_a_corner_through_what_a_checker_forbids(gantry):
    disc = Disc(INSIDE, 0.12)
    assert disc.collides(dense(time_path(gantry, CORNER))).any()
    found = time_path(gantry, CORNER, space=CheckerSpace(gantry, disc))
    assert not disc.collides(dense(found)).any()
    assert nearest(found, CORNER[1]) > 0.005  # it is still rounded


def test_a_blend_does_not_cut_a_corner_through_an_object_of_the_scene(gantry):
    pytest.importorskip("coal")
    scene = mk.Scene()
    scene.add_sphere("post", 0.12 - BALL, mk.transform((*INSIDE, 0.0)))
    space = space_for(gantry, scene)
    disc = Disc(INSIDE, 0.12)
    found = time_path(gantry, CORNER, space=space)
    assert not disc.collides(dense(found)).any()
    assert certify(found, space)
    assert not certify(time_path(gantry, CORNER), space)
    assert nearest(found, CORNER[1]) > 0.005


def test_without_anything_near_a_space_does_not_make_blends_smaller(gantry):
    far = CheckerSpace(gantry, Disc(np.array([-1.5, -1.5]), 0.1))
    assert time_path(gantry, CORNER, space=far).duration == pytest.approx(time_path(gantry, CORNER).duration)


@pytest.mark.parametrize("speed", [1.2, 0.6, 0.1])
def test_the_speed_of_a_link_is_kept_and_used(gantry, speed):
    """Along the diagonal both slides may go at 1 m/s, which is 1.41 m/s together."""
    found = time_path(gantry, [[0.0, 0.0], [1.5, 1.5]], tool_speed=("ball", speed))
    speeds = np.linalg.norm(found.velocity(np.linspace(0.0, found.duration, 2001)), axis=1)
    assert speeds.max() <= speed * 1.001
    assert speeds.max() >= speed * 0.99
    assert found.duration == pytest.approx(trapezoid(1.5 * np.sqrt(2.0), speed, 2.0 * np.sqrt(2.0)), rel=0.02)


def test_the_force_of_a_slide_limits_its_acceleration(gantry):
    """The first slide moves both bodies, 2 kg: a newton accelerates them by 0.5 m/s^2."""
    limits = MotionLimits.of(gantry, effort={"x": 1.0})
    found = time_path(gantry, [[0.0, 0.0], [1.0, 0.0]], limits=limits)
    assert found.duration == pytest.approx(trapezoid(1.0, 1.0, 0.5), rel=0.03)
    assert np.abs(found.acceleration(np.linspace(0.0, found.duration, 3001))[:, 0]).max() <= 0.5 * 1.002
    second = time_path(gantry, [[0.0, 0.0], [0.0, 1.0]], limits=MotionLimits.of(gantry, effort={"y": 1.0}))
    assert second.duration == pytest.approx(trapezoid(1.0, 1.0, 1.0), rel=0.03)


def test_forces_and_the_speed_of_a_link_are_kept_together(gantry):
    limits = MotionLimits.of(gantry, effort={"x": 1.0})
    found = time_path(gantry, CORNER, limits=limits, tool_speed=("ball", 0.3))
    t = np.linspace(0.0, found.duration, 4001)
    assert np.linalg.norm(found.velocity(t), axis=1).max() <= 0.3 * 1.01
    assert np.abs(found.acceleration(t)[:, 0]).max() <= 0.5 * 1.01


def test_only_the_link_that_is_too_fast_slows_the_motion(elbow):
    """Turning the elbow alone does not move the upper arm."""
    points = np.array([[0.0, 0.0], [0.0, 1.5]])
    free = time_path(elbow, points).duration
    assert time_path(elbow, points, tool_speed=("upper", 1e-3)).duration == pytest.approx(free)
    slow = time_path(elbow, points, tool_speed=("hand", 0.1))
    assert slow.duration >= 0.5 * 1.5 / 0.1 * (1.0 - 1e-3)  # the hand goes along an arc of 0.5 m


def test_a_path_that_turns_back_stops_there(gantry):
    found = time_path(gantry, [[0.0, 0.0], [1.0, 0.0], [0.2, 0.0]])
    rows = dense(found)
    assert np.abs(rows[:, 1]).max() == 0.0
    assert exceeding(found, MotionLimits.of(gantry)) is None
    assert 0.6 < rows[:, 0].max() <= 1.0 + 1e-9


def test_an_arm_too_weak_for_its_path_names_the_joint(ur5):
    stretched = np.zeros((2, 6))
    stretched[1, 0] = 0.5
    with pytest.raises(TimingError, match="'shoulder_lift_joint' cannot carry"):
        time_path(ur5, stretched, limits=MotionLimits.of(ur5, effort={"shoulder_lift_joint": 10.0}))
