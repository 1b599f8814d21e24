"""One goal of every class on a panda, as old files hold them. Only those that make such files use it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from cases import named, robot
from cases_goals import Half
from cases_options import level

import memetik as mk

TIP = "panda_hand_tcp"
INNER = "panda_link4"
Q = np.array([0.3, -0.6, 0.2, -2.1, 0.1, 1.6, 0.5, 0.02])
"""A configuration that meets the goals."""


def plain_goals() -> dict[str, Any]:
    """Goals that a problem file can state, by the names they have in the files."""
    arm = robot("panda")
    pose = arm.pose(TIP, Q)
    point, turn = pose[:3, 3], pose[:3, :3]
    apart = float(np.sqrt(((point - arm.pose(INNER, Q)[:3, 3]) ** 2).sum()))
    surface = mk.transform(tuple(point - 0.15 * turn[:, 2]), matrix=turn)
    options = {"weight": 0.7, "priority": 1}
    return {
        "Pose": mk.Pose(TIP, pose, position_tolerance=(1e-3, 1e-3, math.inf), rotation_tolerance=0.01),
        "Pose-open": mk.Pose(TIP, offset=(0.0, 0.0, 0.05), name="open pose"),
        "RelativePose": mk.RelativePose(TIP, INNER, arm.pose(TIP, Q, relative_to=INNER)),
        "Position": mk.Position(TIP, point, tolerance=((-0.01, 0.02), 0.01, 0.01)),
        "Orientation": mk.Orientation(TIP, turn, tolerance=(0.1, 0.1, math.inf)),
        "PartialOrientation": mk.PartialOrientation(TIP, roll=(-3.2, 3.1), pitch=0.1, yaw="free"),
        "AlignAxis": mk.AlignAxis(TIP, "z", turn[:, 2], tolerance=0.05),
        "Cone": mk.Cone(TIP, "z", turn[:, 2], 0.2, point),
        "Side": named("Side")(TIP, "z", -turn[:, 2]),
        "LookAt": mk.LookAt(TIP, "z", point + 0.3 * turn[:, 2], loss=mk.Huber(0.1)),
        "Line": mk.Line(TIP, point, "y", (-0.1, 0.1)),
        "Plane": mk.Plane(TIP, point, "z", (-0.01, math.inf)),
        "Distance": mk.Distance(TIP, INNER, (apart - 0.01, apart + 0.01)),
        "MinDistance": mk.MinDistance(TIP, np.zeros((2, 3)), 0.2, radii=0.05, loss=mk.Hyperbola()),
        "MaxDistance": mk.MaxDistance(TIP, (0.0, 0.0, 0.3), 0.9),
        "Pivot": mk.Pivot(TIP, point - 0.1 * turn[:, 2], "z", (-0.2, 0.0)),
        "Pivot-chain": mk.Pivot((INNER, "panda_link5", "panda_link6"), arm.pose("panda_link5", Q)[:3, 3]),
        "Scan": named("Scan")(TIP, point + 0.1 * turn[:, 2], -turn[:, 2], (0.05, 0.15), 0.2, 0.4),
        "Balance": mk.Balance(polygon=[(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], margin=0.1),
        "Touch": mk.Touch("panda_hand", point - (0.0, 0.0, 0.1), "z", tolerance=0.2),
        "PointDistance": mk.PointDistance("panda_hand", point + np.array([0.3, 0.0, 0.0]), (0.0, 0.5), radius=0.02),
        "Project": named("Project")(TIP, "-z", module_mesh(), 0.05, surface_pose=surface, reach=0.5),
        "JointValue": mk.JointValue("panda_joint2", (-0.7, -0.5)),
        "AvoidLimits": mk.AvoidLimits(**options, loss=mk.SwampGroove(0.2)),
        "Center": named("Center")(**options, weights="equal"),
        "Displacement": named("Displacement")(Q, **options, loss=mk.Groove(0.2)),
        "Manipulability": mk.Manipulability(TIP, **options, part="translation", reference=0.1),
        "Effort": named("Effort")(**options),
        "Clearance": mk.Clearance(0.02, loss=mk.Swamp(0.1)),
        "Penetration": named("Penetration")(tolerance=1e-3),
        "CollisionDistance": mk.CollisionDistance(0.03, 0.2, form="least"),
    }


def module_mesh() -> Any:
    """A small surface that problem files hold by its triangles."""
    from cases_scenes import block

    return block(0.2)


def code_goals() -> dict[str, Any]:
    """Goals that hold code of the user's own: they pickle, but no problem file states them."""
    return {
        "JointFunction": mk.JointFunction(["panda_joint1", "panda_joint3"], Half()),
        "CompiledGoal": mk.CompiledGoal(level, rows=1, link_names=[INNER, "panda_hand"]),
    }
