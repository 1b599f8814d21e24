"""Damaged files are read or refused by a typed error; the benchmark runs ten thousand of them, this test a few."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks/hostile_meshes.py"


@pytest.fixture(scope="module")
def benchmark():
    pytest.importorskip("coal")
    spec = importlib.util.spec_from_file_location("hostile_meshes", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_damaged_files_are_read_or_refused(benchmark):
    outcomes, longest = benchmark.run(280, seed=7)
    assert sum(outcomes.values()) == 280
    assert {kind for _, kind in outcomes} <= {"read", "GeometryError"}
    assert sum(count for (_, kind), count in outcomes.items() if kind == "GeometryError") > 100
    assert longest < 10.0
