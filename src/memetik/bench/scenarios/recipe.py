"""What a recipe is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memetik.bench.scenarios.draft import Draft, Order


@dataclass(frozen=True)
class Recipe:
    """How a scenario is made.

    summary   a line for lists.
    make      makes a draft of what was ordered.
    argument  the option that "Name:value" sets, or None.
    robot     for scenarios with a robot of their own: its name for an argument's value.
    default   the robot where none is named, or None.
    options   what else may be set; `argument` is among them without being named.
    """

    summary: str
    make: Callable[[Order], Draft]
    argument: str | None = None
    robot: Callable[[str | None], str] | None = None
    default: str | None = None
    options: tuple[str, ...] = ("link",)
