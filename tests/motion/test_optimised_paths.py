"""Paths that become shorter the longer it may take: never longer, always proved, told of, and ended from outside."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.planning.free_space import CheckerSpace, space_for
from memetik.motion.planning.paths import find_path

A, B = np.array([-1.0, 0.0]), np.array([1.0, 0.0])
RADIUS = 0.05
"""Metres, of the gantry's ball."""


class Walled:
    """A wall at x = 0 that ends at y = 0.5, for a point."""

    def collides(self, q: np.ndarray) -> np.ndarray:
        q = np.asarray(q)
        return (np.abs(q[..., 0]) < 0.05) & (q[..., 1] < 0.5)


@pytest.fixture
def gap() -> mk.Scene:
    """A wall at x = 0 with a gap above y = 0.5."""
    scene = mk.Scene()
    scene.add_box("wall", (0.1, 3.0, 0.2), mk.transform((0.0, -1.0, 0.0)))
    return scene


def length(points: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def shortest() -> float:
    """From A to B over a wall of half thickness 0.05 that ends at 0.5: tangents, arcs about its edges, its top."""
    far = np.hypot(0.95, 0.5)
    turn = np.arctan2(0.5, 0.95) + np.arcsin(RADIUS / far)
    return 2.0 * (np.sqrt(far**2 - RADIUS**2) + RADIUS * turn) + 0.1


@pytest.mark.parametrize("seed", range(3))
def test_the_shortest_way_is_found_that_a_closed_form_tells(gantry, gap, seed):
    space = space_for(gantry, gap)
    first = find_path(space, A, B, rng=seed)
    found = find_path(space, A, B, rng=seed, optimise=1.0)
    assert length(found.points) <= length(first.points)
    assert shortest() <= length(found.points) <= 1.02 * shortest()


def test_a_checker_of_ones_own_is_asked_too(gantry):
    space = CheckerSpace(gantry, Walled())
    first = find_path(space, A, B, timeout=20.0)
    found = find_path(space, A, B, timeout=20.0, optimise=0.3)
    assert first.success
    assert found.success
    assert length(found.points) <= length(first.points)


def test_every_shorter_path_is_told_and_the_last_is_proved(gantry, gap):
    space = space_for(gantry, gap)
    first = find_path(space, A, B)
    told: list[tuple[float, float]] = []
    found = find_path(space, A, B, optimise=0.3, progress=lambda seconds, at: told.append((seconds, at)))
    lengths = [at for _, at in told]
    assert lengths == sorted(set(lengths), reverse=True)
    assert all(0.0 <= seconds < 5.0 for seconds, _ in told)
    assert length(found.points) < length(first.points)
    assert all(space.edge(a, b) for a, b in zip(found.points[:-1], found.points[1:], strict=True))


def test_a_plan_is_optimised_by_the_same_word(gantry, gap):
    first = mk.plan(gantry, B, scene=gap, start=A)
    better = mk.plan(gantry, B, scene=gap, start=A, optimise=0.2)
    assert first.success
    assert better.success
    assert better.length <= first.length
    assert any("shorter" in line for line in better.tried)


def test_a_flag_ends_it_with_the_best_path_so_far(gantry, gap):
    stop = mk.StopFlag()
    thread = threading.Timer(0.1, stop.set)
    thread.start()
    begin = time.perf_counter()
    plan = mk.plan(gantry, B, scene=gap, start=A, optimise=600.0, stop=stop)
    thread.join()
    assert plan.success
    assert time.perf_counter() - begin < 60.0


def test_what_progress_raises_is_raised(gantry, gap):
    def fail(seconds: float, at: float) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        mk.plan(gantry, B, scene=gap, start=A, optimise=5.0, progress=fail)


def test_a_straight_motion_cannot_become_shorter(gantry):
    begin = time.perf_counter()
    plan = mk.plan(gantry, B, start=A, optimise=600.0)
    assert plan.success
    assert plan.length == pytest.approx(2.0)
    assert time.perf_counter() - begin < 60.0


@pytest.mark.parametrize("seconds", [-1.0, np.inf, np.nan])
def test_seconds_must_be_a_bounded_number(gantry, seconds):
    with pytest.raises(InvalidInputError, match="optimise= is in seconds"):
        mk.plan(gantry, B, start=A, optimise=seconds)
