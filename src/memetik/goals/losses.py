"""Losses: how the size s of a goal's residual turns into cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from memetik.errors import GoalError


@dataclass(frozen=True)
class Loss:
    """Base class. `index` and `data` are what the core knows of a loss (native/loss.h)."""

    index: ClassVar[int] = 0

    @property
    def data(self) -> tuple[float, ...]:
        return ()

    def _check(self, **positive: float) -> None:
        for name, value in positive.items():
            if not 0.0 < value < float("inf"):
                raise GoalError(f"{name} of {type(self).__name__} must be positive and finite, not {value!r}.")


@dataclass(frozen=True)
class Square(Loss):
    """cost = s^2."""


@dataclass(frozen=True)
class Huber(Loss):
    """cost = s^2 up to `delta`, then 2 delta s - delta^2: far residuals count by their size, not its square."""

    delta: float
    index: ClassVar[int] = 1

    def __post_init__(self) -> None:
        self._check(delta=self.delta)

    @property
    def data(self) -> tuple[float, ...]:
        return (self.delta,)


@dataclass(frozen=True)
class Groove(Loss):
    """cost = 1 - exp(-s^2 / (2 width^2)) + growth s^power: a narrow groove at zero in a wide, gently rising field."""

    width: float = 0.1
    growth: float = 10.0
    power: float = 2.0
    index: ClassVar[int] = 2

    def __post_init__(self) -> None:
        self._check(width=self.width, growth=self.growth, power=self.power)

    @property
    def data(self) -> tuple[float, ...]:
        return (self.width, self.growth, self.power)


@dataclass(frozen=True)
class Swamp(Loss):
    """cost = (1 + growth x^2)(1 - exp(-(x/b)^steepness)), x = s / width: flat inside the width, a wall at it.

    b is chosen so that the wall has reached 95 % at s = width.
    """

    width: float
    steepness: float = 8.0
    growth: float = 0.1
    index: ClassVar[int] = 3

    def __post_init__(self) -> None:
        self._check(width=self.width, steepness=self.steepness, growth=self.growth)

    @property
    def data(self) -> tuple[float, ...]:
        return (self.width, self.steepness, self.growth)


@dataclass(frozen=True)
class SwampGroove(Loss):
    """A swamp with a preference inside it: cost = swamp(s) + pull s^2."""

    width: float
    steepness: float = 8.0
    growth: float = 0.1
    pull: float = 1.0
    index: ClassVar[int] = 4

    def __post_init__(self) -> None:
        self._check(width=self.width, steepness=self.steepness, growth=self.growth, pull=self.pull)

    @property
    def data(self) -> tuple[float, ...]:
        return (self.width, self.steepness, self.growth, self.pull)


@dataclass(frozen=True)
class Hyperbola(Loss):
    """cost = 1 / (d - r)^2 for a distance d that should stay above r. For MinDistance only."""

    index: ClassVar[int] = 0


SQUARE = Square()
