"""benchmarks/parameters.py: the parameters of the default method varied around their defaults."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import memetik as mk


@pytest.fixture
def parameters(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import parameters

    return parameters


def test_every_parameter_is_varied_or_named_as_measured_elsewhere(parameters):
    elsewhere = {f.name for f in fields(mk.methods.Memetic) if f.name not in parameters.VALUES}
    assert all(name in parameters.__doc__ for name in elsewhere), elsewhere
    default = parameters.DEFAULT
    assert all(getattr(default, name) not in values for name, values in parameters.VALUES.items())


def test_the_interval_holds_the_ratio_of_the_means(parameters):
    rng = np.random.default_rng(0)
    default = [rng.exponential(100.0, 500) for _ in range(3)]
    low, high = parameters.interval([1.2 * values for values in default], default)
    assert low == pytest.approx(1.2)
    assert high == pytest.approx(1.2)
    low, high = parameters.interval([rng.exponential(120.0, 500) for _ in range(3)], default)
    assert low < 1.2 < high


def test_a_few_targets_are_measured(parameters, capsys):
    assert parameters.main(["--robots", "ur5", "--targets", "5", "--parameters", "population", "closed_form"]) == 0
    told = capsys.readouterr().out
    assert "population" in told
    assert "default: 100.00 % solved" in told
