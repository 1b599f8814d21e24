"""What goals ask of their arguments: axes, directions, ranges, tolerances, in the form the core takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memetik.errors import GoalError
from memetik.geometry.transforms import as_pose, transform

Array = NDArray[np.float64]

ORIGIN = (0.0, 0.0, 0.0)
UP = (0.0, 0.0, 1.0)

LOOSE = 1e-3
"""Radians: from here on a tolerance is a range that may be used, not the rounding of a direction."""

Range = float | tuple[float, float]
"""One number, or (lower, upper)."""

_AXES = {
    sign + name: factor * row
    for name, row in zip("xyz", np.eye(3), strict=True)
    for sign, factor in (("", 1.0), ("+", 1.0), ("-", -1.0))
}


def is_array(value: object) -> TypeGuard[Array]:
    """Whether a value is an array."""
    return isinstance(value, np.ndarray)


def array_of(value: ArrayLike | None, default: ArrayLike = ORIGIN) -> Array:
    """A field that a goal keeps as an array; `default` where it is None, to be given at each solve."""
    return np.asarray(default if value is None else value, dtype=float)


def as_vector(value: ArrayLike, name: str, size: int = 3) -> Array:
    """A checked copy of a point or direction."""
    array = np.array(value, dtype=float)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise GoalError(f"{name} must be {size} finite numbers, not {value!r}.")
    return array


def as_offset(value: ArrayLike, name: str) -> Array:
    """A pose (4, 4) from a pose or a point (3,)."""
    array = _numbers(value, name)
    return transform(array) if array.shape == (3,) else as_pose(array, "the offset")


def as_segment(value: Sequence[float], name: str) -> Range:
    """A pair (lower, upper)."""
    return as_range(tuple(value), name)


def as_points(value: ArrayLike, name: str) -> Array:
    """A checked copy of one point or several, as (K, 3)."""
    array = np.atleast_2d(_numbers(value, name))
    if array.ndim != 2 or array.shape[1] != 3 or len(array) == 0 or not np.isfinite(array).all():
        raise GoalError(f"{name} must be a point (3,) or points (K, 3), all finite, not {value!r}.")
    return array


def as_direction(value: str | ArrayLike, name: str) -> Array:
    """A unit vector from 'x', '-z', ... or from three numbers that are not all zero."""
    if isinstance(value, str):
        if value not in _AXES:
            raise GoalError(f"{name} must be one of 'x', 'y', 'z', '-x', '-y', '-z' or a vector, not {value!r}.")
        return _AXES[value] + 0.0  # a copy without negative zeros
    vector = as_vector(value, name)
    # Scaled first, so that neither tiny nor huge vectors leave the range of numbers when squared.
    largest = np.abs(vector).max()
    if largest == 0.0:
        raise GoalError(f"{name} must have a direction: all of its numbers are zero.")
    vector = vector / largest
    return vector / np.linalg.norm(vector)


def as_number(value: float, name: str) -> float:
    """A finite number."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.integer | np.floating)  # pyright: ignore[reportUnnecessaryIsInstance]
        or not math.isfinite(value)
    ):
        raise GoalError(f"{name} must be a finite number, not {value!r}.")
    return float(value)


def as_positive(value: float, name: str) -> float:
    """A number above zero."""
    number = as_number(value, name)
    if number <= 0.0:
        raise GoalError(f"{name} must be positive, not {value!r}.")
    return number


def as_angle(value: float, name: str) -> float:
    """An angle between 0 and pi."""
    number = as_number(value, name)
    if not 0.0 <= number <= math.pi:
        raise GoalError(f"{name} must lie between 0 and pi radians, not {value!r}.")
    return number


def as_range(value: float | Sequence[float] | Array, name: str) -> Range:
    """One finite number, or a pair (lower, upper) of which one side may be infinite."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        pair = _numbers(value, name)
        if pair.shape != (2,) or np.isnan(pair).any() or not pair[0] < pair[1]:
            raise GoalError(f"{name} must be a number or a pair (lower, upper) with lower below upper, not {value!r}.")
        return (float(pair[0]), float(pair[1]))
    return as_number(value, name)  # pyright: ignore[reportArgumentType]


def band_of(wanted: Range, tolerance: float) -> tuple[float, float, float]:
    """Lower, upper and bound: zero error inside [lower, upper], `bound` of it allowed outside.

    A range is narrowed by the bound, so that what the bound still allows is within what was asked.
    """
    if not isinstance(wanted, tuple):
        return wanted, wanted, tolerance
    lower, upper = wanted
    bound = min(tolerance, 0.25 * (upper - lower))
    return lower + bound, upper - bound, bound


def _numbers(value: ArrayLike, name: str) -> Array:
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise GoalError(f"{name} must be made of numbers, not {value!r}.") from None
