"""Runs a specification: scenarios made, solvers asked in turns, every result kept at once, resumed where it stopped."""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.cluster import Workers, workers
from memetik.bench.contest import Contest, Settings, Stable, blocks_of, turns
from memetik.bench.machine import machine_facts, package_versions, usable_cores
from memetik.bench.peers.process import WorkerFailure
from memetik.bench.peers.registry import Contestant, MissingPeerError, contestant
from memetik.bench.scenarios import Scenario, scenario
from memetik.bench.scenarios.build import NoReachableTarget
from memetik.bench.seeding import FOLLOW, check_seeding, default_seeding
from memetik.bench.spec import Spec
from memetik.bench.store import Result, Run, Store, check_path
from memetik.errors import InvalidInputError, MemetikError, UnknownNameError


class Progress:
    """What a run tells while it goes on; this one says nothing."""

    def searching(self, what: str, done: int, total: int) -> None:
        """So many targets of a scenario are found, of those wanted."""

    def begin(self, total: int) -> None:
        """So many results are to come."""

    def advance(self, label: str) -> None:
        """One more result."""

    def say(self, text: str) -> None:
        """Something that the user should know."""


@dataclass(frozen=True)
class Unit:
    """One scenario with one set of settings: the contestants, and the run of each in the store."""

    scenario: Scenario
    settings: Settings
    contestants: tuple[Contestant, ...]
    runs: tuple[Run, ...]


@dataclass
class Outcome:
    """What a run did: results that were there before and are new, solvers left out and scenarios without targets."""

    store: Path
    before: int = 0
    new: int = 0
    left: int = 0
    remarks: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    """The keys of the runs in the store, in order."""


def run(
    spec: Spec,
    store: str | os.PathLike[str],
    progress: Progress | None = None,
    *,
    cluster: str | None = None,
    retry: bool = False,
) -> Outcome:
    """Does what a specification asks for, but for results that the store has already.

    Every result is in the store as soon as it is known; after an interruption the same call goes on.
    cluster: the address of a dask scheduler, or "local"; its workers do the solving, this process keeps the store.
    retry: also ask again for targets at which a solver hung, crashed, raised or ate memory.
    """
    progress, begin = progress or Progress(), time.monotonic()
    spec = spec.checked()
    contestants, remarks = find_contestants(spec)
    outcome = Outcome(Path(store), remarks=[*remarks, *spec.remarks()])
    for text in outcome.remarks:
        progress.say(text)
    core = usable_cores()[-1]
    # What is wrong with what was asked for is found before a store is made, and with the store before the search.
    check_path(store)
    scenarios = [(name, _scenario(spec, name, robot, outcome, progress)) for name, robot in spec.pairs()]
    for made in (made for _, made in scenarios if made is not None):
        for settings in spec.settings(default_seeding(made)):
            check_seeding(made, settings.seeding)
    hired = workers(cluster, spec.jobs if spec.jobs > 1 else None)
    with hired as hands, Store(store) as opened, Stable(core) as stable:
        units = prepare_units(spec, scenarios, contestants, opened, stable, outcome, progress)
        for r in (r for unit in units for r in unit.runs if retry):
            opened.forget_lost(r)
        items = _pending(spec, units, opened, outcome)
        if spec.budget is not None:
            spec = replace(spec, budget=max(spec.budget - (time.monotonic() - begin), 0.0))
        progress.begin(outcome.left)
        if cluster is not None:
            labels = _on_cluster(spec, units, opened, hands)
        elif spec.jobs > 1 and len(items) > 1:
            stable.close()
            labels = _on_cores(spec, units, items, opened.path)
        else:
            labels = _here(spec, units, items, opened, stable, core)
        for label in labels:
            outcome.new += 1
            progress.advance(label)
    outcome.left -= outcome.new
    return outcome


def _pending(spec: Spec, units: list[Unit], store: Store, outcome: Outcome) -> list[tuple[int, int]]:
    """The (unit, trial) with results to come, all units' first trial first."""
    items = []
    for trial in range(spec.trials):
        for index, unit in enumerate(units):
            rows = {(k, trial) for k in range(len(unit.scenario))}
            left = [len(rows - store.finished(r)) for r in unit.runs]
            outcome.left += sum(left)
            outcome.before += len(rows) * len(left) - sum(left)
            if any(left):
                items.append((index, trial))
    return items


def find_contestants(spec: Spec) -> tuple[list[Contestant], list[str]]:
    """The solvers that are there, and a sentence on each that is not."""
    found, remarks = [], []
    for entry in spec.solvers:
        try:
            found.append(contestant(entry.name, label=entry.label, parameters=entry.parameters))
        except (MissingPeerError, UnknownNameError) as error:
            if isinstance(error, UnknownNameError) and not spec.optional:
                raise
            remarks.append(f"left out: {error}")
    labels = [c.label for c in found]
    if len(set(labels)) < len(labels):
        raise InvalidInputError(f"labels of solvers must differ; they are {', '.join(labels)}.")
    if not found:
        raise InvalidInputError("none of the solvers is there. " + " ".join(remarks))
    return found, remarks


