"""The runner: bad solvers exposed at no cost to others, nothing lost when it is killed, the same command resumes."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from memetik.bench.peers.registry import PEERS, MissingPeerError, class_facts, find_solver, python_of
from memetik.bench.report.summary import summary
from memetik.bench.run.blocks import Unit
from memetik.bench.run.comparison import ASKING, PATIENCE, Comparison, Settings, SolverProcesses, SolverRun
from memetik.bench.run.machine import machine_facts
from memetik.bench.run.runner import _note_machines, run
from memetik.bench.run.seeding import stream_begins
from memetik.bench.run.spec import Spec, bundled_specs, load_spec, solver_spec, spec_from
from memetik.bench.run.store import Store
from memetik.bench.scenarios import scenario
from memetik.errors import InvalidInputError, UnknownNameError

ADAPTERS = Path(__file__).with_name("adapters_for_tests.py")

pytestmark = pytest.mark.unsanitized  # starts processes and kills them

PATIENT = 600.0
"""Seconds that an event is waited for: no verdict on how long it takes."""


def bad(*kinds):
    return tuple(f"{ADAPTERS}:{kind}" for kind in kinds)


def small(*solvers, **changes):
    names = {
        "robots": ("ur10",),
        "scenarios": ("Random",),
        "targets": 8,
        "timeouts": (0.05,),
        "trials": 1,
        "grace": 0.3,
    }
    return Spec(solvers=tuple(solver_spec(name) for name in solvers), **{**names, **changes})


def statuses(path, label):
    with Store(path) as store:
        return store.results(solvers=[label]).status.tolist()


def need(peer):
    """Skips a test where a solver of others is not installed."""
    try:
        find_solver(peer)
    except MissingPeerError as error:
        pytest.skip(str(error))


@pytest.mark.clock
def test_liars_are_exposed_and_honest_solvers_are_not_touched(tmp_path):
    run(small("memetic", *bad("Liar", "OutOfLimits", "Nonsense", "Raiser", "Chatty")), tmp_path / "s.db")
    assert statuses(tmp_path / "s.db", "memetic") == ["solved"] * 8
    assert statuses(tmp_path / "s.db", "Nonsense") == ["error"] * 8
    for label in ("Liar", "OutOfLimits"):
        assert statuses(tmp_path / "s.db", label) == ["false"] * 8
    assert statuses(tmp_path / "s.db", "Raiser") == ["error"] * 8
    assert statuses(tmp_path / "s.db", "Chatty") == ["missed"] * 8
    with Store(tmp_path / "s.db") as store:
        lines = {line.label: line for line in summary(store)}
        results = store.results(solvers=["memetic"])
    assert lines["Liar"].solved == 0.0
    assert lines["Liar"].false == 8
    assert (results.position_error <= 1e-5).all()
    assert (results.candidates >= 1).all()
    assert (results.evaluations > 0).all()
    for column in ("seed_distance", "limit_margin", "clearance", "manipulability", "processor"):
        assert np.isfinite(results[column]).all()


@pytest.mark.clock
def test_solvers_that_crash_leave_or_eat_memory_cost_their_own_rows_only(tmp_path):
    spec = small("memetic", *bad("Crasher", "Leaver", "Eater"), memory=0.4)
    outcome = run(spec, tmp_path / "s.db")
    assert outcome.left == 0
    assert statuses(tmp_path / "s.db", "memetic") == ["solved"] * 8
    for label, status in (("Crasher", "crashed"), ("Leaver", "crashed"), ("Eater", "memory")):
        assert statuses(tmp_path / "s.db", label) == [status] * PATIENCE + ["abandoned"] * (8 - PATIENCE)
    connection = sqlite3.connect(tmp_path / "s.db")
    notes = {row[0] for row in connection.execute("SELECT note FROM results WHERE status = 'crashed'")}
    assert any("signal" in note for note in notes)
    assert any("code 3" in note for note in notes)


@pytest.mark.clock
def test_a_solver_that_hangs_is_ended_from_outside(monkeypatch):
    monkeypatch.setattr("memetik.bench.run.comparison.FIRST_SOLVE", 0.3)
    found = scenario("Random", "ur10", targets=7)
    with SolverProcesses() as processes:
        comparison = Comparison(found, [find_solver(bad("Hanger")[0])], Settings(timeout=0.05, grace=0.2), processes)
        results = [result for _, result in comparison.run(range(7), 0)]
        assert [result.status for result in results] == ["stopped"] * PATIENCE + ["abandoned"] * (7 - PATIENCE)
        assert not processes.process(comparison.solver_runs[0].solver, 1).running


def asked(adapter, found, **settings):
    """The results of a test's adapter on all targets of a scenario."""
    with SolverProcesses() as processes:
        comparison = Comparison(
            found, [find_solver(bad(adapter)[0])], Settings(**{"timeout": 0.05, **settings}), processes
        )
        comparison.solver_runs[0].prepare()
        return [result for _, result in comparison.run(range(len(found)), 0)]


