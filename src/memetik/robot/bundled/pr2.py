"""PR2-like robot: lifting torso, pan-tilt head, two seven-joint arms with endless rolls, two-finger grippers.

Kinematics, limits, soft limits, rates, names and masses: the public pr2_description of the Willow Garage PR2. Left out:
casters, lasers, cameras, and the parallel bars of the grippers; the base stands still unless asked to be planar.
Approximations: collision primitives (fitted to the outside of the bodies), centres of mass and inertias (of those).
"""

from __future__ import annotations

import math

import numpy as np

from memetik.errors import InvalidInputError
from memetik.robot.bundled import builder
from memetik.robot.bundled.builder import Parts, X, Y, Z, body, box, capsule, cylinder, fixed, hidden, joint, states
from memetik.robot.bundled.looks import DARK, GLASS, GREY, SILVER, WHITE, block, can, dress, pill, ring, tube
from memetik.robot.description import Description, EndEffector, Geometry, Group, Joint, Mimic

SOURCE = (
    "PR2 (Willow Garage), kinematics and limits of the public pr2_description; "
    "collision primitives and inertias are approximations"
)

FREE = (-math.inf, math.inf)

#   part, offset, axis, limits, soft limits, velocity, effort (of the left arm; those about x and z are mirrored)
_ARM = (
    ("shoulder_pan", (0, 0.188, 0), Z, (-0.714601836603, 2.2853981634), (-0.564601836603, 2.1353981634), 2.088, 30.0),
    ("shoulder_lift", (0.1, 0, 0), Y, (-0.5236, 1.3963), (-0.3536, 1.2963), 2.082, 30.0),
    ("upper_arm_roll", (0, 0, 0), X, (-0.8, 3.9), (-0.65, 3.75), 3.27, 30.0),
    ("elbow_flex", (0.4, 0, 0), Y, (-2.3213, 0.0), (-2.1213, -0.15), 3.3, 30.0),
    ("forearm_roll", (0, 0, 0), X, FREE, FREE, 3.6, 30.0),
    ("wrist_flex", (0.321, 0, 0), Y, (-2.094, 0.0), (-1.994, -0.1), 3.078, 10.0),
    ("wrist_roll", (0, 0, 0), X, FREE, FREE, 3.6, 10.0),
)
UNTUCKED = (0.4, 1.0, 0.0, -2.05, 0.0, -0.1, 0.0)


def describe(base: str = "fixed") -> Description:
    """The robot; with base="planar" it rolls on the floor (x, y, yaw) of a root link odom_combined."""
    parts = Parts()
    parts.links += [
        body("base_footprint"),
        body("base_link", box((0.66, 0.66, 0.26), (0, 0, 0.13)), box((0.08, 0.44, 0.38), (-0.295, 0, 0.45)),
             mass=116.0),
        body("torso_lift_link", box((0.2, 0.33, 0.5), (-0.115, 0, -0.25)), box((0.27, 0.41, 0.11), (-0.153, 0, 0.05)),
             box((0.22, 0.5, 0.2), (-0.175, 0, 0.21)), box((0.2, 0.2, 0.2), (0.01, 0, 0.21)), mass=36.248046),
        body("head_pan_link", box((0.23, 0.31, 0.09), (0.01, 0, -0.02)),
             capsule((0.07, -0.1, 0.01), (0.07, 0.1, 0.01), 0.065), mass=1.611118),
        body("head_tilt_link", box((0.25, 0.29, 0.11), (-0.05, 0, 0.1)), mass=1.749727),
        body("head_plate_frame"),
    ]  # fmt: skip
    parts.joints += [
        fixed("base_footprint_joint", "base_footprint", "base_link", (0.0, 0.0, 0.051)),
        joint("prismatic", "torso_lift_joint", "base_link", "torso_lift_link", (-0.05, 0.0, 0.739675),
              limits=(0.0, 0.31), soft=(0.0115, 0.305), velocity=0.013, effort=10000.0),
        joint("revolute", "head_pan_joint", "torso_lift_link", "head_pan_link", (-0.01707, 0.0, 0.38145),
              limits=(-3.007, 3.007), soft=(-2.857, 2.857), velocity=6.0, effort=2.645),
        joint("revolute", "head_tilt_joint", "head_pan_link", "head_tilt_link", (0.068, 0.0, 0.0), axis=(0, 1, 0),
              limits=(-0.471238, 1.39626), soft=(-0.3712, 1.29626), velocity=5.0, effort=15.0),
        fixed("head_plate_frame_joint", "head_tilt_link", "head_plate_frame", (0.0232, 0.0, 0.0645)),
    ]  # fmt: skip
    parts.groups += [
        Group("torso", joints=("torso_lift_joint",)),
        Group("head", joints=("head_pan_joint", "head_tilt_joint")),
    ]
    parts.states += [
        *states("torso", ["torso_lift_joint"], down=[0.02], up=[0.3]),
        *states("head", ["head_pan_joint", "head_tilt_joint"], ahead=[0.0, 0.0]),
    ]
    parts.always += [("l_shoulder_pan_link", "r_shoulder_pan_link"), ("torso_lift_link", "head_tilt_link")]
    for side in ("left", "right"):
        _arm(side, parts)
        _gripper(side, parts)
    parts.groups.append(Group("arms", subgroups=("left_arm", "right_arm")))
    parts.groups.append(Group("arms_and_torso", subgroups=("torso", "left_arm", "right_arm")))
    _base(base, parts)
    return dress(parts, _looks()).description("pr2", SOURCE)


