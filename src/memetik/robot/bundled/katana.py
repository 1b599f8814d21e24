"""Neuronics Katana 300 6M180 and Katana 400 6M180: five joints and a two-finger gripper.

Kinematics, limits, speeds, torques, masses and names: the public katana_description, whose lengths are the manual's;
it gives both arms the same kinematics, so only their names differ here too. The gripper has one motor: the left finger
follows the right one. Approximations: collision capsules, centres of mass and inertias (of those capsules).
"""

from __future__ import annotations

import math

from memetik.robot.bundled.builder import assemble, body, box, capsule, cylinder, fixed, joint, semantics, state
from memetik.robot.description import Description, EndEffector, Group, Mimic

BASE, UPPER, MIDDLE, FORE, HAND = 0.2015, 0.19, 0.139, 0.1523, 0.1505
HALF = math.pi / 2

_ARM = (
    "katana_base_link",
    "katana_motor1_pan_link",
    "katana_motor2_lift_link",
    "katana_motor3_lift_link",
    "katana_motor4_lift_link",
    "katana_motor5_wrist_roll_link",
)

#   joint, offset, roll and yaw, lower, upper, velocity, effort
_JOINTS = (
    ("katana_motor1_pan_joint", (0.0, 0.0, BASE), (0.0, 0.0), -3.025528, 2.891097, 2.208932, 1.5),
    ("katana_motor2_lift_joint", (0.0, 0.0, 0.0), (HALF, 0.0), -0.135228, 2.168572, 1.190799, 0.6),
    ("katana_motor3_lift_joint", (UPPER, 0.0, 0.0), (0.0, 0.0), -2.221804, 2.054223, 1.190799, 0.25),
    ("katana_motor4_lift_joint", (MIDDLE, 0.0, 0.0), (math.pi, 0.0), -2.033309, 1.876133, 2.208932, 0.1),
    ("katana_motor5_wrist_roll_joint", (FORE, 0.0, 0.0), (HALF, -HALF), -2.99324, 2.870985, 2.208932, 0.01),
)


def describe(model: str) -> Description:
    """The arm with its gripper."""
    finger = (capsule((0, 0.012, 0), (0.01, 0.035, 0), 0.009), capsule((0.01, 0.035, 0), (0.066, 0.043, 0), 0.008))
    links = [
        body(_ARM[0], cylinder((0, 0, 0), (0, 0, 0.13), 0.055), mass=1.405),
        body(
            _ARM[1], capsule((0, 0, -0.03), (0, 0, 0), 0.045), capsule((0, -0.045, 0), (0, 0.045, 0), 0.04), mass=0.748
        ),
        body(_ARM[2], capsule((0, 0, 0), (UPPER, 0, 0), 0.036), mass=0.802),
        body(_ARM[3], capsule((0, 0, 0), (MIDDLE, 0, 0), 0.036), mass=0.792),
        body(_ARM[4], capsule((0, 0, 0), (FORE - 0.05, 0, 0), 0.034), mass=0.691),
        body(_ARM[5], capsule((0, 0, 0.01), (0, 0, -0.005), 0.03), mass=0.256),
        body("katana_gripper_link", box((0.036, 0.044, 0.04), (0.012, 0, 0)), mass=0.055),
        body("katana_r_finger_link", *finger, mass=0.025),
        body("katana_l_finger_link", *finger, mass=0.025),
        body("katana_gripper_tool_frame"),
        body("katana_base_frame"),
    ]
    joints = [
        joint("revolute", name, _ARM[i], _ARM[i + 1], xyz, (roll, 0.0, yaw), limits=(lower, upper), velocity=velocity,
              effort=effort)
        for i, (name, xyz, (roll, yaw), lower, upper, velocity, effort) in enumerate(_JOINTS)
    ]  # fmt: skip
    joints += [
        fixed("katana_gripper_joint", _ARM[5], "katana_gripper_link", (0.0, 0.0, -0.0323), (0.0, HALF, 0.0)),
        joint("revolute", "katana_r_finger_joint", "katana_gripper_link", "katana_r_finger_link", (0.034, 0.0, 0.0),
              limits=(-0.44, 0.3), velocity=0.718834, effort=0.5),
        joint("revolute", "katana_l_finger_joint", "katana_gripper_link", "katana_l_finger_link", (0.034, 0.0, 0.0),
              (math.pi, 0.0, 0.0), limits=(-0.44, 0.3), velocity=0.718834, effort=0.5,
              mimic=Mimic("katana_r_finger_joint")),
        fixed("katana_gripper_tool_frame_joint", _ARM[5], "katana_gripper_tool_frame", (0, 0, -HAND), (0.0, HALF, 0.0)),
        fixed("katana_base_frame_joint", _ARM[0], "katana_base_frame", (0.0, 0.0, BASE)),
    ]  # fmt: skip
    fingers = ("katana_r_finger", "katana_l_finger")
    groups = [
        Group("arm", chains=((_ARM[0], "katana_gripper_tool_frame"),)),
        Group("gripper", joints=tuple(f"{name}_joint" for name in fingers)),
    ]
    names = [row[0] for row in _JOINTS]
    states = [
        state("upright", "arm", dict(zip(names, (0.0, HALF, 0.0, 0.0, 0.0), strict=True))),
        state("ready", "arm", dict(zip(names, (0.0, 2.0, -1.8, 0.6, 0.0), strict=True))),
        state("open", "gripper", {"katana_r_finger_joint": 0.3}),
        state("closed", "gripper", {"katana_r_finger_joint": -0.44}),
    ]
    effectors = [EndEffector("gripper", "katana_gripper_tool_frame", "gripper", "arm")]
    always = [
        (_ARM[4], "katana_gripper_link"),
        ("katana_r_finger_link", "katana_l_finger_link"),
        *((_ARM[5], f"{name}_link") for name in fingers),
    ]
    source = (
        f"Neuronics Katana {model[-3:]} 6M180, kinematics and limits of the public katana_description (lengths of the "
        "manual); collision primitives and inertias are approximations"
    )
    return assemble(model, links, joints, semantics(links, joints, groups, effectors, states, always), source)
