"""What reading verbs agree on: which targets count, which runs are compared, and how they are told apart."""

from __future__ import annotations

import csv
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import memetik as mk
from memetik.bench.report.compare import compare
from memetik.bench.report.data import read_cases
from memetik.bench.report.summary import distinctions, summary
from memetik.bench.run.store import Result, Store
from memetik.bench.scenarios import Scenario
from memetik.cli.app import app
from memetik.errors import InvalidInputError

TARGETS = 12
LONG = "a solver with a long name (population=4, local_iterations=12)"


def fill(
    path: Path,
    runs: list[tuple[str, dict, float]],
    *,
    scenario: str = "Random",
    timeouts: tuple[float, ...] = (0.1,),
    unreachable: int = 0,
    late: tuple[str, ...] = (),
    targets: int = TARGETS,
) -> Path:
    """Runs (label, settings, share solved); the last `unreachable` targets are reached by those of `late`, too late."""
    robot = mk.load_robot("ur5")
    q = robot.random(0, targets)
    reachable = np.ones(targets, dtype=np.int8)
    reachable[targets - unreachable :] = 0
    origin = {"scenario": scenario, "robot": "ur5", "targets": targets, "seed": 0, "reachability": "check",
              "tolerance": [1e-5, 1e-5], "options": {}}  # fmt: skip
    witnesses = np.where(reachable[:, None] == 1, q, np.nan)
    made = Scenario(scenario, robot, (mk.Pose(robot.tip),), (robot.pose(robot.tip, q),), None, False, q, reachable,
                    witnesses, origin)  # fmt: skip
    with Store(path) as store:
        key = store.add_scenario(made)
        machine = store.add_machine({"cpu": "x", "cores": 2, "memory": 1, "system": "y"})
        versions = store.add_versions({"memetik": "0"})
        for timeout in timeouts:
            for label, settings, share in runs:
                run = store.add_run(key, label, label=label, timeout=timeout, seeding="given", settings=settings,
                                    machine=machine, versions=versions)  # fmt: skip
                for k in range(targets):
                    good = bool(reachable[k]) and k < share * targets
                    status = "solved" if good else "missed" if reachable[k] or label not in late else "late"
                    verified = status != "missed"
                    result = Result(
                        k, 0, status, verified, verified, 0.0012345 * (k + 1), candidates=k,
                        evaluations=123456 * (k + 1), q=q[k] if verified else None,
                    )  # fmt: skip
                    store.add_result(run, result)
                if share == 0.0:
                    store.note(
                        run, "not applicable: it wants a gripper with three fingers and a great deal of patience"
                    )
    return path


def test_all_readers_count_the_same_targets(tmp_path: Path) -> None:
    """Unreachable ones do not count, unless anybody reached them, also if that one is not looked at."""
    path = fill(tmp_path / "s.db", [("a", {}, 0.5), ("b", {}, 1.0)], unreachable=3)
    with Store(path) as store:
        assert [line.solved for line in summary(store)] == pytest.approx([6 / 9, 1.0])
        assert [line.unreachable for line in summary(store)] == [3, 3]
    path = fill(tmp_path / "t.db", [("a", {}, 0.5), ("b", {}, 1.0), ("c", {}, 1.0)], unreachable=3, late=("c",))
    with Store(path) as store:
        rates = {line.label: line.solved for line in summary(store)}
        assert rates == pytest.approx({"a": 6 / 12, "b": 9 / 12, "c": 9 / 12})
        for solvers in (["a", "b", "c"], ["a", "b"]):
            assert {line.label: line.solved for line in summary(store, solvers=solvers)} == pytest.approx(
                {name: rates[name] for name in solvers}
            )
            (case,) = read_cases(store, solvers=solvers)
            assert {c.label: c.solved.mean() for c in case.solvers} == pytest.approx(
                {name: rates[name] for name in solvers}
            )
            assert case.left_out == 0
    (row,) = compare(path, solvers=["a", "b"])
    assert (row.first_solved, row.second_solved) == pytest.approx((rates["a"], rates["b"]))


def test_runs_that_differ_in_a_setting_are_neither_mixed_nor_alike(tmp_path: Path) -> None:
    runs = [("a", {"rejection": True, "seed": 0}, 1.0), ("a", {"rejection": False, "seed": 0}, 0.25)]
    path = fill(tmp_path / "s.db", runs)
    with Store(path) as store:
        assert sorted(distinctions(store.runs()).values()) == ["rejection off", "rejection on"]
        assert [line.settings for line in summary(store)] == ["rejection on", "rejection off"]
        (case,) = read_cases(store)
        keys = [run.run for run in store.runs()]
    assert [c.label for c in case.solvers] == ["a [rejection on]", "a [rejection off]"]
    rows = compare(path, path)
    assert [(r.first_settings, r.second_settings, r.first_solved, r.second_solved) for r in rows] == [
        ("rejection on", "rejection on", 1.0, 1.0), ("rejection off", "rejection off", 0.25, 0.25)
    ]  # fmt: skip
    (row,) = compare(path, solvers=[keys[0][:8], keys[1][:8]])
    assert (row.first_solved, row.second_solved) == (1.0, 0.25)
    assert row.verdict.startswith("the first solves more")


def test_a_solver_is_compared_with_itself_at_each_timeout(tmp_path: Path) -> None:
    path = fill(tmp_path / "s.db", [("a", {}, 1.0), ("b", {}, 1.0)], timeouts=(0.1, 0.2))
    assert [row.timeout for row in compare(path, solvers=["a", "b"])] == [0.1, 0.2]
    with Store(path) as store:
        assert [case.title for case in read_cases(store)] == ["ur5, Random, 100 ms", "ur5, Random, 200 ms"]


