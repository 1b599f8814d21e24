"""Populations without derivatives: what they offer as answers, and what large ones cost."""

from __future__ import annotations

import time
from dataclasses import fields
from enum import Enum

import numpy as np
import pytest

import memetik as mk
from memetik import _core
from memetik.solve.literature.bio import Bio1, Bio1Ros, Bio2, Pick
from memetik.solve.literature.newton import Jac, Kdl, Lma
from memetik.solve.literature.populations import De, Ga
from memetik.solve.methods import METHODS
from memetik.solve.methods.native import CoreMethod


@pytest.fixture(scope="module")
def reach():
    """An arm whose last joints are free, so that a population spreads over many answers."""
    robot = mk.load_robot("panda")
    problem = mk.Problem(robot, [mk.Position(robot.tip, (0.4, 0.2, 0.5), tolerance=1e-3)])
    return robot, problem


def test_differential_evolution_offers_all_of_a_population_before_it_starts_anew(reach):
    robot, problem = reach
    asked = []

    def valid(q):
        asked.append(np.array(q))
        return False

    method = De(population=30, share=1.0, generations=2000, restarts=False)
    solution = problem.solve(method=method, timeout=20.0, evaluations=500_000, valid=valid)
    assert not solution.success
    assert solution.restarts == 0
    assert len(np.unique(np.round(asked, 12), axis=0)) >= 28
    errors = [np.linalg.norm(robot.pose(robot.tip, q)[:3, 3] - (0.4, 0.2, 0.5)) for q in asked]
    assert max(errors) <= 1e-3
    assert errors == sorted(errors)  # the best first


def test_a_later_individual_is_taken_without_a_restart(reach):
    _, problem = reach
    asked = []

    def valid(q):
        asked.append(q)
        return len(asked) == 7

    solution = problem.solve(method=De(share=0.5, generations=2000), timeout=20.0, valid=valid)
    assert solution.success
    assert solution.restarts == 0
    assert len(asked) == 7


def test_a_population_that_is_used_up_is_followed_by_another_run(reach):
    _, problem = reach
    asked = []

    def valid(q):
        asked.append(q)
        return len(asked) == 40

    method = De(population=16, share=1.0, generations=2000)
    solution = problem.solve(method=method, timeout=20.0, valid=valid)
    assert solution.success
    assert solution.restarts == 2


def test_individuals_that_touch_something_are_followed_by_the_next():
    robot = mk.load_robot("panda")
    scene = mk.Scene()
    scene.add_box("post", size=(0.2, 0.2, 1.0), pose=mk.transform((0.45, 0.0, 0.5)))
    problem = mk.Problem(robot, [mk.Position(robot.tip, (0.3, 0.4, 0.5), tolerance=1e-3)], scene=scene)
    solution = problem.solve(method=De(share=1.0, generations=2000), timeout=20.0, rng=1)
    assert solution.success
    assert not mk.CollisionModel(robot, scene).collides(solution.q)


def test_convergence_of_the_source_does_not_keep_from_narrow_tolerances():
    """The source's 1e-6 is a millimetre: below it the goals decide who has converged."""
    robot = mk.load_robot("ur5")
    assert De().converged == 1e-6
    batch = mk.Problem(robot, [mk.Pose(robot.tip)]).solve(
        robot.pose(robot.tip, robot.random(21, 10)), seed=robot.random(22, 10), method=De(), evaluations=400_000
    )
    assert batch.success.mean() >= 0.8


@pytest.mark.unsanitized
@pytest.mark.parametrize(
    "method",
    [Bio1(population=100_000), Bio1Ros(population=100_000), Ga(population=100_000), Bio1(population=5000, elites=5000)],
)
@pytest.mark.clock
def test_large_populations_do_not_take_the_square_of_their_size(method):
    robot = mk.load_robot("ur5")
    far = robot.pose(robot.tip, robot.random(1))
    far[0, 3] += 10.0
    begin = time.perf_counter()
    mk.Problem(robot, [mk.Pose(robot.tip)]).solve(far, method=method, timeout=0.01)
    assert time.perf_counter() - begin < 1.5


@pytest.mark.unsanitized
@pytest.mark.parametrize("method", [Pick(mode="local"), Pick(), Bio1()])
@pytest.mark.clock
def test_time_is_looked_at_within_a_descent_and_a_generation(method):
    """With a goal in Python a whole descent, and a whole generation, take seconds."""

    class Slow(mk.Goal):
        joints = None

        def residual(self, q, poses):
            end = time.perf_counter() + 5e-5
            while time.perf_counter() < end:
                pass
            return 1.0 + q @ q

    problem = mk.Problem(mk.load_robot("panda"), [Slow()])
    begin = time.perf_counter()
    assert not problem.solve(method=method, timeout=0.05).success
    assert time.perf_counter() - begin < 1.5


def test_class_and_core_have_the_same_parameters():
    """The core has no defaults of its own: what a class forgot would be zero."""
    shared = {"islands", *_core.MethodOptions.field_names, *_core.FitnessOptions.field_names}
    named = {entry.load() for entry in METHODS.values() if issubclass(entry.load(), CoreMethod)}
    for kind in named:
        method = kind()
        own = method.own_options()
        names, known = {f.name for f in fields(method)}, set(own.field_names)
        assert names - shared <= known, kind.__name__
        if kind not in (Jac, Kdl, Lma):  # three methods with one struct
            assert known <= names, kind.__name__
        for name in known & names:
            value = getattr(own, name)
            assert (value.name.rstrip("_") if isinstance(value, Enum) else value) == getattr(method, name)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Bio2(wipeout=1.5), "wipeout"),
        (lambda: Ga(mutation_rate=2.0), "mutation_rate"),
        (lambda: Ga(crossover=1.1), "crossover"),
        (lambda: De(crossover=-0.1), "crossover"),
        (lambda: De(share=1.01), "share"),
    ],
)
def test_chances_above_one_are_refused(make, what):
    with pytest.raises(mk.InvalidInputError, match=what):
        make()


def test_whole_numbers_of_numpy_are_whole_numbers():
    assert Ga(population=np.int64(20), elites=np.int32(2)).own_options().population == 20
    assert Bio2(islands=np.int64(2), wipeout=np.float32(0.5)).core.memetic.islands == 2
    for wrong in (True, np.bool_(True), 2.0, np.float64(3.0)):
        with pytest.raises(mk.InvalidInputError, match="population"):
            Ga(population=wrong)
