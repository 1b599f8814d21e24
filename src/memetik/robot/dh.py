"""A table of Denavit-Hartenberg parameters becomes a Description.

Standard:  T_i = Rz(theta_i) Tz(d_i) Tx(a_i) Rx(alpha_i)           (the joint moves about z of frame i-1)
Modified:  T_i = Rx(alpha_i) Tx(a_i) Rz(theta_i) Tz(d_i)           (Craig; the joint moves about z of frame i)

The joint's value adds to theta (revolute) or to d (prismatic). Link i's frame is the table's frame i.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError, suggest
from memetik.robot.description import Description, Joint, Link
from memetik.robot.limits_file import with_default_accelerations
from memetik.robot.rotations import inverse, pose, rotation_about, unit
from memetik.robot.validate import validate

COLUMNS = ("theta", "d", "a", "alpha")
_KINDS = {
    "r": "revolute",
    "revolute": "revolute",
    "c": "continuous",
    "continuous": "continuous",
    "p": "prismatic",
    "prismatic": "prismatic",
}
_X, _Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def description_from_dh(
    table: Sequence[Sequence[float] | Mapping[str, float]],
    convention: str = "standard",
    *,
    limits: Sequence[tuple[float, float] | None] | None = None,
    kinds: Sequence[str] | None = None,
    velocity: Sequence[float] | float | None = None,
    columns: Sequence[str] = COLUMNS,
    name: str = "robot",
    joint_names: Sequence[str] | None = None,
    link_names: Sequence[str] | None = None,
    base: np.ndarray | None = None,
    tool: np.ndarray | None = None,
) -> Description:
    """The robot of a Denavit-Hartenberg table. Metres and radians.

    table: a row per joint, four numbers in the order of `columns`, or a mapping with those names (missing ones are 0).
    convention: "standard" or "modified".
    limits: (lower, upper) per joint, None for none; a revolute joint without limits is continuous.
    kinds: "revolute" or "prismatic" per joint, or a word such as "RRPRRR"; revolute where not given.
    velocity: largest speed, one for all joints or one per joint.
    joint_names, link_names: joint1, joint2, ... and base, link1, link2, ... where not given.
    base: pose of the robot in the world; tool: pose of a further link "tool" in the last frame.
    """
    if convention not in ("standard", "modified"):
        raise InvalidInputError(f"the convention is {convention!r}; {suggest(convention, ('standard', 'modified'))}")
    rows = _rows(table, columns)
    count = len(rows)
    joint_names = _named("joint_names", joint_names, [f"joint{k + 1}" for k in range(count)])
    link_names = _named("link_names", link_names, ["base", *(f"link{k + 1}" for k in range(count))])
    bounds = _per_joint("limits", limits, count, None)
    speeds = _per_joint(
        "velocity", [velocity] * count if isinstance(velocity, int | float) else velocity, count, math.inf
    )
    joint_kinds = _per_joint("kinds", kinds, count, "revolute")
    joints = []
    for k, row in enumerate(rows):
        kind = _KINDS.get(str(joint_kinds[k]).lower())
        if kind is None:
            raise InvalidInputError(
                f"kinds[{k}] is {joint_kinds[k]!r}; {suggest(joint_kinds[k], ('revolute', 'prismatic'))}"
            )
        lower, upper = _bounds(bounds[k], k)
        if kind == "revolute" and math.isinf(lower) and math.isinf(upper):
            kind = "continuous"
        joints.append(
            Joint(
                name=joint_names[k],
                kind=kind,  # type: ignore[arg-type]
                parent=link_names[k],
                child=link_names[k + 1],
                lower=(lower,),
                upper=(upper,),
                velocity=(float(speeds[k]),),
                **_placement(row, convention),
            )
        )
    links = [Link(link) for link in link_names]
    if tool is not None:
        links.append(Link("tool"))
        joints.append(Joint("tool_joint", "fixed", link_names[-1], "tool", origin=_given_pose(tool, "tool")))
    description = Description(
        name=name,
        links=tuple(links),
        joints=tuple(joints),
        base=_given_pose(base, "base") if base is not None else pose(),
        source=f"Denavit-Hartenberg table ({convention})",
    )
    return with_default_accelerations(validate(description))


def _placement(row: dict[str, float], convention: str) -> dict[str, Any]:
    along_x = pose(rotation_about(_X, row["alpha"]), (row["a"], 0.0, 0.0))
    along_z = pose(rotation_about(_Z, row["theta"]), (0.0, 0.0, row["d"]))
    if convention == "modified":
        return {"origin": pose_product(along_x, along_z), "axis": _Z}
    # M(q) C = C (C^-1 M(q) C): the motion about the previous z is one about an axis of the new frame, past an anchor.
    origin = pose_product(along_z, along_x)
    back = inverse(origin)
    axis = unit(tuple(back[:3, 2])) or _Z
    x, y, z = (float(v) for v in back[:3, 3])
    return {"origin": origin, "axis": axis, "anchor": (x, y, z)}


def pose_product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The read-only product of two poses."""
    product = first @ second
    product.setflags(write=False)
    return product


def _rows(table: Any, columns: Sequence[str]) -> list[dict[str, float]]:
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


def _per_joint(what: str, values: Any, count: int, default: Any) -> list[Any]:
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


def _bounds(entry: Any, index: int) -> tuple[float, float]:
    if entry is None:
        return -math.inf, math.inf
    try:
        lower, upper = (float(value) for value in entry)
    except (TypeError, ValueError):
        raise InvalidInputError(f"limits[{index}] is {entry!r}; a pair (lower, upper) or None is needed.") from None
    if math.isnan(lower) or math.isnan(upper) or lower > upper:
        raise InvalidInputError(f"limits[{index}] is {entry!r}; the lower one must not be above the upper.")
    return lower, upper


def _given_pose(value: Any, what: str) -> np.ndarray:
    from memetik.robot.transforms import as_pose

    matrix = as_pose(value, what)
    matrix.setflags(write=False)
    return matrix
