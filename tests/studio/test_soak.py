"""Ten minutes of dragging: memory stays where it is."""

from __future__ import annotations

import importlib
import math
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.unsanitized
def test_a_short_drag_over_loopback_is_solved_and_sent(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    outcome = importlib.import_module("studio").drag("panda", 3.0)
    assert outcome.solved == 1.0
    assert outcome.solves > 10
    assert outcome.received > 10


@pytest.mark.soak
def test_memory_grows_less_than_five_percent_from_minute_one_to_ten(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    outcome = importlib.import_module("studio").drag("panda", 600.0)
    if math.isnan(outcome.memory[0]):
        pytest.skip("the system does not tell how much memory a process keeps")
    assert outcome.solved > 0.99
    assert outcome.memory[-1] < 1.05 * outcome.memory[0], outcome.memory
