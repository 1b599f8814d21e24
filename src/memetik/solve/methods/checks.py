"""What parameters of methods have to be."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from memetik.errors import InvalidInputError


def check_count(method: Any, *names: str, least: int = 1) -> None:
    """Refuses parameters that are no whole number from `least` on."""
    for name in names:
        value = getattr(method, name)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise InvalidInputError(
                f"{name} of {type(method).__name__} must be a whole number from {least} on, not {value!r}."
            )


def check_range(method: Any, **ranges: tuple[float, float]) -> None:
    """Refuses parameters outside [low, high]."""
    for name, (low, high) in ranges.items():
        value = getattr(method, name)
        if not (isinstance(value, Real) and low <= value <= high):
            raise InvalidInputError(f"{name} of {type(method).__name__} must lie in {low:g}..{high:g}, not {value!r}.")
