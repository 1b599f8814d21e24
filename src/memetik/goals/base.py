"""What every goal has, and how it becomes terms of the core.

A goal is a residual r(q) with an analytic Jacobian. Its cost is (weight * |r|)^2, passed through its loss. It holds
when |r| is within its tolerance, in metres or radians. Goals state facts about links; `compile` breaks them down into
terms, the residuals that the core knows (native/problem.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from memetik.errors import GoalError
from memetik.goals.losses import SQUARE, Hyperbola, Loss

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
    POINT_DISTANCE = 25
    TOUCH = 26
    PROJECT_POINT = 27
    PROJECT_AXIS = 28
    CONTACTS = 29


MUST = 0
"""The priority of goals that have to hold."""

PREFER = 1
"""The first priority of goals that are optimised in the freedom that the musts leave."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Goal:
    """What is wanted of a robot.

    Goals of your own subclass this: they name their `links` and `joints` and override `residual`, maybe `jacobian` and
    `residuals`; `tolerance` (1e-5 where there is none) bounds the residual's norm.

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
    allows_hyperbola: ClassVar[bool] = False
    """Whether the loss Hyperbola has a meaning for this goal."""

    def __post_init__(self) -> None:
        if not (isinstance(self.weight, int | float | np.number) and 0.0 <= self.weight < float("inf")):
            raise GoalError(
                f"the weight of {type(self).__name__} must be finite and not negative, not {self.weight!r}."
            )
        if not isinstance(self.priority, int) or self.priority < 0:
            raise GoalError(
                f"the priority of {type(self).__name__} is 0 for a must or 1, 2, ... for preferences, not "
                f"{self.priority!r}."
            )
        if not isinstance(self.loss, Loss):
            raise GoalError(
                f"the loss of {type(self).__name__} must be a Loss such as mk.Huber(0.01), not {self.loss!r}."
            )
        if isinstance(self.loss, Hyperbola) and not self.allows_hyperbola:
            raise GoalError(f"the loss Hyperbola is for MinDistance; {type(self).__name__} has no distance to keep.")

    @property
    def links(self) -> Sequence[str]:
        """The links that this goal speaks of."""
        return ()

    @property
    def joints(self) -> Sequence[str] | None:
        """The joints whose values this goal's `residual` reads; None: all of the robot's."""
        return ()

    @property
    def is_open(self) -> bool:
        """Whether this goal's target is given at each solve."""
        return self.open_target is not None and getattr(self, self.open_target) is None

    def default_name(self) -> str:
        """The name used where none is given."""
        return "_".join([type(self).__name__.lower(), *self.links])

    def compile(self, compiler: Compiler) -> None:
        """Adds this goal's terms to a problem: by default one that calls `residual`."""
        from memetik.goals.custom import add_user_term

        add_user_term(compiler, self)

    def residual(self, q: np.ndarray, poses: np.ndarray) -> Any:
        """What should become zero, for goals of the user's own: a number or an array of any fixed size.

        q      values (n,) of `joints`, in their order.
        poses  (k, 4, 4) of `links` in the world, in their order.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what it wants: override `residual`.")

    def residuals(self, q: np.ndarray, poses: np.ndarray) -> Any:
        """`residual` of N postures at once: q (N, n), poses (N, k, 4, 4), result (N, rows). Override it for speed."""
        return np.array([np.atleast_1d(self.residual(*pair)) for pair in zip(q, poses, strict=True)], dtype=float)

    def jacobian(self, q: np.ndarray, poses: np.ndarray) -> Any:
        """The residual's derivative, for goals of the user's own that have one: (by_joints, by_links), or None.

        by_joints  (rows, n) by the values of `joints`; None: zero.
        by_links   (rows, k, 6) by the motion of `links`: velocity of the link's origin, then angular velocity, both in
                   the world's axes; None: zero.
        Where it is not overridden, central differences are taken.
        """
        return None

    def __repr__(self) -> str:
        parts = []
        # The link comes first, as it is written; defaults are left out.
        for f in sorted(fields(self), key=lambda f: f.name != "link"):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                text = np.array2string(value, precision=4, separator=", ", suppress_small=True, max_line_width=1000)
                parts.append(f"{f.name}={' '.join(text.split())}")
            elif f.name == "link":
                parts.append(repr(value))
            elif value is not None and value != f.default:
                parts.append(f"{f.name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


def put(goal: Goal, **values: Any) -> None:
    """Sets fields of a goal while it is being built: what the user gave, in the form the goal keeps."""
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            value = np.array(value)
            value.setflags(write=False)
        object.__setattr__(goal, name, value)