def _looks() -> dict[str, list[Geometry]]:
    """White covers over silver and dark mechanics."""
    wheels = [tube(DARK, (x, y - 0.05, 0.01), (x, y + 0.05, 0.01), 0.06) for x in (-0.22, 0.22) for y in (-0.22, 0.22)]
    seen = {
        "base_link": [block(WHITE, (0.65, 0.65, 0.13), (0, 0, 0.155)), block(GREY, (0.6, 0.6, 0.05), (0, 0, 0.07)),
                      block(DARK, (0.16, 0.3, 0.035), (0.27, 0, 0.235)), *wheels,
                      block(SILVER, (0.08, 0.44, 0.38), (-0.295, 0, 0.41)),
                      tube(DARK, (0.275, 0, 0.22), (0.275, 0, 0.29), 0.04)],
        "torso_lift_link": [block(SILVER, (0.17, 0.3, 0.48), (-0.12, 0, -0.24)),
                            block(WHITE, (0.27, 0.41, 0.12), (-0.153, 0, 0.06)),
                            block(WHITE, (0.22, 0.5, 0.19), (-0.175, 0, 0.21)),
                            block(WHITE, (0.2, 0.2, 0.18), (0.01, 0, 0.21)),
                            block(DARK, (0.01, 0.16, 0.05), (0.106, 0, 0.22)),
                            tube(DARK, (-0.017, 0, 0.29), (-0.017, 0, 0.35), 0.07)],
        "head_pan_link": [block(GREY, (0.2, 0.26, 0.06), (0.01, 0, -0.01)),
                          *can(WHITE, (0.07, 0, 0.0), (0.07, 0.145, 0), 0.06, GREY),
                          *can(WHITE, (0.07, 0, 0.0), (0.07, -0.145, 0), 0.06, GREY)],
        "head_tilt_link": [block(WHITE, (0.2, 0.29, 0.1), (-0.06, 0, 0.1)),
                           block(GLASS, (0.04, 0.26, 0.06), (0.045, 0, 0.1)),
                           *(tube(SILVER, (0.06, y, 0.1), (0.072, y, 0.1), 0.017)
                             for y in (-0.085, -0.03, 0.03, 0.085)),
                           block(DARK, (0.06, 0.18, 0.04), (-0.06, 0, 0.17))],
    }  # fmt: skip
    for side in "lr":
        seen |= {
            f"{side}_shoulder_pan_link": [pill(WHITE, (-0.005, 0, -0.37), (-0.005, 0, -0.1), 0.115),
                                          block(WHITE, (0.3, 0.23, 0.2), (0.03, 0, 0.02)),
                                          ring(DARK, (0, 0, -0.09), Z, 0.117)],
            f"{side}_shoulder_lift_link": [*can(SILVER, (0, 0, 0), (0, 0.08, 0), 0.115, DARK),
                                           *can(SILVER, (0, 0, 0), (0, -0.08, 0), 0.115, DARK)],
            f"{side}_upper_arm_link": [tube(DARK, (0.08, 0, 0), (0.14, 0, 0), 0.075),
                                       pill(WHITE, (0.16, 0, 0), (0.3, 0, -0.015), 0.076),
                                       pill(WHITE, (0.32, 0, -0.02), (0.38, 0, -0.004), 0.078),
                                       tube(GREY, (0.4, -0.082, 0), (0.4, 0.082, 0), 0.055)],
            f"{side}_elbow_flex_link": [tube(DARK, (0, -0.07, 0), (0, 0.07, 0), 0.062),
                                        pill(SILVER, (0, 0, 0), (0.06, 0, 0), 0.05)],
            f"{side}_forearm_roll_link": [tube(DARK, (0.06, 0, 0), (0.12, 0, 0), 0.044)],
            f"{side}_forearm_link": [tube(SILVER, (0.115, 0, 0), (0.14, 0, 0), 0.055),
                                     pill(WHITE, (0.17, 0, 0), (0.27, 0, -0.004), 0.056),
                                     tube(GREY, (0.321, -0.055, 0), (0.321, 0.055, 0), 0.035)],
            f"{side}_wrist_flex_link": [tube(DARK, (0, -0.035, 0), (0, 0.035, 0), 0.036),
                                        tube(SILVER, (0, 0, 0), (0.04, 0, 0), 0.03)],
            f"{side}_gripper_palm_link": [block(WHITE, (0.09, 0.1, 0.046), (0.077, 0, 0)),
                                          block(DARK, (0.012, 0.085, 0.04), (0.127, 0, 0))],
        }  # fmt: skip
    return seen