@pytest.mark.clock
def test_answers_that_are_none_cost_their_own_rows_only():
    found = scenario("Random", "ur10", targets=18, reachability="skip")
    results = asked("Answers", found)
    assert [result.status for result in results] == ["error"] * 18
    notes = [result.note for result in results]
    for number, words in (
        (0, "'evaluations'"),
        (1, "'restarts'"),
        (6, "no 'q'"),
        (11, "5 numbers, not 6"),
        (13, "finite"),
    ):
        assert words in notes[number]
    assert all(notes)


@pytest.mark.clock
def test_the_time_is_what_we_measure_and_not_what_is_told():
    found = scenario("Random", "ur10", targets=4, reachability="skip")
    results = asked("TimeLiar", found)
    assert min(result.time for result in results) >= 0.02
    # With the clocks of its own process stopped, that of the runner counts.
    results = asked("ClockTurner", found, timeout=0.1)
    assert min(result.time for result in results) >= 0.06


@pytest.mark.parametrize(("adapter", "sleep"), [("InstantNone", 0.0), ("TimeLiar", 0.02)])
@pytest.mark.clock
def test_spins_are_not_tried_for_longer_than_the_time_allows(adapter, sleep, monkeypatch):
    attempts, ask = [], SolverRun._ask

    def noted(self, number, trial, attempt, *rest):
        attempts.append(attempt - 1)  # 0 and 1 are to warm up
        return ask(self, number, trial, attempt, *rest)

    monkeypatch.setattr(SolverRun, "_ask", noted)
    found = scenario("Table", "ur10", targets=3, reachability="skip", spin="free")
    results = asked(adapter, found, timeout=0.1)
    assert [result.status for result in results] == ["missed"] * 3
    assert max(attempts) * sleep <= ASKING[0] * 0.1 + ASKING[1] + sleep


@pytest.mark.parametrize("timeout", [0.0005, 0.05])
@pytest.mark.clock
def test_answers_after_the_timeout_are_late_however_small_it_is(timeout):
    found = scenario("Random", "ur10", targets=4)
    late = asked("Tardy", found, timeout=timeout)
    assert [(result.status, result.verified) for result in late] == [("late", True)] * 4
    assert [result.status for result in asked("Seer", found, timeout=5.0)] == ["solved"] * 4


def orphans():
    return [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"memetik-orphan" in read(path)]


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_a_solver_starts_ends_with_it(monkeypatch):
    monkeypatch.setattr("memetik.bench.run.comparison.FIRST_SOLVE", 1.0)
    found = scenario("Random", "ur10", targets=1)
    with SolverProcesses() as processes:
        comparison = Comparison(found, [find_solver(bad("Parent")[0])], Settings(timeout=0.05, grace=0.2), processes)
        assert [result.status for _, result in comparison.run(range(1), 0)] == ["stopped"]
        begin = time.monotonic()
        while orphans() and time.monotonic() - begin < 60.0:
            time.sleep(0.05)
        assert not orphans()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_memory_of_what_a_solver_starts_is_its_own():
    found = scenario("Random", "ur10", targets=1)
    results = play_lost("HungryParent", found, memory=400_000_000)
    assert [result.status for result in results] == ["memory"]


def play_lost(adapter, found, **settings):
    """As `asked`, for solvers that are lost before they are ready."""
    with SolverProcesses() as processes:
        comparison = Comparison(
            found, [find_solver(bad(adapter)[0])], Settings(**{"timeout": 0.05, **settings}), processes
        )
        return [result for _, result in comparison.run(range(len(found)), 0)]


