"""Runs a specification: scenarios made, solvers asked in turns, every result kept at once, resumed where it stopped."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memetik.bench.peers.process import SolverFailure
from memetik.bench.peers.registry import MissingPeerError, Solver, find_solver
from memetik.bench.run.blocks import Block, Unit, WorkerState, blocks_left, run_block_on_worker
from memetik.bench.run.comparison import Comparison, SolverProcesses
from memetik.bench.run.machine import machine_facts, package_versions, usable_cores
from memetik.bench.run.seeding import check_seeding, default_seeding
from memetik.bench.run.spec import Spec
from memetik.bench.run.store import Store, check_path
from memetik.bench.run.worker_pool import LOCAL, WorkerPool, worker_pool
from memetik.bench.scenarios import Scenario, scenario
from memetik.bench.scenarios.build import NoReachableTarget
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.progress import RunProgress


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
    progress: RunProgress | None = None,
    *,
    cluster: str | None = None,
    tls: str | os.PathLike[str] | None = None,
    retry: bool = False,
) -> Outcome:
    """Does what a specification asks for, but for results that the store has already.

    Every result is in the store as soon as it is known; after an interruption the same call goes on.
    cluster: the address of a dask scheduler, or "local"; its workers do the solving, this process keeps the store.
    tls: a folder with the certificates of a cluster at tls://host:port; see `worker_pool`.
    retry: also ask again for targets at which a solver hung, crashed, raised or ate memory.
    """
    progress, begin = progress or RunProgress(), time.monotonic()
    spec = spec.checked()
    solvers, remarks = find_solvers(spec)
    outcome = Outcome(Path(store), remarks=[*remarks, *spec.remarks()])
    for text in outcome.remarks:
        progress.say(text)
    # What is wrong with what was asked for is found before a store is made, and with the store before the search.
    check_path(store)
    scenarios = [(name, _scenario(spec, name, robot, outcome, progress)) for name, robot in spec.pairs()]
    for made in (made for _, made in scenarios if made is not None):
        for settings in spec.settings(default_seeding(made)):
            check_seeding(made, settings.seeding, settings.free)
    several = spec.jobs if spec.jobs > 1 else None
    pool = worker_pool(cluster or (LOCAL if several else None), several, tls=tls)
    with pool as workers, Store(store) as opened, WorkerState(usable_cores()[-1]) as here:
        units = prepare_units(spec, scenarios, solvers, opened, here.processes, outcome, progress)
        for r in (r for unit in units for r in unit.runs if retry):
            opened.forget_lost(r)
        _count(spec, units, opened, outcome)
        progress.begin(outcome.left)
        if outcome.left:
            deadline = None if spec.budget is None else begin + spec.budget
            for label in _solve(units, blocks_left(units, spec.trials, opened), workers, here, opened, deadline):
                outcome.new += 1
                progress.advance(label)
    outcome.left -= outcome.new
    return outcome


def _count(spec: Spec, units: Sequence[Unit], store: Store, outcome: Outcome) -> None:
    """How many results are there, and to come."""
    for r, targets in ((r, len(unit.scenario)) for unit in units for r in unit.runs):
        there = sum(number < targets and trial < spec.trials for number, trial in store.finished(r))
        outcome.before += there
        outcome.left += targets * spec.trials - there


def _solve(
    units: Sequence[Unit],
    blocks: Iterator[Block],
    workers: WorkerPool,
    here: WorkerState,
    store: Store,
    deadline: float | None,
) -> Iterator[str]:
    """Does blocks until there is no time left and keeps every result; yields the label of the solver for each."""
    if not _time_left(deadline):
        return
    given: list[Block] = []

    def noted() -> Iterator[Block]:
        for block in blocks:
            given.append(block)
            yield block

    if workers.is_here:
        results = workers.run(here.run_block, units, noted())
    else:
        here.close()
        _note_machines(units, store, workers.everywhere(machine_facts))
        cores = usable_cores() if workers.is_local else []
        results = workers.run(run_block_on_worker, (units, cores), noted())
    with contextlib.closing(results):
        for k, (which, result) in results:
            unit = units[given[k].unit]
            store.add_result(unit.runs[which], result)
            yield unit.solvers[which].label
            if not _time_left(deadline):
                return


def _time_left(deadline: float | None) -> bool:
    return deadline is None or time.monotonic() < deadline


def _note_machines(units: Sequence[Unit], store: Store, machines: list[dict[str, Any]]) -> None:
    """Says with the runs whose times are those of other machines than the one that keeps the store."""
    others = sorted({f"{facts['cpu']}, {facts['system']}" for facts in machines if facts != machine_facts()})
    if others:
        for r in (r for unit in units for r in unit.runs):
            store.note(r, f"solved on a cluster: {'; '.join(others)}")


def find_solvers(spec: Spec) -> tuple[list[Solver], list[str]]:
    """The solvers that are there, and a sentence on each that is not."""
    found, remarks = [], []
    for entry in spec.solvers:
        try:
            found.append(find_solver(entry.name, label=entry.label, parameters=entry.parameters))
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
    solvers: Sequence[Solver],
    store: Store,
    processes: SolverProcesses,
    outcome: Outcome,
    progress: RunProgress,
) -> list[Unit]:
    """All scenarios, with their runs in the store. Solvers that do not apply are noted there and left out."""
    machine, units = store.add_machine(machine_facts()), []
    for name, made in scenarios:
        if made is None:
            continue
        key = store.add_scenario(made)
        for settings in spec.settings(default_seeding(made)):
            chosen, runs = [], []
            for solver_run in Comparison(made, solvers, settings, processes).solver_runs:
                who = solver_run.solver
                with contextlib.suppress(SolverFailure):
                    solver_run.prepare(warm=False)
                packages = package_versions()
                if who.origin != "method":
                    packages[who.name] = who.version
                r = store.add_run(
                    key, who.name, label=who.label, timeout=settings.timeout, seeding=settings.seeding,
                    settings={**settings.recorded, "parameters": dict(who.parameters)}, machine=machine,
                    versions=store.add_versions(packages),
                )  # fmt: skip
                outcome.runs.append(r.key)
                if solver_run.unsupported is None:
                    chosen.append(who)
                    runs.append(r)
                    continue
                store.note(r, f"not applicable: {solver_run.unsupported}")
                text = f"{who.label} does not take part in {name} of {made.robot.name}: {solver_run.unsupported}."
                outcome.remarks.append(text)
                progress.say(text)
            if chosen:
                units.append(Unit(made, settings, tuple(chosen), tuple(runs)))
    return units


def _scenario(spec: Spec, name: str, robot: str | None, outcome: Outcome, progress: RunProgress) -> Scenario | None:
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
        outcome.remarks.append(f"{name} of {made.robot.name}: {text}")
        progress.say(outcome.remarks[-1])
    if len(made) < spec.targets:
        text = f"{name} of {made.robot.name}: only {len(made)} of {made.metadata['searched']} targets are reachable."
        outcome.remarks.append(text)
        progress.say(text)
    return made
