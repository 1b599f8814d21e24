"""One scenario, several solvers, in turns: each asked in its own process, each answer checked by separate code."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.peers.process import Worker, WorkerFailure
from memetik.bench.peers.registry import Contestant
from memetik.bench.peers.task import ChainTask, Task, Unsupported, WholeTask, task_data
from memetik.bench.scenarios.scenario import Scenario
from memetik.bench.seeding import seeds_of
from memetik.bench.store import Result
from memetik.bench.verification import Verifier
from memetik.robot.manipulability import manipulability

BLOCK = 20
"""Targets of one solver before it is the next one's turn."""

WARM_UP = 2
"""Solves after a solver got ready that are not recorded; one short one more at the beginning of each turn."""

PREPARATION = 60.0
"""Seconds that a solver may take to get ready."""

FIRST_SOLVE = (20.0, 5.0)
"""Seconds for the very first solve, and for that after a restart: some solvers import or compile only then."""

PATIENCE = 5
"""Processes lost in a row after which a solver is not asked any more in this scenario and trial."""

SPIN_SHARE = 0.1
"""Share of the time that a solver of poses gets for one spin where the scenario leaves it free."""

REPEATS, FAIR_SHARE = 2, 0.7
"""How often a solver is asked again that failed while it had the core for less than this share of its time."""

LATE = 1.1
"""Times the timeout (and a millisecond) that an answer may take to count as in time: clocks and pipes are not exact."""


@dataclass(frozen=True)
class Settings:
    """How solvers are asked.

    timeout      seconds for a target.
    seeding      where they start: one of `SEEDINGS`.
    rejection    whether solvers that do not look at the scene are asked again after a colliding answer.
    seed         of all random numbers.
    evaluations  bounds the work of memetik's methods instead of the time, so that results are the same anywhere.
    grace        seconds after the timeout at which a solver's process is ended.
    memory       bytes that a solver's process may use.
    """

    timeout: float = 0.1
    seeding: str = "random"
    rejection: bool = True
    seed: int = 0
    evaluations: int | None = None
    grace: float = 1.0
    memory: int = 4_000_000_000

    @property
    def recorded(self) -> dict[str, Any]:
        """What tells one run from another, besides timeout and seeding."""
        return {"rejection": self.rejection, "seed": self.seed, "evaluations": self.evaluations}


class Stable:
    """The solvers' processes, which live from one contest to the next. `core`: the core they all stay on."""

    def __init__(self, core: int | None = None):
        self.core = core
        self._workers: dict[Any, Worker] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="memetik-bench-")

    @property
    def folder(self) -> Path:
        return Path(self._folder.name)

    def worker(self, contestant: Contestant, memory: int) -> Worker:
        key = (contestant.label, contestant.command)
        if key not in self._workers:
            self._workers[key] = Worker(contestant.command, core=self.core, memory=memory)
        return self._workers[key]

    def close(self) -> None:
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()
        self._folder.cleanup()

    def __enter__(self) -> Stable:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Contest:
    """Solvers on one scenario with one set of settings."""

    def __init__(self, scenario: Scenario, contestants: Sequence[Contestant], settings: Settings, stable: Stable):
        self.scenario, self.settings = scenario, settings
        self.verifier = Verifier(scenario.robot, scenario.goals, scenario.scene, self_collision=scenario.self_collision)
        self.entrants = [Entrant(self, contestant, stable) for contestant in contestants]
        self._trial, self._seeds = -1, np.empty((0, scenario.robot.dof))
        self._latest: Entrant | None = None

    def play(
        self, numbers: Sequence[int], trial: int, wanted: Callable[[int, int], bool] = lambda entrant, number: True
    ) -> Iterator[tuple[int, Result]]:
        """Yields (number of the contestant, result) for each target in `numbers` that is `wanted`.

        Contestants take turns, as `turns` has it.
        """
        for block in turns(len(self.entrants), numbers, trial, wanted):
            for which, number in block:
                result = self.ask(which, number, trial)
                if result is not None:
                    yield which, result

    def ask(self, which: int, number: int, trial: int) -> Result | None:
        """A contestant's result on a target, after a short one to warm it up if it is the first of its turn.

        None where it cannot take part.
        """
        entrant = self.entrants[which]
        if self._trial != trial:
            self._trial, self._latest = trial, None
            self._seeds = seeds_of(self.scenario, self.settings.seeding, trial, self.settings.seed)
            for one in self.entrants:
                one.lost = 0
        first, self._latest = self._latest is not entrant, entrant
        return None if entrant.unsupported is not None else entrant.answer(number, trial, self._seeds[number], first)


