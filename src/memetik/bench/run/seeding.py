"""Where solvers start from: the same configuration for all, drawn anew for each target and trial where it is random."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from memetik.bench.scenarios.scenario import REACHABLE, Scenario
from memetik.errors import InvalidInputError, MemetikError, suggest
from memetik.goals.direction import AlignAxis
from memetik.goals.pose import Position
from memetik.solve.problem import Problem

SEEDINGS = {
    "random": "a random configuration",
    "middle": "the middle of the limits",
    "given": "the scenario's own configuration for the target",
    "straight": "the tool straight, in front of the opening where there is one",
    "another": "a configuration that solves another target",
    "keep": "a random configuration, kept after a rejected candidate instead of drawing another",
    "follow": "in streams: the solver's own last verified answer, the scenario's configuration at a stream's beginning",
}
"""Seed strategies by name."""


FOLLOW = "follow"


Freedom = Sequence[tuple[str, float]]
"""Joints that seeds leave free, each with a share from 0 (as the strategy says) to 1 (random); others are held."""


def seeds_of(scenario: Scenario, seeding: str, trial: int, seed: int = 0, free: Freedom = ()) -> np.ndarray:
    """The configurations (N, dof) from which solvers start in a trial.

    With "follow" those of the scenario: a solver that gives its own answers on starts from one at the beginnings only.
    """
    check_seeding(scenario, seeding, free)
    seeds = _STRATEGIES[seeding](scenario, np.random.default_rng((seed, trial, 2)))
    if not free:
        return seeds
    return freed(scenario, seeds, free, np.random.default_rng((seed, trial, 4)))


def freed(scenario: Scenario, seeds: np.ndarray, free: Freedom, rng: np.random.Generator) -> np.ndarray:
    """Seeds (N, dof) or (dof,) with each free joint moved by its share of the way to a random value."""
    shares = np.zeros(scenario.robot.dof)
    for joint, share in free:
        shares[scenario.robot.joint_index(joint)] = share
    drawn = scenario.robot.random(rng, len(seeds)) if seeds.ndim == 2 else scenario.robot.random(rng)
    return seeds + shares * (drawn - seeds)


def check_seeding(scenario: Scenario, seeding: str, free: Freedom = ()) -> None:
    """Raises where there is no such strategy, or the scenario does not have what it needs."""
    for joint, share in free:
        scenario.robot.joint_index(joint)
        if not 0.0 <= share <= 1.0:
            raise InvalidInputError(f"the share of joint {joint!r} is from 0, held, to 1, free, not {share!r}.")
    if seeding not in SEEDINGS:
        raise InvalidInputError(f"seeding {seeding!r} is unknown; {suggest(seeding, SEEDINGS)}")
    known = int((scenario.reachable == REACHABLE).sum())
    if seeding == "another" and known < 2:
        raise InvalidInputError(
            f"seeding 'another' needs two targets of {scenario.name!r} with known configurations; it has {known}."
        )
    if seeding == FOLLOW and "stream" not in scenario.metadata:
        raise InvalidInputError(
            f"seeding 'follow' is for streams, as scenario 'Track' has them; not {scenario.name!r}."
        )


def default_seeding(scenario: Scenario) -> str:
    """The strategy of a scenario where the user names none."""
    return scenario.metadata.get("seeding", "random")


def _random(scenario: Scenario, rng: np.random.Generator) -> np.ndarray:
    return scenario.robot.random(rng, len(scenario))


def _middle(scenario: Scenario, rng: np.random.Generator) -> np.ndarray:
    return np.repeat(np.array(scenario.robot.neutral)[None], len(scenario), axis=0)


def _given(scenario: Scenario, rng: np.random.Generator) -> np.ndarray:
    return scenario.seeds


def stream_begins(scenario: Scenario) -> np.ndarray:
    """Which targets (N,) begin a stream: those whose given seed does not reach the target before."""
    begins = np.ones(len(scenario), dtype=bool)
    begins[1:] = (scenario.seeds[1:] != scenario.known_solutions[:-1]).any(axis=1)
    return begins


def _straight(scenario: Scenario, rng: np.random.Generator) -> np.ndarray:
    return np.repeat(straight_configuration(scenario)[None], len(scenario), axis=0)


def _another(scenario: Scenario, rng: np.random.Generator) -> np.ndarray:
    known = np.flatnonzero(scenario.reachable == REACHABLE)
    chosen = rng.choice(known, len(scenario))
    same = chosen == np.arange(len(scenario))
    chosen[same] = known[(np.searchsorted(known, chosen[same]) + 1) % len(known)]
    return scenario.known_solutions[chosen]


_STRATEGIES: dict[str, Callable[[Scenario, np.random.Generator], np.ndarray]] = {
    "random": _random,
    "middle": _middle,
    "given": _given,
    "straight": _straight,
    "another": _another,
    "keep": _random,
    "follow": _given,
}


def straight_configuration(scenario: Scenario) -> np.ndarray:
    """The robot's state "straight" (the middle of the limits where it has none), and where the scene has an opening,
    the arm placed such that the straight tool has entered it by 10 cm along its axis."""
    robot = scenario.robot
    try:
        state = next(s for s in robot.description.semantics.states if s.name == "straight")
    except StopIteration:
        return np.array(robot.neutral)
    configuration = robot.state("straight", state.group, default=robot.neutral)
    opening = scenario.metadata.get("opening")
    if opening is None:
        return configuration
    axis = np.asarray(opening["axis"])
    goals = [Position(scenario.link), AlignAxis(scenario.link, axis="z")]
    try:
        problem = Problem(robot, goals, scene=scenario.scene, fixed={name: v[0] for name, v in state.values.items()})
        found = problem.solve(np.asarray(opening["centre"]) + 0.1 * axis, axis, seed=configuration, evaluations=100_000)
    except MemetikError:
        return configuration
    return found.q if found.success else configuration
