"""Work on a cluster: the same results as in one process, whoever dies."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import memetik as mk
from memetik.bench.reach.study import ReachSetup, reach_study
from memetik.bench.run.worker_pool import AHEAD, DEATHS, WorkerPool, worker_pool
from memetik.bench.scenarios import scenario
from memetik.bench.scenarios.surroundings import make_surroundings
from memetik.bench.tuning.space import space_of
from memetik.bench.tuning.tune import Setting, tune
from memetik.errors import InvalidInputError, MemetikError

pytestmark = pytest.mark.unsanitized


@pytest.fixture(scope="module")
def pool():
    with worker_pool("local", 2) as found:
        yield found


def slow_square(context: float, item: int) -> float:
    time.sleep(0.05)
    return context * item * item


def fail_at_three(context: None, item: int) -> int:
    if item == 3:
        raise InvalidInputError("three is not wanted.")
    return item


def write_down(context: Path, item: int) -> int:
    """Leaves a line for each time that it is called."""
    with context.open("a") as file:
        file.write(f"{item}\n")
    time.sleep(0.02)
    return item


def end_at_seven(context: Path, item: int) -> int:
    write_down(context, item)
    if item == 7:
        os._exit(1)
    return item


def large(context: int, item: int) -> np.ndarray:
    return np.full(context, item)


def kill_one(pool: WorkerPool) -> None:
    os.kill(next(iter(pool.client.run(os.getpid).values())), signal.SIGKILL)


def test_results_come_in_the_order_of_the_items(pool) -> None:
    assert pool.count == 2
    for together in (None, 3, [1, 4, 5]):
        assert pool.collect(slow_square, 2.0, range(10), together=together) == [2.0 * k * k for k in range(10)]
    assert pool.collect(slow_square, 2.0, []) == []


@pytest.mark.parametrize("together", [0, [3, 0, 7], [3, 3]])
def test_tasks_have_all_items(pool, together: int | list[int]) -> None:
    with pytest.raises(InvalidInputError, match="all 10 items"):
        pool.collect(slow_square, 2.0, range(10), together=together)


def test_large_results_come_whole(pool) -> None:
    found = pool.collect(large, 100_000, range(6), together=2)
    assert [array.tolist() for array in found] == [[k] * 100_000 for k in range(6)]


def test_a_killed_worker_costs_what_it_had_not_handed_over(pool, tmp_path: Path) -> None:
    calls, results = tmp_path / "calls", []
    for k, value in pool.map(write_down, calls, range(240), together=5):
        assert k == value
        results.append(k)
        if len(results) == 25:
            kill_one(pool)
    assert sorted(results) == list(range(240))
    # The block that it was at, on a quiet machine. What waits to be handed over is bounded: AHEAD blocks a worker.
    assert 240 <= len(calls.read_text().split()) <= 240 + 5 * 2 * AHEAD


def test_work_that_ends_its_workers_is_given_up(pool, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    with pytest.raises(MemetikError, match=f"ended {DEATHS} workers"):
        pool.collect(end_at_seven, calls, range(30), together=5)
    assert calls.read_text().split().count("7") == DEATHS
    assert pool.collect(slow_square, 1.0, range(4)) == [0.0, 1.0, 4.0, 9.0]


def yield_squares(context: float, block: range) -> Iterator[float]:
    return (context * k * k for k in block)


def test_blocks_may_have_any_number_of_results(pool) -> None:
    blocks = [range(3), range(0), range(5, 6)]
    wanted = [(0, 0.0), (0, 2.0), (0, 8.0), (2, 50.0)]
    assert list(WorkerPool().run(yield_squares, 2.0, blocks)) == wanted
    assert sorted(pool.run(yield_squares, 2.0, blocks)) == wanted


def test_results_of_this_process_come_one_by_one() -> None:
    begun: list[int] = []

    def note(context: None, block: range) -> Iterator[int]:
        for k in block:
            begun.append(k)
            yield k

    results = WorkerPool().run(note, None, [range(3), range(3, 6)])
    assert next(results) == (0, 0)
    assert begun == [0]


def test_workers_may_take_long_to_start_again(tmp_path: Path) -> None:
    """By itself dask closes a local worker for good that is not back within some seconds of its death."""
    import dask

    calls = tmp_path / "calls"
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}), worker_pool("local", 1) as pool:
        with pytest.raises(MemetikError, match=f"ended {DEATHS} workers"):
            pool.collect(end_at_seven, calls, range(10), together=5)
        assert calls.read_text().split().count("7") == DEATHS
        assert pool.collect(slow_square, 1.0, range(4)) == [0.0, 1.0, 4.0, 9.0]


@pytest.fixture
def lonely():
    """A scheduler of this process with a worker that nobody starts again, and how to start one."""
    from distributed import Client, LocalCluster

    def start() -> subprocess.Popen[bytes]:
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, *options]  # pyright: ignore[reportAttributeAccessIssue]
        one = subprocess.Popen(command, cwd=Path(__file__).parent, stderr=subprocess.DEVNULL)
        started.append(one)
        return one

    started: list[subprocess.Popen[bytes]] = []
    options: dict[str, Any] = {"dashboard_address": None, "silence_logs": "ERROR"}
    options["scheduler_kwargs"] = {"dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=0, **options) as cluster, Client(cluster) as client:
        start()
        client.wait_for_workers(1, timeout=600)
        yield WorkerPool(lambda: client), started, start
        for one in started:
            one.kill()
            one.wait()


def test_work_goes_on_when_a_worker_comes_back(lonely) -> None:
    pool, started, start = lonely
    results: dict[int, float] = {}
    for k, value in pool.map(slow_square, 1.0, range(30)):
        results[k] = value
        if len(results) == 5:
            started[0].kill()
            start()
    assert results == {k: float(k * k) for k in range(30)}


def test_work_without_workers_is_given_up(lonely, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, started, _ = lonely
    monkeypatch.setattr("memetik.bench.run.worker_pool.LONELY_SECONDS", 1.0)
    results = pool.map(slow_square, 1.0, range(100))
    next(results)
    started[0].kill()
    with pytest.raises(MemetikError, match="all workers of the cluster are gone"):
        list(results)


def test_a_scheduler_that_dies_is_told_and_does_not_hang(tmp_path: Path) -> None:
    """What was done is there; what asks for the rest gets an error instead of waiting."""
    from distributed import Client

    file = tmp_path / "scheduler.json"
    python, quiet = [sys.executable, "-m"], {"stderr": subprocess.DEVNULL, "cwd": Path(__file__).parent}
    options = ["--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    scheduler = subprocess.Popen([*python, "distributed.cli.dask_scheduler", *options], **quiet)
    worker = subprocess.Popen(
        [*python, "distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-dashboard"],
        **quiet,
    )
    try:
        deadline = time.monotonic() + 600.0
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        with Client(address, timeout=600) as client:
            client.wait_for_workers(1, timeout=600)
        with worker_pool(address) as pool:
            results = pool.map(slow_square, 1.0, range(100))
            done = dict(itertools.islice(results, 5))
            scheduler.kill()
            with pytest.raises(MemetikError, match="scheduler of the cluster is not there"):
                done.update(results)
        assert done == {k: float(k * k) for k in done}
        assert len(done) >= 5
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def test_errors_come_through(pool) -> None:
    with pytest.raises(InvalidInputError, match="three is not wanted"):
        pool.collect(fail_at_three, None, range(5))


def test_a_reach_study_is_the_same_on_a_cluster_with_a_death(pool) -> None:
    found = make_surroundings("TableObjects", count=40)
    setup = ReachSetup(mk.load_robot("ur10"), found.scene, evaluations=400)
    points, normals = found.targets[:, :3, 3], -found.targets[:, :3, 2]
    alone = reach_study(setup, points, normals, passes=2)
    tried = 0

    def kill_once(count: int) -> None:
        nonlocal tried
        tried += count
        if tried == 7:
            kill_one(pool)

    there = reach_study(setup, points, normals, passes=2, workers=pool, progress=kill_once)
    assert (there.state == alone.state).all()
    assert (there.q == alone.q).all()
    assert (there.score == alone.score).all()


def test_a_tuning_by_evaluations_is_the_same_on_a_cluster(pool) -> None:
    setting = Setting(scenario("Random", "panda", targets=20), 10, "evaluations", 500)
    method = mk.methods.Memetic()
    space = space_of(method, ["population", "progress"])
    alone = tune(method, setting, space, trials=6)
    there = tune(method, setting, space, trials=6, workers=pool)
    assert alone.best == there.best
    assert [one.parameters for one in alone.tries] == [one.parameters for one in there.tries]
    assert all((a.costs == b.costs).all() for a, b in zip(alone.tries, there.tries, strict=True))
    assert np.array_equal(alone.confirmation.tuned.costs, there.confirmation.tuned.costs)


def test_no_scheduler_and_no_workers_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memetik.bench.run.worker_pool.CONNECT_SECONDS", 0.5)
    with pytest.raises(InvalidInputError, match="no dask scheduler answers"), worker_pool("tcp://127.0.0.1:9"):
        pass


# certificates


@pytest.fixture(scope="module")
def certificates(tmp_path_factory) -> Path:
    """A folder as --tls takes it."""
    pytest.importorskip("cryptography")
    return write_certificates(tmp_path_factory.mktemp("certificates"))


def write_certificates(folder: Path) -> Path:
    from distributed.security import Security

    made = Security.temporary()
    for name, text in (("ca", made.tls_ca_file), ("cert", made.tls_client_cert), ("key", made.tls_client_key)):
        (folder / f"{name}.pem").write_text(text)
    return folder


def test_a_cluster_with_certificates_works_and_refuses_those_without(certificates, tmp_path):
    with worker_pool("local", 1, tls=certificates) as pool:
        assert pool.collect(slow_square, 2.0, [1, 2]) == [2.0, 8.0]
        address = pool.client.scheduler.address
        assert address.startswith("tls://")
        with worker_pool(address, tls=certificates) as another:
            assert another.collect(slow_square, 2.0, [3]) == [18.0]
        with pytest.raises(InvalidInputError, match="--tls"), worker_pool(address):
            pass
        stranger = write_certificates(tmp_path)
        with pytest.raises(InvalidInputError, match="no dask scheduler answers"), worker_pool(address, tls=stranger):
            pass


def test_a_folder_without_certificates_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"ca\.pem.*is missing"), worker_pool("local", tls=tmp_path):
        pass
