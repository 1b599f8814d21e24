"""Fanuc M-10iA: six-joint industrial arm of 10 kg payload.

Kinematics, position and velocity limits and names: the manufacturer's data sheet as the public fanuc_m10ia_support
states it; z of `tool0` points out of the flange. Approximations: collision capsules (drawn after the data sheet's
outline), masses (the data sheet's 130 kg shared out), inertias (of those capsules). Torques are not published.
"""

from __future__ import annotations

import math

from memetik.robot.bundled.builder import Hinge, arm, body, box, capsule, cylinder, fixed, hinges
from memetik.robot.description import Description

SOURCE = (
    "Fanuc M-10iA, published dimensions and limits (data sheet, fanuc_m10ia_support); "
    "masses, collision primitives and inertias are approximations"
)

#   offset, axis, limits, velocity
_JOINTS = (
    Hinge((0.0, 0.0, 0.0), (0, 0, 1), (-3.14, 3.14), 3.67),
    Hinge((0.15, -0.04, 0.45), (0, 1, 0), (-1.57, 2.79), 3.32),
    Hinge((0.0, -0.0225, 0.6), (0, -1, 0), (-3.14, 4.61), 3.67),
    Hinge((0.1805, 0.0625, 0.2), (-1, 0, 0), (-3.31, 3.31), 6.98),
    Hinge((0.4595, -0.0565, 0.0), (0, -1, 0), (-3.31, 3.31), 6.98),
    Hinge((0.1, 0.0565, 0.0), (-1, 0, 0), (-6.28, 6.28), 10.47),
)


def describe() -> Description:
    """The arm with its bare flange."""
    links = [
        body("base_link", box((0.36, 0.3, 0.1), (-0.02, 0, 0.05)), cylinder((0, 0, 0.1), (0, 0, 0.2), 0.14), mass=40.0),
        body("link_1", capsule((0, 0, 0.3), (0.08, 0, 0.4), 0.13), capsule((0.15, 0, 0.45), (0.15, 0.07, 0.45), 0.1),
             mass=35.0),
        body("link_2", capsule((0, -0.06, 0), (0, -0.065, 0.6), 0.075), mass=20.0),
        body("link_3", capsule((0, 0.06, 0), (0, 0.0625, 0.17), 0.085),
             capsule((0, 0.0625, 0.2), (0.1, 0.0625, 0.2), 0.085),
             capsule((-0.08, 0.0625, 0.2), (0, 0.0625, 0.2), 0.08), mass=22.0),
        body("link_4", capsule((0.06, 0, 0), (0.36, 0, 0), 0.06), capsule((0.36, -0.045, 0), (0.46, -0.045, 0), 0.035),
             mass=9.0),
        body("link_5", capsule((0, 0.04, 0), (0.03, 0.0565, 0), 0.045), mass=3.0),
        body("link_6", cylinder((-0.025, 0, 0), (0, 0, 0), 0.0315), mass=0.6),
        body("tool0"),
    ]  # fmt: skip
    joints = hinges([f"joint_{i}" for i in range(1, 7)], [link.name for link in links], _JOINTS)
    joints.append(fixed("joint_6-tool0", "link_6", "tool0", rpy=(math.pi, -math.pi / 2, 0.0)))
    ready = (0.0, 0.0, 0.0, 0.0, -math.pi / 2, 0.0)
    return arm(links, joints, [("link_4", "link_6")], home=[0.0] * 6, ready=ready).description("fanuc_m10ia", SOURCE)
