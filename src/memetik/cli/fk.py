"""`memetik fk ROBOT`: poses of links in a configuration."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import memetik as mk
from memetik.cli.goal_words import warn_beyond_limits
from memetik.cli.options import arguments_option, json_option, option, robot_argument, search_path_option
from memetik.cli.output import print_json, print_table
from memetik.errors import InvalidInputError
from memetik.files.named_values import as_numbers, named_values
from memetik.files.schema import parse_table, read_table
from memetik.robot.robot import Robot


@dataclass(frozen=True, kw_only=True)
class FkOptions:
    robot: str = robot_argument()
    q: str | None = option(None, "All joint values in order, separated by blanks or commas.")
    joints: list[str] = option([], "NAME=VALUE; repeatable. Joints not named stay in the middle.")
    link: list[str] = option([], "Link to print; repeatable. Without it, the robot's tip.")
    read: str | None = option(
        None, 'JSON file ("-" for standard input) with "q" (one or many) or "joints", and "links".', "--input"
    )
    search_path: list[str] = search_path_option()
    arg: list[str] = arguments_option()
    as_json: bool = json_option()


def fk(options: FkOptions) -> None:
    robot = mk.load_robot(options.robot, search_path=options.search_path)
    stated = _read_json(options.read) if options.read else {}
    q = _configuration(robot, options, stated)
    warn_beyond_limits(robot, q, "fk")
    poses = {name: robot.pose(name, q) for name in options.link or stated.get("links") or [robot.tip]}
    if options.as_json:
        described = {name: _describe(pose) for name, pose in poses.items()}
        data = {"robot": robot.name, "joint_names": list(robot.joint_names), "q": q, "poses": described}
        print_json("memetik.fk/1", data)
    else:
        _print_poses(poses)


def _read_json(path: str) -> dict[str, Any]:
    table = parse_table(sys.stdin.read(), "json", "the input") if path == "-" else read_table(path, "the file", "json")
    return dict(table.data)


def _configuration(robot: Robot, options: FkOptions, stated: dict[str, Any]) -> np.ndarray:
    """Given values of all joints, or those of some with the others in the middle of their limits."""
    if options.q is not None:
        return _as_rows(options.q.replace(",", " ").split(), "--q", robot)
    if "q" in stated:
        return _as_rows(stated["q"], "'q'", robot)
    named = as_numbers(named_values(options.joints, "--joints"), "--joints")
    return robot.q({**stated.get("joints", {}), **named})


def _as_rows(values: ArrayLike, what: str, robot: Robot) -> np.ndarray:
    try:
        q = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{what} must be numbers.") from None
    if q.ndim not in (1, 2) or q.shape[-1] != robot.dof:
        names = ", ".join(robot.joint_names)
        raise InvalidInputError(f"{what} needs {robot.dof} numbers ({names}), not {q.shape[-1] if q.ndim else 1}.")
    return q


def _describe(pose: np.ndarray) -> dict[str, np.ndarray] | list[Any]:
    if pose.ndim == 3:
        return [_describe(single) for single in pose]
    return {"position": pose[:3, 3], "quaternion_xyzw": _quaternion(pose), "matrix": pose}


def _print_poses(poses: dict[str, np.ndarray]) -> None:
    rows = []
    for name, pose in poses.items():
        for index, single in enumerate(pose if pose.ndim == 3 else [pose]):
            label = f"{name} [{index}]" if pose.ndim == 3 else name
            position = "  ".join(f"{v:+.6f}" for v in single[:3, 3])
            rows.append((label, position, "  ".join(f"{v:+.6f}" for v in _quaternion(single))))
    print_table(("link", "position x, y, z (m)", "quaternion x, y, z, w"), rows)


def _quaternion(pose: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(pose[:3, :3]).as_quat(canonical=True)
