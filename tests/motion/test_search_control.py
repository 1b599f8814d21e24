"""Searches for paths that are cancelled, interrupted, bounded by work, or run side by side."""

from __future__ import annotations

import os
import signal
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

import memetik as mk
from memetik import _core
from memetik.errors import InvalidInputError
from memetik.motion.planning.free_space import CheckerSpace, space_for
from memetik.motion.planning.paths import find_path

A, B = np.array([-1.0, 0.0]), np.array([1.0, 0.0])


class Walled:
    """No way across."""

    def collides(self, q: np.ndarray) -> np.ndarray:
        return np.abs(np.asarray(q)[..., 0]) < 0.1


@pytest.fixture
def closed() -> mk.Scene:
    """A wall at x = 0 from one end of the gantry to the other."""
    scene = mk.Scene()
    scene.add_box("wall", (0.1, 9.0, 0.2), mk.transform((0.0, 0.0, 0.0)))
    return scene


@pytest.fixture
def gap() -> mk.Scene:
    """A wall at x = 0 with a gap above y = 0.5."""
    scene = mk.Scene()
    scene.add_box("wall", (0.1, 3.0, 0.2), mk.transform((0.0, -1.0, 0.0)))
    return scene


def soon(act) -> threading.Thread:
    thread = threading.Timer(0.1, act)
    thread.start()
    return thread


@pytest.mark.parametrize("with_checker", [False, True])
def test_a_flag_set_by_another_thread_ends_a_search_at_once(gantry, closed, with_checker):
    space = CheckerSpace(gantry, Walled()) if with_checker else space_for(gantry, closed)
    stop = mk.StopFlag()
    begin = time.perf_counter()
    thread = soon(stop.set)
    found = find_path(space, A, B, timeout=60.0, stop=stop)
    thread.join()
    assert time.perf_counter() - begin < 20.0
    assert (found.success, found.reason) == (False, "cancelled")
    assert stop.is_set()


def test_a_cancelled_plan_says_so(gantry, closed):
    stop = mk.StopFlag()
    stop.set()
    plan = mk.plan(gantry, B, scene=closed, start=A, path_timeout=60.0, stop=stop)
    assert (plan.success, plan.stage, plan.reason) == (False, "path", "cancelled")


def test_an_interrupt_from_the_keyboard_ends_a_search(gantry, closed):
    space = space_for(gantry, closed)
    thread = soon(lambda: os.kill(os.getpid(), signal.SIGINT))
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        find_path(space, A, B, timeout=60.0)
    thread.join()
    assert time.perf_counter() - begin < 20.0


def request(gantry: mk.Robot, **changes) -> _core.PathRequest:
    stated = {"start": A, "goals": B, "lower": gantry.lower, "upper": gantry.upper, "weights": np.ones(2)}
    return _core.PathRequest(**stated, seconds=60.0, **changes)


def test_a_search_ends_at_its_bound_of_work_after_the_same_samples(gantry, closed):
    space = space_for(gantry, closed)
    ends = [space.search_path(request(gantry, checks=3000)) for _ in range(2)]
    assert [end.end for end in ends] == [_core.PlannerEnd.out_of_time] * 2
    assert ends[0].samples == ends[1].samples > 0
    assert ends[0].checks + ends[0].samples < 6000


def test_tries_take_twice_as_much_work_each(gantry, closed):
    space = space_for(gantry, closed)
    few = space.search_path(request(gantry, checks=7000, first_try=1000))
    assert few.tries == 3  # 1000, 2000 and 4000


def test_searches_on_two_threads_find_what_each_finds_alone(gantry, gap):
    space = space_for(gantry, gap)
    alone = [find_path(space, A, B, rng=rng, timeout=60.0).points for rng in range(6)]
    beside: dict[int, np.ndarray] = {}
    threads = [
        threading.Thread(target=lambda r=rng: beside.update({r: find_path(space, A, B, rng=r, timeout=60.0).points}))
        for rng in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rng, points in enumerate(alone):
        np.testing.assert_array_equal(beside[rng], points)


def test_a_batch_of_plans_is_what_single_plans_are(gantry, gap):
    planner = mk.Planner(gantry, scene=gap)
    starts = np.array([[-1.0, 0.0], [-1.5, -1.0], [0.5, 0.0]])
    plans = planner.plan_batch(start=starts, goal=B, threads=2, path_timeout=60.0)
    assert len(plans) == 3
    for start, plan in zip(starts, plans, strict=True):
        single = planner.plan(start=start, goal=B, path_timeout=60.0)
        assert plan.success
        np.testing.assert_array_equal(plan.path, single.path)
        np.testing.assert_array_equal(plan.trajectory.times, single.trajectory.times)


def test_a_batch_takes_targets_of_goals(elbow):
    rows = np.array([[0.4, 1.0], [-0.3, 0.8]])
    places = elbow.pose("hand", rows)[:, :3, 3]
    plans = mk.Planner(elbow, [mk.Position("hand")]).plan_batch(places, start=np.array([0.1, 0.5]))
    for place, plan in zip(places, plans, strict=True):
        assert plan.success
        np.testing.assert_allclose(elbow.pose("hand", plan.goal)[:3, 3], place, atol=1e-4)


def test_a_batch_whose_parts_differ_in_number_is_refused(gantry):
    with pytest.raises(InvalidInputError, match=r"as many starts as goals and targets, not \[2, 3\]"):
        mk.Planner(gantry).plan_batch(start=np.zeros((2, 2)), goal=np.zeros((3, 2)))


def test_a_path_around_a_corner_is_nearly_as_short_as_can_be(gantry, gap):
    points = find_path(space_for(gantry, gap), A, B, timeout=60.0).points
    # Over the wall's end at y = 0.5, for a ball of radius 0.05: at y = 0.55 from x = -0.05 to 0.05, and corners.
    shortest = 2.0 * np.hypot(0.95, 0.55) + 0.1
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).sum() < 1.15 * shortest
    assert all(not np.array_equal(a, b) for a, b in pairwise(points))