@pytest.mark.clock
def test_a_solver_that_hangs_is_given_time_to_compile_once(monkeypatch):
    monkeypatch.setattr("memetik.bench.run.comparison.FIRST_SOLVE", 2.0)
    found = scenario("Random", "ur10", targets=4)
    results = play_lost("Hanger", found, grace=0.1)
    assert [result.status for result in results] == ["stopped"] * 4
    assert [result.time > 1.9 for result in results] == [True, False, False, False]


def test_solvers_that_do_not_apply_are_named_and_left_out(tmp_path):
    spec = small("memetic", *bad("Picky"), scenarios=("FullBody:3",), robots=())
    outcome = run(spec, tmp_path / "s.db")
    assert any("Picky does not take part" in remark for remark in outcome.remarks)
    with Store(tmp_path / "s.db") as store:
        assert set(store.results().label) == {"memetic"}
        assert {run.label: run.note for run in store.runs()}["Picky"].startswith("not applicable")


@pytest.mark.clock
def test_rejection_sampling_turns_colliding_answers_away_and_can_be_switched_off(tmp_path):
    need("pytracik")
    spec = small("pytracik", scenarios=("Shelf",), targets=12, timeouts=(0.2,))
    run(spec, tmp_path / "on.db")
    run(spec.updated(rejection=False), tmp_path / "off.db")
    with Store(tmp_path / "on.db") as on, Store(tmp_path / "off.db") as off:
        with_it, without = on.results(), off.results()
    assert (with_it.status != "false").all()
    assert with_it.candidates.max() > 1
    assert (with_it.collision_time > 0.0).all()
    assert (without.status == "false").any()
    assert (without.candidates <= 1).all()
    assert with_it.solved.sum() > without.solved.sum()


@pytest.mark.clock
def test_solvers_of_poses_try_spins_where_they_are_free():
    need("roboticstoolbox")
    found = scenario("Table", "ur10", targets=6, spin="free")
    with SolverProcesses() as processes:
        comparison = Comparison(found, [find_solver("roboticstoolbox")], Settings(timeout=1.0), processes)
        results = [result for _, result in comparison.run(range(6), 0)]
    assert [result.verified for result in results] == [True] * 6
    assert max(result.position_error for result in results) <= 1e-5


def test_streams_go_on_from_a_solvers_own_answers(tmp_path):
    spec = small("memetic", *bad("Missing"), scenarios=("Track",), targets=60, evaluations=2000)
    run(spec, tmp_path / "s.db")
    found = scenario("Track", "ur10", targets=60)
    begins = np.flatnonzero(stream_begins(found))
    assert begins.tolist()[:2] == [0, 50]
    with Store(tmp_path / "s.db") as store:
        for label in ("memetic", "Missing"):
            results = store.results(solvers=[label])
            numbers, _, q = store.configurations(results.run[0])
            answers = dict(zip(numbers.tolist(), q, strict=True))
            assert len(answers) > 20
            last = found.seeds[0]
            for row in results:
                last = found.seeds[row.target] if row.target in begins else last
                if row.verified:
                    assert row.seed_distance == pytest.approx(np.abs(answers[row.target] - last).max(), abs=1e-12)
                    last = answers[row.target]


def test_streams_are_the_same_after_an_interruption_and_on_a_cluster(tmp_path, monkeypatch):
    spec = small("memetic", "kdl", scenarios=("Track",), targets=60, evaluations=2000)
    run(spec, tmp_path / "one.db")
    looks = iter([True] * 30)
    with monkeypatch.context() as patched:
        patched.setattr("memetik.bench.run.runner._time_left", lambda deadline: next(looks, False))
        assert 0 < run(spec.updated(budget=60.0), tmp_path / "two.db").new < 60
    run(spec.updated(jobs=2), tmp_path / "two.db", cluster="local")
    assert len(table(tmp_path / "one.db")) == 120
    assert table(tmp_path / "one.db") == table(tmp_path / "two.db")


@pytest.mark.clock
def test_user_adapters_see_whole_problems(tmp_path):
    run(small(*bad("Seer"), scenarios=("Shelf",), targets=3), tmp_path / "s.db")
    assert statuses(tmp_path / "s.db", "Seer") == ["solved"] * 3


def test_the_same_command_does_nothing_twice_and_more_trials_add_only_theirs(tmp_path):
    assert run(small("memetic"), tmp_path / "s.db").new == 8
    again = run(small("memetic"), tmp_path / "s.db")
    assert (again.before, again.new, again.left) == (8, 0, 0)
    more = run(small("memetic", trials=3), tmp_path / "s.db")
    assert (more.before, more.new) == (8, 16)


