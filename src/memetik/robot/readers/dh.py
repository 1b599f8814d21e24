"""A table of Denavit-Hartenberg parameters becomes a Description.

Standard:  T_i = Rz(theta_i) Tz(d_i) Tx(a_i) Rx(alpha_i)           (the joint moves about z of frame i-1)
Modified:  T_i = Rx(alpha_i) Tx(a_i) Rz(theta_i) Tz(d_i)           (Craig; the joint moves about z of frame i)

The joint's value adds to theta (revolute) or to d (prismatic). Link i's frame is the table's frame i.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError, suggest
from memetik.geometry.transforms import frozen_inverse, pose, rotation_about, unit
from memetik.robot.description import Description, Joint, Link
from memetik.robot.joint_kinds import JOINT_KINDS, JointKind
from memetik.robot.readers.limits_file import with_default_accelerations
from memetik.robot.validate import validate

COLUMNS = ("theta", "d", "a", "alpha")
Triple = tuple[float, float, float]
Row = Sequence[float] | Mapping[str, float]
Bounds = tuple[float, float] | None
_X, _Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DhTable:
    """A Denavit-Hartenberg table and what it leaves open, as `memetik.robot_from_dh` explains it."""

    rows: Sequence[Row]
    convention: str = "standard"
    limits: Sequence[Bounds] | None = None
    kinds: Sequence[str] | None = None
    velocity: Sequence[float] | float | None = None
    columns: Sequence[str] = COLUMNS
    name: str = "robot"
    joint_names: Sequence[str] | None = None
    link_names: Sequence[str] | None = None
    base: ArrayLike | None = None
    tool: ArrayLike | None = None

    def description(self) -> Description:
        """The robot of the table."""
        if self.convention not in ("standard", "modified"):
            choices = suggest(self.convention, ("standard", "modified"))
            raise InvalidInputError(f"the convention is {self.convention!r}; {choices}")
        rows = _rows(self.rows, self.columns)
        count = len(rows)
        link_names = _named("link_names", self.link_names, ["base", *(f"link{k + 1}" for k in range(count))])
        links = [Link(link) for link in link_names]
        joints = self._joints(rows, link_names)
        if self.tool is not None:
            links.append(Link("tool"))
            joints.append(Joint("tool_joint", "fixed", link_names[-1], "tool", origin=_given_pose(self.tool, "tool")))
        description = Description(
            name=self.name,
            links=tuple(links),
            joints=tuple(joints),
            base=_given_pose(self.base, "base") if self.base is not None else pose(),
            source=f"Denavit-Hartenberg table ({self.convention})",
        )
        return with_default_accelerations(validate(description))

    def _joints(self, rows: list[dict[str, float]], link_names: list[str]) -> list[Joint]:
        count = len(rows)
        names = _named("joint_names", self.joint_names, [f"joint{k + 1}" for k in range(count)])
        bounds = _per_joint("limits", self.limits, count, None)
        speed = self.velocity
        speeds = _per_joint("velocity", [speed] * count if isinstance(speed, int | float) else speed, count, math.inf)
        kinds: list[JointKind] = [
            _kind(word, k) for k, word in enumerate(_per_joint("kinds", self.kinds, count, "revolute"))
        ]
        joints = []
        for k, row in enumerate(rows):
            kind: JointKind = kinds[k]
            lower, upper = _bounds(bounds[k], k)
            if kind == "revolute" and math.isinf(lower) and math.isinf(upper):
                kind = "continuous"
            origin, axis, anchor = _placement(row, self.convention)
            joints.append(
                Joint(
                    name=names[k],
                    kind=kind,
                    parent=link_names[k],
                    child=link_names[k + 1],
                    origin=origin,
                    axis=axis,
                    anchor=anchor,
                    lower=(lower,),
                    upper=(upper,),
                    velocity=(float(speeds[k]),),
                )
            )
        return joints


def _kind(word: str, index: int) -> JointKind:
    """A kind of one axis, by its name or the first letter of it."""
    one_axis: list[JointKind] = [kind for kind, traits in JOINT_KINDS.items() if len(traits.axes) == 1]
    for kind in one_axis:
        if str(word).lower() in (kind, kind[0]):
            return kind
    raise InvalidInputError(f"kinds[{index}] is {word!r}; {suggest(word, one_axis)}")


def _placement(row: dict[str, float], convention: str) -> tuple[np.ndarray, Triple, Triple]:
    """Origin, axis and anchor of a joint."""
    along_x = pose(rotation_about(_X, row["alpha"]), (row["a"], 0.0, 0.0))
    along_z = pose(rotation_about(_Z, row["theta"]), (0.0, 0.0, row["d"]))
    if convention == "modified":
        return pose_product(along_x, along_z), _Z, (0.0, 0.0, 0.0)
    # M(q) C = C (C^-1 M(q) C): the motion about the previous z is one about an axis of the new frame, past an anchor.
    origin = pose_product(along_z, along_x)
    back = frozen_inverse(origin)
    axis = unit(tuple(back[:3, 2])) or _Z
    x, y, z = (float(v) for v in back[:3, 3])
    return origin, axis, (x, y, z)


def pose_product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The read-only product of two poses."""
    product = first @ second
    product.setflags(write=False)
    return product


