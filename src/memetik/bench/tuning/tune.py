"""Tuning: parameters of a method looked for on a scenario by Optuna, and the gain confirmed on other targets.

A try is scored by the mean over targets of the time to an answer, a failure counting as the timeout; or by the number
of evaluations likewise, which depends on nothing but the seeds; or by two objectives at once, the share of failures and
the mean of the solved ones. The method as it is, is always the first try. The best few are measured again side by side
with it, and what then is best, by a rule of RULES, has to prove itself on targets that the search has not seen.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from memetik.bench.report.statistics import LEAST, CostComparison, compare_costs, compare_paired, too_few
from memetik.bench.run.seeding import default_seeding, seeds_of
from memetik.bench.run.worker_pool import WorkerPool
from memetik.bench.tuning.space import Space, goal_space, goals_with
from memetik.errors import InvalidInputError, MissingExtraError, UnknownNameError
from memetik.solve.problem import Problem

if TYPE_CHECKING:
    from optuna import Study

    from memetik.bench.scenarios import Scenario
    from memetik.solve.methods import Method

MEASURES = ("time", "evaluations")
BLOCK = 8
"""Targets of one try before it is the next one's turn, so that what else the machine does falls on all alike."""

TOGETHER = 4
"""Tries that are drawn before any of them is measured: the same on one process and on a cluster."""

RULES = {
    "score": "the least mean cost, a failure counted as the bound",
    "failures": "the fewest failures, and of those the least mean cost of the solved ones",
    "cost": "the least mean cost of the solved ones with no more failures than the default has",
}
"""How one set of parameters is chosen of many."""

FINALISTS = 4
REPEATS = 3
"""How often the best few, and the winner on the other targets, are measured."""


@dataclass(frozen=True)
class Setting:
    """On what, and with which bound, tries are measured.

    scenario  its first `count` targets are for the search, the others to confirm.
    budget    seconds, or evaluations, after which a target counts as not solved.
    """

    scenario: Scenario
    count: int
    measure: str = "time"
    budget: float = 0.1
    rng: int = 0

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise InvalidInputError(f"what is measured is time or evaluations, not {self.measure!r}.")
        if not 0 < self.count < len(self.scenario):
            raise InvalidInputError(
                f"of {len(self.scenario)} targets some must be left to confirm the gain; {self.count} were asked for."
            )
        if not 0.0 < self.budget < math.inf:
            raise InvalidInputError(f"the bound of a try must be positive, not {self.budget!r}.")

    @property
    def held_out(self) -> range:
        return range(self.count, len(self.scenario))

    def problem(self, changes: Mapping[str, Any]) -> Problem:
        """The scenario's problem with goals changed as "GOAL.weight" and the like say; made once for each."""
        if not changes:
            return self.scenario.problem
        kept, key = self.__dict__.setdefault("_problems", {}), tuple(sorted(changes.items()))
        if key not in kept:
            made, goals = self.scenario, goals_with(self.scenario.problem, changes)
            kept.clear()
            kept[key] = Problem(made.robot, goals, scene=made.scene, self_collision=made.self_collision)
        return kept[key]

    def seeds(self, repeat: int) -> np.ndarray:
        """Where methods start at each target, (N, dof)."""
        kept = self.__dict__.setdefault("_seeds", {})
        if repeat not in kept:
            kept[repeat] = seeds_of(self.scenario, default_seeding(self.scenario), repeat, self.rng)
        return kept[repeat]


@dataclass(frozen=True)
class Try:
    """Parameters and what came of them: the cost (N,) for each target and whether it was solved (N,)."""

    parameters: Mapping[str, Any]
    costs: np.ndarray
    solved: np.ndarray

    @property
    def score(self) -> float:
        """The mean cost, failures counted with the whole budget."""
        return float(self.costs.mean())

    @property
    def failures(self) -> float:
        return float(1.0 - self.solved.mean())

    @property
    def cost_of_solved(self) -> float:
        return float(self.costs[self.solved].mean()) if self.solved.any() else math.inf


