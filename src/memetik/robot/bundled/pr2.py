"""PR2-like robot: lifting torso, pan-tilt head, two seven-joint arms with endless rolls, two-finger grippers.

Kinematics, limits, soft limits, rates, names and masses: the public pr2_description of the Willow Garage PR2. Left out:
casters, lasers, cameras, and the parallel bars of the grippers; the base stands still unless asked to be planar.
Approximations: collision primitives (fitted to the outside of the bodies), centres of mass and inertias (of those).
"""

from __future__ import annotations

import math

import numpy as np

from memetik.errors import InvalidInputError
from memetik.robot.bundled.builder import assemble, body, box, capsule, cylinder, fixed, hidden, joint, semantics, state
from memetik.robot.description import Description, EndEffector, Group, Joint, Link, Mimic

SOURCE = (
    "PR2 (Willow Garage), kinematics and limits of the public pr2_description; "
    "collision primitives and inertias are approximations"
)

#   shoulder pan, lift, upper arm roll, elbow, forearm roll, wrist flex, wrist roll (of the left arm)
ARM = ("shoulder_pan", "shoulder_lift", "upper_arm_roll", "elbow_flex", "forearm_roll", "wrist_flex", "wrist_roll")
UNTUCKED = (0.4, 1.0, 0.0, -2.05, 0.0, -0.1, 0.0)