def turns(
    count: int, numbers: Sequence[int], trial: int, wanted: Callable[[int, int], bool]
) -> Iterator[list[tuple[int, int]]]:
    """Who is asked what: the (contestant, target) that are `wanted`, in order, for each BLOCK of targets.

    Within a block one contestant does all its targets after the other; who begins changes with every block.
    """
    for turn, begin in enumerate(range(0, len(numbers), BLOCK)):
        order = [(turn + trial + place) % count for place in range(count)]
        yield [(which, k) for which in order for k in numbers[begin : begin + BLOCK] if wanted(which, k)]


class Entrant:
    """A contestant in a contest: its process, what it was told, how often its process was lost."""

    def __init__(self, contest: Contest, contestant: Contestant, stable: Stable):
        self.contest, self.contestant = contest, contestant
        self.worker = stable.worker(contestant, contest.settings.memory)
        self.unsupported: str | None = None
        self.version = ""
        self.lost = 0
        self._prepared_start = -1
        self._task: Task | None = None
        try:
            whole = contestant.whole
            self._task = WholeTask(contest.scenario, stable.folder) if whole else ChainTask(contest.scenario)
        except Unsupported as error:
            self.unsupported = str(error)

    def prepare(self, warm: bool = True) -> str | None:
        """Gets the solver ready; the reason where it cannot take part. WorkerFailure where its process is lost."""
        if self.unsupported is not None or self._is_ready():
            return self.unsupported
        settings, contestant = self.contest.settings, self.contestant
        assert self._task is not None
        parameters = dict(contestant.parameters)
        if settings.evaluations is not None and contestant.origin == "method":
            parameters["evaluations"] = settings.evaluations
        data = task_data(self._task, settings.timeout, parameters)
        answer = self.worker.ask({"do": "prepare", "task": data}, PREPARATION)
        if "memory" in answer:
            raise WorkerFailure("memory", "it ran out of memory while it got ready")
        if "error" in answer:
            raise WorkerFailure("error", f"it could not get ready: {answer['error']}")
        self.unsupported = answer.get("unsupported")
        self.version = answer.get("version", "")
        self._prepared_start, self.worker.prepared_for = self.worker.starts, self
        if warm and self.unsupported is None:
            seeds = seeds_of(self.contest.scenario, self.contest.settings.seeding, 0, settings.seed + 1)
            for k in range(min(WARM_UP, len(seeds))):
                patience = FIRST_SOLVE[0] if self.worker.starts == 1 else FIRST_SOLVE[1]
                self._ask(k, 0, 0, seeds[k], settings.timeout, patience if k == 0 else None)
        return self.unsupported

    def answer(self, number: int, trial: int, seed: np.ndarray, first: bool) -> Result | None:
        """The solver's result on a target, the `first` of its turn or not; None where it cannot take part."""
        settings = self.contest.settings
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
        except WorkerFailure as failure:
            self.lost += 1
            self._prepared_start = -1
            seconds = time.perf_counter() - spent
            result = Result(number, trial, failure.status, False, False, seconds, note=failure.note)
        return result

    def solve(self, number: int, trial: int, seed: np.ndarray) -> Result:
        """One target: asked, and asked again from another seed while its answers collide and there is time."""
        contest, settings = self.contest, self.contest.settings
        verifier = contest.verifier
        rejecting = settings.rejection and not self.contestant.collision
        rng = np.random.default_rng((settings.seed, trial, number, 3))
        sums = {"time": 0.0, "processor": 0.0, "collision_time": 0.0, "evaluations": 0, "restarts": 0}
        assert self._task is not None
        attempts, candidates, start, q = 0, 0, seed, None
        # With the spin left free an attempt is for one spin, and may not have all the time.
        most = settings.timeout if not self._task.free_spin else max(SPIN_SHARE * settings.timeout, 0.002)
        while True:
            left = settings.timeout - sums["time"]
            answer = self._ask(number, trial, 2 + attempts, start, max(min(left, most), 1e-4))
            attempts += 1
            if "q" not in answer:
                return self._failed(answer, number, trial)
            for name in sums:
                sums[name] += answer.get(name) or 0
            if answer["q"] is None:
                if self._task.free_spin and sums["time"] < settings.timeout:
                    continue
                break
            q = self._task.posture(answer["q"], seed)
            candidates += 1
            if not rejecting:
                break
            before = time.perf_counter()
            collides = verifier.collides(q)
            seconds = time.perf_counter() - before
            sums["time"] += seconds
            sums["collision_time"] += seconds
            if not collides:
                break
            q, start = None, seed if settings.seeding == "keep" else contest.scenario.robot.random(rng)
            if sums["time"] >= settings.timeout:
                break
        counts: dict[str, Any] = {"candidates": answer.get("candidates", candidates)}
        counts["evaluations"] = sums["evaluations"] if "evaluations" in answer else None
        counts["generations"] = answer.get("generations")
        counts["restarts"] = sums["restarts"] + max(candidates - 1, 0) if "restarts" in answer else None
        times = {"processor": sums["processor"], "collision_time": sums["collision_time"]}
        return self._judged(number, trial, seed, q, sums["time"], {**counts, **times})

    def _judged(
        self, number: int, trial: int, seed: np.ndarray, q: np.ndarray | None, seconds: float, extras: dict[str, Any]
    ) -> Result:
        """A result from a claimed posture, with what separate code says of it."""
        if q is None:
            return Result(number, trial, "missed", False, False, seconds, **extras)
        scenario, verifier = self.contest.scenario, self.contest.verifier
        verdict = verifier.check(scenario.of(number), q)
        extras |= {"position_error": verdict.position_error, "rotation_error": verdict.rotation_error}
        if not verdict.holds:
            return Result(number, trial, "false", True, False, seconds, q=q, note=verdict.reason, **extras)
        in_time = (
            seconds <= LATE * self.contest.settings.timeout + 1e-3 or self.contest.settings.evaluations is not None
        )
        quality = {
            "seed_distance": float(np.abs(q - seed).max()),
            "limit_margin": limit_margin(scenario, q),
            "clearance": verifier.clearance(q),
            "manipulability": float(manipulability(scenario.robot.jacobian(scenario.link, q))),
        }
        return Result(number, trial, "solved" if in_time else "late", True, True, seconds, q=q, **extras, **quality)

    def _failed(self, answer: dict[str, Any], number: int, trial: int) -> Result:
        if "memory" in answer:
            self.worker.kill()
            raise WorkerFailure("memory", "it ran out of memory")
        note = answer.get("error") or answer.get("unsupported") or "its answer makes no sense"
        return Result(number, trial, "error", False, False, self.contest.settings.timeout, note=note)

    def _ask(
        self, number: int, trial: int, attempt: int, seed: np.ndarray, timeout: float, grace: float | None = None
    ) -> dict[str, Any]:
        settings, task = self.contest.settings, self._task
        assert task is not None
        stream = [(settings.seed * 1_000_003 + trial) * 1_000_003 + attempt, number]
        request = {
            "do": "solve", "target": task.target(self.contest.scenario.of(number), np.random.default_rng(stream)),
            "seed": task.seed(seed), "timeout": timeout, "rng": stream,
        }  # fmt: skip
        return self.worker.ask(request, timeout + (settings.grace if grace is None else grace))

    def _is_ready(self) -> bool:
        worker = self.worker
        return worker.running and worker.starts == self._prepared_start and worker.prepared_for is self


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
