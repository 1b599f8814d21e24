"""The closed loops of a robot as goals: every problem on it has to hold them."""

from __future__ import annotations

from collections.abc import Iterable

from memetik.goals.base import Goal
from memetik.goals.pose import Pose, Position
from memetik.robot.description import Loop
from memetik.robot.robot import Robot

HELD_WITHIN = 5e-7
"""Metres and radians. A solution holds its loops within it, so that what is done with it stays within 1e-6."""


def with_loops(robot: Robot, goals: Iterable[Goal]) -> tuple[Goal, ...]:
    """The goals, and those of the robot's loops that are not among them yet. What no joint moves needs no goal."""
    stated = tuple(goals)
    names = {goal.name for goal in stated}
    moving = [loop for loop in robot.description.loops if (robot.moves(loop.first) != robot.moves(loop.second)).any()]
    return (*stated, *(goal for goal in map(loop_goal, moving) if goal.name not in names))


def loop_goal(loop: Loop) -> Goal:
    """The goal that a loop is closed."""
    name = f"loop {loop.name}"
    if loop.kind == "point":
        target = loop.first_pose[:3, 3]
        return Position(
            loop.second, target, offset=loop.second_pose, relative_to=loop.first, tolerance=HELD_WITHIN, name=name
        )
    return Pose(
        loop.second,
        loop.first_pose,
        offset=loop.second_pose,
        relative_to=loop.first,
        position_tolerance=HELD_WITHIN,
        rotation_tolerance=HELD_WITHIN,
        name=name,
    )
