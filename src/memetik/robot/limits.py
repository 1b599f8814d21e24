"""Edits of joint limits: given ones, margins, soft limits. Pure functions from one description to another."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from memetik.errors import InvalidInputError, UnknownNameError, suggest
from memetik.robot.description import LIMIT_NAMES, Description, Joint
from memetik.robot.joint_kinds import JOINT_KINDS, JointKind

LimitValue = float | Sequence[float]
"""A number, or one number per axis."""
JointLimits = Sequence[LimitValue] | Mapping[str, LimitValue]
"""A pair (lower, upper), or some of the limits by name."""
AxisLimits = Sequence[tuple[float, float]] | Mapping[str, tuple[float, float]]
"""A pair (lower, upper) per axis of a joint, in order or by name."""


def set_limits(description: Description, limits: Mapping[str, JointLimits]) -> Description:
    """Other limits for some joints.

    limits: name of a joint, or of one axis of a joint with several ("base/x"), to a pair (lower, upper) or to a mapping
    of some of lower, upper, velocity, acceleration, effort, soft_lower, soft_upper. A value is a number, or one number
    per axis. A continuous joint that is given position limits becomes a revolute one.
    """
    joints = {joint.name: joint for joint in description.joints}
    axes = {axis: (joint.name, k) for joint in description.joints for k, axis in enumerate(joint.axis_names)}
    for name, given in limits.items():
        if name in joints:
            owner, axis = name, None
        elif name in axes:
            owner, axis = axes[name]
        else:
            raise UnknownNameError("joint", name, f"robot {description.name!r}", dict.fromkeys([*joints, *axes]))
        joints[owner] = _limited(joints[owner], axis, _by_name(name, given))
    return replace(description, joints=tuple(joints.values()))


def apply_margin(description: Description, margin: float | Mapping[str, float]) -> Description:
    """Position limits moved inwards on both sides.

    margin: radians, for every angular axis that has limits; or a mapping from joint to its own margin in radians or
    metres.
    """
    if isinstance(margin, Mapping):
        names = [joint.name for joint in description.joints]
        for name in margin:
            if name not in names:
                raise UnknownNameError("joint", name, f"robot {description.name!r}", names)
        margins = {name: _number(f"the margin of joint {name!r}", value) for name, value in margin.items()}
    else:
        number = _number("limit_margin", margin)
        margins = {joint.name: number for joint in description.joints if any(joint.traits.angular)}
    if any(value < 0.0 for value in margins.values()):
        raise InvalidInputError("limit_margin must not be negative.")

    def with_margin(joint: Joint) -> Joint:
        value = margins.get(joint.name, 0.0)
        if not value or not joint.traits.bounded or joint.mimic is not None:
            return joint
        chosen = joint.traits.angular if not isinstance(margin, Mapping) else (True,) * joint.axes
        lower = tuple(low + value * use for low, use in zip(joint.lower, chosen, strict=True))
        upper = tuple(high - value * use for high, use in zip(joint.upper, chosen, strict=True))
        for name, low, high in zip(joint.axis_names, lower, upper, strict=True):
            if low > high:
                raise InvalidInputError(
                    f"a limit_margin of {value:g} leaves joint {name!r} no range: it has only "
                    f"{high - low + 2 * value:g}. Give margins for single joints: limit_margin={{joint: margin}}."
                )
        return replace(joint, lower=lower, upper=upper)

    return _map_joints(description, with_margin)


def apply_soft_limits(description: Description) -> Description:
    """Position limits replaced by the soft ones where a joint has soft limits that are tighter."""

    def softened(joint: Joint) -> Joint:
        lower = tuple(max(pair) for pair in zip(joint.lower, joint.soft_lower, strict=True))
        upper = tuple(min(pair) for pair in zip(joint.upper, joint.soft_upper, strict=True))
        for name, low, high in zip(joint.axis_names, lower, upper, strict=True):
            if low > high:
                raise InvalidInputError(f"the soft limits of joint {name!r} leave it no range ({low:g} to {high:g}).")
        return replace(joint, lower=lower, upper=upper)

    return _map_joints(description, softened)


def neutral_value(lower: float, upper: float) -> float:
    """The middle of the limits; where one is infinite, the value nearest to zero."""
    if math.isfinite(lower) and math.isfinite(upper):
        return 0.5 * (lower + upper)
    return min(max(0.0, lower), upper)


def axis_limits(kind: JointKind, limits: AxisLimits | None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Lower and upper limits of a joint's axes from pairs, one per axis or by axis name; missing ones are infinite."""
    names = JOINT_KINDS[kind].names
    if limits is None:
        return (), ()
    if isinstance(limits, Mapping):
        for name in limits:
            if name not in names:
                raise InvalidInputError(f"a {kind} joint has no axis {name!r}; {suggest(name, names)}")
        pairs = [limits.get(name, (-math.inf, math.inf)) for name in names]
    else:
        pairs = list(limits)
        if len(pairs) != len(names):
            raise InvalidInputError(
                f"a {kind} joint needs {len(names)} pairs of limits ({', '.join(names)}), not {len(pairs)}."
            )
    both = [_pair(f"axis {name!r}", pair) for name, pair in zip(names, pairs, strict=True)]
    return tuple(low for low, _ in both), tuple(high for _, high in both)


