"""Franka Emika Panda: seven joints and a two-finger hand whose second finger follows the first.

Kinematics, limits and rates: the manufacturer's published Denavit-Hartenberg table and joint limits (Franka Control
Interface documentation, "Robot and interface specifications"). Names as in the public franka_description. Masses and
centres of mass: Gaz et al., "Dynamic identification of the Franka Emika Panda robot", RA-L 2019, as that description
lists them. Approximations: collision primitives (fitted to the outside of the arm), inertias (of those primitives).
"""

from __future__ import annotations

import math

from memetik.robot.bundled.builder import Hinge, Z, arm, body, box, capsule, cylinder, fixed, hinges, joint, states
from memetik.robot.bundled.looks import DARK, GREY, SILVER, WHITE, block, can, dress, painted, pill, ring, tube
from memetik.robot.description import Description, EndEffector, Geometry, Group, Mimic

SOURCE = (
    "Franka Emika Panda, published DH table and joint limits (Franka Control Interface documentation); "
    "masses after Gaz et al. 2019; collision primitives and inertias are approximations"
)

READY = (0.0, -math.pi / 4, 0.0, -3 * math.pi / 4, 0.0, math.pi / 2, math.pi / 4)

BACK, AHEAD = (-math.pi / 2, 0.0, 0.0), (math.pi / 2, 0.0, 0.0)

#   offset, axis, limits, velocity, effort, orientation of the frame, acceleration
_JOINTS = (
    Hinge((0.0, 0.0, 0.333), Z, (-2.8973, 2.8973), 2.175, 87.0, (0.0, 0.0, 0.0), 15.0),
    Hinge((0.0, 0.0, 0.0), Z, (-1.7628, 1.7628), 2.175, 87.0, BACK, 7.5),
    Hinge((0.0, -0.316, 0.0), Z, (-2.8973, 2.8973), 2.175, 87.0, AHEAD, 10.0),
    Hinge((0.0825, 0.0, 0.0), Z, (-3.0718, -0.0698), 2.175, 87.0, AHEAD, 12.5),
    Hinge((-0.0825, 0.384, 0.0), Z, (-2.8973, 2.8973), 2.61, 12.0, BACK, 15.0),
    Hinge((0.0, 0.0, 0.0), Z, (-0.0175, 3.7525), 2.61, 12.0, AHEAD, 20.0),
    Hinge((0.088, 0.0, 0.0), Z, (-2.8973, 2.8973), 2.61, 12.0, AHEAD, 20.0),
)