def prepare_units(
    spec: Spec,
    scenarios: Sequence[tuple[str, Scenario | None]],
    contestants: Sequence[Contestant],
    store: Store,
    stable: Stable,
    outcome: Outcome,
    progress: Progress,
) -> list[Unit]:
    """All scenarios, with their runs in the store. Solvers that do not apply are noted there and left out."""
    machine, units = store.add_machine(machine_facts()), []
    for name, made in scenarios:
        if made is None:
            continue
        key = store.add_scenario(made)
        for settings in spec.settings(default_seeding(made)):
            chosen, runs = [], []
            for entrant in Contest(made, contestants, settings, stable).entrants:
                who = entrant.contestant
                with contextlib.suppress(WorkerFailure):
                    entrant.prepare(warm=False)
                packages = package_versions()
                if who.origin != "method":
                    packages[who.name] = who.version
                r = store.add_run(
                    key, who.name, label=who.label, timeout=settings.timeout, seeding=settings.seeding,
                    settings={**settings.recorded, "parameters": dict(who.parameters)}, machine=machine,
                    versions=store.add_versions(packages),
                )  # fmt: skip
                outcome.runs.append(r.key)
                if entrant.unsupported is None:
                    chosen.append(who)
                    runs.append(r)
                    continue
                store.note(r, f"not applicable: {entrant.unsupported}")
                text = f"{who.label} does not take part in {name} of {made.robot.name}: {entrant.unsupported}."
                outcome.remarks.append(text)
                progress.say(text)
            if chosen:
                units.append(Unit(made, settings, tuple(chosen), tuple(runs)))
    return units


def _scenario(spec: Spec, name: str, robot: str | None, outcome: Outcome, progress: Progress) -> Scenario | None:
    count = 0

    def searched(found: bool) -> None:
        nonlocal count
        count += found or spec.reachability != "only"
        progress.searching(f"{name} of {robot}" if robot else name, count, spec.targets)

    position, rotation = spec.tolerance
    try:
        made = scenario(
            name, robot, targets=spec.targets, seed=spec.seed, reachability=spec.reachability,
            position_tolerance=position, rotation_tolerance=rotation, progress=searched, **spec.options_of(name),
        )  # fmt: skip
    except NoReachableTarget as error:
        outcome.remarks.append(str(error))
        progress.say(str(error))
        return None
    for text in made.metadata.get("remarks", ()):
        outcome.remarks.append(text)
        progress.say(text)
    if len(made) < spec.targets:
        text = f"{name} of {made.robot.name}: only {len(made)} of {made.metadata['searched']} targets are reachable."
        outcome.remarks.append(text)
        progress.say(text)
    return made


def play(unit: Unit, trial: int, store: Store, stable: Stable, go_on: Callable[[], bool]) -> Iterator[str]:
    """Plays a unit's trial and keeps every result; yields the label of the solver for each. Stops when told to."""
    contest = Contest(unit.scenario, unit.contestants, unit.settings, stable)
    if unit.settings.seeding == FOLLOW:
        for which, r in enumerate(unit.runs):
            contest.recall(which, trial, store.verified(r, trial))
    for which, result in contest.play(range(len(unit.scenario)), trial, _unfinished(unit, trial, store)):
        store.add_result(unit.runs[which], result)
        yield unit.contestants[which].label
        if not go_on():
            return


def _unfinished(unit: Unit, trial: int, store: Store) -> Callable[[int, int], bool]:
    """Tells whether the result of a contestant on a target is still to come."""
    finished = [store.finished(r) for r in unit.runs]
    return lambda which, number: (number, trial) not in finished[which]


def _here(
    spec: Spec, units: list[Unit], items: list[tuple[int, int]], store: Store, stable: Stable, core: int
) -> Iterator[str]:
    """All items done on one core, by this process."""
    deadline = _deadline(spec)
    with _pinned(core):
        for unit, trial in items:
            if not _time_left(deadline):
                return
            yield from play(units[unit], trial, store, stable, lambda: _time_left(deadline))


def _on_cluster(spec: Spec, units: list[Unit], store: Store, hands: Workers) -> Iterator[str]:
    """All items done by the workers of a cluster; this process writes what they find."""
    deadline = _deadline(spec)
    _note_machines(units, store, hands.everywhere(machine_facts))
    items, sizes = [], []
    for trial in range(spec.trials):
        for index, unit in enumerate(units):
            blocks = blocks_of(unit.scenario, unit.settings.seeding, range(len(unit.scenario)))
            wanted = turns(len(unit.runs), blocks, trial, _unfinished(unit, trial, store))
            for numbers, block in zip(blocks, wanted, strict=True):
                made = _items(unit, index, trial, numbers, block, store)
                items += made
                # All contestants of a block on one machine: they are compared with each other.
                sizes += [len(made)] if made else []
    if not _time_left(deadline):
        return
    with contextlib.closing(hands.run(_ask, units, items, together=sizes)) as told:
        for k, results in told:
            item = items[k]
            for result in results:
                store.add_result(units[item.unit].runs[item.which], result)
                yield units[item.unit].contestants[item.which].label
            if not _time_left(deadline):
                return


