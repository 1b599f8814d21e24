"""How good a configuration is: manipulability, distance to joint limits, clearance, each from 0 to 1, and all together.

    manipulability  Yoshikawa's measure at the link, as a share of what the best of many random configurations have
    margin          of the joints that move the link, the least  2 min(q - lower, upper - q) / (upper - lower)
    clearance       metres to the nearest contact, as a share of FULL_CLEARANCE; a lower bound of it

With weights w the score is the weighted geometric mean of those that have one,  prod s_i^(w_i / sum w):
a configuration that is bad in one respect is not saved by another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memetik.errors import InvalidInputError, suggest
from memetik.files.named_values import as_number, named_words
from memetik.robot.robot import Robot

MEASURES = ("manipulability", "margin", "clearance")

_SAMPLES = 4096
_FULL_SHARE = 0.99  # quantile of random configurations whose manipulability counts as full


@dataclass(frozen=True)
class Scores:
    """Measures (N,) of configurations from 0 to 1, and the combined `score`; zero for targets that are not reached."""

    manipulability: np.ndarray
    margin: np.ndarray
    clearance: np.ndarray
    score: np.ndarray

    FULL_CLEARANCE: ClassVar[float] = 0.1
    """Metres beyond which more clearance is not better."""

    @classmethod
    def zeros(cls, count: int) -> Scores:
        return cls(*(np.zeros(count) for _ in _FIELDS))

    def copy(self) -> Scores:
        return Scores(*(np.array(getattr(self, name)) for name in _FIELDS))

    def take(self, rows: np.ndarray) -> Scores:
        return Scores(*(getattr(self, name)[rows] for name in _FIELDS))

    def put(self, rows: np.ndarray | slice, other: Scores) -> None:
        """Puts others in some places; of several for one place the last stays."""
        for name in _FIELDS:
            getattr(self, name)[rows] = getattr(other, name)


_FIELDS = (*MEASURES, "score")


def parse_weights(text: str) -> dict[str, float]:
    """Weights from a text such as "manipulability,margin=2"."""
    weights: dict[str, float] = {}
    for name, value in named_words(text.replace(";", ",").split(",")).items():
        if name not in MEASURES:
            raise InvalidInputError(f"there is no score {name!r}; {suggest(name, MEASURES)}")
        weights[name] = 1.0 if value is None else as_number(value, f"the weight of {name!r}")
        if not 0.0 < weights[name] < 1e6:
            raise InvalidInputError(f"the weight of {name!r} must be positive, not {value}.")
    return weights


def combined(parts: Mapping[str, np.ndarray], weights: Mapping[str, float], reached: np.ndarray) -> Scores:
    """The scores from measures; clearance is given in metres."""
    parts = {**parts, "clearance": np.clip(parts["clearance"] / Scores.FULL_CLEARANCE, 0.0, 1.0)}
    total = sum(weights.values())
    # The least score of a reached target is a little above none, so that it stays apart from those not reached.
    logarithms = sum(weight / total * np.log(np.maximum(parts[name], 1e-3)) for name, weight in weights.items())
    return Scores(**parts, score=np.where(reached, np.exp(logarithms), 0.0))


def joint_margins(robot: Robot, link: str, q: np.ndarray) -> np.ndarray:
    """(N,): from 0, a joint is at its limit, to 1, all are in the middle. Joints without limits do not count."""
    width = robot.upper - robot.lower
    counted = robot.moves(link) & np.isfinite(width) & (width > 0.0)
    if not counted.any():
        return np.ones(len(q))
    inside = np.minimum(q - robot.lower, robot.upper - q)[:, counted]
    return np.clip((2.0 * inside / width[counted]).min(axis=1), 0.0, 1.0)


def manipulability_reference(robot: Robot, link: str) -> float:
    """The measure that the best of random configurations have."""
    measures = robot.manipulability(link, robot.random(0, _SAMPLES))
    return max(float(np.quantile(measures, _FULL_SHARE)), 1e-12)