def _rows(table: Iterable[Row], columns: Sequence[str]) -> list[dict[str, float]]:
    if sorted(columns) != sorted(COLUMNS):
        raise InvalidInputError(f"columns are {tuple(columns)!r}; they must name theta, d, a and alpha once each.")
    rows = []
    for index, row in enumerate(table):
        if isinstance(row, Mapping):
            unknown = [key for key in row if key not in COLUMNS]
            if unknown:
                raise InvalidInputError(f"row {index} of the table has {unknown[0]!r}; {suggest(unknown[0], COLUMNS)}")
            named = {column: row.get(column, 0.0) for column in COLUMNS}
        else:
            values = list(row)
            if len(values) != 4:
                raise InvalidInputError(
                    f"row {index} of the table has {len(values)} numbers; four are needed: {', '.join(columns)}."
                )
            named = dict(zip(columns, values, strict=True))
        try:
            numbers = {column: float(value) for column, value in named.items()}
        except (TypeError, ValueError):
            raise InvalidInputError(f"row {index} of the table is {row!r}; four numbers are needed.") from None
        for column, value in numbers.items():
            if not math.isfinite(value):
                raise InvalidInputError(f"{column} in row {index} of the table is {value}; it must be finite.")
        rows.append(numbers)
    if not rows:
        raise InvalidInputError("the table has no rows; one per joint is needed.")
    return rows


def _per_joint(what: str, values: Iterable[T] | None, count: int, default: T) -> list[T]:
    if values is None:
        return [default] * count
    entries = list(values)
    if len(entries) != count:
        raise InvalidInputError(f"{what} has {len(entries)} entries; the table has {count} joints.")
    return entries


def _named(what: str, names: Sequence[str] | None, defaults: list[str]) -> list[str]:
    if names is None:
        return defaults
    if len(names) != len(defaults):
        raise InvalidInputError(f"{what} has {len(names)} entries; {len(defaults)} are needed.")
    return [str(name) for name in names]


def _bounds(entry: Bounds, index: int) -> tuple[float, float]:
    if entry is None:
        return -math.inf, math.inf
    try:
        lower, upper = (float(value) for value in entry)
    except (TypeError, ValueError):
        raise InvalidInputError(f"limits[{index}] is {entry!r}; a pair (lower, upper) or None is needed.") from None
    if math.isnan(lower) or math.isnan(upper) or lower > upper:
        raise InvalidInputError(f"limits[{index}] is {entry!r}; the lower one must not be above the upper.")
    return lower, upper


def _given_pose(value: ArrayLike, what: str) -> np.ndarray:
    from memetik.geometry.transforms import as_pose

    matrix = as_pose(value, what)
    matrix.setflags(write=False)
    return matrix
