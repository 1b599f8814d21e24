"""Work on a cluster: the same results as in one process, whoever dies."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

import memetik as mk
from memetik.bench.cluster import workers
from memetik.bench.reach import ReachSetup, reach_study
from memetik.bench.scenarios import scenario
from memetik.bench.tune import Setting, tune
from memetik.bench.tune_space import space_of
from memetik.errors import InvalidInputError
from memetik.scene.surroundings import make_surroundings

pytestmark = pytest.mark.unsanitized


@pytest.fixture(scope="module")
def crew():
    with workers("local", 2) as found:
        yield found


def slow_square(context: float, item: int) -> float:
    time.sleep(0.05)
    return context * item * item


def fail_at_three(context: None, item: int) -> int:
    if item == 3:
        raise InvalidInputError("three is not wanted.")
    return item


def test_results_come_in_the_order_of_the_items(crew) -> None:
    assert crew.count == 2
    assert crew.collect(slow_square, 2.0, range(10), together=3) == [2.0 * k * k for k in range(10)]


def test_a_killed_worker_costs_no_result(crew) -> None:
    results: dict[int, float] = {}
    for k, value in crew.run(slow_square, 1.0, range(60)):
        assert k not in results
        results[k] = value
        if len(results) == 5:
            victim = next(iter(crew._client.run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)
    assert results == {k: float(k * k) for k in range(60)}


def test_errors_come_through(crew) -> None:
    with pytest.raises(InvalidInputError, match="three is not wanted"):
        crew.collect(fail_at_three, None, range(5))


def test_a_reach_study_is_the_same_on_a_cluster_with_a_death(crew) -> None:
    found = make_surroundings("TableObjects", count=40)
    setup = ReachSetup(mk.load_robot("ur10"), found.scene, evaluations=400)
    points, normals = found.targets[:, :3, 3], -found.targets[:, :3, 2]
    alone = reach_study(setup, points, normals, passes=2)
    tried = 0

    def kill_once(count: int) -> None:
        nonlocal tried
        tried += count
        if tried == 7:
            os.kill(next(iter(crew._client.run(os.getpid).values())), signal.SIGKILL)

    there = reach_study(setup, points, normals, passes=2, workers=crew, progress=kill_once)
    assert (there.state == alone.state).all()
    assert (there.q == alone.q).all()
    assert (there.score == alone.score).all()


def test_a_tuning_by_evaluations_is_the_same_on_a_cluster(crew) -> None:
    setting = Setting(scenario("Random", "panda", targets=20), 10, "evaluations", 500)
    method = mk.methods.Memetic()
    space = space_of(method, ["population", "progress"])
    alone = tune(method, setting, space, trials=6)
    there = tune(method, setting, space, trials=6, workers=crew)
    assert alone.best == there.best
    assert [one.parameters for one in alone.tries] == [one.parameters for one in there.tries]
    assert all((a.costs == b.costs).all() for a, b in zip(alone.tries, there.tries, strict=True))
    assert np.array_equal(alone.confirmation.tuned.costs, there.confirmation.tuned.costs)


def test_no_scheduler_and_no_workers_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memetik.bench.cluster.CONNECT_SECONDS", 0.5)
    with pytest.raises(InvalidInputError, match="no dask scheduler answers"), workers("tcp://127.0.0.1:9"):
        pass
