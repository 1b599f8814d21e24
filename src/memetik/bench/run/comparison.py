"""One scenario, several solvers, in turns: each asked in its own process, each answer checked by separate code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memetik.bench.peers.answer import Answer, BadAnswer, read_answer
from memetik.bench.peers.process import SolverFailure, SolverProcess
from memetik.bench.peers.registry import Solver
from memetik.bench.peers.task import ChainTask, Task, Unsupported, WholeTask, task_data
from memetik.bench.run.seeding import FOLLOW, freed, seeds_of, stream_begins
from memetik.bench.run.soft_costs import soft_cost
from memetik.bench.run.store import Attempt, Result
from memetik.bench.run.verification import Verifier
from memetik.bench.scenarios.scenario import Scenario
from memetik.files.atomic import temporary_folder
from memetik.robot.manipulability import manipulability

BLOCK = 20
"""Targets of one solver before it is the next one's turn."""

WARM_UP = 2
"""Solves after a solver got ready that are not recorded; one short one more at the beginning of each turn."""

PREPARATION = 60.0
"""Seconds that a solver may take to get ready."""

FIRST_SOLVE = 20.0
"""Seconds beyond the timeout for the first solve of a process: some solvers import or compile only then. One that has
used them up without an answer does not get them again."""

PATIENCE = 5
"""Processes lost in a row after which a solver is not asked any more in this scenario and trial."""

SPIN_SHARE = 0.1
"""Share of the time that a solver of poses gets for one spin where the scenario leaves it free."""

REPEATS, FAIR_SHARE = 2, 0.7
"""How often a solver is asked again that failed while it had the core for less than this share of its time."""

ASKING = (2.0, 0.02)
"""Times the timeout, and seconds, after which a target is not asked again, on the runner's clock: a solver that takes
no time for an answer must not take ours."""


@dataclass(frozen=True)
class Settings:
    """How solvers are asked.

    timeout      seconds for a target.
    seeding      where they start: one of `SEEDINGS`.
    rejection    whether solvers that do not look at the scene are asked again after a colliding answer. Without it
                 memetik's own methods search once, too: their first candidate is their answer or none.
    seed         of all random numbers.
    evaluations  bounds the work of memetik's methods instead of the time, so that results are the same anywhere.
    grace        seconds after the timeout at which a solver's process is ended.
    memory       bytes that a solver's process may use.
    log          whether every attempt is kept: its time, its contacts, what became of it.
    free         joints whose seeds are drawn anew, each by a share, while the others stay as the strategy says; after
                 a rejected candidate likewise.
    """

    timeout: float = 0.1
    seeding: str = "random"
    rejection: bool = True
    seed: int = 0
    evaluations: int | None = None
    grace: float = 1.0
    memory: int = 4_000_000_000
    log: bool = False
    free: tuple[tuple[str, float], ...] = ()

    @property
    def recorded(self) -> dict[str, Any]:
        """What tells one run from another, besides timeout and seeding."""
        own = {"rejection": self.rejection, "seed": self.seed, "evaluations": self.evaluations}
        return own | ({"free": dict(self.free)} if self.free else {})


