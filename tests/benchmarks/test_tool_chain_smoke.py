"""The evaluation of the tool chain runs on a few cases, keeps its calls, and counts what it should."""

import importlib
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import memetik as mk

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module


def test_every_stage_runs_and_is_kept(script, monkeypatch, tmp_path, capsys):
    from memetik.bench.run.store import Store

    pytest.importorskip("mujoco")
    store = tmp_path / "chain.db"
    options = ["--cases", "1", "--calls", "2", "--arm", "katana300", "--timing", "blends", "--store", str(store)]
    monkeypatch.setattr(sys, "argv", ["tool_chain.py", *options])
    assert script("tool_chain").main() == 0
    assert "study: KDL" in capsys.readouterr().out
    with Store(store, must_exist=True) as kept:
        results = kept.results()
    assert len(results) == 14  # ik, path, chain in two surroundings, timing in one; two calls each
    assert results.solved.all()
    assert np.nanmax(results.position_error) < 1e-4


def test_only_what_is_near_the_corridor_is_free(script):
    cases = script("tool_chain_cases")
    robot = cases.arm("powerball")
    path = cases.corridor_path(robot, np.random.default_rng(0), 5, np.array(robot.neutral))
    corridor = cases.Corridor(robot, path)
    assert not corridor.collides(path).any()
    for first, second in pairwise(path):
        assert np.abs(second - first).max() <= np.radians(10.0)
        assert not corridor.collides(0.5 * (first + second))
    away = path[0].copy()
    away[0] += np.radians(60.0)
    assert corridor.collides(away)
    assert mk.CollisionModel(robot).collides(path).sum() == 0


def test_blocks_count_one_success(script):
    overall, block = script("tool_chain_cases").blocks([[True, False], [False, False]])
    assert (overall, block) == (0.25, 0.5)
