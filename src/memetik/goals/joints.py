"""Values of joints: JointValue, JointFunction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from memetik._core import TermKind
from memetik.errors import GoalError, UnknownNameError
from memetik.goals.arguments import Range, as_positive, as_range, band_of
from memetik.goals.base import FieldChecks, Goal, set_fields
from memetik.goals.compiler import GoalCompiler
from memetik.goals.pose import DEFAULT_TOLERANCE
from memetik.robot.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class JointValue(Goal):
    """A joint has a value, or one within a range.

    r = q - value, or how far q is outside the range. Radians or metres. For a joint that mimics another, q is its own
    value, multiplier times the other's plus offset. Full turns of a joint without limits count: 0 is not 2 pi.

    joint      as in `robot.joint_names` ("joint/axis" where it has several axes), or a joint that mimics another.
    value      a number, or a range (lower, upper), one side of which may be infinite. None: a number at each solve.
    tolerance  radians or metres.
    """

    joint: str
    value: Range | None = None
    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    open_target: ClassVar[str | None] = "value"
    field_checks: ClassVar[FieldChecks] = {"tolerance": as_positive, "value": as_range}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.joint, str) or not self.joint:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GoalError(f"JointValue needs the name of a joint, not {self.joint!r}.")

    def default_name(self) -> str:
        return f"jointvalue_{self.joint}"

    def compile(self, compiler: GoalCompiler) -> None:
        entry, multiplier, offset = joint_entry(compiler.robot, self.joint)
        lower, upper, bound = band_of(0.0 if self.value is None else self.value, self.tolerance)
        if self.value is None and (multiplier, offset) != (1.0, 0.0):
            raise GoalError(f"joint {self.joint!r} mimics another: leave the value of that one open instead.")
        # The core's form: scale * (q - centre) within [lower, upper].
        if lower == upper:
            data = [multiplier, (lower - offset) / multiplier, 0.0, 0.0]
        else:
            data = [multiplier, -offset / multiplier, lower, upper]
        unit = "rad" if compiler.robot.turning[entry] else "m"
        term = compiler.term(TermKind.joints, data, measure=("value", unit), tolerance=bound, entries=[entry])
        if self.value is None:
            compiler.open("number", (), [(0, term, 1)])


@dataclass(frozen=True, eq=False, repr=False)
class JointFunction(Goal):
    """Joints follow a function of their values: couplings, underactuated fingers, gaits.

    r = q - f(q), q the values of the joints, f(q) those they should have. Radians and metres.

    names       joints as in `robot.joint_names`.
    function    f: takes an array (n,) and returns one of the same size.
    derivative  df/dq (n, n) of an array (n,); by central differences where it is not given.
    tolerance   bound on the norm of r.
    """

    names: Sequence[str]
    function: Callable[[np.ndarray], Any]
    derivative: Callable[[np.ndarray], Any] | None = None
    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    field_checks: ClassVar[FieldChecks] = {"tolerance": as_positive}

    def __post_init__(self) -> None:
        super().__post_init__()
        names_are_text = all(isinstance(name, str) for name in self.names)  # pyright: ignore[reportUnnecessaryIsInstance]
        if isinstance(self.names, str) or not self.names or not names_are_text:
            raise GoalError(f"JointFunction needs a list of joints, not {self.names!r}.")
        set_fields(self, names=tuple(self.names))
        for name in ("function", "derivative"):
            given = getattr(self, name)
            if not callable(given) and not (name == "derivative" and given is None):
                raise GoalError(f"the {name} of JointFunction must be callable, not {given!r}.")

    @property
    def joints(self) -> Sequence[str]:
        return self.names

    def default_name(self) -> str:
        return "_".join(["jointfunction", *self.names])

    def residual(self, q: np.ndarray, poses: np.ndarray) -> np.ndarray:
        wanted = np.asarray(self.function(q.copy()), dtype=float)
        if wanted.shape != q.shape:
            raise GoalError(f"the function of JointFunction must return {len(q)} values, not an array {wanted.shape}.")
        return q - wanted

    def jacobian(self, q: np.ndarray, poses: np.ndarray) -> Any:
        if self.derivative is None:
            return None
        return np.eye(len(q)) - np.asarray(self.derivative(q.copy()), dtype=float), None


def joint_entry(robot: Robot, joint: str) -> tuple[int, float, float]:
    """Entry of q, multiplier and offset with which a joint's value follows from it."""
    if joint in robot.joint_names:
        return robot.joint_index(joint), 1.0, 0.0
    coupling = robot.couplings.get(joint)
    if coupling is None or robot.joint(joint).axes != 1:
        raise UnknownNameError("joint", joint, f"robot {robot.name!r}", robot.joint_names)
    if coupling.multiplier == 0.0:
        raise GoalError(f"joint {joint!r} mimics another zero times: nothing moves it.")
    return coupling.first, coupling.multiplier, coupling.offset


def joint_entries(robot: Robot, joints: Sequence[str] | None) -> list[int]:
    """Entries of q of these joints in the order of q; all where None. A joint's name stands for all of its axes."""
    if joints is None:
        return list(range(robot.dof))
    entries: set[int] = set()
    for name in joints:
        if name in robot.joint_names:
            entries.add(robot.joint_index(name))
            continue
        axes = [k for k, full in enumerate(robot.joint_names) if full.startswith(f"{name}/")]
        if not axes:
            raise UnknownNameError("joint", name, f"robot {robot.name!r}", robot.joint_names)
        entries.update(axes)
    return sorted(entries)
