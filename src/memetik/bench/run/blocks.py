"""The work of a run in blocks: some targets of a scenario, at which all solvers take turns on one core."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memetik.bench.peers.registry import Solver, find_solver
from memetik.bench.run.comparison import Comparison, Settings, SolverProcesses, blocks_of, turns
from memetik.bench.run.seeding import FOLLOW
from memetik.bench.run.store import Result, Run, Store
from memetik.bench.scenarios import Scenario


@dataclass(frozen=True)
class Unit:
    """One scenario with one set of settings: the solvers, and the run of each in the store."""

    scenario: Scenario
    settings: Settings
    solvers: tuple[Solver, ...]
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Block:
    """What one worker does at a time, so that solvers are compared on one machine.

    unit     the unit's number.
    turns    (solver, target) in the order in which they are asked.
    answers  verified configurations that the store has, by solver and target: a stream goes on from them.
    """

    unit: int
    trial: int
    turns: tuple[tuple[int, int], ...]
    answers: Mapping[int, Mapping[int, np.ndarray]] = field(default_factory=dict)


def blocks_left(units: Sequence[Unit], trials: int, store: Store) -> Iterator[Block]:
    """The blocks with results to come, all units' first trial first; the store is read when a unit's turn comes."""
    for trial in range(trials):
        for index, unit in enumerate(units):
            finished = [store.finished(run) for run in unit.runs]
            blocks = blocks_of(unit.scenario, unit.settings.seeding, range(len(unit.scenario)))
            wanted = turns(len(unit.runs), blocks, trial, lambda which, k: (k, trial) not in finished[which])  # noqa: B023
            for numbers, left in zip(blocks, wanted, strict=True):
                if left:
                    yield Block(index, trial, tuple(left), _stream_answers(unit, trial, numbers, left, store))


def _stream_answers(
    unit: Unit, trial: int, numbers: Sequence[int], left: Sequence[tuple[int, int]], store: Store
) -> dict[int, dict[int, np.ndarray]]:
    if unit.settings.seeding != FOLLOW:
        return {}
    known = {which: store.verified(unit.runs[which], trial) for which, _ in left}
    return {which: {k: answers[k] for k in numbers if k in answers} for which, answers in known.items()}


class WorkerState:
    """What a worker keeps from one block to the next: the solvers' processes, and the comparison that they are in.

    core: the core that it and they stay on, or None.
    """

    def __init__(self, core: int | None = None):
        self.core, self.processes = core, SolverProcesses(core)
        self._lock = threading.Lock()
        self._units: Sequence[Unit] = ()
        self._index = -1
        self._comparison: Comparison | None = None

    def run_block(self, units: Sequence[Unit], block: Block) -> Iterator[tuple[int, Result]]:
        """Yields (number of the solver, result) for each turn of a block."""
        with self._lock, pinned(self.core):
            comparison = self._comparison_of(units, block.unit)
            for which, answers in block.answers.items():
                comparison.restore_answers(which, block.trial, answers)
            for which, number in block.turns:
                result = comparison.ask(which, number, block.trial)
                if result is not None:
                    yield which, result

    def _comparison_of(self, units: Sequence[Unit], index: int) -> Comparison:
        if self._comparison is None or self._units is not units or self._index != index:
            unit = units[index]
            # Where a solver lives is this machine's business.
            there = [find_solver(s.source, label=s.label, parameters=s.given) for s in unit.solvers]
            self._comparison = Comparison(unit.scenario, there, unit.settings, self.processes)
            self._units, self._index = units, index
        return self._comparison

    def close(self) -> None:
        self.processes.close()

    def __enter__(self) -> WorkerState:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_of_this_worker: list[WorkerState] = []
_making = threading.Lock()


def run_block_on_worker(context: tuple[Sequence[Unit], Sequence[int]], block: Block) -> Iterator[tuple[int, Result]]:
    """A block on a worker of a cluster; with (units, the cores that workers of this machine share, or none)."""
    from distributed import get_worker

    units, cores = context
    with _making:
        if not _of_this_worker:
            core = cores[int(get_worker().name) % len(cores)] if cores else None
            _of_this_worker.append(WorkerState(core))
            atexit.register(_of_this_worker[0].close)
    return _of_this_worker[0].run_block(units, block)


@contextlib.contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """Keeps this thread on a core."""
    if core is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
