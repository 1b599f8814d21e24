"""Goals, configurations and poses from the words of a command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from typer.core import TyperCommand

from memetik.errors import InvalidInputError
from memetik.files.named_values import as_number, as_numbers, named_values
from memetik.files.schema import parse_table
from memetik.geometry.transforms import transform
from memetik.goals.base import Goal
from memetik.goals.direction import AlignAxis
from memetik.goals.pose import Orientation, Pose, Position
from memetik.robot.robot import Robot
from memetik.solve.problem_file import goal_from_dict

_ROUNDING = 1e-9
"""By which a value may exceed a limit before that is said."""

GOAL_OPTIONS = ("--pose", "--position", "--orientation", "--align")


class GoalCommand(TyperCommand):
    """A command whose goal options take all words up to the next option, so that they need no quotes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, joined(args))


def joined(args: Sequence[str]) -> list[str]:
    """Arguments with the words of each goal option made one: --pose hand 0.4 0 -0.5 -> --pose 'hand 0.4 0 -0.5'."""
    result: list[str] = []
    words: list[str] | None = None
    for argument in args:
        is_word = _is_number(argument) or (words is not None and argument in ("-x", "-y", "-z"))
        if argument.startswith("-") and not is_word:
            result += [] if words is None else [" ".join(words)]
            words = [] if argument in GOAL_OPTIONS else None
            result.append(argument)
        elif words is None:
            result.append(argument)
        else:
            words.append(argument)
    return result + ([] if words is None else [" ".join(words)])


def option_goals(pose: list[str], position: list[str], orientation: list[str], align: list[str]) -> list[Goal]:
    """Goals in the order of their options."""
    goals: list[Goal] = []
    for words in pose:
        link, numbers = _link_and_numbers(words, "--pose", (3, 6, 7), "x y z, then roll pitch yaw or a quaternion")
        goals.append(Pose(link, _pose(numbers[:3], numbers[3:])))
    for words in position:
        link, numbers = _link_and_numbers(words, "--position", (3,), "x y z")
        goals.append(Position(link, numbers))
    for words in orientation:
        link, numbers = _link_and_numbers(words, "--orientation", (3, 4), "roll pitch yaw or a quaternion x y z w")
        goals.append(Orientation(link, _pose([0.0, 0.0, 0.0], numbers)[:3, :3]))
    return [*goals, *(AlignAxis(*_link_and_axes(words)) for words in align)]


def rotation_notes(pose: list[str]) -> list[str]:
    """What each --pose says about the rotation, in a sentence."""
    notes = []
    for words in pose:
        link, *numbers = split(words) or [""]
        meaning = {
            3: "no rotation is given: its axes are those of the world (--position leaves them free)",
            6: "roll, pitch and yaw in radians, about the fixed axes x, y and z of the world, in this order",
            7: "a quaternion x y z w",
        }.get(len(numbers))
        notes += [f"rotation of {link}: {meaning}."] if meaning else []
    return notes


def warn_beyond_limits(robot: Robot, q: np.ndarray, option: str) -> None:
    """A line on standard error for each joint that is beyond its limits."""
    rows = np.atleast_2d(q)
    for k, name in enumerate(robot.joint_names):
        low, high = float(rows[:, k].min()), float(rows[:, k].max())
        worst = low if low < robot.lower[k] - _ROUNDING else high
        if low < robot.lower[k] - _ROUNDING or high > robot.upper[k] + _ROUNDING:
            limits = f"{robot.lower[k]:.4g} ... {robot.upper[k]:.4g}"
            print(f"memetik: {option}: {name} at {worst:.4g} is beyond its limits, {limits}.", file=sys.stderr)


def json_goals(texts: list[str], option: str = "--goal") -> list[Goal]:
    """Goals from JSON texts."""
    tables = (parse_table(text, "json", f"{option} {text!r:.60}", located=False) for text in texts)
    return [goal_from_dict(dict(table.data)) for table in tables]


def configuration(robot: Robot, text: str, option: str, default: ArrayLike | None = None) -> np.ndarray:
    """A configuration (dof,) from all joint values in order, or from NAME=VALUE of some over the default."""
    if "=" in text:
        q = robot.q(as_numbers(named_values(split(text), option), option), default)
    else:
        q = robot.check_q([as_number(word, option) for word in split(text)], option)
    warn_beyond_limits(robot, q, option)
    return q


def pose_of(text: str, option: str) -> np.ndarray:
    """A pose (4, 4) from "x y z" or "x y z roll pitch yaw"."""
    values = [as_number(word, option) for word in split(text)]
    if len(values) not in (3, 6):
        raise InvalidInputError(f"{option} takes 'x y z' or 'x y z roll pitch yaw', not {text!r}.")
    return transform(values[:3], rpy=values[3:] or (0.0, 0.0, 0.0))


def split(text: str) -> list[str]:
    """The words of a text, separated by blanks or commas."""
    return text.replace(",", " ").split()


def _link_and_axes(words: str) -> tuple[str, str, str | list[float]]:
    link, *rest = split(words) or [""]
    if len(rest) == 2:
        return link, rest[0], rest[1]
    if len(rest) == 4:
        return link, rest[0], [as_number(word, "--align") for word in rest[1:]]
    raise InvalidInputError(
        f"--align takes LINK axis direction, such as 'tool0 z -z' or 'tool0 z 0 0 -1', not {words!r}."
    )


def _link_and_numbers(words: str, option: str, counts: Sequence[int], form: str) -> tuple[str, list[float]]:
    link, *rest = split(words) or [""]
    numbers = [as_number(word, f"{option} {words!r}") for word in rest]
    if not link or len(numbers) not in counts:
        raise InvalidInputError(f"{option} takes LINK and {form}, not {words!r}.")
    return link, numbers


def _pose(position: list[float], rotation: list[float]) -> np.ndarray:
    """A pose from x y z and roll pitch yaw, a quaternion, or nothing."""
    if not rotation:
        return transform(position)
    return transform(position, rpy=rotation) if len(rotation) == 3 else transform(position, quat_xyzw=rotation)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