def test_lost_solvers_are_asked_again_on_demand_only(tmp_path):
    spec = small("memetic", *bad("Raiser"), targets=3)
    run(spec, tmp_path / "s.db")
    assert run(spec, tmp_path / "s.db").new == 0
    assert run(spec, tmp_path / "s.db", retry=True).new == 3
    assert statuses(tmp_path / "s.db", "Raiser") == ["error"] * 3


def test_several_cores_and_work_bounds_give_the_same_configurations_as_one(tmp_path):
    spec = small("memetic", scenarios=("Random", "Shelf"), trials=2, evaluations=3000)
    run(spec, tmp_path / "one.db")
    run(spec.updated(jobs=2), tmp_path / "two.db")
    assert len(table(tmp_path / "one.db")) == 32
    assert table(tmp_path / "one.db") == table(tmp_path / "two.db")


def test_a_budget_stops_early_and_the_rest_follows(tmp_path, monkeypatch):
    spec = small(*bad("Slow"), targets=12)
    none = run(spec.updated(budget=0.001), tmp_path / "s.db")
    assert (none.new, none.left) == (0, 12)
    looks = iter([True] * 6)
    with monkeypatch.context() as patched:
        patched.setattr("memetik.bench.run.runner._time_left", lambda deadline: next(looks, False))
        some = run(spec.updated(budget=60.0), tmp_path / "s.db")
    assert 0 < some.new < 12
    assert some.left == 12 - some.new
    assert run(spec, tmp_path / "s.db").left == 0
    assert len(statuses(tmp_path / "s.db", "Slow")) == 12


def test_a_budget_stops_a_cluster_and_the_rest_follows(tmp_path, monkeypatch):
    spec = small("memetic", targets=50, jobs=2, evaluations=3000)
    looks = iter([True] * 6)
    with monkeypatch.context() as patched:
        patched.setattr("memetik.bench.run.runner._time_left", lambda deadline: next(looks, False))
        some = run(spec.updated(budget=60.0), tmp_path / "s.db", cluster="local")
    assert (some.new, some.left) == (6, 44)
    assert run(spec.updated(jobs=1), tmp_path / "s.db").new == 44


def test_a_cluster_that_is_not_there_leaves_no_store(tmp_path, monkeypatch):
    monkeypatch.setattr("memetik.bench.run.worker_pool.CONNECT_SECONDS", 0.5)
    with pytest.raises(InvalidInputError, match="no dask scheduler answers"):
        run(small("memetic"), tmp_path / "s.db", cluster="tcp://127.0.0.1:9")
    assert not list(tmp_path.iterdir())


def test_other_machines_of_a_cluster_are_noted(tmp_path):
    found, facts = scenario("Random", "ur10", targets=2), machine_facts()
    with Store(tmp_path / "s.db") as store:
        r = store.add_run(
            store.add_scenario(found), "memetic", label="memetic", timeout=0.1, seeding="random", settings={},
            machine=store.add_machine(facts), versions=store.add_versions({}),
        )  # fmt: skip
        units = [Unit(found, Settings(), (find_solver("memetic"),), (r,))]
        _note_machines(units, store, [facts])
        assert store.runs().note.tolist() == [""]
        _note_machines(units, store, [facts, {**facts, "cpu": "Abacus"}])
        assert "solved on a cluster: Abacus" in store.runs().note[0]


def command(store, *extra):
    arguments = ["bench", "run", "--robot", "ur10", "--scenario", "Random", "--targets", "60", "--timeout", "0.1",
                 "--trials", "2", "--store", str(store), "--json", *extra]  # fmt: skip
    return [sys.executable, "-m", "memetik.cli", *arguments, "--solver", *bad("Slow"), "--solver", "memetic"]


def count(store):
    if not store.exists():
        return 0
    connection = sqlite3.connect(store, timeout=30)
    try:
        return connection.execute("SELECT count(*) FROM results").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


MEASURED = ("time", "processor", "collision_time")


