"""Reports: the numbers in them, what is left out, files that stand alone."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

import memetik as mk
from memetik.bench.report.data import read_cases
from memetik.bench.report.page import new_figure, picture_source
from memetik.bench.report.plots import legend_below, overview_bars, solved_bars
from memetik.bench.report.plots_style import PlotStyle, read_style
from memetik.bench.report.report import report_page, styled_cases, terminal_tables, write_report
from memetik.bench.report.scene import cross_section
from memetik.bench.run.store import Result, Store
from memetik.bench.scenarios import Scenario, scenario
from memetik.errors import InvalidInputError, UnknownNameError

TARGETS = 40
ODD = "slow <b>&"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with three solvers: `quick` solves all, `alike` all but two, `slow <b>&` half; three targets nobody."""
    path = tmp_path_factory.mktemp("report") / "bench.db"
    robot = mk.load_robot("ur5")
    q = robot.random(0, TARGETS)
    reachable = np.ones(TARGETS, dtype=np.int8)
    reachable[-3:] = 0
    witnesses = np.where(reachable[:, None] == 1, q, np.nan)
    origin = {"scenario": "Random", "robot": "ur5", "targets": TARGETS, "seed": 0, "reachability": "check",
              "tolerance": [1e-5, 1e-5], "options": {}}  # fmt: skip
    scenario = Scenario(
        "Random",
        robot,
        (mk.Pose(robot.tip),),
        (robot.pose(robot.tip, q),),
        None,
        False,
        q,
        reachable,
        witnesses,
        origin,
    )
    with Store(path) as store:
        key = store.add_scenario(scenario)
        machine = store.add_machine({"cpu": "a <cpu>", "cores": 2, "memory": 1, "system": "x"})
        versions = store.add_versions({"memetik": "0"})
        for label, misses, seconds in (("quick", 0, 0.001), ("alike", 2, 0.001), (ODD, TARGETS // 2, 0.02)):
            run = store.add_run(
                key, label, label=label, timeout=0.1, seeding="given", settings={}, machine=machine, versions=versions
            )
            for trial in range(2):
                for k in range(TARGETS):
                    solved = misses <= k < TARGETS - 3
                    status = "solved" if solved else "false" if label == ODD and k == 0 else "missed"
                    store.add_result(
                        run,
                        Result(k, trial, status, solved or status == "false", solved, seconds * (1 + 0.01 * k),
                               collision_time=0.2 * seconds, candidates=1 + k % 3, evaluations=10 * (k + 1), restarts=k,
                               clearance=0.01, manipulability=0.1, q=q[k] if solved else None),
                    )  # fmt: skip
    return path


def test_targets_that_nobody_reaches_do_not_count(path: Path) -> None:
    with Store(path) as store:
        (case,) = read_cases(store)
    assert case.left_out == 3
    assert len(case.targets) == TARGETS - 3
    quick = case.solvers[0]
    assert quick.solved.all()
    assert len(quick.rows) == 2 * (TARGETS - 3)


def test_a_target_that_one_solver_reaches_counts_for_all(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with Store(copy) as store:
        store.merge(path)
        run = next(r for r in store.runs() if r.label == "alike")
        extra = store.add_run(
            run.scenario_key, "lucky", label="lucky", timeout=0.1, seeding="given", settings={}, machine=run.machine,
            versions=run.versions,
        )  # fmt: skip
        store.add_result(extra, Result(TARGETS - 1, 0, "solved", True, True, 0.01))
        (case,) = read_cases(store)
    assert case.left_out == 2
    assert TARGETS - 1 in case.targets


def test_a_solver_that_does_not_take_part_is_named_and_does_not_disturb(path: Path, tmp_path: Path) -> None:
    with Store(tmp_path / "copy.db") as store:
        store.merge(path)
        first = store.runs()[0]
        absent = store.add_run(
            first.scenario_key, "absent", label="absent", timeout=0.1, seeding="given", settings={},
            machine=first.machine, versions=first.versions,
        )  # fmt: skip
        store.note(absent, "not applicable: it wants a gripper")
        (case,) = read_cases(store)
        _, (_, tables, findings) = list(terminal_tables(store))
    assert [c.label for c in case.solvers] == ["quick", "alike", ODD]
    assert "absent: not applicable: it wants a gripper" in findings
    assert any("within noise" in line for line in findings)
    assert len(tables[0].rows) == 3


def test_tables_hold_the_rates_and_times_of_the_rows(path: Path) -> None:
    with Store(path) as store:
        _, (_, (times, candidates, quality), findings) = list(terminal_tables(store))
    by_label = {row[0]: row for row in times.rows}
    assert by_label["quick"][1:4] == ("100.0%", "100.0%", "100.0%")
    counted = TARGETS - 3
    assert by_label["alike"][3] == f"{(counted - 2) / counted:.1%}"
    assert by_label[ODD][1] == "0.0%"  # nothing within 5 ms
    mean = 1e3 * 0.001 * (1 + 0.01 * np.arange(counted)).mean()
    assert by_label["quick"][-3] == f"{mean:.3g}"
    assert candidates.rows[0][1] == f"{np.mean(np.arange(counted) % 3 == 0):.1%}"
    assert {row[0]: row[4] for row in quality.rows}[ODD] == "2"  # false claims, one per trial
    assert any("3 targets are left out" in line for line in findings)
    assert any(line.startswith("quick and alike") and "within noise" in line for line in findings)
    assert any(line.startswith(f"quick solves more than {ODD}") for line in findings)
    assert any("verification rejects" in line for line in findings)


def test_the_page_stands_alone_and_shows_text_as_text(path: Path) -> None:
    with Store(path) as store:
        page = report_page(store)
    assert ODD not in page
    assert "slow &lt;b&gt;&amp;" in page
    assert "a &lt;cpu&gt;" in page
    assert not re.search(r"(src|href)=[\"'](?!data:|#)", page)
    assert "http://" not in page
    assert "https://" not in page
    assert page.count('class="viewer"') == 1
    assert page.count("<h3>") >= 6


def test_pdf_and_pictures_hold_the_same_figures(path: Path, tmp_path: Path) -> None:
    with Store(path) as store:
        written = write_report(store, [tmp_path / "report.pdf", tmp_path / "plots"])
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    names = {file.name for file in (tmp_path / "plots").iterdir()}
    assert {"overview.png", "ur5-Random-time.png", "ur5-Random-candidates.png", "ur5-Random-bars.png",
            "ur5-Random-boxes.png", "ur5-Random-profile.png", "ur5-Random-shares.png"} <= names  # fmt: skip
    rows = list(csv.reader((tmp_path / "plots" / "ur5-Random-times.csv").open(encoding="utf-8")))
    assert [row[0] for row in rows] == ["solver", "quick", "alike", ODD]
    assert "3 targets are left out" in (tmp_path / "plots" / "ur5-Random.txt").read_text()
    assert len(written) == 1 + len(names)
    assert not any(name.startswith(".") for name in names)


def test_a_configuration_chooses_and_names_solvers(path: Path, tmp_path: Path) -> None:
    config = tmp_path / "plots.txt"
    config.write_text("ur5\nalike,quick\nlabels:B,A\nRandom\n")
    with Store(path) as store:
        cases, style = styled_cases(store, read_style(config))
        assert [c.label for c in cases[0].solvers] == ["B", "A"]
        assert style.looks["B"].label == "B"
        (_, (overview,), _), (_, tables, findings) = terminal_tables(store, read_style(config))
        assert overview.columns == ("case", "B", "A")
        assert all([row[0] for row in entry.rows] == ["B", "A"] for entry in tables)
        assert any(line.startswith("A and B: 100.0%") for line in findings)
        bars = solved_bars(cases[0], style)
        assert [text.get_text() for text in bars.axes[0].get_xticklabels()] == ["B", "A"]
        ordered, _ = styled_cases(store, PlotStyle().narrowed([], [], [ODD, "quick"]))
        assert [c.label for c in ordered[0].solvers] == [ODD, "quick"]
        with pytest.raises(UnknownNameError, match="quick"):
            styled_cases(store, PlotStyle().narrowed([], [], ["quik"]))


def test_a_scenario_that_cannot_be_made_again_is_told_on_the_page(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with Store(copy) as store:
        store.merge(path)
    with sqlite3.connect(copy) as connection:
        origin = json.dumps({"scenario": str(tmp_path / "moved.toml"), "robot": "ur5", "targets": TARGETS, "seed": 0,
                             "reachability": "check", "tolerance": [1e-5, 1e-5], "options": {}})  # fmt: skip
        connection.execute("UPDATE scenarios SET origin = ?", (origin,))
    with Store(copy) as store:
        page = report_page(store)
    assert 'class="viewer"' not in page
    assert "There is no view: the scenario cannot be made again here." in page
    assert "moved.toml" in page


def test_the_view_offers_the_configurations_of_every_solver(path: Path) -> None:
    with Store(path) as store:
        page = report_page(store)
    data = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', page)[0])
    assert {entry["variant"] for entry in data["configurations"]} == {"quick", "alike", ODD}
    assert data["configurations"][0]["label"].startswith("at target")


def test_a_cross_section_shows_those_that_miss(tmp_path: Path) -> None:
    made = scenario("Table", "ur10", targets=6, reachability="skip")
    with Store(tmp_path / "s.db") as store:
        key = store.add_scenario(made)
        machine, versions = store.add_machine({"cpu": "c", "cores": 1}), store.add_versions({})
        for number in range(8):
            run = store.add_run(key, f"s{number}", label=f"s{number}", timeout=0.1, seeding="given", settings={},
                                machine=machine, versions=versions)  # fmt: skip
            for k in range(6):
                good = k >= number - 2
                store.add_result(run, Result(k, 0, "solved" if good else "missed", good, good, 0.01))
        (case,) = read_cases(store)
        figure = cross_section(store, case, made)
    titles = [axis.get_title() for axis in figure.axes]
    assert titles[0].startswith("s7: 16.7% solved")
    assert len(titles) == 6
    assert [title[:2] for title in titles[:5]] == ["s7", "s6", "s5", "s4", "s3"]


def test_letters_of_pictures_are_text_and_legends_show_all_names() -> None:
    figure = new_figure(3.0, 2.0, layout="tight")
    axis = figure.subplots()
    for number in range(13):
        axis.plot([0, 1], [0, number], label=f"a solver of number {number}")
    legend_below(figure)
    source = picture_source(figure)
    assert len(source) < 40_000
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0.0
    assert box.x1 <= figure.bbox.x1
    assert "a solver of number 12" in unquote(source)


def test_names_of_many_cases_do_not_overlap(path: Path) -> None:
    with Store(path) as store:
        cases, style = styled_cases(store)
    many = [replace(cases[0], scenario=f"HydrogenTank {k}", robot=f"robot_{k % 3}") for k in range(19)]
    for solvers in (1, 3):
        figure = overview_bars([replace(case, solvers=case.solvers[:solvers]) for case in many], style)
        figure.canvas.draw()
        for axis in figure.axes:
            boxes = [name.get_window_extent() for name in axis.get_xticklabels()]
            if axis.get_xticklabels()[0].get_rotation() == 0.0:
                assert all(a.x1 <= b.x0 for a, b in pairwise(boxes))
            else:  # aslant lines: a line's height apart
                assert all(b.x1 - a.x1 > 12.0 for a, b in pairwise(boxes))


def test_an_empty_store_and_a_missing_one_are_told(tmp_path: Path) -> None:
    with Store(tmp_path / "empty.db") as store, pytest.raises(InvalidInputError, match="no runs"):
        report_page(store)
    with pytest.raises(InvalidInputError, match="no store"):
        Store(tmp_path / "missing.db", must_exist=True)


@pytest.mark.parametrize(("results", "why"), [(5, "none of the 5 targets"), (0, "no results yet")])
@pytest.mark.parametrize("name", ["report.html", "report.pdf", "folder"])
def test_a_store_without_anything_that_counts_says_so(tmp_path, results, why, name):
    robot = mk.load_robot("ur5")
    q = robot.random(0, 5)
    nobody, unknown = np.zeros(5, dtype=np.int8), np.full((5, robot.dof), np.nan)
    poses = (robot.pose(robot.tip, q),)
    made = Scenario("Random", robot, (mk.Pose(robot.tip),), poses, None, False, q, nobody, unknown, {"scenario": "x"})
    with Store(tmp_path / "bench.db") as store:
        machine, versions = store.add_machine({}), store.add_versions({})
        run = store.add_run(
            store.add_scenario(made), "a", label="a", timeout=0.1, seeding="middle", settings={}, machine=machine,
            versions=versions,
        )  # fmt: skip
        for target in range(results):
            store.add_result(run, Result(target, 0, "missed", False, False, 0.1))
        with pytest.raises(InvalidInputError, match=f"nothing to report.*{why}"):
            write_report(store, [tmp_path / name])