class SolverProcesses:
    """The solvers' processes, which live from one comparison to the next. `core`: the core they all stay on."""

    def __init__(self, core: int | None = None):
        self.core = core
        self._processes: dict[Any, SolverProcess] = {}
        self._resources = ExitStack()
        self.folder = self._resources.enter_context(temporary_folder())
        """For files that the processes read."""

    def process(self, solver: Solver, memory: int) -> SolverProcess:
        key = (solver.label, solver.command)
        if key not in self._processes:
            self._processes[key] = SolverProcess(solver.command, core=self.core, memory=memory)
        return self._processes[key]

    def close(self) -> None:
        for process in self._processes.values():
            process.close()
        self._processes.clear()
        self._resources.close()

    def __enter__(self) -> SolverProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Comparison:
    """Solvers on one scenario with one set of settings."""

    def __init__(self, scenario: Scenario, solvers: Sequence[Solver], settings: Settings, processes: SolverProcesses):
        self.scenario, self.settings = scenario, settings
        self.verifier = Verifier(scenario.robot, scenario.goals, scenario.scene, self_collision=scenario.self_collision)
        self.solver_runs = [SolverRun(self, solver, processes) for solver in solvers]
        self._trial, self._seeds = -1, np.empty((0, scenario.robot.dof))
        self._latest: SolverRun | None = None
        self._begins = stream_begins(scenario) if settings.seeding == FOLLOW else np.ones(len(scenario), dtype=bool)
        self._answers: list[dict[int, np.ndarray]] = [{} for _ in self.solver_runs]
        """Of each solver in the current trial, by target: verified configurations, where the next target starts."""

    def run(
        self, numbers: Sequence[int], trial: int, wanted: Callable[[int, int], bool] = lambda solver_run, number: True
    ) -> Iterator[tuple[int, Result]]:
        """Yields (number of the solver, result) for each target in `numbers` that is `wanted`.

        Solvers take turns, as `turns` has it.
        """
        blocks = blocks_of(self.scenario, self.settings.seeding, numbers)
        for block in turns(len(self.solver_runs), blocks, trial, wanted):
            for which, number in block:
                result = self.ask(which, number, trial)
                if result is not None:
                    yield which, result

    def ask(self, which: int, number: int, trial: int) -> Result | None:
        """A solver's result on a target, after a short one to warm it up if it is the first of its turn.

        None where it cannot take part.
        """
        solver_run = self.solver_runs[which]
        self.begin(trial)
        first, self._latest = self._latest is not solver_run, solver_run
        if solver_run.unsupported is not None:
            return None
        result = solver_run.answer(number, trial, self._seed(which, number), first)
        if result is not None and result.verified and result.q is not None:
            self._answers[which][number] = result.q
        return result

    def begin(self, trial: int) -> None:
        """Forgets the trial before."""
        if self._trial == trial:
            return
        self._trial, self._latest = trial, None
        settings = self.settings
        self._seeds = seeds_of(self.scenario, settings.seeding, trial, settings.seed, settings.free)
        for solver_run, answers in zip(self.solver_runs, self._answers, strict=True):
            solver_run.lost = 0
            answers.clear()

    def restore_answers(self, which: int, trial: int, answers: Mapping[int, np.ndarray]) -> None:
        """Verified configurations that a solver has given in this trial before, by target."""
        self.begin(trial)
        self._answers[which].update(answers)

    def _seed(self, which: int, number: int) -> np.ndarray:
        """Where a solver starts; within a stream from its own last verified answer."""
        while not self._begins[number]:
            number -= 1
            if number in self._answers[which]:
                return self._answers[which][number]
        return self._seeds[number]


def blocks_of(scenario: Scenario, seeding: str, numbers: Sequence[int]) -> list[list[int]]:
    """The targets of one turn each: some, or a whole stream where a solver follows its own answers."""
    begins = stream_begins(scenario) if seeding == FOLLOW else None
    blocks: list[list[int]] = []
    for k in numbers:
        if not blocks or (len(blocks[-1]) == BLOCK if begins is None else begins[k]):
            blocks.append([])
        blocks[-1].append(k)
    return blocks


def turns(
    count: int, blocks: Sequence[Sequence[int]], trial: int, wanted: Callable[[int, int], bool]
) -> Iterator[list[tuple[int, int]]]:
    """Who is asked what: the (solver, target) that are `wanted`, in order, for each block of targets.

    Within a block one solver does all its targets after the other; who begins changes with every block.
    """
    for turn, block in enumerate(blocks):
        order = [(turn + trial + place) % count for place in range(count)]
        yield [(which, k) for which in order for k in block if wanted(which, k)]