@dataclass(frozen=True)
class Confirmation:
    """The default against the tuned parameters on targets that the search has not seen, judged by the rule by which
    they were chosen."""

    default: Try
    tuned: Try
    rule: str = "score"

    @property
    def is_same(self) -> bool:
        """Whether nothing better than the default was found to begin with."""
        return self.default.parameters == self.tuned.parameters

    @property
    def costs(self) -> CostComparison:
        """Tuned (first) against default: of all targets, or by the rule "cost" of those that both solved."""
        both = self.default.solved & self.tuned.solved if self.rule == "cost" else slice(None)
        return compare_costs(self.tuned.costs[both], self.default.costs[both])

    @property
    def verdict(self) -> Literal["better", "worse", "noise", "few", "same"]:
        """What the tuned parameters are; few: too few targets to tell; same: they are the default's."""
        if self.is_same:
            return "same"
        solved = compare_paired(self.tuned.solved, self.default.solved)
        if solved.count < LEAST:
            return "few"
        if self.rule != "score" and not solved.is_noise:
            if solved.difference < 0.0:
                return "worse"
            if self.rule == "failures":
                return "better"
        return {"first": "better", "second": "worse", "noise": "noise", "few": "few"}[self.costs.verdict]  # type: ignore[return-value]

    @property
    def kept(self) -> Try:
        """What a preset should hold: the tuned parameters where they measured at least as well, else the default."""
        tuned, default = (rank(self.rule, one, self.default) for one in (self.tuned, self.default))
        return self.tuned if self.verdict != "worse" and tuned <= default else self.default

    def sentence(self, unit: str, factor: float) -> str:
        """The outcome in plain words; costs times `factor` are in `unit`."""
        if self.is_same:
            return f"Nothing better than the default was found; it needs {factor * self.default.score:.3g} {unit}."
        costs = self.costs
        numbers = (
            f"{factor * costs.second:.3g} {unit} and {self.default.failures:.1%} failures by default, "
            f"{factor * costs.first:.3g} {unit} and {self.tuned.failures:.1%} tuned"
        )
        about = f"on {len(self.default.costs)} targets that the search has not seen: {numbers}"
        match self.verdict:
            case "better":
                low, high = factor * costs.low, factor * costs.high
                return f"Confirmed {about} (95 %: {low:.3g} to {high:.3g} {unit} less per target)."
            case "worse":
                return f"Not confirmed: the tuned parameters are worse than the default {about}."
            case "few":
                return f"Not confirmed {about}; {too_few(costs.count)}."
        return f"Not confirmed: the tuned parameters are as good as the default, within noise, {about}."


@dataclass(frozen=True)
class Tuning:
    """What a search found: all tries in order (the default first), the best parameters, and the confirmation.

    importances: by objective how much each parameter decides of it, adding up to one.
    """

    method: Method
    setting: Setting
    space: Space
    tries: tuple[Try, ...]
    best: Mapping[str, Any]
    importances: Mapping[str, Mapping[str, float]]
    confirmation: Confirmation
    two_objectives: bool
    rule: str = "score"

    @property
    def tuned(self) -> Method:
        """The method with the best parameters."""
        return replace(self.method, **of_method(self.best))  # type: ignore[type-var]

    @property
    def kept(self) -> Method:
        """The method with the parameters that are worth keeping; see `Confirmation.kept`."""
        return replace(self.method, **of_method(self.confirmation.kept.parameters))  # type: ignore[type-var]

    @property
    def front(self) -> list[int]:
        """Numbers of the tries that no other beats in failures and in the cost of the solved ones, by failures."""
        return pareto_front([(one.failures, one.cost_of_solved) for one in self.tries])


