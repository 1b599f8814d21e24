"""Proofs against exact geometry at dense samples, and blends at the corners of paths."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import memetik as mk
from memetik.motion.planning.free_space import BLOCKED, PROVED, UNKNOWN, CheckerSpace, OpenSpace, space_for
from memetik.motion.planning.paths import find_path
from memetik.motion.planning.proofs import certify
from memetik.motion.timing.rest_segments import reduced
from memetik.motion.timing.timing import TimingError, time_path

pytest.importorskip("coal")


@pytest.fixture(scope="module")
def ur5() -> mk.Robot:
    return mk.load_robot("ur5")


@pytest.fixture(scope="module")
def scene() -> mk.Scene:
    scene = mk.Scene()
    scene.add_box("table", (1.6, 1.6, 0.02), mk.transform((0.0, 0.0, -0.1)))
    scene.add_box("post", (0.06, 0.06, 0.8), mk.transform((0.45, 0.0, 0.4)))
    scene.add_sphere("ball", 0.12, mk.transform((-0.3, 0.45, 0.5)))
    return scene


@pytest.fixture(scope="module")
def paths(ur5, scene) -> list[np.ndarray]:
    space = space_for(ur5, scene)
    ready = np.array([-1.0, -1.2, 1.4, -1.7, -1.5, 0.0])
    across = ready + np.array([2.0, 0.2, -0.3, 0.1, 0.0, 0.5])
    behind = ready + np.array([3.4, -0.2, -0.4, 0.0, 0.3, 0.0])
    found = [find_path(space, a, b, timeout=20.0) for a, b in ((ready, across), (across, behind), (behind, ready))]
    assert all(found)
    return [result.points for result in found]


def test_paths_are_free_of_exact_collisions_at_dense_samples(ur5, scene, paths):
    model = mk.CollisionModel(ur5, scene)
    for points in paths:
        for a, b in pairwise(points):
            assert not model.collides(a + np.linspace(0.0, 1.0, 200)[:, None] * (b - a)).any()


def test_timed_paths_are_certified_and_free_at_dense_samples(ur5, scene, paths):
    space, model = space_for(ur5, scene), mk.CollisionModel(ur5, scene)
    for points in paths:
        trajectory = time_path(ur5, points, space=space, timeout=20.0)
        assert certify(trajectory, space)
        assert not model.collides(trajectory.at(np.linspace(0.0, trajectory.duration, 500))).any()


def test_blends_round_corners_off_and_pass_near_them(ur5, scene, paths):
    space = space_for(ur5, scene)
    bent = max(paths, key=len)
    assert len(bent) > 2
    trajectory = time_path(ur5, bent, space=space, timeout=20.0)
    stopping = sum(time_path(ur5, np.stack(pair), timeout=20.0).duration for pair in pairwise(bent))
    assert trajectory.duration < stopping
    jumps = np.abs(np.diff(trajectory.velocity(np.linspace(0.0, trajectory.duration, 20_000)), axis=0)).max()
    assert jumps < 0.05  # no velocity jumps at corners


def test_a_motion_through_something_is_refused_with_when_and_what(ur5, scene):
    space, model = space_for(ur5, scene), mk.CollisionModel(ur5, scene)
    start = np.array([-0.6, -1.0, 1.2, -1.7, -1.5, 0.0])
    goal = start + np.array([1.2, 0, 0, 0, 0, 0])
    assert space.is_free(start)
    assert space.is_free(goal)
    assert not space.edge(start, goal)
    through = time_path(ur5, np.stack([start, goal]))
    proof = certify(through, space)
    assert not proof
    assert 0.0 < proof.time < through.duration
    assert "post" in proof.pair
    assert model.collides(through.at(proof.time))
    with pytest.raises(TimingError, match="cannot be proved free"):
        time_path(ur5, np.stack([start, goal]), method="spline", space=space, timeout=0.5)


def test_fewer_points_stay_free_or_are_refused_with_how_many_would_do(ur5, scene, paths):
    space = space_for(ur5, scene)
    for points in paths:
        trajectory = time_path(ur5, points, space=space, timeout=20.0)
        few = reduced(trajectory, 60, space=space)
        assert len(few) <= 60
        assert certify(few, space)
    with pytest.raises(TimingError, match="2 points are too few to stay free"):
        reduced(time_path(ur5, max(paths, key=len), space=space, timeout=20.0), 2, space=space)


def test_states_tell_proved_unknown_and_blocked_apart(ur5, scene):
    space, model = space_for(ur5, scene), mk.CollisionModel(ur5, scene)
    q = ur5.random(2, 200)
    states = space.states(q, np.full_like(q, 1e-4))
    collides = model.collides(q)
    assert set(states.tolist()) >= {PROVED, BLOCKED}
    assert not collides[states != BLOCKED].any()
    wide = space.states(q, np.full_like(q, 0.5))
    assert (wide == UNKNOWN).sum() > (states == UNKNOWN).sum()
    assert (wide[states == BLOCKED] == BLOCKED).all()


def test_an_external_checker_is_asked_densely_enough_for_every_point(ur5):
    asked: list[np.ndarray] = []

    class Records:
        def collides(self, q: np.ndarray) -> np.ndarray:
            asked.append(np.atleast_2d(q))
            return np.zeros(np.shape(q)[:-1], dtype=bool)

    space = CheckerSpace(ur5, Records())
    a, b = ur5.random(1, 2)
    assert space.edge(a, b)
    order = np.concatenate(asked)
    order = order[np.argsort(np.abs(order - a).sum(axis=1))]
    steps = np.abs(np.diff(order, axis=0))
    assert (space.travel(steps) <= space.step + 1e-12).all()
    assert steps.max() <= space.joint_step + 1e-12
    assert len(np.concatenate(asked)) < 10 * space.travel(np.abs(b - a)) / space.step


def test_a_checker_of_single_configurations_is_asked_one_by_one(ur5):
    class Single:
        def collides(self, q: np.ndarray) -> bool:
            if q.ndim != 1:
                raise TypeError("one configuration at a time")
            return bool(q[0] > 0.5)

    space = CheckerSpace(ur5, Single())
    assert not space.edge(np.zeros(6), np.full(6, 0.6))
    assert space.edge(np.zeros(6), np.full(6, 0.4))


def test_where_nothing_is_everything_is_proved(ur5):
    space = space_for(ur5, None, self_collision=False)
    assert type(space) is OpenSpace
    q = ur5.random(0, 5)
    assert (space.states(q, np.ones_like(q)) == PROVED).all()
    assert space.edge(q[0], q[1])
    assert space.colliding_pair(q[0]) is None