@dataclass(frozen=True)
class _Item:
    """What a worker of a cluster does at a time: a target of a unit in a trial with one of its contestants, or what is
    left of a stream, where each target needs the answer before; `answers` are those that the store has."""

    unit: int
    trial: int
    which: int
    numbers: tuple[int, ...]
    answers: Mapping[int, np.ndarray] = field(default_factory=dict)


def _items(
    unit: Unit, index: int, trial: int, numbers: Sequence[int], block: list[tuple[int, int]], store: Store
) -> list[_Item]:
    """The items of a block of these targets, of which those (contestant, target) in `block` are left."""
    if unit.settings.seeding != FOLLOW:
        return [_Item(index, trial, which, (number,)) for which, number in block]
    items = []
    for which in dict.fromkeys(which for which, _ in block):
        left = tuple(number for one, number in block if one == which)
        known = store.verified(unit.runs[which], trial)
        items.append(_Item(index, trial, which, left, {k: known[k] for k in numbers if k in known}))
    return items


def _note_machines(units: list[Unit], store: Store, machines: list[dict[str, Any]]) -> None:
    """Says with the runs whose times are those of other machines than the one that keeps the store."""
    others = sorted({f"{facts['cpu']}, {facts['system']}" for facts in machines if facts != machine_facts()})
    if others:
        for r in (r for unit in units for r in unit.runs):
            store.note(r, f"solved on a cluster: {'; '.join(others)}")


class _Seat:
    """What a worker of a cluster keeps from one target to the next: the solvers' processes, and their contest."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._stable: Stable | None = None
        self._units: list[Unit] = []
        self._index = -1
        self._contest: Contest | None = None

    def contest(self, units: list[Unit], index: int) -> Contest:
        if self._stable is None:
            self._stable = Stable()
            atexit.register(self._stable.close)
        if self._contest is None or self._units is not units or self._index != index:
            unit = units[index]
            # Where a solver lives is this machine's business.
            there = [contestant(c.source, label=c.label, parameters=c.given) for c in unit.contestants]
            self._contest = Contest(unit.scenario, there, unit.settings, self._stable)
            self._units, self._index = units, index
        return self._contest


_seat = _Seat()


def _ask(units: list[Unit], item: _Item) -> list[Result]:
    """What a worker of a cluster does with an item."""
    with _seat.lock:
        contest = _seat.contest(units, item.unit)
        contest.recall(item.which, item.trial, item.answers)
        results = [contest.ask(item.which, number, item.trial) for number in item.numbers]
    return [result for result in results if result is not None]


def _deadline(spec: Spec) -> float | None:
    return None if spec.budget is None else time.monotonic() + spec.budget


def _time_left(deadline: float | None) -> bool:
    return deadline is None or time.monotonic() < deadline


@contextlib.contextmanager
def _pinned(core: int) -> Iterator[None]:
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _on_cores(spec: Spec, units: list[Unit], items: list[tuple[int, int]], store: Path) -> Iterator[str]:
    """A process for each core; each takes the next item when it is done with one."""
    cores = usable_cores()[-min(spec.jobs, len(items)) :]
    context = multiprocessing.get_context("spawn")
    work, said, stop = context.Queue(), context.Queue(), context.Event()
    for item in items:
        work.put(item)
    for _ in cores:
        work.put(None)
    lanes = [
        context.Process(target=_lane, args=(units, store, core, spec, os.getpid(), work, said, stop), daemon=True)
        for core in cores
    ]
    for lane in lanes:
        lane.start()
    running = len(lanes)
    try:
        while running:
            try:
                message = said.get(timeout=0.5)
            except queue.Empty:
                dead = [lane for lane in lanes if not lane.is_alive() and lane.exitcode not in (0, None)]
                if dead:
                    raise MemetikError(f"a process of the benchmark ended with code {dead[0].exitcode}.") from None
                continue
            if message is None:
                running -= 1
            elif isinstance(message, BaseException):
                raise message
            else:
                yield message
    finally:
        stop.set()
        for lane in lanes:
            lane.join(10.0)
            if lane.is_alive():
                lane.kill()


def _lane(units: list[Unit], store: Path, core: int, spec: Spec, parent: int, work: Any, said: Any, stop: Any) -> None:
    """What one core's process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    deadline = _deadline(spec)

    def go_on() -> bool:
        return not stop.is_set() and os.getppid() == parent and _time_left(deadline)

    try:
        with Store(store) as opened, Stable(core) as stable, _pinned(core):
            while go_on() and (item := work.get()) is not None:
                unit, trial = item
                for label in play(units[unit], trial, opened, stable, go_on):
                    said.put(label)
    except Exception as error:
        said.put(error if isinstance(error, MemetikError) else MemetikError(f"{type(error).__name__}: {error}"))
        return
    said.put(None)
