"""Results in one SQLite file: what was asked, of whom, on which machine, and what came of it.

Every finished target is committed at once (write-ahead log), so that a process that is killed loses none, and several
processes may write to one file. A second result for the same run, target and trial is ignored.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.run import schema
from memetik.bench.run.store_values import Table, blob, number, plain, records, telling_damage
from memetik.bench.scenarios import Scenario
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.files.atomic import temporary_folder
from memetik.geometry.cache import digest

STATUSES = {
    "solved": "a verified configuration within the timeout",
    "late": "a verified configuration after the timeout",
    "missed": "the solver says that it found none",
    "false": "a configuration that verification turns away",
    "stopped": "no answer long after the timeout: the solver's process was ended",
    "crashed": "the solver's process ended by itself",
    "memory": "the solver's process used more memory than allowed and was ended",
    "error": "the solver raised an exception",
    "abandoned": "not asked: the solver had to be restarted too often before",
}
"""What may become of a target."""

LOST = ("stopped", "crashed", "memory", "error", "abandoned")
"""Statuses that say nothing about a target, only that its solver was not there."""

RESULT_COLUMNS = (
    ("robot", "U"), ("scenario", "U"), ("solver", "U"), ("label", "U"), ("timeout", "f8"), ("seeding", "U"),
    ("run", "U"), ("target", "i8"), ("trial", "i8"), ("reachable", "i1"), ("status", "U"), ("solved", "?"),
    ("reached", "?"), ("verified", "?"), ("time", "f8"), ("processor", "f8"), ("collision_time", "f8"),
    ("candidates", "i8"), ("evaluations", "i8"), ("restarts", "i8"), ("generations", "i8"),
    ("position_error", "f8"), ("rotation_error", "f8"),
    ("seed_distance", "f8"), ("limit_margin", "f8"), ("clearance", "f8"), ("manipulability", "f8"),
    ("soft_cost", "f8"), ("scenario_key", "U"),
)  # fmt: skip
"""Columns of `Store.results`. Missing numbers are NaN, missing counts -1, texts as long as
they are; `reachable` is 1, 0, or -1 for unknown."""

RUN_COLUMNS = (
    ("run", "U"), ("scenario_key", "U"), ("robot", "U"), ("scenario", "U"), ("solver", "U"), ("label", "U"),
    ("timeout", "f8"), ("seeding", "U"), ("settings", "O"), ("machine", "U"), ("versions", "U"),
    ("started", "U"), ("note", "O"), ("targets", "i8"), ("trials", "i8"), ("results", "i8"), ("solved", "i8"),
)  # fmt: skip
"""Columns of `Store.runs`."""


@dataclass(frozen=True)
class Attempt:
    """One answer to a target: seconds, whether it was a configuration, what touched what, and what became of it."""

    time: float
    found: bool
    contacts: str
    verdict: str


@dataclass(frozen=True)
class Result:
    """What became of one target in one trial. Seconds, metres, radians; None where it does not apply.

    reached         the solver claims a configuration
    verified        an independent check agrees: kinematics, limits, collision
    time            seconds of wall time inside the solver, checks of rejected candidates included
    processor       seconds of processor time of the solver's process in that time
    collision_time  seconds of `time` that went into checks for collision
    candidates      configurations that were tested for validity until the answer
    evaluations     configurations whose goals were evaluated
    restarts        local searches after the first
    generations     of evolutionary methods
    seed_distance   largest change of a joint from the seed
    limit_margin    least distance of a joint to its limits, as a share of its range
    clearance       metres to the nearest contact, itself included; negative in collision
    manipulability  Yoshikawa's measure at the goal's link
    soft_cost       cost of the scenario's soft goals, computed for every solver alike
    attempts        what was tried, one after the other, where that was asked for
    """

    target: int
    trial: int
    status: str
    reached: bool
    verified: bool
    time: float
    processor: float | None = None
    collision_time: float | None = None
    candidates: int | None = None
    evaluations: int | None = None
    restarts: int | None = None
    position_error: float | None = None
    rotation_error: float | None = None
    seed_distance: float | None = None
    limit_margin: float | None = None
    clearance: float | None = None
    manipulability: float | None = None
    q: np.ndarray | None = None
    note: str = ""
    generations: int | None = None
    soft_cost: float | None = None
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True)
class Run:
    """One solver on one scenario with one set of settings on one machine; `key` names it by content."""

    key: str
    scenario: str
    solver: str
    label: str
    timeout: float
    seeding: str
    settings: Mapping[str, Any]
    machine: str
    versions: str


@telling_damage("runs", "results", "configurations", "verified", "answers", "targets", "scenario_facts", "versions")
class Store:
    """The file of results at `path`, made where it does not exist.

    must_exist: an error where there is no such file, for those who only read.
    """

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False):
        self.path = Path(path)
        if must_exist and not self.path.is_file():
            raise InvalidInputError(f"there is no store {str(self.path)!r}; `memetik bench run` makes one.")
        if not self.path.parent.is_dir():
            raise InvalidInputError(f"the folder {str(self.path.parent)!r} of the store does not exist.")
        try:
            self._connection = sqlite3.connect(self.path, timeout=60.0, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            schema.prepare(self._connection, str(self.path))
        except sqlite3.DatabaseError as error:
            raise InvalidInputError(f"{str(self.path)!r} cannot be opened as a store: {error}.") from None

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # writing

    def add_machine(self, facts: Mapping[str, Any]) -> str:
        """The key of a machine: cpu, cores, memory in bytes, system."""
        values = [facts.get(name) for name in ("cpu", "cores", "memory", "system")]
        key = digest([json.dumps(values)])[:16]
        self._insert("machines", (key, *values))
        return key

    def add_versions(self, packages: Mapping[str, str]) -> str:
        """The key of a set of package versions."""
        text = json.dumps(dict(sorted(packages.items())))
        key = digest([text])[:16]
        self._insert("versions", (key, text))
        return key

    def add_scenario(self, scenario: Scenario) -> str:
        """Keeps a scenario and its targets; its key."""
        key = scenario.key
        if self._rows("SELECT 1 FROM scenarios WHERE scenario = ?", (key,)):
            return key
        with self._transaction():
            self._insert("scenarios", (
                key, scenario.name, scenario.robot.name, scenario.robot.dof, len(scenario), json.dumps(scenario.origin),
                json.dumps(scenario.goal_data), json.dumps(plain(scenario.metadata)),
            ))  # fmt: skip
            for k in range(len(scenario)):
                reachable, witness = int(scenario.reachable[k]), scenario.known_solutions[k]
                self._insert("targets", (
                    key, k, blob(scenario.poses[k]), blob(scenario.seeds[k]), None if reachable < 0 else reachable,
                    blob(witness) if np.isfinite(witness).all() else None,
                ))  # fmt: skip
        return key

    def add_run(
        self,
        scenario: str,
        solver: str,
        *,
        label: str,
        timeout: float,
        seeding: str,
        settings: Mapping[str, Any],
        machine: str,
        versions: str,
    ) -> Run:
        """A run by its content: the same arguments find the same run, which then goes on where it stopped."""
        text = json.dumps(dict(sorted(settings.items())), sort_keys=True)
        key = digest([json.dumps([scenario, solver, label, timeout, seeding, text, machine, versions])])[:16]
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self._insert("runs", (key, scenario, solver, label, timeout, seeding, text, machine, versions, started, ""))
        return Run(key, scenario, solver, label, timeout, seeding, settings, machine, versions)

    def note(self, run: Run, text: str) -> None:
        """Keeps a remark on a run, such as why a solver does not apply to its scenario."""
        self._connection.execute("UPDATE runs SET note = ? WHERE run = ?", (text, run.key))

    def add_result(self, run: Run, result: Result) -> None:
        """Keeps what became of a target, at once; ignored where there is one already."""
        if result.status not in STATUSES:
            raise InvalidInputError(f"a result's status is one of {', '.join(STATUSES)}, not {result.status!r}.")
        row = {f.name: number(getattr(result, f.name)) for f in fields(Result) if f.name != "attempts"}
        row["q"] = None if result.q is None else blob(result.q)
        with self._transaction() if result.attempts else nullcontext():
            self._insert("results", (run.key, *row.values()))
            for at, attempt in enumerate(result.attempts):
                own = (run.key, result.target, result.trial, at, attempt.time, int(attempt.found))
                self._insert("attempts", (*own, attempt.contacts, attempt.verdict))

    def finished(self, run: Run) -> set[tuple[int, int]]:
        """The (target, trial) that have a result."""
        return set(self._rows("SELECT target, trial FROM results WHERE run = ?", (run.key,)))

    def forget_lost(self, run: Run) -> int:
        """Removes the results of a run that came about because its solver was lost, or not asked; how many."""
        marks = ", ".join("?" * len(LOST))
        lost = f"SELECT target, trial FROM results WHERE run = ? AND status IN ({marks})"
        values = (run.key, run.key, *LOST)
        self._connection.execute(f"DELETE FROM attempts WHERE run = ? AND (target, trial) IN ({lost})", values)
        done = self._connection.execute(f"DELETE FROM results WHERE run = ? AND status IN ({marks})", (run.key, *LOST))
        return done.rowcount

    def merge(self, other: str | os.PathLike[str]) -> int:
        """Takes over all rows of another store that are not here yet; how many results came.

        The other file is not changed: an older one is copied and brought up to date first.
        """
        with _current_copy(other) as path:
            return self.take_over(path)

    def take_over(self, path: Path) -> int:
        self._connection.execute("ATTACH DATABASE ? AS other", (str(path),))
        try:
            before = self._rows("SELECT count(*) FROM results")[0][0]
            with self._transaction():
                for table in ("machines", "versions", "scenarios", "targets", "runs", "results", "attempts"):
                    self._connection.execute(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM other.{table}")
            return self._rows("SELECT count(*) FROM results")[0][0] - before
        finally:
            self._connection.execute("DETACH DATABASE other")

    # reading

    def runs(self) -> Table:
        """One row for each run, in the order in which they were started; columns as in RUN_COLUMNS."""
        rows = self._rows(
            """SELECT run, runs.scenario, robot, name, solver, label, timeout, seeding, settings, machine, versions,
                      started, note, count,
                      (SELECT coalesce(max(trial) + 1, 0) FROM results WHERE results.run = runs.run),
                      (SELECT count(*) FROM results WHERE results.run = runs.run),
                      (SELECT count(*) FROM results WHERE results.run = runs.run AND status = 'solved')
               FROM runs JOIN scenarios USING (scenario) ORDER BY started, runs.rowid"""
        )
        return records(rows, RUN_COLUMNS)

    def results(
        self,
        *,
        robots: Iterable[str] | None = None,
        scenarios: Iterable[str] | None = None,
        solvers: Iterable[str] | None = None,
        runs: Iterable[str] | None = None,
    ) -> Table:
        """One row for each result, those of the named robots, scenarios, solvers (or labels) and runs only.

        Columns as in RESULT_COLUMNS.
        """
        where, values = [], []
        for columns, chosen in ((("robot",), robots), (("name",), scenarios), (("solver", "label"), solvers),
                                (("run",), runs)):  # fmt: skip
            if chosen is not None:
                chosen = list(chosen)
                marks = ", ".join("?" * len(chosen))
                where.append("(" + " OR ".join(f"{column} IN ({marks})" for column in columns) + ")")
                values += chosen * len(columns)
        rows = self._rows(
            f"""SELECT robot, name, solver, label, timeout, seeding, run, target, trial, coalesce(reachable, -1),
                       status, status = 'solved', reached, verified, time, processor, collision_time, candidates,
                       evaluations, restarts, generations, position_error, rotation_error, seed_distance, limit_margin,
                       clearance, manipulability, soft_cost, scenario
                FROM results JOIN runs USING (run) JOIN scenarios USING (scenario)
                     JOIN targets USING (scenario, target)
                {"WHERE " + " AND ".join(where) if where else ""}
                ORDER BY runs.started, runs.rowid, trial, target""",
            values,
        )
        return records(rows, RESULT_COLUMNS)

    def configurations(self, run: str, trial: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The configurations that a run has: numbers of the targets (M,), trials (M,), q (M, dof)."""
        rows = self._rows(
            "SELECT target, trial, q FROM results WHERE run = ? AND q IS NOT NULL AND (? IS NULL OR trial = ?) "
            "ORDER BY trial, target",
            (run, trial, trial),
        )
        q = np.array([np.frombuffer(row[2]) for row in rows]) if rows else np.zeros((0, 0))
        return np.array([r[0] for r in rows], dtype=int), np.array([r[1] for r in rows], dtype=int), q

    def verified(self, run: Run, trial: int) -> dict[int, np.ndarray]:
        """The verified configurations of a run in a trial, by target."""
        rows = self._rows(
            "SELECT target, q FROM results WHERE run = ? AND trial = ? AND verified AND q IS NOT NULL", (run.key, trial)
        )
        return {target: np.frombuffer(q) for target, q in rows}

    def answers(self, run: str) -> dict[tuple[int, int], tuple[np.ndarray | None, str]]:
        """Of a run's results by (target, trial): the configuration, where there is one, and the note."""
        rows = self._rows("SELECT target, trial, q, note FROM results WHERE run = ?", (run,))
        return {(row[0], row[1]): (None if row[2] is None else np.frombuffer(row[2]), row[3]) for row in rows}

    def attempts(self, run: str) -> list[tuple[int, int, int, Attempt]]:
        """Of a run that kept them: (target, trial, number, attempt), in order."""
        rows = self._rows(
            "SELECT target, trial, attempt, time, found, contacts, verdict FROM attempts WHERE run = ? "
            "ORDER BY trial, target, attempt",
            (run,),
        )
        return [(*row[:3], Attempt(row[3], bool(row[4]), *row[5:])) for row in rows]

    def targets(self, scenario_key: str) -> dict[str, np.ndarray]:
        """Of a scenario's targets: poses (N, 4, 4) of the first goal's link, seeds (N, dof), reachable (N,) as 1, 0 or
        -1, known_solutions (N, dof), NaN where no configuration is known."""
        rows = self._rows(
            "SELECT pose, seed, coalesce(reachable, -1), witness FROM targets WHERE scenario = ? ORDER BY target",
            (scenario_key,),
        )
        if not rows:
            raise self._unknown_scenario(scenario_key)
        seeds = np.array([np.frombuffer(row[1]) for row in rows])
        nothing = np.full(seeds.shape[1], np.nan)
        return {
            "poses": np.array([np.frombuffer(row[0]).reshape(4, 4) for row in rows]),
            "seeds": seeds,
            "reachable": np.array([row[2] for row in rows], dtype=np.int8),
            "known_solutions": np.array([nothing if row[3] is None else np.frombuffer(row[3]) for row in rows]),
        }

    def _unknown_scenario(self, key: str) -> UnknownNameError:
        known = [row[0] for row in self._rows("SELECT scenario FROM scenarios")]
        return UnknownNameError("scenario", key, f"store {self.path}", known)

    def scenario_facts(self, scenario_key: str) -> dict[str, Any]:
        """Name, robot, dof, count, `origin` (what made it: `scenario_from(origin)` makes it again), goals, metadata."""
        names = ("name", "robot", "dof", "count", "origin", "goals", "metadata")
        rows = self._rows(f"SELECT {', '.join(names)} FROM scenarios WHERE scenario = ?", (scenario_key,))
        if not rows:
            raise self._unknown_scenario(scenario_key)
        facts = dict(zip(names, rows[0], strict=True))
        return {**facts, **{name: json.loads(facts[name]) for name in ("origin", "goals", "metadata")}}

    def machines(self) -> dict[str, dict[str, Any]]:
        """Facts on each machine, by its key."""
        names = ("cpu", "cores", "memory", "system")
        rows = self._rows(f"SELECT machine, {', '.join(names)} FROM machines ORDER BY rowid")
        return {row[0]: dict(zip(names, row[1:], strict=True)) for row in rows}

    def versions(self) -> dict[str, dict[str, str]]:
        """Package versions, by the key of their set."""
        return {key: json.loads(text) for key, text in self._rows("SELECT versions, packages FROM versions")}

    # inside

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # where the disk is full, SQLite has ended it already
                self._connection.execute("ROLLBACK")
            raise

    def _insert(self, table: str, row: Sequence[Any]) -> None:
        self._connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, values).fetchall()


