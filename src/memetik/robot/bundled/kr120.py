"""KUKA KR 120 R2500 pro: six-joint industrial arm of 120 kg payload.

Kinematics, position and velocity limits and names: the manufacturer's data sheet as the public kuka_experimental
(kr120r2500pro) states it. Approximations: collision capsules (fitted to the outside of the arm), masses (the data
sheet's 1049 kg shared out by volume), inertias (of those capsules). Torques are not published.
"""

from __future__ import annotations

import math

from memetik.robot.bundled.builder import Hinge, arm, body, box, capsule, cylinder, degrees, fixed, hinges
from memetik.robot.description import Description

SOURCE = (
    "KUKA KR 120 R2500 pro, published dimensions and limits (data sheet, kuka_experimental); "
    "masses, collision primitives and inertias are approximations"
)

#   offset, axis, limits, velocity
_JOINTS = (
    Hinge((0.0, 0.0, 0.675), (0, 0, -1), degrees(-185, 185), math.radians(156)),
    Hinge((0.35, 0.0, 0.0), (0, 1, 0), degrees(-155, 35), math.radians(156)),
    Hinge((1.15, 0.0, 0.0), (0, 1, 0), degrees(-130, 154), math.radians(156)),
    Hinge((1.0, 0.0, -0.041), (-1, 0, 0), degrees(-350, 350), math.radians(330)),
    Hinge((0.0, 0.0, 0.0), (0, 1, 0), degrees(-130, 130), math.radians(330)),
    Hinge((0.0, 0.0, 0.0), (-1, 0, 0), degrees(-350, 350), math.radians(615)),
)

HOME = (0.0, -math.pi / 2, math.pi / 2, 0.0, 0.0, 0.0)


def describe() -> Description:
    """The arm with its bare flange."""
    links = [
        body("base_link", box((0.98, 0.83, 0.2), (-0.09, 0, 0.1)), box((0.75, 0.6, 0.12), (-0.24, 0, 0.25)),
             box((0.46, 0.45, 0.065), (-0.365, 0, 0.34)), mass=250.0),
        body("link_1", capsule((-0.06, 0, -0.25), (0.16, 0.02, -0.2), 0.25),
             capsule((-0.155, -0.02, -0.08), (-0.337, -0.06, -0.131), 0.21),
             capsule((0.37, 0.05, 0), (0.15, 0.05, 0.02), 0.21), mass=300.0),
        body("link_2", capsule((0.04, -0.165, 0.07), (0.04, -0.165, -0.07), 0.225),
             capsule((0.32, -0.22, 0), (0.6, -0.22, 0), 0.22),
             capsule((0.8, -0.24, 0), (1.135, -0.235, 0), 0.18), mass=260.0),
        body("link_3", capsule((-0.325, 0, 0.033), (-0.325, 0, -0.105), 0.13),
             capsule((-0.085, 0.035, -0.015), (0.237, 0.03, -0.025), 0.235),
             capsule((0.45, 0, -0.04), (0.66, 0, -0.041), 0.15), mass=170.0),
        body("link_4", capsule((-0.19, 0, 0), (-0.15, 0, 0), 0.11), capsule((-0.08, 0, 0), (0, 0, 0), 0.1), mass=35.0),
        body("link_5", capsule((0, 0.06, 0), (0.09, 0.06, 0), 0.108), capsule((0, -0.035, 0), (0.1, -0.03, 0), 0.105),
             mass=30.0),
        body("link_6", cylinder((0.188, 0, 0), (0.215, 0, 0), 0.071), mass=4.0),
        body("tool0"),
        body("base"),
    ]  # fmt: skip
    joints = hinges([f"joint_a{i}" for i in range(1, 7)], [link.name for link in links], _JOINTS)
    joints += [
        fixed("joint_a6-tool0", "link_6", "tool0", (0.215, 0.0, 0.0), (0.0, math.pi / 2, 0.0)),
        fixed("base_link-base", "base_link", "base"),
    ]
    return arm(links, joints, [("link_3", "link_5"), ("link_4", "link_6")], home=HOME).description("kr120", SOURCE)