def _by_name(name: str, given: JointLimits) -> dict[str, LimitValue]:
    if isinstance(given, Mapping):
        for key in given:
            if key not in LIMIT_NAMES:
                raise InvalidInputError(f"joint {name!r} is given a limit named {key!r}; {suggest(key, LIMIT_NAMES)}")
        return dict(given)
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != 2:
        raise InvalidInputError(
            f"the limits of joint {name!r} must be a pair (lower, upper) or a mapping, not {given!r}."
        )
    return {"lower": given[0], "upper": given[1]}


def _limited(joint: Joint, axis: int | None, given: dict[str, LimitValue]) -> Joint:
    if joint.mimic is not None:
        raise InvalidInputError(f"joint {joint.name!r} mimics {joint.mimic.joint!r}; set the limits of that one.")
    if not joint.axes:
        raise InvalidInputError(f"joint {joint.name!r} is fixed and has no limits.")
    changed: dict[str, tuple[float, ...]] = {}
    for name, value in given.items():
        if axis is not None:
            values = [value if k == axis else kept for k, kept in enumerate(getattr(joint, name))]
        else:
            values = list(value) if isinstance(value, Sequence | np.ndarray) else [value] * joint.axes
        if len(values) != joint.axes:
            raise InvalidInputError(f"joint {joint.name!r} needs {joint.axes} values of {name}, not {len(values)}.")
        changed[name] = tuple(_number(f"{name} of joint {joint.name!r}", value, finite=False) for value in values)
        if name in ("velocity", "acceleration", "effort") and min(changed[name]) < 0.0:
            raise InvalidInputError(f"{name} of joint {joint.name!r} must not be negative.")
    result = replace(joint, **changed)
    for label, low, high in zip(result.axis_names, result.lower, result.upper, strict=True):
        if low > high:
            raise InvalidInputError(f"the lower limit {low:g} of joint {label!r} exceeds the upper one {high:g}.")
    if (
        joint.kind == "continuous"
        and ("lower" in given or "upper" in given)
        and np.isfinite(result.lower + result.upper).any()
    ):
        return replace(result, kind="revolute")
    return result


def _pair(name: str, pair: Sequence[float]) -> tuple[float, float]:
    if not hasattr(pair, "__len__") or len(pair) != 2:
        raise InvalidInputError(f"the limits of {name} must be a pair (lower, upper), not {pair!r}.")
    low, high = (_number(f"a limit of {name}", value, finite=False) for value in pair)
    if low > high:
        raise InvalidInputError(f"the lower limit {low:g} of {name} exceeds the upper one {high:g}.")
    return low, high


def _number(name: str, value: LimitValue, *, finite: bool = True) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be a number, not {value!r}.") from None
    if math.isnan(number) or (finite and math.isinf(number)):
        raise InvalidInputError(f"{name} must be {'finite' if finite else 'a number'}, not {number}.")
    return number


def _map_joints(description: Description, change: Callable[[Joint], Joint]) -> Description:
    return replace(description, joints=tuple(change(joint) for joint in description.joints))
