"""What every goal has, and how it becomes terms of the core.

A goal is a residual r(q) with an analytic Jacobian. Its cost is (weight * |r|)^2, passed through its loss. It is
satisfied when |r| is within its tolerance, in metres or radians. Goals state facts about links; `compile` breaks them
down into terms, the residuals that the core knows (native/goals/term.h).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from memetik.errors import GoalError
from memetik.geometry.transforms import frozen
from memetik.goals.arguments import is_array
from memetik.goals.losses import SQUARE, Hyperbola, Loss

if TYPE_CHECKING:
    from memetik.goals.compiler import GoalCompiler


HARD = 0
"""The priority of goals that have to be satisfied."""

SOFT = 1
"""The first priority of goals that are optimised in the freedom that the hard goals leave."""


FieldChecks = Mapping[str, Callable[[Any, str], object]]
"""{field: check}. A check takes the value and its name in messages, and returns what is kept, or raises a GoalError."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Goal:
    """What a configuration of a robot has to satisfy, or should come near to.

    Goals of your own subclass this: they name their `links` and `joints` and override `residual`, maybe `jacobian` and
    `residuals`; `tolerance` (1e-5 where there is none) bounds the residual's norm.

    weight    multiplies the residual: orders goals of one priority. Zero switches the goal off: it asks for nothing
              and has no error; an open target keeps its place among the others and is not looked at.
    priority  0: a hard goal; 1, 2, ...: soft goals, the lower number first.
    name      how the solution's errors and open targets refer to it; by default made from the class and its link.
    loss      how the residual's size turns into cost.
    """

    weight: float = 1.0
    priority: int = HARD
    name: str = ""
    loss: Loss = field(default=SQUARE)

    stored_name: ClassVar[str] = "Goal"
    """What files call this class, and default names begin with: its first name, whatever it is called now."""
    open_target: ClassVar[str | None] = None
    """The field that may be left None and given at each solve; None where a goal has no such field."""
    field_checks: ClassVar[FieldChecks] = {}
    """What this class makes of its fields before it keeps them; those that are None by default may stay None."""
    allows_hyperbola: ClassVar[bool] = False
    """Whether the loss Hyperbola has a meaning for this goal."""

    def __init_subclass__(cls) -> None:
        if "stored_name" not in vars(cls):
            cls.stored_name = cls.__name__

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if not (isinstance(self.weight, int | float | np.number) and 0.0 <= self.weight < float("inf")):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GoalError(f"the weight of {owner} must be finite and not negative, not {self.weight!r}.")
        if not isinstance(self.priority, int) or self.priority < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GoalError(
                f"the priority of {owner} is 0 for a hard goal or 1, 2, ... for soft ones, not {self.priority!r}."
            )
        if not isinstance(self.loss, Loss):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GoalError(f"the loss of {owner} must be a Loss such as mk.Huber(0.01), not {self.loss!r}.")
        if isinstance(self.loss, Hyperbola) and not self.allows_hyperbola:
            raise GoalError(f"the loss Hyperbola is for MinDistance; {owner} has no distance to keep.")
        for kind in reversed(type(self).__mro__):
            for name, check in vars(kind).get("field_checks", {}).items():
                value = getattr(self, name)
                if value is not None or type(self).__dataclass_fields__[name].default is not None:
                    set_fields(self, **{name: check(value, f"the {name} of {owner}")})

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
        return "_".join([self.stored_name.lower(), *self.links])

    def compile(self, compiler: GoalCompiler) -> None:
        """Adds this goal's terms to a problem: by default one that calls `residual`."""
        from memetik.goals.custom import add_user_term

        add_user_term(compiler, self)

    def residual(self, q: np.ndarray, poses: np.ndarray) -> Any:
        """What should become zero, for goals of the user's own: a number or an array of any fixed size.

        q      values (n,) of `joints`, in their order.
        poses  (k, 4, 4) of `links` in the world, in their order.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what it asks for: override `residual`.")

    def residuals(self, q: np.ndarray, poses: np.ndarray) -> Any:
        """`residual` of N configurations: q (N, n), poses (N, k, 4, 4), result (N, rows). Override it for speed."""
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
        parts: list[str] = []
        # The link comes first, as it is written; defaults are left out.
        for f in sorted(fields(self), key=lambda f: f.name != "link"):
            value: object = getattr(self, f.name)
            if is_array(value):
                text = np.array2string(value, precision=4, separator=", ", suppress_small=True, max_line_width=1000)
                parts.append(f"{f.name}={' '.join(text.split())}")
            elif f.name == "link":
                parts.append(repr(value))
            elif value is not None and value != f.default:
                parts.append(f"{f.name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


def set_fields(goal: Goal, **values: object) -> None:
    """Sets fields of a goal while it is being built: what the user gave, in the form the goal keeps."""
    for name, value in values.items():
        object.__setattr__(goal, name, frozen(value) if is_array(value) else value)