def _arm(word: str, parts: Parts) -> None:
    side, sign = word[0], 1.0 if word == "left" else -1.0
    parts.links += [
        body(f"{side}_shoulder_pan_link", capsule((-0.005, 0, -0.37), (-0.005, 0, -0.16), 0.12),
             box((0.34, 0.25, 0.24), (0.045, 0, 0.02)), mass=25.799322),
        body(f"{side}_shoulder_lift_link", cylinder((0, -0.075, 0), (0, 0.075, 0), 0.126), mass=2.74988),
        hidden(f"{side}_upper_arm_roll_link", 0.1, (0.12, 0, 0), 0.07),
        body(f"{side}_upper_arm_link", capsule((0.04, 0, 0), (0.22, 0, -0.008), 0.08),
             capsule((0.33, 0, -0.03), (0.4, 0, 0), 0.082), mass=6.01769),
        body(f"{side}_elbow_flex_link", capsule((0, 0, 0), (0.034, 0, -0.008), 0.075), mass=1.90327),
        body(f"{side}_forearm_roll_link", capsule((0.02, 0, 0), (0.09, 0, 0), 0.041), mass=0.1),
        body(f"{side}_forearm_link", capsule((0.155, 0, 0.002), (0.19, 0, -0.004), 0.062),
             capsule((0.245, 0, -0.008), (0.312, 0, -0.004), 0.06), mass=2.57968),
        body(f"{side}_wrist_flex_link", capsule((-0.002, 0, -0.006), (0.002, 0, 0.002), 0.038), mass=0.61402),
        hidden(f"{side}_wrist_roll_link", 0.1, (0.03, 0, 0), 0.02),
    ]  # fmt: skip

    parent = "torso_lift_link"
    for part, (x, y, z), axis, limits, soft, velocity, effort in _ARM:
        if axis != Y and sign < 0.0:
            limits, soft = (-limits[1], -limits[0]), (-soft[1], -soft[0])
        name = f"{side}_{part}"
        parts.joints.append(
            joint("continuous" if limits == FREE else "revolute", f"{name}_joint", parent, f"{name}_link",
                  (x, sign * y, z), axis=axis, limits=limits, soft=soft, velocity=velocity, effort=effort)
        )  # fmt: skip
        parent = f"{name}_link"
        if part in ("upper_arm_roll", "forearm_roll"):
            bone = name.removesuffix("_roll")
            parts.joints.append(fixed(f"{bone}_joint", parent, f"{bone}_link"))
            parent = f"{bone}_link"
    parts.groups += [
        Group(f"{word}_arm", chains=(("torso_lift_link", parent),)),
        Group(f"{word}_arm_and_torso", chains=(("base_link", parent),)),
    ]
    untucked = [q if row[2] == Y else sign * q for row, q in zip(_ARM, UNTUCKED, strict=True)]
    parts.states += states(f"{word}_arm", [f"{side}_{row[0]}_joint" for row in _ARM], untucked=untucked)
    parts.always += [
        (f"{side}_shoulder_pan_link", f"{side}_upper_arm_link"),
        (f"{side}_upper_arm_link", f"{side}_forearm_roll_link"),
        (f"{side}_elbow_flex_link", f"{side}_forearm_link"),
        (f"{side}_forearm_link", f"{side}_gripper_palm_link"),
        ("base_link", f"{side}_shoulder_pan_link"),
        ("torso_lift_link", f"{side}_shoulder_lift_link"),
    ]


