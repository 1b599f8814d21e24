"""What a solver answered, checked: nothing that an adapter returns is believed before it has been here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

UNSEEN = 0.02
"""Seconds that the runner may wait longer than a solver worked: pipes, and a core that was given to others. Where it
waits longer still, its own clock counts."""

LARGEST = 1e300
"""Of what is a number: JSON knows others, and integers that no float holds."""


class BadAnswer(Exception):
    """An answer is not what an adapter may return; the text says why."""


@dataclass(frozen=True)
class Answer:
    """One answer: a finite configuration or None, seconds as measured by us, counts where the solver told them."""

    q: np.ndarray | None
    time: float
    processor: float
    evaluations: int | None
    restarts: int | None
    generations: int | None
    candidates: int | None
    collision_time: float | None


def read_answer(data: Mapping[str, Any], size: int, waited: float) -> Answer:
    """The answer in what a worker sent. size: entries of a configuration. waited: seconds on the runner's clock."""
    if "q" not in data:
        raise BadAnswer("its answer has no 'q'")
    seconds, processor = (_number(data, name, whole=False) for name in ("time", "processor"))
    if seconds is None or processor is None:
        raise BadAnswer("its answer came without a time")
    if waited - seconds > UNSEEN:
        seconds = waited
    counts = {name: _count(data, name) for name in ("evaluations", "restarts", "generations", "candidates")}
    collision = _number(data, "collision_time", whole=False)
    if collision is not None:
        collision = min(collision, seconds)
    return Answer(_configuration(data["q"], size), seconds, processor, collision_time=collision, **counts)


def _configuration(q: Any, size: int) -> np.ndarray | None:
    if q is None:
        return None
    if not isinstance(q, list) or any(isinstance(value, bool) or not isinstance(value, int | float) for value in q):
        raise BadAnswer(f"its configuration is not a list of numbers but {q!r:.60}")
    if len(q) != size:
        raise BadAnswer(f"its configuration has {len(q)} numbers, not {size}")
    if not all(abs(value) < LARGEST for value in q):
        raise BadAnswer("its configuration has numbers that are not finite")
    return np.array(q, dtype=float)


def _count(data: Mapping[str, Any], name: str) -> int | None:
    value = _number(data, name, whole=True)
    return None if value is None else int(value)


def _number(data: Mapping[str, Any], name: str, whole: bool) -> float | None:
    value = data.get(name)
    if value is None:
        return None
    # SQLite keeps integers of 64 bits.
    sound = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**63
    if not sound or (whole and value != int(value)):
        kind = "a whole number" if whole else "a number"
        raise BadAnswer(f"its {name!r} is not {kind} from 0 on but {value!r:.60}")
    return value
