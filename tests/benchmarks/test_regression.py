"""benchmarks/regression.py: the verdict on two source trees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def regression(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import regression

    return regression


def runs_of(times, answers="bits"):
    return [{"case": {"seconds": seconds, "answers": answers}} for seconds in times]


def noisy(mean, seed, count=15):
    return mean * (1.0 + 0.01 * np.random.default_rng(seed).standard_normal(count))


def test_a_tree_of_the_same_speed_passes_and_one_slower_by_a_tenth_does_not(regression, capsys):
    old = {"old": runs_of(noisy(1e-5, 0)), "old again": runs_of(noisy(1e-5, 1))}
    assert regression.report({**old, "new": runs_of(noisy(1e-5, 2))}) == []
    assert regression.report({**old, "new": runs_of(noisy(1.1e-5, 2))}) == ["case"]
    assert "SLOWER" in capsys.readouterr().out


def test_the_spread_of_old_against_old_is_allowed_for(regression):
    rng = np.random.default_rng(0)
    wild = {name: runs_of(1e-5 * rng.uniform(0.7, 1.3, 15)) for name in ("old", "old again")}
    assert regression.report({**wild, "new": runs_of([1.07e-5] * 15)}) == []


def test_other_answers_are_told(regression, capsys):
    old = {"old": runs_of(noisy(1e-5, 0)), "old again": runs_of(noisy(1e-5, 1))}
    regression.report({**old, "new": runs_of(noisy(1e-5, 2), "other bits")})
    assert "differ" in capsys.readouterr().out


def test_a_worker_measures_the_tree_that_it_is_given(tmp_path):
    source = FOLDER.parent / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), "MEMETIK_CACHE": "off"}
    core = str(max(os.sched_getaffinity(0)))
    command = [sys.executable, str(FOLDER / "regression.py"), "--measure", str(tmp_path), core, "full_body"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    assert len(figures) == 6
    assert all(figure["seconds"] > 0 for figure in figures.values())
