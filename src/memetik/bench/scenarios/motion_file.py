"""A motion in a table as a stream of poses: one that was measured, taught or planned.

The table is what a trajectory is saved as with the ending .csv: columns `time` and `position:JOINT`. A trajectory comes
from a recording by `mk.load_trajectory("run.bag").save("run.csv")`. Joints without a column are at their neutral value.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from memetik.bench.scenarios.target_draft import Order, Recipe, TargetDraft, pose_goal
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.robot.robot import Robot

STEP = 0.02
"""Radians or metres that the fastest joint moves between two targets."""

_POSITION = "position:"


def motion_recipe(path: str) -> Recipe:
    """The recipe for a motion's table."""
    return Recipe(f"the motion in {path}", lambda order: _draft(order, Path(path)), options=("link",))


def _draft(order: Order, path: Path) -> TargetDraft:
    """Targets along the motion, which begins anew where more are asked for than it has."""
    robot, goal = order.robot, pose_goal(order)
    way = _resampled(_configurations(robot, path))
    index = (order.drawn + np.arange(order.count)) % (len(way) - 1)
    return TargetDraft(
        robot, (goal,), (robot.pose(goal.link, way[index + 1]),), known_solutions=way[index + 1], seeds=way[index],
        metadata={"seeding": "follow", "stream": len(way) - 1, "step": STEP, "file": str(path)},
    )  # fmt: skip


def _configurations(robot: Robot, path: Path) -> np.ndarray:
    """(N, dof) the rows of the table, within the robot's limits."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    columns = [(k, name.removeprefix(_POSITION)) for k, name in enumerate(rows[0]) if name.startswith(_POSITION)]
    if not columns or len(rows) < 3:
        raise InvalidInputError(f"the motion {path.name!r} needs columns 'position:JOINT' and two rows at least.")
    for _, name in columns:
        if name not in robot.joint_names:
            raise UnknownNameError("joint", name, f"robot {robot.name!r}", robot.joint_names)
    try:
        values = np.array([[float(row[k]) for k, _ in columns] for row in rows[1:]])
    except (ValueError, IndexError) as error:
        raise InvalidInputError(f"a row of the motion {path.name!r} cannot be read: {error}.") from None
    if not np.isfinite(values).all():
        raise InvalidInputError(f"the motion {path.name!r} has a value that is not finite.")
    q = np.tile(robot.neutral, (len(values), 1))
    q[:, [robot.joint_index(name) for _, name in columns]] = values
    return robot.clip(q)


def _resampled(q: np.ndarray) -> np.ndarray:
    """Along straight lines between the rows, so that the fastest joint moves by STEP at most."""
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(q, axis=0)).max(axis=1))])
    if length[-1] == 0.0:
        raise InvalidInputError("the motion does not move.")
    at = np.linspace(0.0, length[-1], math.ceil(length[-1] / STEP) + 1)
    kept = np.concatenate([[True], np.diff(length) > 0.0])
    return np.stack([np.interp(at, length[kept], column) for column in q[kept].T], axis=1)
