"""Metres by which links grow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from memetik.errors import InvalidInputError, UnknownNameError

if TYPE_CHECKING:
    from memetik.robot.robot import Robot


def link_padding(robot: Robot, padding: float | Mapping[str, float]) -> dict[str, float]:
    """Padding in metres by link, from one number for all or a number by link."""
    if isinstance(padding, Mapping):
        for name in padding:
            if name not in robot.links:
                raise UnknownNameError("link", name, f"robot {robot.name!r}", robot.links)
        values = {name: float(value) for name, value in padding.items()}
    else:
        values = dict.fromkeys(robot.links, float(padding))
    if not all(0.0 <= value < np.inf for value in values.values()):
        raise InvalidInputError(f"padding= must be at least zero and finite, not {padding!r}.")
    return values