class SolverRun:
    """A solver in a comparison: its process, what it was told, how often its process was lost."""

    def __init__(self, comparison: Comparison, solver: Solver, processes: SolverProcesses):
        self.comparison, self.solver = comparison, solver
        self.process = processes.process(solver, comparison.settings.memory)
        self.unsupported: str | None = None
        self.lost = 0
        self._prepared_start = -1
        self._task: Task | None = None
        try:
            whole = solver.whole
            self._task = WholeTask(comparison.scenario, processes.folder) if whole else ChainTask(comparison.scenario)
        except Unsupported as error:
            self.unsupported = str(error)

    def prepare(self, warm: bool = True) -> str | None:
        """Gets the solver ready; the reason where it cannot take part. SolverFailure where its process is lost."""
        if self.unsupported is not None or self._is_ready():
            return self.unsupported
        settings, solver = self.comparison.settings, self.solver
        assert self._task is not None
        parameters = dict(solver.parameters)
        if settings.evaluations is not None and solver.origin == "method":
            parameters["evaluations"] = settings.evaluations
        if not settings.rejection and solver.origin == "method":
            parameters["attempts"] = 1
        data = task_data(self._task, settings.timeout, parameters)
        answer = self.process.ask({"do": "prepare", "task": data}, PREPARATION)
        if "memory" in answer:
            raise SolverFailure("memory", "it ran out of memory while it got ready")
        if "error" in answer:
            raise SolverFailure("error", f"it could not get ready: {answer['error']}")
        self.unsupported = answer.get("unsupported")
        self._prepared_start, self.process.prepared_for = self.process.starts, self
        if warm and self.unsupported is None:
            self._warm_up()
        return self.unsupported

    def _warm_up(self) -> None:
        settings, process = self.comparison.settings, self.process
        seeds = seeds_of(self.comparison.scenario, settings.seeding, 0, settings.seed + 1, settings.free)
        patience = None if process.hung_at_first else FIRST_SOLVE
        for k in range(min(WARM_UP, len(seeds))):
            # Others after a restart: one that hangs at a certain target is to be asked for the rest.
            number = (process.starts - 1 + k) % len(seeds)
            try:
                self._ask(number, 0, 0, seeds[number], settings.timeout, patience if k == 0 else None)
            except SolverFailure as failure:
                process.hung_at_first = k == 0 and failure.status == "stopped"
                raise
            process.hung_at_first = False

    def answer(self, number: int, trial: int, seed: np.ndarray, first: bool) -> Result | None:
        """The solver's result on a target, the `first` of its turn or not; None where it cannot take part."""
        settings = self.comparison.settings
        if self.lost >= PATIENCE:
            return Result(number, trial, "abandoned", False, False, settings.timeout)
        spent = time.perf_counter()
        try:
            if self.prepare() is not None:
                return None
            if first:
                self._ask(number, trial, 1, seed, min(0.005, settings.timeout))
            spent = time.perf_counter()
            result = self.solve(number, trial, seed)
            for _ in range(REPEATS if settings.evaluations is None else 0):
                if not is_starved(result, settings.timeout):
                    break
                again = self.solve(number, trial, seed)
                result = replace(again, note=again.note or "asked again: the core had been taken away")
            self.lost = 0
        except SolverFailure as failure:
            self.lost += 1
            self._prepared_start = -1
            seconds = time.perf_counter() - spent
            result = Result(number, trial, failure.status, False, False, seconds, note=failure.note)
        return result

    def solve(self, number: int, trial: int, seed: np.ndarray) -> Result:
        """One target: asked, and asked again from another seed while its answers collide and there is time."""
        comparison, settings, task = self.comparison, self.comparison.settings, self._task
        assert task is not None
        rejecting = settings.rejection and not self.solver.collision
        rng = np.random.default_rng((settings.seed, trial, number, 3))
        tally, start, q = _Tally(), seed, None
        # With the spin left free an attempt is for one spin, and may not have all the time.
        most = settings.timeout if not task.free_spin else max(SPIN_SHARE * settings.timeout, 0.002)
        until = time.perf_counter() + ASKING[0] * settings.timeout + ASKING[1]
        while tally.attempts == 0 or (tally.time < settings.timeout and time.perf_counter() < until):
            left = max(min(settings.timeout - tally.time, most), 1e-4)
            data, waited = self._ask(number, trial, 2 + tally.attempts, start, left)
            if "q" not in data and ("memory" in data or "error" in data or "unsupported" in data):
                return self._failed(data, number, trial)
            try:
                answer = read_answer(data, task.size, waited)
            except BadAnswer as problem:
                return self._failed({"error": str(problem)}, number, trial)
            tally.add(answer)
            if answer.q is None:
                self._log(tally, answer, number, None)
                if task.free_spin:
                    continue
                break
            q = task.configuration(answer.q, seed)
            self._log(tally, answer, number, q)
            if not rejecting:
                break
            before = time.perf_counter()
            collides = comparison.verifier.collides(q)
            tally.add_check(time.perf_counter() - before)
            if not collides:
                break
            q, start = None, self._next_start(seed, rng)
        return self._judged(number, trial, seed, q, tally)

    def _next_start(self, seed: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Where a solver starts after a rejected candidate."""
        scenario, settings = self.comparison.scenario, self.comparison.settings
        if settings.free:
            return freed(scenario, seed, settings.free, rng)
        return seed if settings.seeding == "keep" else scenario.robot.random(rng)

    def _log(self, tally: _Tally, answer: Answer, number: int, q: np.ndarray | None) -> None:
        """Keeps an attempt, where that was asked for; what it costs is nobody's time."""
        if not self.comparison.settings.log:
            return
        if q is None:
            tally.log.append(Attempt(answer.time, False, "", "found none"))
            return
        verifier = self.comparison.verifier
        verdict = verifier.check(self.comparison.scenario.of(number), q)
        tally.log.append(Attempt(answer.time, True, verifier.contacts(q), verdict.reason or "holds"))

    def _judged(self, number: int, trial: int, seed: np.ndarray, q: np.ndarray | None, tally: _Tally) -> Result:
        """A result from a claimed configuration, with what separate code says of it."""
        seconds, extras = tally.time, tally.extras
        if q is None:
            return Result(number, trial, "missed", False, False, seconds, **extras)
        scenario, verifier = self.comparison.scenario, self.comparison.verifier
        verdict = verifier.check(scenario.of(number), q)
        extras |= {"position_error": verdict.position_error, "rotation_error": verdict.rotation_error}
        if not verdict.holds:
            return Result(number, trial, "false", True, False, seconds, q=q, note=verdict.reason, **extras)
        settings = self.comparison.settings
        by_work = settings.evaluations is not None and self.solver.origin == "method"
        in_time = by_work or seconds <= settings.timeout
        quality = {
            "seed_distance": float(np.abs(q - seed).max()),
            "limit_margin": limit_margin(scenario, q),
            "clearance": verifier.clearance(q),
            "manipulability": float(manipulability(scenario.robot.jacobian(scenario.link, q))),
            "soft_cost": soft_cost(scenario.problem, scenario.of(number), seed, q),
        }
        return Result(number, trial, "solved" if in_time else "late", True, True, seconds, q=q, **extras, **quality)

    def _failed(self, answer: dict[str, Any], number: int, trial: int) -> Result:
        if "memory" in answer:
            self.process.kill()
            raise SolverFailure("memory", "it ran out of memory")
        note = str(answer.get("error") or answer.get("unsupported"))
        return Result(number, trial, "error", False, False, self.comparison.settings.timeout, note=note)

    def _ask(
        self, number: int, trial: int, attempt: int, seed: np.ndarray, timeout: float, grace: float | None = None
    ) -> tuple[dict[str, Any], float]:
        """What the process sent, and the seconds that it was waited for."""
        settings, task = self.comparison.settings, self._task
        assert task is not None
        stream = [(settings.seed * 1_000_003 + trial) * 1_000_003 + attempt, number]
        request = {
            "do": "solve", "target": task.target(self.comparison.scenario.of(number), np.random.default_rng(stream)),
            "seed": task.seed(seed), "timeout": timeout, "rng": stream,
        }  # fmt: skip
        begin = time.perf_counter()
        answer = self.process.ask(request, timeout + (settings.grace if grace is None else grace))
        return answer, time.perf_counter() - begin

    def _is_ready(self) -> bool:
        process = self.process
        return process.running and process.starts == self._prepared_start and process.prepared_for is self


class _Tally:
    """What the answers to one target sum up to. Counts are None where no answer told them."""

    def __init__(self) -> None:
        self.attempts = self.candidates = 0
        self.time = self.processor = 0.0
        self.evaluations: int | None = None
        self.restarts: int | None = None
        self.collision_time: float | None = None
        self.log: list[Attempt] = []
        self._latest: Answer | None = None

    def add(self, answer: Answer) -> None:
        self.attempts += 1
        self.candidates += answer.q is not None
        self.time += answer.time
        self.processor += answer.processor
        self._latest = answer
        for name in ("evaluations", "restarts", "collision_time"):
            value = getattr(answer, name)
            if value is not None:
                setattr(self, name, (getattr(self, name) or 0) + value)

    def add_check(self, seconds: float) -> None:
        self.time += seconds
        self.collision_time = (self.collision_time or 0.0) + seconds

    @property
    def extras(self) -> dict[str, Any]:
        """The columns of a result."""
        latest = self._latest
        assert latest is not None
        restarts = None if self.restarts is None else self.restarts + max(self.candidates - 1, 0)
        return {
            "processor": self.processor, "collision_time": self.collision_time, "evaluations": self.evaluations,
            "restarts": restarts, "generations": latest.generations,
            "candidates": self.candidates if latest.candidates is None else latest.candidates,
            "attempts": tuple(self.log),
        }  # fmt: skip


def is_starved(result: Result, timeout: float) -> bool:
    """Whether a failure says more about a busy machine than about the solver: its time ran out without the core."""
    if result.status not in ("missed", "late") or result.time < 0.9 * timeout or result.processor is None:
        return False
    return result.processor < FAIR_SHARE * (result.time - (result.collision_time or 0.0))


def limit_margin(scenario: Scenario, q: np.ndarray) -> float | None:
    """The least distance of a joint to its nearer limit, as a share of its range; None without limited joints."""
    lower, upper = scenario.robot.lower, scenario.robot.upper
    limited = np.isfinite(lower) & np.isfinite(upper) & (upper > lower)
    if not limited.any():
        return None
    q, lower, upper = q[limited], lower[limited], upper[limited]
    return float((np.minimum(q - lower, upper - q) / (upper - lower)).min())