def table(path):
    """All results but for times, in an order of their own."""
    connection = sqlite3.connect(path)
    names = [row[1] for row in connection.execute("PRAGMA table_info(results)") if row[1] not in MEASURED]
    # Distances are found from where the last one was: equal but for rounding.
    columns = [f"round({name}, 6)" if name == "clearance" else f"results.{name}" for name in names]
    rows = connection.execute(
        f"SELECT name, label, timeout, seeding, {', '.join(columns)} "
        "FROM results JOIN runs USING (run) JOIN scenarios USING (scenario) ORDER BY run, trial, target"
    ).fetchall()
    connection.close()
    return rows


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The table of `command`, bounded by work, without anything in its way."""
    store = tmp_path_factory.mktemp("undisturbed") / "s.db"
    subprocess.run(command(store, *BY_WORK), capture_output=True, check=True)
    return table(store)


BY_WORK = ("--evaluations", "2000")


@pytest.mark.parametrize(
    ("jobs", "kills"),
    [("2", 3), pytest.param("1", 10, marks=pytest.mark.soak), pytest.param("2", 10, marks=pytest.mark.soak)],
)
def test_kills_at_any_moment_lose_no_finished_target_and_change_none(tmp_path, jobs, kills, undisturbed):
    store, rng, seen = tmp_path / "s.db", np.random.default_rng(kills), 0
    killed = command(store, "--jobs", jobs, *BY_WORK)
    for _ in range(kills):
        process = subprocess.Popen(killed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted, begin = seen + int(rng.integers(1, 200 // kills)), time.monotonic()
        while count(store) < wanted and process.poll() is None and time.monotonic() - begin < PATIENT:
            time.sleep(0.01)
        seen = count(store)
        process.kill()
        process.wait()
        assert count(store) >= seen
    done = subprocess.run(killed, capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)["results"]
    assert report["left"] == 0
    assert report["before"] >= seen > 0
    assert len(undisturbed) == 2 * 60 * 2
    assert table(store) == undisturbed


def test_a_cluster_gives_the_same_table_though_one_of_its_workers_is_killed(tmp_path):
    spec = small("memetic", scenarios=("Random", "Shelf"), targets=80, trials=2, evaluations=20_000)
    run(spec, tmp_path / "one.db")
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        process = subprocess.Popen(
            [sys.executable, "-c", CLUSTER_RUN, cluster.scheduler_address, str(tmp_path / "two.db")]
        )
        while count(tmp_path / "two.db") < 20 and process.poll() is None:
            time.sleep(0.05)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        assert process.wait(PATIENT) == 0
    assert len(table(tmp_path / "one.db")) == 320
    assert table(tmp_path / "one.db") == table(tmp_path / "two.db")


CLUSTER_RUN = """
import sys
from memetik.bench.run.runner import run
from memetik.bench.run.spec import Spec, solver_spec
spec = Spec(("ur10",), ("Random", "Shelf"), (solver_spec("memetic"),), 80, (0.05,), trials=2, evaluations=20_000)
run(spec, sys.argv[2], cluster=sys.argv[1])
"""


def test_an_interrupt_ends_politely_and_keeps_what_is_finished(tmp_path):
    store = tmp_path / "s.db"
    process = subprocess.Popen(
        command(store),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background may ignore it
    )
    begin = time.monotonic()
    while count(store) < 5 and time.monotonic() - begin < PATIENT:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENT)
    assert process.returncode == 130
    assert json.loads(output)["stopped"] is True
    assert count(store) >= 5


def test_two_runs_on_one_store_lose_nothing(tmp_path):
    store = tmp_path / "s.db"
    others = command(store)
    others[others.index("Random")] = "Grid"
    both = [subprocess.Popen(c, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for c in (command(store), others)]
    for process in both:
        _, errors = process.communicate(timeout=PATIENT)
        assert process.returncode == 0, errors.decode()
    with Store(store) as opened:
        results = opened.results()
    assert {name: int((results.scenario == name).sum()) for name in ("Random", "Grid")} == {"Random": 240, "Grid": 240}


def test_two_processes_at_the_same_run_keep_each_result_once(tmp_path, undisturbed):
    store = tmp_path / "s.db"
    both = [subprocess.Popen(command(store, *BY_WORK), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in "ab"]
    for process in both:
        _, errors = process.communicate(timeout=PATIENT)
        assert process.returncode == 0, errors.decode()
    assert table(store) == undisturbed


def test_no_solver_outlives_its_runner(tmp_path):
    store = tmp_path / "s.db"
    process = subprocess.Popen(command(store), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begin = time.monotonic()
    while count(store) < 3 and time.monotonic() - begin < PATIENT:
        time.sleep(0.01)
    children = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    assert children
    process.kill()
    process.wait()
    begin = time.monotonic()
    while any(Path(f"/proc/{pid}").exists() for pid in children) and time.monotonic() - begin < PATIENT:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)


def test_specifications_are_read_and_wrong_ones_are_explained(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(
        'schema = "memetik.bench/1"\nrobot = "ur10"\nscenarios = ["Random"]\ntimeout = [0.01, 0.1]\n'
        'seeding = ["random", "middle"]\nsolvers = ["memetic", {name = "memetic", label = "small", '
        "parameters = {population = 4}}]\n"
    )
    spec = load_spec(path).checked()
    assert spec.timeouts == (0.01, 0.1)
    assert len(spec.settings("random")) == 4
    assert spec.solvers[1].parameters == {"population": 4}
    assert solver_spec("memetic?population=4&elites=2").parameters == {"population": 4, "elites": 2}
    for data, words in (
        ({"robts": ["ur10"]}, "robots"),
        ({"targets": "many"}, "whole number"),
        ({"targets": True}, "whole number"),
        ({"schema": "memetik.bench/9"}, "memetik.bench/1"),
        ({"solvers": [{"label": "x"}]}, "name"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            spec_from(data)
    with pytest.raises(UnknownNameError, match="suite"):
        load_spec("sweet")
    with pytest.raises(InvalidInputError, match="timeouts"):
        small("memetic", timeouts=(0.0,)).checked()
    with pytest.raises(InvalidInputError, match="needs a robot"):
        small("memetic", robots=()).checked()
    for name in bundled_specs():
        load_spec(name).checked()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed": -1}, "seed is"),
        ({"evaluations": 0}, "evaluations is"),
        ({"grace": -5.0}, "grace is seconds"),
        ({"memory": -1.0}, "memory is gigabytes"),
        ({"memory": 4e9}, "memory is gigabytes"),
        ({"budget": -1.0}, "budget is seconds"),
        ({"options": {"Randomm": {"link": "tool0"}}}, "did you mean 'Random'"),
        ({"options": {"Random": {"spin": "free"}}}, "no option 'spin'"),
        ({"scenarios": ("Shelf",), "options": {"Shelf": {"size": "x"}}}, "cannot be made"),
        ({"scenarios": ("Chain:5",)}, "6 to 200"),
        ({"seedings": ("follow",)}, "streams"),
        ({"seedings": ("another",), "targets": 1}, "two targets"),
    ],
)
def test_what_cannot_be_run_is_told_before_a_store_is_made(tmp_path, changes, words):
    with pytest.raises(InvalidInputError, match=words):
        run(small("memetic", **changes), tmp_path / "s.db")
    assert not (tmp_path / "s.db").exists()


def test_solvers_in_specifications_have_tables_of_parameters():
    for entry, words in (
        ({"parameters": 3}, "solver 1: parameters must be a table"),
        ({"label": 3}, "solver 1: label must be a text"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            spec_from({"solvers": [{"name": "memetic", **entry}]})
    assert spec_from({"memory": 0.5}).settings("random")[0].memory == 500_000_000


def test_robots_that_do_not_take_part_are_named(tmp_path):
    outcome = run(small("memetic", scenarios=("FullBody:1",), targets=2), tmp_path / "s.db")
    assert outcome.remarks == ["FullBody:1 brings a robot of its own: ur10 does not take part there."]


def test_a_run_is_the_same_though_its_solver_did_not_get_ready_at_first(tmp_path):
    broken, adapter = tmp_path / "broken", tmp_path / "mine.py"
    adapter.write_text(
        "import os\nclass Mine:\n    package = 'numpy'\n    def prepare(self, task):\n"
        f"        if os.path.exists({str(broken)!r}): raise RuntimeError('not today')\n"
        "    def solve(self, target, seed, timeout): return None\n    def close(self): pass\n"
    )
    broken.touch()
    run(small(f"{adapter}:Mine", targets=2), tmp_path / "s.db")
    assert statuses(tmp_path / "s.db", "Mine") == ["error"] * 2
    broken.unlink()
    run(small(f"{adapter}:Mine", targets=2), tmp_path / "s.db", retry=True)
    assert statuses(tmp_path / "s.db", "Mine") == ["missed"] * 2
    with Store(tmp_path / "s.db") as store:
        (only,) = store.runs()
        assert store.versions()[only.versions]["Mine"] == np.__version__


def test_lost_results_are_told_with_what_asks_again(tmp_path):
    arguments = ["bench", "run", "--robot", "ur10", "--scenario", "Random", "--targets", "2", "--trials", "1"]
    command = [sys.executable, "-m", "memetik.cli", *arguments, "--store", str(tmp_path / "s.db"), "--solver"]
    done = subprocess.run([*command, *bad("Raiser")], capture_output=True, text=True, check=True)
    assert "2 results are lost" in done.stdout
    assert "--retry" in done.stdout


def test_peers_that_pip_does_not_have_are_listed_with_where_to_get_them(tmp_path):
    environment = {**os.environ, "MEMETIK_CACHE": str(tmp_path), "MEMETIK_PEER_PYKDL": "/none/python"}
    command = [sys.executable, "-m", "memetik.cli", "bench", "peers"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "MEMETIK_PEER_PYKDL" in done.stdout


def test_the_time_in_collision_checks_is_not_told_where_nobody_measured_it(tmp_path):
    run(small("memetic", *bad("Slow"), scenarios=("Shelf",), targets=3), tmp_path / "s.db")
    with Store(tmp_path / "s.db") as store:
        assert not (store.results().collision_time == 0.0).any()


def test_solvers_are_found_by_name_and_path(tmp_path, monkeypatch):
    with pytest.raises(UnknownNameError, match="memetic"):
        find_solver("memetc")
    with pytest.raises(UnknownNameError, match="population"):
        find_solver("memetic", parameters={"populaton": 3})
    with pytest.raises(UnknownNameError, match="Liar"):
        find_solver(f"{ADAPTERS}:Lair")
    with pytest.raises(InvalidInputError, match="no adapter file"):
        find_solver("nowhere.py:Mine")
    with pytest.raises(InvalidInputError, match="class too"):
        find_solver(str(ADAPTERS))
    lacking = tmp_path / "lacking.py"
    lacking.write_text("class Mine:\n    def solve(self, target, seed, timeout): return None\n")
    with pytest.raises(InvalidInputError, match="close, prepare"):
        find_solver(f"{lacking}:Mine")
    assert find_solver("memetic", parameters={"population": 4}).label == "memetic (population=4)"
    monkeypatch.setenv("MEMETIK_CACHE", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingPeerError, match="memetik bench peers install placo"):
        python_of(PEERS["placo"])


def test_adapters_of_installed_packages_are_found_and_may_import_their_neighbours(tmp_path, monkeypatch):
    package = tmp_path / "acme_solver"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "answers.py").write_text("def answer(seed):\n    return None\n")
    (package / "adapter.py").write_text(
        "from acme_solver.answers import answer\nclass Acme:\n    def prepare(self, task): pass\n"
        "    def solve(self, target, seed, timeout): return answer(seed)\n    def close(self): pass\n"
    )
    info = tmp_path / "acme_solver-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-solver\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[memetik.adapters]\nacme = acme_solver.adapter:Acme\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run(small("acme", targets=2), tmp_path / "s.db")
    assert statuses(tmp_path / "s.db", "acme") == ["missed"] * 2


def test_every_peer_has_an_adapter_that_imports_no_memetik():
    from memetik.bench.peers.registry import ADAPTERS as FOLDER

    for peer in PEERS.values():
        file, _, kind = peer.adapter.partition(":")
        facts = class_facts(FOLDER / f"{file}.py", kind)
        assert not peer.packages or facts["package"] == peer.packages[0]
        assert "memetik" not in (FOLDER / f"{file}.py").read_text()


def available(name):
    try:
        python_of(PEERS[name])
    except MissingPeerError:
        return False
    return True


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.clock
def test_peers_solve_what_they_claim(name):
    if not available(name):
        pytest.skip(f"{name} is not installed")
    robot = "panda:panda_arm" if name == "frankik" else "ur10"
    found = scenario("Random", robot, targets=6)
    seeding = "random"
    if name == "relaxed-ik-core":  # it follows streams, and not closely
        found, seeding = scenario("Track", robot, targets=6, position_tolerance=1e-3, rotation_tolerance=1e-2), "given"
    with SolverProcesses() as processes:
        comparison = Comparison(
            found, [find_solver(name)], Settings(timeout=1.0, seeding=seeding, grace=20.0), processes
        )
        results = [result for _, result in comparison.run(range(6), 0)]
    assert all(result.status in ("solved", "late", "missed") for result in results), results
    assert sum(result.verified for result in results) >= 4