def of_method(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are the method's own, not a goal's."""
    return {name: value for name, value in parameters.items() if "." not in name}


def of_goals(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the scenario's goals: "GOAL.weight"."""
    return {name: value for name, value in parameters.items() if "." in name}


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Numbers of the points that no other is as good as in one and better in the other; one of equal points."""
    best, front = math.inf, []
    for k in sorted(range(len(points)), key=lambda k: points[k]):
        if points[k][1] < best:
            best = points[k][1]
            front.append(k)
    return front or [0]


def tune(
    method: Method,
    setting: Setting,
    space: Space,
    *,
    trials: int = 50,
    two_objectives: bool = False,
    rule: str = "score",
    workers: WorkerPool | None = None,
    progress: Callable[[int], None] | None = None,
) -> Tuning:
    """Looks for better parameters of a method.

    trials    tries in all, the default included.
    rule      of RULES, by which the best is chosen.
    progress  called with the number of tries that are done.
    """
    optuna = _optuna()
    if trials < 1:
        raise InvalidInputError(f"at least one try is needed, not {trials}.")
    if rule not in RULES:
        raise UnknownNameError("rule", rule, "RULES", RULES)
    workers = workers or WorkerPool()
    study = optuna.create_study(
        directions=["minimize"] * (2 if two_objectives else 1),
        sampler=optuna.samplers.TPESampler(seed=setting.rng, n_startup_trials=max(8, trials // 5)),
    )
    _, stated = goal_space(setting.scenario.problem, of_goals(space))
    default = {name: stated[name] if name in stated else getattr(method, name) for name in space}
    study.enqueue_trial(default)
    tries: list[Try] = []
    numbers = range(setting.count)
    _measured(method, setting, [default], numbers[:BLOCK], 0, workers)  # the first try must not pay for a cold start
    while len(tries) < trials:
        # The first one alone: its answer is what all others are compared with.
        asked = [study.ask() for _ in range(min(TOGETHER, trials - len(tries)) if tries else 1)]
        drawn = [{name: found.suggest(trial, name) for name, found in space.items()} for trial in asked]
        for trial, one in zip(asked, _measured(method, setting, drawn, numbers, 0, workers), strict=True):
            worst = setting.budget if math.isinf(one.cost_of_solved) else one.cost_of_solved
            study.tell(trial, [one.failures, worst] if two_objectives else one.score)
            tries.append(one)
        if progress is not None:
            progress(len(asked))
    best = _winner(method, setting, tries, default, rule, workers)
    default_again, best_again = _repeated(method, setting, [default, best], setting.held_out, workers)
    objectives = ("failures", "cost of the solved") if two_objectives else ("score",)
    importances = {name: _importances(study, k) for k, name in enumerate(objectives)}
    return Tuning(
        method, setting, space, tuple(tries), best, importances, Confirmation(default_again, best_again, rule),
        two_objectives, rule,
    )  # fmt: skip


def measure(setting: Setting, item: tuple[Any, int, int, bool, Mapping[str, Any]]) -> tuple[float, bool]:
    """The cost of a method on a target and whether it solved it.

    item: the method, the target's number, `repeat`, which counts the random numbers on, whether to warm up before, and
    what is changed of the goals. An answer is judged by the goals as they were: tolerances do not change.
    """
    method, number, repeat, warm, changes = item
    scenario, seed, problem = setting.scenario, setting.seeds(repeat)[number], setting.problem(changes)
    options: dict[str, Any] = {"seed": seed, "method": method, "rng": (setting.rng + 7919 * repeat, number)}
    if setting.measure == "time":
        options["timeout"] = setting.budget
    else:
        options["evaluations"] = int(setting.budget)
    if warm:
        problem.solve(*scenario.of(number), **options)
    found = problem.solve(*scenario.of(number), **options)
    cost = found.time if setting.measure == "time" else float(found.evaluations)
    solved = found.success and cost <= 1.1 * setting.budget
    return (min(cost, setting.budget) if solved else setting.budget), solved


def _measured(
    method: Method,
    setting: Setting,
    drawn: Sequence[Mapping[str, Any]],
    numbers: Sequence[int],
    repeat: int,
    workers: WorkerPool,
) -> list[Try]:
    """Several sets of parameters on the same targets, in turns. Impossible ones count as never solved."""
    methods = [_made(method, parameters) for parameters in drawn]
    places, sizes = [], []
    for block, begin in enumerate(range(0, len(numbers), BLOCK)):
        own = range(begin, min(begin + BLOCK, len(numbers)))
        for turn in range(len(drawn)):
            # Who begins changes: the second at a target finds the processor's caches filled by the first.
            which = (turn + block + repeat) % len(drawn)
            if methods[which] is not None:
                places += [(which, place) for place in own]
                sizes.append(len(own))
    goals = [of_goals(parameters) for parameters in drawn]
    items = [(methods[which], numbers[place], repeat, place % BLOCK == 0, goals[which]) for which, place in places]
    costs = np.full((len(drawn), len(numbers)), float(setting.budget))
    solved = np.zeros((len(drawn), len(numbers)), dtype=bool)
    for k, (cost, success) in workers.map(measure, setting, items, together=sizes):
        costs[places[k]], solved[places[k]] = cost, success
    return [Try(dict(parameters), costs[k], solved[k]) for k, parameters in enumerate(drawn)]


def _repeated(
    method: Method, setting: Setting, drawn: Sequence[Mapping[str, Any]], numbers: Sequence[int], workers: WorkerPool
) -> list[Try]:
    """As `_measured`, REPEATS times: the mean cost of each target, solved where most repeats did."""
    rounds = [_measured(method, setting, drawn, numbers, repeat, workers) for repeat in range(1, REPEATS + 1)]
    return [
        Try(
            rounds[0][k].parameters,
            np.mean([one[k].costs for one in rounds], axis=0),
            np.mean([one[k].solved for one in rounds], axis=0) > 0.5,
        )
        for k in range(len(drawn))
    ]


def _winner(
    method: Method, setting: Setting, tries: Sequence[Try], default: Mapping[str, Any], rule: str, workers: WorkerPool
) -> Mapping[str, Any]:
    """The best of the best few, measured again beside the default: one lucky measurement is not enough."""
    chosen: list[Mapping[str, Any]] = [default]
    for one in sorted(tries[1:], key=lambda one: rank(rule, one, tries[0])):
        if one.parameters not in chosen and len(chosen) <= FINALISTS:
            chosen.append(one.parameters)
    measured = _repeated(method, setting, chosen, range(setting.count), workers)
    return min(measured, key=lambda one: rank(rule, one, measured[0])).parameters


def rank(rule: str, one: Try, default: Try) -> tuple[float, ...]:
    """What a rule looks at, the least first."""
    if rule == "score":
        return (one.score,)
    if rule == "failures":
        return one.failures, one.cost_of_solved
    return max(one.failures - default.failures, 0.0), one.cost_of_solved


def _made(method: Method, parameters: Mapping[str, Any]) -> Method | None:
    try:
        return replace(method, **of_method(parameters))  # type: ignore[type-var]
    except InvalidInputError:
        return None


def _importances(study: Study, objective: int) -> dict[str, float]:
    """How much each parameter decides of an objective, adding up to one; empty where too few tries tell."""
    optuna = _optuna()
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # equal importances tell by themselves that nothing is known
            return dict(
                optuna.importance.get_param_importances(
                    study, evaluator=evaluator, target=lambda trial: trial.values[objective]
                )
            )
    except (ValueError, RuntimeError, ZeroDivisionError):
        return {}


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("optuna", "bench", "tuning") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
