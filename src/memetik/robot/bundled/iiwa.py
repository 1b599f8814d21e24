"""KUKA LBR iiwa 14 R820: seven torque-controlled joints.

Kinematics, position and velocity limits and names: the manufacturer's data sheet as the public kuka_experimental
(lbr_iiwa_14_r820) states it, with that description's offset of 0.44 mm between the frames of axes 1 and 2. Torques:
data sheet. Masses and centres of mass: the public iiwa_stack (iiwa14). Approximations: masses, collision capsules
(fitted to the outside of the arm), inertias (of those capsules).
"""

from __future__ import annotations

import math

from memetik.robot.bundled.builder import Hinge, Z, arm, body, capsule, cylinder, fixed, hinges
from memetik.robot.bundled.looks import DARK, GREY, ORANGE, SILVER, block, can, dress, pill, ring, tube
from memetik.robot.description import Description, Geometry

SOURCE = (
    "KUKA LBR iiwa 14 R820, published dimensions and limits (data sheet, kuka_experimental); "
    "masses, collision primitives and inertias are approximations"
)

#   offset, axis, limits, velocity, effort
_JOINTS = (
    Hinge((0.0, 0.0, 0.0), (0, 0, 1), (-2.9668, 2.9668), 1.4834, 320.0),
    Hinge((-0.00043624, 0.0, 0.36), (0, 1, 0), (-2.0942, 2.0942), 1.4834, 320.0),
    Hinge((0.0, 0.0, 0.0), (0, 0, 1), (-2.9668, 2.9668), 1.7452, 176.0),
    Hinge((0.00043624, 0.0, 0.42), (0, -1, 0), (-2.0942, 2.0942), 1.3089, 176.0),
    Hinge((0.0, 0.0, 0.0), (0, 0, 1), (-2.9668, 2.9668), 2.2688, 110.0),
    Hinge((0.0, 0.0, 0.4), (0, 1, 0), (-2.0942, 2.0942), 2.356, 40.0),
    Hinge((0.0, 0.0, 0.0), (0, 0, 1), (-3.0541, 3.0541), 2.356, 40.0),
)

READY = (0.0, 0.5, 0.0, -math.pi / 2 + 0.2, 0.0, 1.0, 0.0)


def describe() -> Description:
    """The arm with its bare media flange."""
    links = [
        body("base_link", cylinder((0, 0, 0), (0, 0, 0.157), 0.12), mass=5.0),
        body("link_1", capsule((0, 0, 0.2), (0, -0.03, 0.26), 0.084),
             capsule((0, -0.04, 0.36), (0, -0.03, 0.36), 0.086), mass=3.4525),
        body("link_2", capsule((0, 0.035, 0.125), (0, 0, 0.165), 0.067),
             capsule((0, 0.048, 0.02), (0, 0.041, 0), 0.088), mass=3.4821),
        body("link_3", capsule((0, 0, 0.235), (0, 0.029, 0.275), 0.069),
             capsule((0, 0.05, 0.38), (0, 0.037, 0.42), 0.071), mass=4.05623),
        body("link_4", capsule((0, 0, 0.155), (0, -0.034, 0.125), 0.067),
             capsule((0, -0.05, 0.03), (0, -0.036, 0), 0.071), mass=3.4822),
        body("link_5", capsule((0, 0, 0.215), (0, -0.016, 0.235), 0.068),
             capsule((0, -0.06, 0.3), (0, -0.068, 0.405), 0.046), mass=2.1633),
        body("link_6", capsule((0, 0.015, -0.021), (0, -0.012, 0), 0.066),
             capsule((0, 0.004, 0.04), (0, 0.002, 0.03), 0.056), mass=2.3466),
        body("link_7", cylinder((0, 0, 0.071), (0, 0, 0.126), 0.052), mass=3.129),
        body("tool0"),
        body("base"),
    ]  # fmt: skip
    joints = hinges([f"joint_a{i}" for i in range(1, 8)], [link.name for link in links], _JOINTS)
    joints += [
        fixed("joint_a7-tool0", "link_7", "tool0", (0.0, 0.0, 0.126)),
        fixed("base_link-base", "base_link", "base"),
    ]
    parts = arm(links, joints, [("link_5", "link_7")], home=[0.0] * 7, ready=READY)
    return dress(parts, _looks()).description("iiwa14", SOURCE)


def _looks() -> dict[str, list[Geometry]]:
    """Round silver housings, bent to one side and the other, with orange rings where they turn about the arm."""
    return {
        "base_link": [tube(DARK, (0, 0, 0), (0, 0, 0.012), 0.118), tube(SILVER, (0, 0, 0.012), (0, 0, 0.05), 0.105),
                      tube(SILVER, (0, 0, 0.05), (0, 0, 0.155), 0.083),
                      block(DARK, (0.06, 0.08, 0.05), (-0.115, 0, 0.032))],
        "link_1": [ring(ORANGE, (0, 0, 0.16), Z, 0.082), tube(SILVER, (0, 0, 0.163), (0, 0, 0.23), 0.083),
                   pill(SILVER, (0, 0, 0.22), (0, -0.03, 0.31), 0.083),
                   *can(SILVER, (0, 0.01, 0.36), (0, -0.112, 0.36), 0.086, GREY)],
        "link_2": [*can(SILVER, (0, -0.01, 0), (0, 0.112, 0), 0.086, GREY),
                   pill(SILVER, (0, 0.035, 0.04), (0, 0, 0.14), 0.074), tube(SILVER, (0, 0, 0.14), (0, 0, 0.2), 0.074)],
        "link_3": [ring(ORANGE, (0, 0, 0.204), Z, 0.073), tube(SILVER, (0, 0, 0.207), (0, 0, 0.27), 0.074),
                   pill(SILVER, (0, 0, 0.26), (0, 0.03, 0.37), 0.073),
                   *can(SILVER, (0, -0.01, 0.42), (0, 0.104, 0.42), 0.075, GREY)],
        "link_4": [*can(SILVER, (0, 0.01, 0), (0, -0.104, 0), 0.075, GREY),
                   pill(SILVER, (0, -0.033, 0.04), (0, 0, 0.125), 0.066),
                   tube(SILVER, (0, 0, 0.12), (0, 0, 0.176), 0.066)],
        "link_5": [ring(ORANGE, (0, 0, 0.18), Z, 0.065), tube(SILVER, (0, 0, 0.183), (0, 0, 0.24), 0.066),
                   pill(SILVER, (0, 0, 0.23), (0, -0.045, 0.3), 0.058),
                   pill(SILVER, (0, -0.058, 0.3), (0, -0.068, 0.4), 0.045)],
        "link_6": [*can(SILVER, (0, -0.02, 0), (0, 0.07, 0), 0.064, GREY),
                   pill(SILVER, (0, 0.004, 0.01), (0, 0.002, 0.03), 0.056)],
        "link_7": [ring(ORANGE, (0, 0, 0.078), Z, 0.05), tube(SILVER, (0, 0, 0.081), (0, 0, 0.114), 0.05),
                   tube(DARK, (0, 0, 0.114), (0, 0, 0.126), 0.042)],
    }  # fmt: skip
