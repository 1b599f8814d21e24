"""The losses of the RelaxedIK family, each with its slope, over arrays.

A loss turns an error into cost so that several goals can be added up: each has its optimum at -1, steep near it and
gentle far away, so that none drowns the others. Rakita, Mutlu, Gleicher 2018 (RelaxedIK); Wang et al. 2023 (RangedIK).
"""

from __future__ import annotations

import math

import numpy as np

Values = np.ndarray
ValuesAndSlopes = tuple[Values, Values]

WALL = 0.95
"""How much of a swamp's wall is climbed at its bounds."""


def groove(x: Values, width: float = 0.1, growth: float = 10.0, power: float = 2.0, at: float = 0.0) -> ValuesAndSlopes:
    """-exp(-(x - at)^2 / (2 width^2)) + growth |x - at|^power: a groove at one value."""
    y = x - at
    square = y * y
    well = np.exp(square * (-0.5 / width**2))
    if power == 2.0:
        return growth * square - well, y * (well / width**2 + 2.0 * growth)
    size = np.abs(y)
    return -well + growth * size**power, y / width**2 * well + growth * power * size ** (power - 1.0) * np.sign(y)


def swamp(
    x: Values,
    lower: Values | float,
    upper: Values | float,
    height: float = 1.0,
    growth: float = 0.1,
    steepness: int = 8,
) -> ValuesAndSlopes:
    """(height + growth s^2) (1 - exp(-(s / b)^steepness)) - 1, s = (2 x - lower - upper) / (upper - lower): flat
    between the bounds, walls at them. b is such that a wall has reached 95 % of its height at the bound."""
    wall, wall_slope, s, scale = _wall(x, lower, upper, steepness)
    level = height + growth * s * s
    return level * wall - 1.0, (2.0 * growth * s * wall + level * wall_slope) * scale


def swamp_groove(
    x: Values, lower: Values | float, upper: Values | float, width: Values | float, depth: float = 1.0,
    growth: float = 0.01, wall: float = 100.0, steepness: int = 20, at: float = 0.0,
) -> ValuesAndSlopes:  # fmt: skip
    """-depth exp(-(x - at)^2 / (2 width^2)) + growth (x - at)^2 + wall (1 - exp(-(s / b)^steepness)): every value
    between the bounds is valid, one is preferred."""
    rise, rise_slope, _, scale = _wall(x, lower, upper, steepness)
    y = x - at
    well = depth * np.exp(-(y * y) / (2.0 * width * width))
    return -well + growth * y * y + wall * rise, y / width**2 * well + 2.0 * growth * y + wall * rise_slope * scale


def _wall(
    x: Values, lower: Values | float, upper: Values | float, steepness: int
) -> tuple[Values, Values, Values, Values]:
    """1 - exp(-(s / b)^p), its slope by s, s, and ds/dx."""
    b = (-1.0 / math.log(1.0 - WALL)) ** (1.0 / steepness)
    scale = 2.0 / (upper - lower)
    s = (x - 0.5 * (np.asarray(lower) + upper)) * scale
    ratio = np.minimum(np.abs(s) / b, 10.0)  # the wall is climbed long before
    fall = np.exp(-(ratio**steepness))
    slope = np.sign(s) * steepness / b * ratio ** (steepness - 1) * fall
    return 1.0 - fall, slope, s, np.broadcast_to(scale, np.shape(s))