def test_stores_with_nothing_in_common_are_told(tmp_path: Path) -> None:
    one = fill(tmp_path / "one.db", [("a", {}, 1.0)])
    two = fill(tmp_path / "two.db", [("a", {}, 1.0)], timeouts=(0.2,))
    with pytest.raises(InvalidInputError, match=r"nothing to compare.*100 ms.*200 ms"):
        compare(one, two)


def test_report_and_diff_agree_on_what_is_noise(tmp_path: Path) -> None:
    from memetik.bench.report.tables import findings

    for targets, said in ((5, "too few"), (12, "faster")):
        path = fill(tmp_path / f"{targets}.db", [("a", {}, 1.0)], targets=targets)
        with Store(path) as store:
            first = store.runs()[0]
            slow = store.add_run(first.scenario_key, "b", label="b", timeout=0.1, seeding="given", settings={},
                                 machine=first.machine, versions=first.versions)  # fmt: skip
            for k in range(targets):
                store.add_result(slow, Result(k, 0, "solved", True, True, 0.004 * (k + 1)))
            (case,) = read_cases(store)
        (row,) = compare(path, solvers=["a", "b"])
        assert said in row.verdict
        (sentence,) = (line for line in findings(case) if line.startswith("Mean time"))
        assert ("too few" in sentence) == (said == "too few")
        assert ("times less" in sentence) == (said == "faster")


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose tables are wider than a terminal."""
    runs = [(label, {"rejection": on, "seed": 3}, share)
            for label, share in (("memetic", 1.0), ("trac", 0.7), (LONG, 0.5), ("kdl", 0.0), ("x1", 0.3), ("x2", 0.2))
            for on in (True, False)]  # fmt: skip
    return fill(tmp_path_factory.mktemp("wide") / "wide.db", runs, timeouts=(0.05, 0.1), unreachable=2)


VERBS = [("ls",), ("show",), ("diff",), ("diff", "--solver", "memetic", "--solver", LONG), ("report",)]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: "-".join(verb[:2]))
def test_no_figure_is_cut_on_a_narrow_terminal(wide: Path, verb: tuple[str, ...], monkeypatch) -> None:
    stores = [str(wide), str(wide)] if verb == ("diff",) else [str(wide)]
    texts = []
    for columns in (1000, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        result = CliRunner().invoke(app, ["bench", verb[0], *stores, *verb[1:]], catch_exceptions=False)
        assert result.exit_code == 0
        texts.append(result.output)
    tables = [line for line in texts[1].splitlines() if not line.startswith("- ")]
    assert max(map(len, (line.rstrip() for line in tables if "  " in line))) <= 80
    for word in set(texts[0].split()):
        if any(letter.isdigit() for letter in word):
            assert word in texts[1] or word in texts[1].replace("\n", "").replace(" ", "")
    if verb[0] == "diff":
        assert "noise" in texts[1] or "solve" in texts[1]
    if verb[0] in ("ls", "show"):
        assert "gripper" in texts[1]


@pytest.mark.unsanitized
def test_a_terminal_of_80_columns_is_asked_for_its_width(wide: Path) -> None:
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "dumb"}
    process = subprocess.Popen(
        [sys.executable, "-c", "from memetik.cli import main; main()", "bench", "show", str(wide), "-m", "trac"],
        stdout=slave, stderr=slave, stdin=slave, env=environment,
    )  # fmt: skip
    os.close(slave)
    text = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    assert process.wait() == 0
    lines = text.decode().replace("\r", "").splitlines()
    assert any("rejection off" in line for line in lines)
    assert max(len(line) for line in lines if "trac" in line) <= 80
    assert sum("90.0%" in line for line in lines) == 4  # two timeouts, with and without rejection


def test_settings_are_in_the_json_of_ls(wide: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "ls", str(wide), "--json"], catch_exceptions=False)
    assert {run["settings"]["rejection"] for run in json.loads(result.output)["runs"]} == {True, False}


def test_an_export_tells_machines_apart_and_has_configurations_and_notes(tmp_path: Path) -> None:
    from memetik.bench.report.export import export_results

    path = fill(tmp_path / "s.db", [("a", {"rejection": False}, 1.0)])
    with Store(path) as store:
        first = store.runs()[0]
        other = store.add_run(first.scenario_key, "a", label="a", timeout=0.1, seeding="given", settings={},
                              machine=store.add_machine({"cpu": "another", "cores": 1}),
                              versions=store.add_versions({"memetik": "9"}))  # fmt: skip
        store.add_result(other, Result(0, 0, "error", False, False, 0.1, note="it fell"))
        for ending in ("csv", "json"):
            assert export_results(store, tmp_path / f"r.{ending}") == TARGETS + 1
        q = store.configurations(first.run)[2]
    rows = json.loads((tmp_path / "r.json").read_text())["results"]
    assert {(row["cpu"], row["memetik"]) for row in rows} == {("x", "0"), ("another", "9")}
    assert len({row["machine"] for row in rows}) == len({row["versions"] for row in rows}) == 2
    assert rows[3]["q"] == q[3].tolist()
    assert json.loads(rows[0]["settings"]) == {"rejection": False}
    (failed,) = (row for row in rows if row["status"] == "error")
    assert (failed["note"], failed["q"]) == ("it fell", None)
    lines = list(csv.DictReader((tmp_path / "r.csv").open(encoding="utf-8")))
    assert [float(word) for word in lines[3]["q"].split()] == q[3].tolist()
