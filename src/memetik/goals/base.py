"""What every goal has, and how it becomes terms of the core.

A goal is a residual r(q) with an analytic Jacobian. Its cost is (weight * |r|)^2, passed through its loss. It holds when
|r| is within its tolerance, in metres or radians. Goals state facts about links; `compile` breaks them down into terms,
the residuals that the core knows (native/problem.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from memetik.errors import GoalError
from memetik.goals.losses import SQUARE, Loss

if TYPE_CHECKING:
    from memetik.goals.compiler import Compiler


class Kind(IntEnum):
    """The residuals that the core knows, in the order of TermKind in native/problem.h."""

    POINT = 0
    ROTATION = 1
    ROTATION_RANGE = 2
    SWING_RANGE = 3
    ALIGN = 4
    TWIST = 5
    CONE = 6
    SIDE = 7
    LOOK_AT = 8
    LINE = 9
    PLANE = 10
    DISTANCE = 11
    REPULSION = 12
    ROLL_PITCH_YAW = 13
    PIVOT = 14
    PIVOT_CHAIN = 15
    VIEW = 16
    INCIDENCE = 17
    BALANCE = 18
    SUPPORT = 19
    JOINTS = 20
    MANIPULABILITY = 21
    EFFORT = 22
    COMPILED = 23
    CALLBACK = 24


MUST = 0
"""The priority of goals that have to hold."""

PREFER = 1
"""The first priority of goals that are optimised in the freedom that the musts leave."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Goal:
    """What is wanted of a robot.

    weight    multiplies the residual: orders goals of one priority.
    priority  0: must hold; 1, 2, ...: preferences, the lower number first.
    name      how the solution's errors and open targets refer to it; by default made from the class and its link.
    loss      how the residual's size turns into cost.
    """

    weight: float = 1.0
    priority: int = MUST
    name: str = ""
    loss: Loss = field(default=SQUARE)

    open_target: ClassVar[str | None] = None
    """The field that may be left None and given at each solve; None where a goal has no such field."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.weight) and self.weight >= 0.0):
            raise GoalError(
                f"the weight of {type(self).__name__} must be finite and not negative, not {self.weight!r}."
            )
        if not isinstance(self.priority, int) or self.priority < 0:
            raise GoalError(
                f"the priority of {type(self).__name__} is 0 for a must or 1, 2, ... for preferences, not {self.priority!r}."
            )
        if not isinstance(self.loss, Loss):
            raise GoalError(
                f"the loss of {type(self).__name__} must be a Loss such as mk.Huber(0.01), not {self.loss!r}."
            )

    @property
    def links(self) -> Sequence[str]:
        """The links that this goal speaks of."""
        return ()

    @property
    def is_open(self) -> bool:
        """Whether this goal's target is given at each solve."""
        return self.open_target is not None and getattr(self, self.open_target) is None

    def default_name(self) -> str:
        """The name used where none is given."""
        return "_".join([type(self).__name__.lower(), *self.links])

    def compile(self, compiler: Compiler) -> None:
        """Adds this goal's terms to a problem."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say how it is evaluated: override `compile` or `residual`."
        )

    def __repr__(self) -> str:
        parts = []
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in ("weight", "priority", "name", "loss") and value == f.default:
                continue
            if isinstance(value, np.ndarray):
                parts.append(f"{f.name}={np.array2string(value, precision=4, separator=', ', suppress_small=True)}")
            elif value is not None:
                parts.append(f"{f.name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


def put(goal: Goal, **values: Any) -> None:
    """Sets fields of a goal while it is being built: what the user gave, in the form the goal keeps."""
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            value = np.array(value)
            value.setflags(write=False)
        object.__setattr__(goal, name, value)
