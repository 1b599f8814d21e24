"""Trajectories cut into segments that begin and end at rest: the path stays, limits hold, collisions are looked for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.timing.rest_segments import at_rest, split, straight
from memetik.motion.timing.timing import time_path


@pytest.fixture(scope="module")
def ur5() -> mk.Robot:
    return mk.load_robot("ur5")


@pytest.fixture(scope="module")
def winding(ur5) -> mk.Trajectory:
    return time_path(ur5, np.clip(ur5.random(3, 6), -2.0, 2.0))


def at_1_khz(trajectory: mk.Trajectory) -> np.ndarray:
    return np.arange(0.0, trajectory.duration, 1e-3)


def distance_to_path(trajectory: mk.Trajectory, q: np.ndarray) -> float:
    dense = trajectory.at(np.linspace(0.0, trajectory.duration, 4000))
    return max(float(np.abs(dense - row).max(axis=1).min()) for row in q)


@pytest.mark.parametrize("points", [4, 8, 16, 40])
def test_segments_meet_at_rest_and_keep_the_limits_at_one_kilohertz(ur5, winding, points):
    limits = (ur5.velocity, np.full(6, 10.0))
    pieces = split(winding, points, tolerance=0.02, limits=limits)
    assert all(len(piece) <= points for piece in pieces)
    np.testing.assert_allclose(pieces[0].start, winding.start, atol=1e-9)
    np.testing.assert_allclose(pieces[-1].end, winding.end, atol=1e-9)
    for before, after in pairwise(pieces):
        np.testing.assert_allclose(before.end, after.start, atol=1e-9)
    for piece in pieces:
        t = at_1_khz(piece)
        assert (np.abs(piece.velocity(t)) <= limits[0] * (1.0 + 1e-6)).all()
        assert (np.abs(piece.acceleration(t)) <= limits[1] * (1.0 + 1e-6)).all()
        np.testing.assert_allclose(piece.velocity(np.array([0.0, piece.duration])), 0.0, atol=1e-9)


@pytest.mark.parametrize("tolerance", [0.05, 0.01, 0.002])
def test_segments_stay_as_near_to_the_path_as_they_are_told(winding, tolerance):
    for piece in split(winding, 8, tolerance=tolerance):
        assert distance_to_path(winding, piece.at(np.linspace(0.0, piece.duration, 60))) <= tolerance + 2e-3


def test_a_finer_tolerance_needs_no_fewer_segments(winding):
    counts = [len(split(winding, 8, tolerance=tolerance)) for tolerance in (0.1, 0.02, 0.004)]
    assert counts == sorted(counts)


def test_segments_that_would_collide_are_divided_further(winding):
    coarse = split(winding, 6, tolerance=0.5)
    assert distance_to_path(winding, coarse[0].at(np.linspace(0.0, coarse[0].duration, 200))) > 0.02

    def free(q: np.ndarray) -> bool:  # a corridor about the path
        return distance_to_path(winding, q) < 0.02

    fine = split(winding, 6, tolerance=0.5, free=free)
    assert len(fine) > len(coarse)
    assert all(free(piece.at(np.linspace(0.0, piece.duration, 100))) for piece in fine)


def test_what_cannot_be_free_is_refused_and_not_sent(winding):
    with pytest.raises(InvalidInputError, match="cannot be described"):
        split(winding, 6, free=lambda q: False)


def test_a_trajectory_of_few_points_is_left_alone_and_one_point_is_too_few(winding):
    assert split(winding, len(winding)) == [winding]
    with pytest.raises(InvalidInputError, match="at least 2 points"):
        split(winding, 1)


@pytest.mark.parametrize("rng", range(4))
def test_a_straight_motion_attains_a_limit_and_exceeds_none(ur5, rng):
    start, end = ur5.random(rng, 2)
    velocity, acceleration = ur5.velocity, np.full(6, 3.0)
    motion = straight(ur5.joint_names, start, end, (velocity, acceleration))
    share = max((motion.peaks(1) / velocity).max(), np.sqrt((motion.peaks(2) / acceleration).max()))
    assert 0.98 < share <= 1.0 + 1e-6
    middle = motion.at(0.5 * motion.duration)
    np.testing.assert_allclose(middle, 0.5 * (start + end), atol=1e-9)


def test_a_part_from_rest_to_rest_follows_the_same_path(winding):
    begin, end = 0.3 * winding.duration, 0.8 * winding.duration
    part = at_rest(winding, begin, end, 200)
    np.testing.assert_allclose(part.start, winding.at(begin), atol=1e-12)
    np.testing.assert_allclose(part.end, winding.at(end), atol=1e-12)
    assert distance_to_path(winding, part.at(np.linspace(0.0, part.duration, 50))) < 3e-3
    assert (part.peaks(1) <= winding.peaks(1) * (1.0 + 1e-6)).all()
