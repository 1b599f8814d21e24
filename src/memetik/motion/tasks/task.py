"""Tasks: sequences of moves, grips, picks and places, as plain data.

A pick comes down to an object through some heights above it, closes the gripper and goes up again; a place does the
same at a target. Which heights is a script. The first point of each descent is reached by a planned motion (approach,
transfer), the others by straight lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene


@dataclass(frozen=True, slots=True)
class Script:
    """Heights of the tool above the object, metres: down to it, up with it; down to the target, up without it."""

    pick_down: tuple[float, ...]
    pick_up: tuple[float, ...]
    place_down: tuple[float, ...]
    place_up: tuple[float, ...] = ()


SCRIPTS: dict[str, Script] = {
    "standard": Script((0.10, 0.0), (0.10,), (0.10, 0.002), (0.10,)),
    # The sequences of two arms that were tried on balls in holes: eight moves and four.
    "katana": Script((0.10, 0.03, 0.0), (0.03, 0.10), (0.10, 0.01), (0.10,)),
    "youbot": Script((0.03, 0.0), (0.03,), (0.01,), ()),
}
"""Scripts by name."""


@dataclass(frozen=True, slots=True)
class Gripper:
    """What takes hold of objects.

    tool: the link that is placed at an object. approach: its axis that points from the hand to the object.
    open, closed: joint values by name. links: those that may touch what is held.
    hold: "friction" leaves it to physics; "weld" fixes the object to the tool in simulation, and says so.
    spin: the turn about the approach axis: "free", "quarter" where four of them will do, "half" where two, or "fixed".
    """

    tool: str
    approach: str = "z"
    open: Mapping[str, float] = field(default_factory=dict[str, float])
    closed: Mapping[str, float] = field(default_factory=dict[str, float])
    links: tuple[str, ...] = ()
    hold: Literal["friction", "weld"] = "weld"
    spin: Literal["free", "quarter", "half", "fixed"] = "free"
    seconds: float = 0.6
    """How long it takes to open or close."""

    def __post_init__(self) -> None:
        if self.hold not in ("friction", "weld"):
            raise InvalidInputError(f"hold of a gripper is 'friction' or 'weld', not {self.hold!r}.")
        if self.spin not in ("free", "quarter", "half", "fixed"):
            raise InvalidInputError(f"spin of a gripper is 'free', 'quarter', 'half' or 'fixed', not {self.spin!r}.")
        if self.hold == "friction" and not self.closed:
            raise InvalidInputError("a gripper that holds by friction needs `closed`, the values of its joints.")


@dataclass(frozen=True, slots=True, eq=False)
class TaskStep:
    """One step of a task.

    verb and what it takes: "move" (a configuration or a pose: a planned motion), "line" (a pose, or an offset (3,) in
    the world: a straight line), "grip" (joint values), "attach", "detach" (an object), "wait" (seconds).
    """

    verb: Literal["move", "line", "grip", "attach", "detach", "wait"]
    target: Any
    label: str = ""
    touch: tuple[tuple[str, str], ...] = ()
    """Pairs that may touch during this step, such as the gripper and what it closes around."""
    must_hold: str | None = None
    """An object that must be in the gripper after this step."""


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """Take an object from where it is, with the tool at `grasp`, a pose in the object's frame (None: at its centre)."""

    item: str
    grasp: np.ndarray | None = None
    script: str = "standard"


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Put the held object to `pose` in the world."""

    item: str
    pose: np.ndarray
    script: str = "standard"


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A robot, its surroundings, and what it is to do there.

    group: the joints that moves are planned for; the gripper's are not among them.
    start: the configuration of the whole robot at the beginning. speed: share of the velocity and acceleration limits.
    """

    robot: Robot
    scene: Scene
    steps: tuple[TaskStep | Pick | Place, ...]
    gripper: Gripper | None = None
    group: str | None = None
    start: np.ndarray | None = None
    postures: Mapping[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    speed: float = 1.0
    name: str = "task"
    masses: Mapping[str, float] = field(default_factory=dict[str, float])
    """Of picked objects, kilograms."""

    def __post_init__(self) -> None:
        if not 0.0 < self.speed <= 1.0:
            raise InvalidInputError(f"speed is a share of the limits, above 0 and at most 1, not {self.speed!r}.")
        for step in self.steps:
            if isinstance(step, Pick | Place):
                if self.gripper is None:
                    raise InvalidInputError(f"to pick or place {step.item!r}, the task needs a gripper.")
                if step.item not in self.scene:
                    raise UnknownNameError("object", step.item, "the task's scene", self.scene.names)
                if step.script not in SCRIPTS:
                    raise UnknownNameError("script", step.script, "the scripts", SCRIPTS)

    @property
    def picked(self) -> tuple[str, ...]:
        """The objects that the task takes hold of."""
        items = [step.item for step in self.steps if isinstance(step, Pick)]
        items += [str(step.target) for step in self.steps if isinstance(step, TaskStep) and step.verb == "attach"]
        return tuple(dict.fromkeys(items))
