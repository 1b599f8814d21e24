"""Proofs of curved motions where obstacles are written down: nothing is skipped, the last moment included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memetik as mk
from memetik.motion.planning.free_space import BLOCKED, PROVED, UNKNOWN, CheckerSpace, OpenSpace, space_for
from memetik.motion.planning.proofs import certify, first_unproved
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.rest_segments import reduced
from memetik.motion.timing.timing import TimingError, exceeding, time_path
from memetik.motion.timing.trajectory import Trajectory


class Interval(OpenSpace):
    """Forbids an interval of the first joint, and knows exactly how far away it is."""

    tolerance = 1e-5

    def __init__(self, robot, low: float, high: float):
        super().__init__(robot)
        self.low, self.high, self.asked = low, high, 0

    def is_free(self, q):
        return not self.low < q[0] < self.high

    def states(self, q, spread):
        self.asked += len(q)
        inside = (q[:, 0] > self.low) & (q[:, 0] < self.high)
        apart = np.maximum(self.low - q[:, 0], q[:, 0] - self.high)
        return np.where(inside, BLOCKED, np.where(apart >= spread[:, 0], PROVED, UNKNOWN)).astype(np.uint8)

    def colliding_pair(self, q):
        return ("first", "interval")


def swing(gantry, *heights: float) -> Trajectory:
    """The first joint goes through these places, a second each, resting at each."""
    rows = np.zeros((len(heights), 2))
    rows[:, 0] = heights
    zero = np.zeros_like(rows)
    return Trajectory.from_points(gantry.joint_names, np.arange(float(len(heights))), rows, zero, zero)


@pytest.mark.parametrize("heights", [(0.0, 1.0), (1.0, 0.0), (0.0, 0.3, 1.0, -0.5), (0.0, 1.0, 0.0, 1.0, 0.0)])
def test_a_motion_is_free_just_where_it_stays_away(gantry, heights):
    motion = swing(gantry, *heights)
    top = max(heights)
    assert certify(motion, Interval(gantry, top + 1e-3, top + 1.0))
    proof = certify(motion, Interval(gantry, top - 1e-3, top + 1.0))
    assert not proof
    assert motion.at(proof.time)[0] > top - 1.1e-3
    assert proof.pair == ("first", "interval")


@settings(derandomize=True, max_examples=60, deadline=None)
@given(place=st.floats(-0.4, 1.4), width=st.floats(1e-3, 0.3))
def test_no_interval_is_jumped_over_and_none_is_seen_where_there_is_none(gantry, place, width):
    motion = swing(gantry, 0.0, 1.0, 0.2)
    proof = certify(motion, Interval(gantry, place, place + width))
    passes = place < 1.0 and place + width > 0.0
    surely = place < 1.0 - 1e-4 and place + width > 1e-4
    if surely:
        assert not proof.free
    elif not passes:
        assert proof.free
    if not proof.free and proof.time is not None and surely:
        assert place - 1e-3 <= motion.at(proof.time)[0] <= place + width + 1e-3


def test_the_last_moment_counts(gantry):
    """Only the very end of the last piece is blocked."""
    motion = swing(gantry, 0.0, 0.2, 1.0)
    proof = certify(motion, Interval(gantry, 1.0 - 1e-6, 2.0))
    assert not proof.free
    assert proof.time == pytest.approx(motion.duration, abs=0.05)


def test_the_first_moment_counts(gantry):
    proof = certify(swing(gantry, 0.0, 1.0), Interval(gantry, -1.0, 1e-6))
    assert not proof.free
    assert proof.time == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize("blocked", [True, False])
def test_standing_still_is_free_where_the_configuration_is(gantry, blocked):
    resting = Trajectory.resting(gantry.joint_names, [0.5, 0.0])
    proof = certify(resting, Interval(gantry, 0.4, 0.6) if blocked else Interval(gantry, 0.6, 0.7))
    assert proof.free is not blocked
    assert (proof.time, proof.pair) == ((0.0, ("first", "interval")) if blocked else (None, None))
    assert bool(proof) is not blocked


def test_standing_still_for_a_while_is_proved_too(gantry):
    resting = Trajectory.resting(gantry.joint_names, [0.5, 0.0], 10.0)
    assert certify(resting, Interval(gantry, 0.6, 0.7))
    assert not certify(resting, Interval(gantry, 0.4, 0.6))


def test_a_piece_that_is_much_longer_than_the_others_is_divided(gantry):
    """Many short pieces, and one long one that goes there and back between its ends."""
    rows = np.zeros((12, 2))
    rows[:, 0] = np.linspace(0.0, 0.1, 12)
    rates = np.zeros_like(rows)
    rates[5, 0], rates[6, 0] = 2.0, -2.0
    times = np.concatenate([np.linspace(0.0, 0.05, 6), 2.0 + np.linspace(0.0, 0.05, 6)])
    motion = Trajectory.from_points(gantry.joint_names, times, rows, rates)
    peak = motion.at(np.linspace(0.0, motion.duration, 4000))[:, 0].max()
    assert peak > 0.9
    assert certify(motion, Interval(gantry, peak + 0.01, 9.0))
    assert not certify(motion, Interval(gantry, peak - 0.01, 9.0))


def test_few_questions_prove_what_is_far_from_everything(gantry):
    space = Interval(gantry, 50.0, 51.0)
    assert certify(swing(gantry, 0.0, 1.0), space)
    assert space.asked <= 8


def test_what_can_neither_be_proved_nor_refuted_ends_in_a_refusal(gantry):
    class Doubtful(OpenSpace):
        tolerance = None

        def states(self, q, spread):
            return np.full(len(q), UNKNOWN, dtype=np.uint8)

    assert not certify(swing(gantry, 0.0, 1.0), Doubtful(gantry)).free


def test_a_motion_by_its_own_functions_is_proved_over_all_of_zero_to_one(gantry):
    def at(t):
        return np.stack([t, np.zeros_like(t)], axis=1)

    def spread(low, high):
        return np.stack([0.5 * (high - low), np.zeros_like(low)], axis=1)

    assert first_unproved(Interval(gantry, 1.001, 2.0), at, spread, np.array([0.0, 1.0])) is None
    assert first_unproved(Interval(gantry, 0.999, 2.0), at, spread, np.array([0.0, 1.0])) is not None
    assert first_unproved(Interval(gantry, -1.0, 0.001), at, spread, np.array([0.0, 1.0])) is not None
    assert first_unproved(Interval(gantry, 0.5, 0.501), at, spread, np.array([0.0, 1.0])) is not None


def test_a_tolerance_ends_the_division(gantry):
    """A bound twice as wide as need be: close to something only small intervals are proved by it."""

    def at(t):
        return np.stack([t, np.zeros_like(t)], axis=1)

    def spread(low, high):
        return np.stack([high - low, np.zeros_like(low)], axis=1)

    space = Interval(gantry, 1.01, 2.0)
    assert first_unproved(space, at, spread, np.array([0.0, 1.0]), tolerance=0.1) is not None
    assert first_unproved(space, at, spread, np.array([0.0, 1.0]), tolerance=1e-3) is None


def test_a_checker_is_asked_until_its_own_step_is_reached(gantry):
    class Strip:
        def collides(self, q):
            return np.abs(np.asarray(q)[..., 0] - 0.5) < 3e-3

    assert not certify(swing(gantry, 0.0, 1.0), CheckerSpace(gantry, Strip()))
    assert certify(swing(gantry, 0.0, 0.49), CheckerSpace(gantry, Strip()))


@pytest.mark.parametrize("gap", [0.02, 0.004, 1e-3, -1e-3, -0.02])
def test_a_curve_past_a_ball_is_free_just_where_it_passes(gantry, gap):
    """A half circle of the gantry's ball, 0.05 m, about a post: free by the gap between them."""
    pytest.importorskip("coal")
    t = np.linspace(0.0, np.pi, 40)
    circle = 0.5 * np.stack([np.cos(t), np.sin(t)], axis=1)
    tangent = 0.5 * np.stack([-np.sin(t), np.cos(t)], axis=1)
    motion = Trajectory.from_points(gantry.joint_names, t, circle, tangent)
    scene = mk.Scene()
    scene.add_sphere("post", 0.45 - gap, mk.transform((0.0, 0.0, 0.0)))
    proof = certify(motion, space_for(gantry, scene))
    assert proof.free is (gap > 0.0)
    if not proof.free:
        assert set(proof.pair) == {"ball", "post"}