def describe(hand: bool = True) -> Description:
    """The arm, with the hand unless `hand` is False (the chain then ends at the flange, panda_link8)."""
    links = [
        body("panda_link0", capsule((0, -0.02, 0.04), (0, 0.02, 0.04), 0.072),
             cylinder((0, 0, 0.02), (0, 0, 0.14), 0.06),
             box((0.1, 0.17, 0.08), (-0.1, 0, 0.04)), mass=0.629769, com=(-0.041018, -0.00014, 0.049974)),
        body("panda_link1", capsule((0, 0, -0.155), (0, -0.015, -0.095), 0.059),
             capsule((0, -0.04, -0.003), (0, -0.065, -0.003), 0.066), mass=4.970684,
             com=(0.003875, 0.002081, -0.04762)),
        body("panda_link2", capsule((0, 0, 0.045), (0, 0, 0.063), 0.067),
             capsule((0, -0.1, 0.015), (0, -0.157, 0), 0.059),
             mass=0.646926, com=(-0.003141, -0.02872, 0.003495)),
        body("panda_link3", capsule((0, 0, -0.095), (0.008, 0, -0.058), 0.055),
             capsule((0.08, 0.032, 0), (0.08, 0.053, 0), 0.061),
             capsule((0.02, 0.01, -0.05), (0.06, 0.02, -0.015), 0.05),
             mass=3.228604, com=(0.027518, 0.039252, -0.066502)),
        body("panda_link4", capsule((-0.003, 0.003, 0.034), (-0.003, 0.003, 0.053), 0.061),
             capsule((-0.076, 0.06, 0), (-0.082, 0.1, 0), 0.055),
             capsule((-0.02, 0.02, 0.02), (-0.06, 0.05, 0.01), 0.05),
             mass=3.587895, com=(-0.05317, 0.104419, 0.027454)),
        body("panda_link5", capsule((0, -0.002, -0.23), (0, 0.038, -0.2), 0.056),
             capsule((0, 0.045, 0), (0, 0.082, 0), 0.053),
             capsule((0, 0.07, -0.16), (0, 0.092, -0.06), 0.034), mass=1.225946, com=(-0.011953, 0.041065, -0.038437)),
        body("panda_link6", capsule((0, 0, 0.01), (0.03, 0, 0.012), 0.052),
             capsule((0.085, -0.018, 0), (0.083, 0.04, 0), 0.05),
             mass=1.666555, com=(0.060149, -0.014117, -0.010517)),
        body("panda_link7", capsule((0, 0, 0.072), (0.003, 0.003, 0.076), 0.046),
             capsule((0.028, 0.06, 0.085), (0.06, 0.028, 0.085), 0.023), mass=0.735522,
             com=(0.010517, -0.004252, 0.061597)),
        body("panda_link8"),
    ]  # fmt: skip
    joints = hinges([f"panda_joint{i}" for i in range(1, 8)], [link.name for link in links], _JOINTS)
    joints.append(fixed("panda_joint8", "panda_link7", "panda_link8", (0.0, 0.0, 0.107)))
    parts = arm(links, joints, [("panda_link5", "panda_link7")], "panda_arm", "panda_link8", ready=READY)
    if not hand:
        return dress(parts, _looks()).description("panda", SOURCE)

    fingers = ("panda_leftfinger", "panda_rightfinger")
    links += [
        body("panda_hand", capsule((0, -0.07, 0.005), (0, 0.07, 0.005), 0.031),
             capsule((0, -0.078, 0.04), (0, 0.078, 0.04), 0.026),
             mass=0.73, com=(-0.01, 0.0, 0.03)),
        body("panda_hand_tcp"),
        *(
            body(name, box((0.022, 0.015, 0.02), (0, side * 0.0185, 0.011)),
                 box((0.0175, 0.007, 0.0235), (0, side * 0.0159, 0.02835), (side * math.pi / 6, 0, 0)),
                 box((0.0175, 0.0152, 0.0185), (0, side * 0.00758, 0.04525)), mass=0.015)
            for name, side in zip(fingers, (1, -1), strict=True)
        ),
    ]  # fmt: skip
    joints += [
        fixed("panda_hand_joint", "panda_link8", "panda_hand", rpy=(0.0, 0.0, -math.pi / 4)),
        fixed("panda_hand_tcp_joint", "panda_hand", "panda_hand_tcp", (0.0, 0.0, 0.1034)),
        joint("prismatic", "panda_finger_joint1", "panda_hand", fingers[0], (0.0, 0.0, 0.0584), axis=(0, 1, 0),
              limits=(0.0, 0.04), velocity=0.2, effort=100.0),
        joint("prismatic", "panda_finger_joint2", "panda_hand", fingers[1], (0.0, 0.0, 0.0584), axis=(0, -1, 0),
              limits=(0.0, 0.04), velocity=0.2, effort=100.0, mimic=Mimic("panda_finger_joint1")),
    ]  # fmt: skip
    parts.groups += [
        Group("hand", links=("panda_hand", *fingers), joints=("panda_finger_joint1", "panda_finger_joint2")),
        Group("panda_arm_hand", subgroups=("panda_arm", "hand")),
    ]
    parts.states += states("hand", ["panda_finger_joint1"], open=[0.035], close=[0.0])
    parts.end_effectors = [EndEffector("hand", "panda_hand_tcp", "hand", "panda_arm")]
    parts.always += [("panda_link6", "panda_hand"), fingers]
    return dress(parts, _looks(), rest=GREY).description("panda", SOURCE)