def _gripper(word: str, parts: Parts) -> None:
    side, hand = word[0], f"{word}_gripper"
    palm = f"{side}_gripper_palm_link"
    parts.links += [
        body(palm, box((0.095, 0.1, 0.048), (0.077, 0, 0)), mass=0.58007),
        body(f"{side}_gripper_tool_frame"),
    ]
    parts.joints += [
        fixed(f"{side}_gripper_palm_joint", f"{side}_wrist_roll_link", palm),
        fixed(f"{side}_gripper_tool_joint", palm, f"{side}_gripper_tool_frame", (0.18, 0.0, 0.0)),
    ]
    driver = f"{side}_gripper_l_finger_joint"
    for finger, sign in (("l", 1.0), ("r", -1.0)):
        name = f"{side}_gripper_{finger}_finger"
        parts.links += [
            body(f"{name}_link", capsule((0.01, sign * 0.016, 0), (0.065, sign * 0.012, 0), 0.027), mass=0.17126),
            body(f"{name}_tip_link", capsule((-0.016, sign * 0.012, 0), (0.018, -sign * 0.002, 0), 0.012),
                 mass=0.04419),
        ]  # fmt: skip
        parts.joints += [
            joint("revolute", f"{name}_joint", palm, f"{name}_link", (0.07691, sign * 0.01, 0.0), axis=(0, 0, sign),
                  limits=(0.0, 0.548), velocity=0.5, effort=1000.0, mimic=None if finger == "l" else Mimic(driver)),
            joint("revolute", f"{name}_tip_joint", f"{name}_link", f"{name}_tip_link", (0.09137, sign * 0.00495, 0.0),
                  axis=(0, 0, -sign), limits=(0.0, 0.548), velocity=0.5, effort=1000.0, mimic=Mimic(driver)),
        ]  # fmt: skip
    fingers = [f"{side}_gripper_{finger}_finger{part}" for finger in "lr" for part in ("", "_tip")]
    parts.groups.append(Group(hand, joints=tuple(f"{finger}_joint" for finger in fingers)))
    parts.states += states(hand, [driver], open=[0.5], closed=[0.0])
    parts.end_effectors.append(EndEffector(hand, f"{side}_gripper_tool_frame", hand, f"{word}_arm"))
    parts.always += builder.every_pair([palm, *(f"{finger}_link" for finger in fingers)])


def _base(base: str, parts: Parts) -> None:
    if base == "fixed":
        return
    if base != "planar":
        raise InvalidInputError(f"the base of a PR2 is 'fixed' or 'planar', not {base!r}.")
    parts.groups.append(Group("base", joints=("world_joint",)))
    parts.links.insert(0, body("odom_combined"))
    # speeds: data sheet, 1 m/s; the yaw has no limits
    parts.joints.insert(
        0,
        Joint("world_joint", "planar", "odom_combined", "base_footprint", np.eye(4), (0.0, 0.0, 1.0),
              lower=(-10.0, -10.0, -math.inf), upper=(10.0, 10.0, math.inf), velocity=(1.0, 1.0, 2.0)),
    )  # fmt: skip