def test_points_are_left_out_where_they_matter_least(gantry):
    motion = time_path(gantry, [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    t = np.linspace(0.0, 1.0, 500)
    gaps = []
    for most in (4, 8, 16, 32):
        few = reduced(motion, most)
        assert len(few) <= most
        np.testing.assert_allclose(few.at([0.0, few.duration]), motion.at([0.0, motion.duration]), atol=1e-9)
        gaps.append(float(np.abs(few.at(t * few.duration) - motion.at(t * motion.duration)).max()))
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 2e-3


def test_fewer_points_keep_the_limits_that_are_given_or_those_that_were_attained(gantry):
    motion = time_path(gantry, [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    own = MotionLimits(motion.peaks(1), motion.peaks(2), motion.peaks(2))
    assert exceeding(reduced(motion, 5), own) is None
    slow = MotionLimits.of(gantry, velocity_scale=0.2)
    found = reduced(motion, 8, limits=slow)
    assert exceeding(found, slow) is None
    assert found.duration > 2.0 * motion.duration


def test_fewer_points_that_would_touch_are_refused_with_how_many_would_do(gantry):
    motion = time_path(gantry, [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    path = motion.at(np.linspace(0.0, motion.duration, 1000))

    class Tube:
        """Forbids what is farther from the motion than this."""

        def __init__(self, radius: float):
            self.radius = radius

        def collides(self, q):
            rows = np.atleast_2d(q)
            found = np.linalg.norm(rows[:, None] - path, axis=2).min(axis=1) > self.radius
            return found if np.ndim(q) > 1 else bool(found[0])

    wide = CheckerSpace(gantry, Tube(0.02))
    with pytest.raises(TimingError, match=r"3 points are too few to stay free; (6|12|24) would do"):
        reduced(motion, 3, space=wide)
    few = reduced(motion, 24, space=wide)
    assert len(few) <= 24
    assert not Tube(0.02).collides(few.at(np.linspace(0.0, few.duration, 500))).any()
    with pytest.raises(TimingError, match="2 points are too few to stay free; so are 16"):
        reduced(motion, 2, space=Interval(gantry, -0.01, 0.5))


def test_what_has_too_few_points_already_is_left_alone(gantry):
    resting = Trajectory.resting(gantry.joint_names, [0.0, 0.0])
    assert reduced(resting, 2) is resting
    with pytest.raises(mk.InvalidInputError, match="at least 2 points, not 1"):
        reduced(swing(gantry, 0.0, 1.0), 1)