def _looks() -> dict[str, list[Geometry]]:
    """White shells, with a dark ring or lid where they meet."""
    return {
        "panda_link0": [tube(DARK, (0, 0, 0), (0, 0, 0.008), 0.085),
                        block(WHITE, (0.15, 0.17, 0.07), (-0.075, 0, 0.039)),
                        pill(WHITE, (-0.06, 0, 0.07), (0, 0, 0.07), 0.06),
                        tube(WHITE, (0, 0, 0.0), (0, 0, 0.136), 0.062),
                        block(DARK, (0.01, 0.1, 0.05), (-0.151, 0, 0.04))],
        "panda_link1": [ring(DARK, (0, 0, -0.195), Z, 0.057), tube(WHITE, (0, 0, -0.192), (0, 0, -0.1), 0.06),
                        pill(WHITE, (0, 0, -0.1), (0, -0.03, -0.03), 0.062),
                        *can(WHITE, (0, -0.004, 0), (0, -0.12, 0), 0.064, DARK)],
        "panda_link2": [*can(WHITE, (0, 0, 0), (0, 0, 0.112), 0.064, DARK),
                        pill(WHITE, (0, -0.02, 0.04), (0, -0.1, 0.012), 0.06),
                        tube(WHITE, (0, -0.1, 0), (0, -0.19, 0), 0.058)],
        "panda_link3": [ring(DARK, (0, 0, -0.123), Z, 0.055), tube(WHITE, (0, 0, -0.12), (0, 0, -0.06), 0.057),
                        pill(WHITE, (0, 0, -0.068), (0.06, 0.02, -0.015), 0.055),
                        *can(WHITE, (0.0825, -0.002, 0), (0.0825, 0.1, 0), 0.06, DARK)],
        "panda_link4": [*can(WHITE, (0, 0, -0.002), (0, 0, 0.1), 0.06, DARK),
                        pill(WHITE, (-0.01, 0.01, 0.03), (-0.07, 0.06, 0.012), 0.053),
                        tube(WHITE, (-0.0825, 0.05, 0), (-0.0825, 0.122, 0), 0.057)],
        "panda_link5": [ring(DARK, (0, 0, -0.259), Z, 0.054), tube(WHITE, (0, 0, -0.256), (0, 0, -0.22), 0.057),
                        pill(WHITE, (0, 0, -0.225), (0, 0.035, -0.19), 0.056),
                        pill(WHITE, (0, 0.045, -0.18), (0, 0.072, -0.04), 0.046),
                        *can(WHITE, (0, 0.002, 0), (0, 0.115, 0), 0.051, DARK)],
        "panda_link6": [*can(WHITE, (0, 0, -0.03), (0, 0, 0.055), 0.051, DARK),
                        pill(WHITE, (0, 0, 0.01), (0.07, 0, 0.008), 0.049),
                        *can(WHITE, (0.088, -0.058, 0), (0.088, 0.075, 0), 0.05, DARK)],
        "panda_link7": [ring(DARK, (0, 0, 0.061), Z, 0.047), tube(WHITE, (0, 0, 0.064), (0, 0, 0.1), 0.045),
                        pill(GREY, (0.025, 0.025, 0.08), (0.047, 0.047, 0.082), 0.024),
                        tube(SILVER, (0, 0, 0.1), (0, 0, 0.107), 0.032)],
        "panda_hand": [tube(GREY, (0, 0, 0), (0, 0, 0.014), 0.036), block(WHITE, (0.052, 0.15, 0.046), (0, 0, 0.033)),
                       *painted(WHITE, [capsule((0, side * 0.074, 0.033), (0, side * 0.08, 0.033), 0.024)
                                        for side in (1, -1)]),
                       block(DARK, (0.03, 0.19, 0.012), (0, 0, 0.059))],
    }  # fmt: skip
