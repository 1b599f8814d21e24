"""The tables of a store, and the steps from each older version of them to the next.

All keys are texts made from content, so that a store from another machine is merged by copying rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from memetik.errors import InvalidInputError

APPLICATION = 0x6D656D6B
"""SQLite's application_id of our files: "memk"."""

TABLES = """
CREATE TABLE machines (
    machine TEXT PRIMARY KEY, cpu TEXT, cores INTEGER, memory INTEGER, system TEXT);
CREATE TABLE versions (
    versions TEXT PRIMARY KEY, packages TEXT NOT NULL);
CREATE TABLE scenarios (
    scenario TEXT PRIMARY KEY, name TEXT NOT NULL, robot TEXT NOT NULL, dof INTEGER NOT NULL, count INTEGER NOT NULL,
    origin TEXT NOT NULL, goals TEXT NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE targets (
    scenario TEXT NOT NULL, target INTEGER NOT NULL, pose BLOB NOT NULL, seed BLOB NOT NULL, reachable INTEGER,
    witness BLOB, PRIMARY KEY (scenario, target)) WITHOUT ROWID;
CREATE TABLE runs (
    run TEXT PRIMARY KEY, scenario TEXT NOT NULL, solver TEXT NOT NULL, label TEXT NOT NULL, timeout REAL NOT NULL,
    seeding TEXT NOT NULL, settings TEXT NOT NULL, machine TEXT NOT NULL, versions TEXT NOT NULL,
    started TEXT NOT NULL, note TEXT NOT NULL DEFAULT '');
CREATE INDEX runs_by_scenario ON runs (scenario);
CREATE TABLE results (
    run TEXT NOT NULL, target INTEGER NOT NULL, trial INTEGER NOT NULL, status TEXT NOT NULL,
    reached INTEGER NOT NULL, verified INTEGER NOT NULL, time REAL NOT NULL, processor REAL, collision_time REAL,
    candidates INTEGER, evaluations INTEGER, restarts INTEGER, position_error REAL, rotation_error REAL,
    seed_distance REAL, limit_margin REAL, clearance REAL, manipulability REAL, q BLOB, note TEXT NOT NULL DEFAULT '',
    generations INTEGER, soft_cost REAL, PRIMARY KEY (run, target, trial)) WITHOUT ROWID;
"""

ATTEMPTS = """
CREATE TABLE attempts (
    run TEXT NOT NULL, target INTEGER NOT NULL, trial INTEGER NOT NULL, attempt INTEGER NOT NULL, time REAL NOT NULL,
    found INTEGER NOT NULL, contacts TEXT NOT NULL, verdict TEXT NOT NULL,
    PRIMARY KEY (run, target, trial, attempt)) WITHOUT ROWID;
"""


def prepare(connection: sqlite3.Connection, path: str) -> None:
    """Make the tables in an empty file, bring those of an older version up to date, and refuse any other file.

    Everything happens in one transaction: of two processes that open a new or old file at once, one does it.
    """
    if _version(connection, path) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection, path)
        if version == 0:
            _run(connection, TABLES + ATTEMPTS)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
        else:
            for step in MIGRATIONS[version - 1 :]:
                step(connection)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # where the disk is full, SQLite has ended it already
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, path: str) -> int:
    """The version of the tables in a file, 0 where it is empty."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables == 0:
        return 0
    if application != APPLICATION:
        raise InvalidInputError(f"{path} is an SQLite file, but no store of the benchmark; name another file.")
    if version > VERSION:
        raise InvalidInputError(
            f"{path} has tables of version {version}; this memetik knows versions up to {VERSION}: update memetik."
        )
    return version


def _run(connection: sqlite3.Connection, script: str) -> None:
    """As executescript, which would end the transaction."""
    for statement in script.split(";"):
        if statement.strip():
            connection.execute(statement)


def _count_generations(connection: sqlite3.Connection) -> None:
    """Version 2 also counts the generations of evolutionary methods."""
    connection.execute("ALTER TABLE results ADD COLUMN generations INTEGER")


def _judge_late(connection: sqlite3.Connection) -> None:
    """Version 3 calls late what came after the timeout; before, a tenth of it and a millisecond were let pass."""
    connection.execute(
        """UPDATE results SET status = 'late' WHERE status = 'solved' AND time > (
               SELECT timeout FROM runs
               WHERE runs.run = results.run AND json_extract(settings, '$.evaluations') IS NULL)"""
    )


def _keep_attempts(connection: sqlite3.Connection) -> None:
    """Version 4 also keeps the cost of soft goals and, on request, every attempt at a target."""
    connection.execute("ALTER TABLE results ADD COLUMN soft_cost REAL")
    _run(connection, ATTEMPTS)


MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_count_generations, _judge_late, _keep_attempts]
"""Entry k brings tables of version k + 1 to version k + 2."""

VERSION = len(MIGRATIONS) + 1
