"""A robot's serial chain as the peers want it: axes and points at the zero configuration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import memetik as mk


@dataclass(frozen=True)
class Serial:
    """The turning joints between the base and a link, in the world at the zero configuration."""

    entries: np.ndarray
    """(n,) where the joints are in the robot's q"""
    axes: np.ndarray
    """(n, 3)"""
    points: np.ndarray
    """(n, 3), one on each axis"""
    tip: np.ndarray
    """(4, 4) pose of the link"""
    lower: np.ndarray
    upper: np.ndarray


def serial_chain(robot: mk.Robot, link: str) -> Serial:
    """The chain of turning joints that moves a link."""
    zero = np.zeros(robot.dof)
    entries, axes, points = [], [], []
    for name in reversed((link, *robot.ancestors(link))):
        joint = robot.parent_joint(name)
        if joint is None or joint.kind == "fixed":
            continue
        if joint.kind not in ("revolute", "continuous") or any(joint.anchor) or joint.mimic:
            raise ValueError(f"joint {joint.name!r} is {joint.kind}: the peers take chains of turning joints only.")
        pose = robot.pose(name, zero)
        entries.append(robot.joint_index(joint.name))
        axes.append(pose[:3, :3] @ np.asarray(joint.axis) / np.linalg.norm(joint.axis))
        points.append(pose[:3, 3])
    index = np.array(entries)
    return Serial(
        index, np.array(axes), np.array(points), robot.pose(link, zero), robot.lower[index], robot.upper[index]
    )
