"""Goals of the user's own in place of a scenario's pose: tables as problem files have them, hard ones and soft ones.

    [[goals]]
    type = "Pose"                      # targets are given to every goal that leaves its target open
    [[goals]]
    type = "Pivot"
    link = "endoscope_rod_1"           # the robot's tip where none is named
    point = "opening"                  # the middle of the scene's opening; as a direction: its axis
    tolerance = 0.02
    [[goals]]
    type = "AvoidLimits"               # soft: no part of what is verified, its cost is recorded
    weight = 0.1

An open goal gets its part of the target's frame: a pose, the point, the rotation, or the direction of its z axis, which
points into the surface; Viewpoint and Touch the frame with z out of the surface.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from memetik import goals as mg
from memetik.bench.scenarios.target_draft import Order, TargetDraft
from memetik.errors import GoalError, InvalidInputError
from memetik.goals.base import Goal
from memetik.goals.direction import AngleGoal
from memetik.solve.problem_file import goal_class, goal_from_dict

GOALS = "goals"
"""The option of every scenario that asks for other goals."""

OPENING = "opening"
"""What a goal's entry may say for a point or a direction: those of the scene's opening."""

_DIRECTIONS = ("direction", "to", "normal", "axis", "line")


def with_goals(draft: TargetDraft, order: Order) -> TargetDraft:
    """The same targets for the goals that the order asks for; the draft as it is where it asks for none."""
    entries = order.option(GOALS, None)
    if entries is None:
        return draft
    if not isinstance(entries, Sequence) or not entries or not all(isinstance(entry, Mapping) for entry in entries):
        raise InvalidInputError('goals is a list of tables, such as [{type = "Pose"}, {type = "AvoidLimits"}].')
    if len(draft.goals) != 1 or not isinstance(draft.goals[0], mg.Pose):
        raise InvalidInputError(
            "goals= says what is asked in the place of one pose, and this scenario asks for "
            f"{', '.join(type(goal).__name__ for goal in draft.goals)} already."
        )
    goals = tuple(_goal(entry, order, draft, number) for number, entry in enumerate(entries, 1))
    targets = tuple(_targets(goal, draft.targets[0]) for goal in goals if goal.is_open)
    if not targets:
        raise InvalidInputError("none of the goals leaves its target open, so that all targets would be the same.")
    return replace(draft, goals=goals, targets=targets)


def _goal(entry: Mapping[str, Any], order: Order, draft: TargetDraft, number: int) -> Goal:
    data = dict(entry)
    try:
        kind = goal_class(str(data.get("type")))
        parameters = inspect.signature(kind).parameters
        if "link" in parameters and "link" not in data:
            data["link"] = draft.goals[0].links[0]
        for name, value in _tolerances(kind, order).items():
            data.setdefault(name, value)
        for name, value in data.items():
            if value == OPENING and name != "type":
                data[name] = _opening(name, draft)
        goal = goal_from_dict(data)
    except (GoalError, InvalidInputError) as error:
        raise InvalidInputError(f"goal {number}: {error}") from None
    for link in goal.links:
        order.robot.link_index(link)
    return goal


def _tolerances(kind: type[Goal], order: Order) -> dict[str, float]:
    """What counts as reached, for goals that say nothing else."""
    names = {field.name for field in fields(kind)}
    asked = {"position_tolerance": order.tolerance.position, "rotation_tolerance": order.tolerance.rotation}
    if issubclass(kind, mg.Position | mg.Line | mg.Plane):
        asked["tolerance"] = order.tolerance.position
    elif issubclass(kind, AngleGoal | mg.Orientation):
        asked["tolerance"] = order.tolerance.rotation
    return {name: value for name, value in asked.items() if name in names}


def _opening(name: str, draft: TargetDraft) -> list[float]:
    opening = draft.metadata.get("opening")
    if opening is None:
        raise InvalidInputError(f"{name} is {OPENING!r}, and this scenario has no opening.")
    return np.asarray(opening["axis" if name in _DIRECTIONS else "centre"]).tolist()


def _targets(goal: Goal, frames: np.ndarray) -> np.ndarray:
    """The part of target frames (N, 4, 4) that an open goal takes."""
    if isinstance(goal, mg.Pose):
        return frames
    if isinstance(goal, mg.Viewpoint) or (isinstance(goal, mg.Touch) and goal.normal is None):
        return np.ascontiguousarray(frames @ np.diag([1.0, -1.0, -1.0, 1.0]))
    if isinstance(goal, mg.Orientation):
        return np.ascontiguousarray(frames[:, :3, :3])
    if isinstance(goal, mg.AlignAxis | mg.Cone | mg.AvoidDirection):
        return np.ascontiguousarray(frames[:, :3, 2])
    if isinstance(goal, mg.PartialOrientation):
        angles = _roll_pitch_yaw(frames)
        chosen = [k for k, name in enumerate(("roll", "pitch", "yaw")) if getattr(goal, name) == "open"]
        return np.ascontiguousarray(angles[:, chosen] if len(chosen) > 1 else angles[:, chosen[0]])
    if isinstance(goal, mg.JointValue | mg.Balance):
        raise InvalidInputError(f"{type(goal).__name__} takes nothing from a target's frame: state its value.")
    return np.ascontiguousarray(frames[:, :3, 3])


def _roll_pitch_yaw(frames: np.ndarray) -> np.ndarray:
    """(N, 3) of R = Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = np.arctan2(-frames[:, 2, 0], np.hypot(frames[:, 0, 0], frames[:, 1, 0]))
    roll, yaw = np.arctan2(frames[:, 2, 1], frames[:, 2, 2]), np.arctan2(frames[:, 1, 0], frames[:, 0, 0])
    upright = np.cos(pitch) < 1e-9
    yaw = np.where(upright, np.arctan2(-frames[:, 0, 1], frames[:, 1, 1]), yaw)
    return np.stack([np.where(upright, 0.0, roll), pitch, yaw], axis=1)