def describe(base: str = "fixed") -> Description:
    """The robot; with base="planar" it rolls on the floor (x, y, yaw) of a root link odom_combined."""
    links = [
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
    joints = [
        fixed("base_footprint_joint", "base_footprint", "base_link", (0.0, 0.0, 0.051)),
        joint("prismatic", "torso_lift_joint", "base_link", "torso_lift_link", (-0.05, 0.0, 0.739675),
              limits=(0.0, 0.31), soft=(0.0115, 0.305), velocity=0.013, effort=10000.0),
        joint("revolute", "head_pan_joint", "torso_lift_link", "head_pan_link", (-0.01707, 0.0, 0.38145),
              limits=(-3.007, 3.007), soft=(-2.857, 2.857), velocity=6.0, effort=2.645),
        joint("revolute", "head_tilt_joint", "head_pan_link", "head_tilt_link", (0.068, 0.0, 0.0), axis=(0, 1, 0),
              limits=(-0.471238, 1.39626), soft=(-0.3712, 1.29626), velocity=5.0, effort=15.0),
        fixed("head_plate_frame_joint", "head_tilt_link", "head_plate_frame", (0.0232, 0.0, 0.0645)),
    ]  # fmt: skip
    for side in ("l", "r"):
        _arm(side, links, joints)
        _gripper(side, links, joints)
    _base(base, links, joints)
    return assemble("pr2", links, joints, _meaning(links, joints, base), SOURCE)


def _arm(side: str, links: list[Link], joints: list[Joint]) -> None:
    sign = 1.0 if side == "l" else -1.0
    links += [
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

    def sided(lower: float, upper: float) -> tuple[float, float]:
        return (lower, upper) if sign > 0 else (-upper, -lower)

    joints += [
        joint("revolute", f"{side}_shoulder_pan_joint", "torso_lift_link", f"{side}_shoulder_pan_link",
              (0.0, sign * 0.188, 0.0), limits=sided(-0.714601836603, 2.2853981634),
              soft=sided(-0.564601836603, 2.1353981634), velocity=2.088, effort=30.0),
        joint("revolute", f"{side}_shoulder_lift_joint", f"{side}_shoulder_pan_link", f"{side}_shoulder_lift_link",
              (0.1, 0.0, 0.0), axis=(0, 1, 0), limits=(-0.5236, 1.3963), soft=(-0.3536, 1.2963),
              velocity=2.082, effort=30.0),
        joint("revolute", f"{side}_upper_arm_roll_joint", f"{side}_shoulder_lift_link", f"{side}_upper_arm_roll_link",
              axis=(1, 0, 0), limits=sided(-0.8, 3.9), soft=sided(-0.65, 3.75), velocity=3.27, effort=30.0),
        fixed(f"{side}_upper_arm_joint", f"{side}_upper_arm_roll_link", f"{side}_upper_arm_link"),
        joint("revolute", f"{side}_elbow_flex_joint", f"{side}_upper_arm_link", f"{side}_elbow_flex_link",
              (0.4, 0.0, 0.0), axis=(0, 1, 0), limits=(-2.3213, 0.0), soft=(-2.1213, -0.15),
              velocity=3.3, effort=30.0),
        joint("continuous", f"{side}_forearm_roll_joint", f"{side}_elbow_flex_link", f"{side}_forearm_roll_link",
              axis=(1, 0, 0), velocity=3.6, effort=30.0),
        fixed(f"{side}_forearm_joint", f"{side}_forearm_roll_link", f"{side}_forearm_link"),
        joint("revolute", f"{side}_wrist_flex_joint", f"{side}_forearm_link", f"{side}_wrist_flex_link",
              (0.321, 0.0, 0.0), axis=(0, 1, 0), limits=(-2.094, 0.0), soft=(-1.994, -0.1),
              velocity=3.078, effort=10.0),
        joint("continuous", f"{side}_wrist_roll_joint", f"{side}_wrist_flex_link", f"{side}_wrist_roll_link",
              axis=(1, 0, 0), velocity=3.6, effort=10.0),
    ]  # fmt: skip


def _gripper(side: str, links: list[Link], joints: list[Joint]) -> None:
    palm = f"{side}_gripper_palm_link"
    links += [
        body(palm, box((0.095, 0.1, 0.048), (0.077, 0, 0)), mass=0.58007),
        body(f"{side}_gripper_tool_frame"),
    ]
    joints += [
        fixed(f"{side}_gripper_palm_joint", f"{side}_wrist_roll_link", palm),
        fixed(f"{side}_gripper_tool_joint", palm, f"{side}_gripper_tool_frame", (0.18, 0.0, 0.0)),
    ]
    driver = f"{side}_gripper_l_finger_joint"
    for finger, sign in (("l", 1.0), ("r", -1.0)):
        name = f"{side}_gripper_{finger}_finger"
        links += [
            body(f"{name}_link", capsule((0.01, sign * 0.016, 0), (0.065, sign * 0.012, 0), 0.027), mass=0.17126),
            body(
                f"{name}_tip_link", capsule((-0.016, sign * 0.012, 0), (0.018, -sign * 0.002, 0), 0.012), mass=0.04419
            ),
        ]
        joints += [
            joint("revolute", f"{name}_joint", palm, f"{name}_link", (0.07691, sign * 0.01, 0.0), axis=(0, 0, sign),
                  limits=(0.0, 0.548), velocity=0.5, effort=1000.0, mimic=None if finger == "l" else Mimic(driver)),
            joint("revolute", f"{name}_tip_joint", f"{name}_link", f"{name}_tip_link", (0.09137, sign * 0.00495, 0.0),
                  axis=(0, 0, -sign), limits=(0.0, 0.548), velocity=0.5, effort=1000.0, mimic=Mimic(driver)),
        ]  # fmt: skip


def _base(base: str, links: list[Link], joints: list[Joint]) -> None:
    if base == "fixed":
        return
    if base != "planar":
        raise InvalidInputError(f"the base of a PR2 is 'fixed' or 'planar', not {base!r}.")
    links.insert(0, body("odom_combined"))
    # speeds: data sheet, 1 m/s; the turn has no limits
    joints.insert(
        0,
        Joint("world_joint", "planar", "odom_combined", "base_footprint", np.eye(4), (0.0, 0.0, 1.0),
              lower=(-10.0, -10.0, -math.inf), upper=(10.0, 10.0, math.inf), velocity=(1.0, 1.0, 2.0)),
    )  # fmt: skip


def _meaning(links: list[Link], joints: list[Joint], base: str):
    groups = [
        Group("torso", joints=("torso_lift_joint",)),
        Group("head", joints=("head_pan_joint", "head_tilt_joint")),
    ]
    states = [
        state("down", "torso", {"torso_lift_joint": 0.02}),
        state("up", "torso", {"torso_lift_joint": 0.3}),
        state("ahead", "head", {"head_pan_joint": 0.0, "head_tilt_joint": 0.0}),
    ]
    effectors, always = [], []
    for side, word, sign in (("l", "left", 1.0), ("r", "right", -1.0)):
        arm, hand = f"{word}_arm", f"{word}_gripper"
        driver = f"{side}_gripper_l_finger_joint"
        fingers = [f"{side}_gripper_{finger}_finger{part}" for finger in "lr" for part in ("", "_tip")]
        groups += [
            Group(arm, chains=(("torso_lift_link", f"{side}_wrist_roll_link"),)),
            Group(f"{arm}_and_torso", chains=(("base_link", f"{side}_wrist_roll_link"),)),
            Group(hand, joints=tuple(f"{finger}_joint" for finger in fingers)),
        ]
        mirrored = {"shoulder_pan": sign, "upper_arm_roll": sign, "forearm_roll": sign, "wrist_roll": sign}
        untucked = {f"{side}_{name}_joint": mirrored.get(name, 1.0) * q for name, q in zip(ARM, UNTUCKED, strict=True)}
        states += [
            state("untucked", arm, untucked),
            state("open", hand, {driver: 0.5}),
            state("closed", hand, {driver: 0.0}),
        ]
        effectors.append(EndEffector(hand, f"{side}_gripper_tool_frame", hand, arm))
        palm = [f"{side}_gripper_palm_link", *(f"{finger}_link" for finger in fingers)]
        always += [(a, b) for i, a in enumerate(palm) for b in palm[i + 1 :]]
        always += [
            (f"{side}_shoulder_pan_link", f"{side}_upper_arm_link"),
            (f"{side}_upper_arm_link", f"{side}_forearm_roll_link"),
            (f"{side}_elbow_flex_link", f"{side}_forearm_link"),
            (f"{side}_forearm_link", f"{side}_gripper_palm_link"),
            ("base_link", f"{side}_shoulder_pan_link"),
            ("torso_lift_link", f"{side}_shoulder_lift_link"),
        ]
    always.append(("l_shoulder_pan_link", "r_shoulder_pan_link"))
    always.append(("torso_lift_link", "head_tilt_link"))
    groups.append(Group("arms", subgroups=("left_arm", "right_arm")))
    groups.append(Group("arms_and_torso", subgroups=("torso", "left_arm", "right_arm")))
    if base == "planar":
        groups.append(Group("base", joints=("world_joint",)))
    return semantics(links, joints, groups, effectors, states, always)