def check_path(path: str | os.PathLike[str]) -> None:
    """Raises where no store can be at a path; makes none."""
    if Path(path).exists():
        Store(path).close()
    elif not Path(path).parent.is_dir():
        raise InvalidInputError(f"the folder {str(Path(path).parent)!r} of the store does not exist.")


def merge_stores(path: str | os.PathLike[str], others: Sequence[str | os.PathLike[str]]) -> dict[str, int]:
    """Takes the results of other stores over into the one at `path`, made where it does not exist; how many of each.

    All others are read before anything is written.
    """
    check_path(path)
    with ExitStack() as stack:
        copies = [(str(other), stack.enter_context(_current_copy(other))) for other in others]
        with Store(path) as store:
            return {name: store.take_over(copy) for name, copy in copies}


@contextmanager
def _current_copy(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A copy of a store with tables of the current version."""
    if not Path(path).is_file():
        raise InvalidInputError(f"there is no store {str(path)!r} to merge.")
    with temporary_folder() as folder:
        copy = folder / "merged.db"
        try:
            source, target = sqlite3.connect(f"file:{Path(path).resolve()}?mode=ro", uri=True), sqlite3.connect(copy)
            with source, target:
                source.backup(target)
            source.close()
            target.close()
        except sqlite3.DatabaseError as error:
            raise InvalidInputError(f"{str(path)!r} cannot be read as a store: {error}.") from None
        Store(copy).close()
        yield copy
