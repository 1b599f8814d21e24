"""Losses: how the size s of a goal's residual turns into cost."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from memetik._core import LossKind, LossSpec
from memetik.errors import GoalError


@dataclass(frozen=True)
class Loss:
    """Base class. `kind` is what the core knows of a loss; its fields are the parameters (native/goals/loss.cpp)."""

    kind = LossKind.square

    @property
    def spec(self) -> LossSpec:
        """The loss for the core."""
        return LossSpec(kind=self.kind, parameters=np.array([getattr(self, f.name) for f in fields(self)], dtype=float))

    def __post_init__(self) -> None:
        for f in fields(self):
            value: object = getattr(self, f.name)
            if not (isinstance(value, int | float | np.integer | np.floating) and 0.0 < value < float("inf")):
                raise GoalError(f"{f.name} of {type(self).__name__} must be positive and finite, not {value!r}.")


@dataclass(frozen=True)
class Square(Loss):
    """cost = s^2."""


@dataclass(frozen=True)
class Huber(Loss):
    """cost = s^2 up to `delta`, then 2 delta s - delta^2: far residuals count by their size, not its square."""

    delta: float
    kind = LossKind.huber


@dataclass(frozen=True)
class Groove(Loss):
    """cost = 1 - exp(-s^2 / (2 width^2)) + growth s^power: a narrow groove at zero in a wide, gently rising field."""

    width: float = 0.1
    growth: float = 10.0
    power: float = 2.0
    kind = LossKind.groove


@dataclass(frozen=True)
class Swamp(Loss):
    """cost = (1 + growth x^2)(1 - exp(-(x/b)^steepness)), x = s / width: flat inside the width, a wall at it.

    b is chosen so that the wall has reached 95 % at s = width.
    """

    width: float
    steepness: float = 8.0
    growth: float = 0.1
    kind = LossKind.swamp


@dataclass(frozen=True)
class SwampGroove(Loss):
    """A swamp with a slope inside it: cost = swamp(s) + pull s^2."""

    width: float
    steepness: float = 8.0
    growth: float = 0.1
    pull: float = 1.0
    kind = LossKind.swamp_groove


@dataclass(frozen=True)
class Hyperbola(Loss):
    """cost = 1 / (d - r)^2 for a distance d that should stay above r. For MinDistance only."""


SQUARE = Square()
