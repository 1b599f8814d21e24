"""The store: rows kept once, read back as arrays, merged, migrated; other files refused."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from memetik.bench.report.compare import compare
from memetik.bench.report.export import export_results
from memetik.bench.report.summary import summary
from memetik.bench.run import schema
from memetik.bench.run.store import Result, Store, merge_stores
from memetik.bench.scenarios import scenario, scenario_from
from memetik.errors import InvalidInputError, MemetikError, UnknownNameError


@pytest.fixture(scope="module")
def random_targets():
    return scenario("Random", "ur10", targets=6, reachability="skip")


def fill(path, scenario, solver="memetic", cpu="a", trials=2, solved=lambda target, trial: target != 3):
    with Store(path) as store:
        key = store.add_scenario(scenario)
        run = store.add_run(
            key, solver, label=solver, timeout=0.1, seeding="random", settings={"rejection": True},
            machine=store.add_machine({"cpu": cpu, "cores": 2}), versions=store.add_versions({"memetik": "0.1.0"}),
        )  # fmt: skip
        for trial in range(trials):
            for target in range(len(scenario)):
                good = solved(target, trial)
                store.add_result(run, Result(
                    target, trial, "solved" if good else "missed", good, good, 0.001 * (target + 1),
                    candidates=target, q=scenario.known_solutions[target] if good else None, clearance=np.inf,
                ))  # fmt: skip
    return run


def test_results_come_back_as_arrays_with_their_setup(tmp_path, random_targets):
    run = fill(tmp_path / "s.db", random_targets)
    with Store(tmp_path / "s.db") as store:
        results = store.results()
        assert len(results) == 12
        assert set(results.scenario) == {"Random"}
        assert results.solved.sum() == 10
        assert results.time[results.target == 2].tolist() == [0.003, 0.003]
        assert np.isnan(results.position_error).all()
        assert (results.evaluations == -1).all()
        assert (results.reachable == 1).all()
        assert len(store.results(solvers=["other"])) == 0
        targets, trials, q = store.configurations(run.key, trial=1)
        assert targets.tolist() == [0, 1, 2, 4, 5]
        assert set(trials) == {1}
        assert np.array_equal(q[3], random_targets.known_solutions[4])
        kept = store.targets(random_targets.key)
        assert np.array_equal(kept["poses"], random_targets.poses)
        assert scenario_from(store.scenario_facts(random_targets.key)["origin"]).key == random_targets.key
        with pytest.raises(UnknownNameError):
            store.targets("nothing")


def test_a_second_result_for_the_same_target_and_trial_is_ignored(tmp_path, random_targets):
    run = fill(tmp_path / "s.db", random_targets)
    with Store(tmp_path / "s.db") as store:
        store.add_result(run, Result(0, 0, "false", True, False, 9.0))
        assert store.results().status[0] == "solved"
        assert len(store.finished(run)) == 12


def test_the_same_run_is_found_again_and_another_timeout_is_another_run(tmp_path, random_targets):
    first, second = fill(tmp_path / "s.db", random_targets), fill(tmp_path / "s.db", random_targets)
    assert first.key == second.key
    with Store(tmp_path / "s.db") as store:
        assert len(store.runs()) == 1
        again = store.add_run(
            first.scenario, "memetic", label="memetic", timeout=0.2, seeding="random", settings={"rejection": True},
            machine=first.machine, versions=first.versions,
        )  # fmt: skip
        assert again.key != first.key


def test_stores_of_two_machines_merge_and_merging_again_changes_nothing(tmp_path, random_targets):
    fill(tmp_path / "a.db", random_targets, cpu="a")
    fill(tmp_path / "b.db", random_targets, cpu="b", trials=1)
    before = (tmp_path / "b.db").read_bytes()
    with Store(tmp_path / "a.db") as store:
        assert store.merge(tmp_path / "b.db") == 6
        assert store.merge(tmp_path / "b.db") == 0
        assert {facts["cpu"] for facts in store.machines().values()} == {"a", "b"}
        assert len(store.results()) == 18
    assert (tmp_path / "b.db").read_bytes() == before


def test_summary_leaves_unreachable_targets_out_of_the_rate(tmp_path, random_targets):
    from dataclasses import replace

    flags = np.array([1, 1, 1, 0, 1, 1], dtype=np.int8)
    fill(tmp_path / "s.db", replace(random_targets, reachable=flags))
    with Store(tmp_path / "s.db") as store:
        (line,) = summary(store)
    assert line.unreachable == 1
    assert line.solved == 1.0
    assert line.median == pytest.approx(0.003)


def test_exports_hold_the_same_rows_in_all_formats(tmp_path, random_targets):
    import csv

    import pyarrow.parquet

    fill(tmp_path / "s.db", random_targets)
    with Store(tmp_path / "s.db") as store:
        for name in ("r.csv", "r.json", "r.parquet"):
            assert export_results(store, tmp_path / name) == 12
        with pytest.raises(InvalidInputError, match="csv"):
            export_results(store, tmp_path / "r.xls")
    rows = json.loads((tmp_path / "r.json").read_text())["results"]
    with (tmp_path / "r.csv").open() as file:
        lines = list(csv.DictReader(file))
    table = pyarrow.parquet.read_table(tmp_path / "r.parquet").to_pylist()
    assert [row["time"] for row in rows] == [float(line["time"]) for line in lines] == [row["time"] for row in table]
    assert rows[0]["position_error"] is None
    assert lines[0]["position_error"] == ""


def test_diff_calls_small_differences_noise_and_large_ones_not(tmp_path, random_targets):
    many = scenario("Random", "ur10", targets=60, reachability="skip")
    fill(tmp_path / "s.db", many, "a", solved=lambda target, trial: target % 10 != 0)
    fill(tmp_path / "s.db", many, "b", solved=lambda target, trial: target % 10 != 1)
    fill(tmp_path / "s.db", many, "c", solved=lambda target, trial: target % 2 == 0)
    (same,) = compare(tmp_path / "s.db", solvers=["a", "b"])
    assert "within noise" in same.verdict
    (other,) = compare(tmp_path / "s.db", solvers=["a", "c"])
    assert other.verdict.startswith("a solves more")
    (itself,) = compare(tmp_path / "s.db", tmp_path / "s.db", solvers=["c"])
    assert itself.first_solved == itself.second_solved == 0.5
    with pytest.raises(InvalidInputError, match="two solvers"):
        compare(tmp_path / "s.db")


def test_files_that_are_no_store_are_refused_and_left_alone(tmp_path):
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(InvalidInputError, match="no store"):
        Store(other)
    text = tmp_path / "text.db"
    text.write_text("this is not a database, but long enough to be looked at as if it were one " * 20)
    with pytest.raises(InvalidInputError, match="cannot be opened"):
        Store(text)
    with pytest.raises(InvalidInputError, match="no store"):
        Store(tmp_path / "none.db", must_exist=True)
    assert not (tmp_path / "none.db").exists()
    newer = tmp_path / "newer.db"
    Store(newer).close()
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(InvalidInputError, match="update memetik"):
        Store(newer)


def as_before_attempts(connection, version):
    connection.execute("ALTER TABLE results DROP COLUMN soft_cost")
    connection.execute("DROP TABLE attempts")
    connection.execute(f"PRAGMA user_version = {version}")


def test_an_older_file_is_migrated_with_all_its_rows(tmp_path, random_targets):
    fill(tmp_path / "s.db", random_targets)
    connection = sqlite3.connect(tmp_path / "s.db")
    before = connection.execute("SELECT run, target, trial, status, time, q FROM results").fetchall()
    connection.execute("ALTER TABLE results DROP COLUMN generations")
    as_before_attempts(connection, 1)
    connection.commit()
    connection.close()
    shutil.copy(tmp_path / "s.db", tmp_path / "old.db")
    with Store(tmp_path / "s.db") as store:
        assert len(store.results()) == 12
    connection = sqlite3.connect(tmp_path / "s.db")
    assert connection.execute("PRAGMA user_version").fetchone()[0] == schema.VERSION
    assert connection.execute("SELECT run, target, trial, status, time, q FROM results").fetchall() == before
    connection.close()
    with Store(tmp_path / "new.db") as store:
        assert store.merge(tmp_path / "old.db") == 12


def test_answers_after_the_timeout_are_late_in_older_files_too(tmp_path, random_targets):
    run = fill(tmp_path / "s.db", random_targets)
    connection = sqlite3.connect(tmp_path / "s.db")
    connection.execute("UPDATE results SET time = 0.105 WHERE target = 2")
    as_before_attempts(connection, 2)
    connection.commit()
    connection.close()
    with Store(tmp_path / "s.db") as store:
        results = store.results(runs=[run.key])
    assert results.status[results.target == 2].tolist() == ["late", "late"]
    assert results.solved.sum() == 8
    # Where work is bounded, time is not.
    connection = sqlite3.connect(tmp_path / "s.db")
    connection.execute("UPDATE results SET status = 'solved' WHERE target = 2")
    connection.execute("""UPDATE runs SET settings = '{"evaluations": 100}'""")
    as_before_attempts(connection, 2)
    connection.commit()
    connection.close()
    with Store(tmp_path / "s.db") as store:
        assert store.results().solved.sum() == 10


def test_long_names_come_back_whole(tmp_path, random_targets):
    from dataclasses import replace

    label, name = "memetic (" + ", ".join(f"parameter_{k}=0.125" for k in range(20)) + ")", "a" * 200 + ".toml"
    fill(tmp_path / "s.db", replace(random_targets, name=name), solver=label)
    with Store(tmp_path / "s.db") as store:
        assert set(store.results().label) == {label}
        assert set(store.results().scenario) == {name}
        assert store.runs().solver.tolist() == [label]


def test_nothing_is_made_where_something_to_merge_is_missing(tmp_path, random_targets):
    fill(tmp_path / "a.db", random_targets)
    with pytest.raises(InvalidInputError, match="no store"):
        merge_stores(tmp_path / "new.db", [tmp_path / "a.db", tmp_path / "none.db"])
    assert not (tmp_path / "new.db").exists()
    assert merge_stores(tmp_path / "new.db", [tmp_path / "a.db"]) == {str(tmp_path / "a.db"): 12}


def read_all(path) -> None:
    """What reports, exports and diffs read."""
    with Store(path, must_exist=True) as store:
        runs, results = store.runs(), store.results()
        for key in {str(run.run) for run in runs}:
            store.configurations(key)
            store.answers(key)
        for key in {str(row.scenario_key) for row in results}:
            store.targets(key)
            store.scenario_facts(key)
        store.machines()
        store.versions()


@pytest.mark.parametrize("seed", range(25))
def test_a_damaged_store_is_an_error_with_a_sentence(tmp_path, random_targets, seed):
    path = tmp_path / "s.db"
    fill(path, random_targets)
    content, generator = bytearray(path.read_bytes()), np.random.default_rng(seed)
    for _ in range(5):
        begin, length = generator.integers(100, len(content)), generator.integers(1, 400)
        content[begin : begin + length] = generator.bytes(len(content[begin : begin + length]))
    path.write_bytes(bytes(content))
    with contextlib.suppress(MemetikError):
        read_all(path)


def test_damaged_content_is_named(tmp_path, random_targets):
    path = tmp_path / "s.db"
    fill(path, random_targets)
    for change in ("UPDATE targets SET pose = x'00'", "UPDATE scenarios SET origin = '{'"):
        connection = sqlite3.connect(path)
        connection.execute(change)
        connection.commit()
        connection.close()
        with pytest.raises(InvalidInputError, match="is damaged"):
            read_all(path)


FULL = """
import resource, signal, sys
from memetik.bench.run.store import Result, Store
from memetik.errors import InvalidInputError, MemetikError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    with Store(sys.argv[1]) as store:
        run = store.add_run("s", "m", label="m", timeout=0.1, seeding="", settings={}, machine="a", versions="b")
        for target in range(100_000):
            store.add_result(run, Result(target, 0, "missed", False, False, 0.1, note="x" * 500))
except InvalidInputError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_full_disk_is_an_error_with_a_sentence_and_costs_no_row(tmp_path):
    path = tmp_path / "s.db"
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "cannot be used" in done.stdout
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM results").fetchone()[0] > 10
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    connection.close()
