"""Neuronics Katana 300 6M180 and Katana 400 6M180: five joints and a two-finger gripper.

Kinematics, limits, speeds, torques, masses and names: the public katana_description, whose lengths are the manual's;
it gives both arms the same kinematics, so only their names differ here too. The gripper has one motor: the left finger
follows the right one. Approximations: collision capsules, centres of mass and inertias (of those capsules).
"""

from __future__ import annotations

import math

from memetik.robot.bundled.builder import Hinge, Z, arm, body, box, capsule, cylinder, fixed, hinges, joint, states
from memetik.robot.description import Description, EndEffector, Group, Mimic

BASE, UPPER, MIDDLE, FORE, HAND = 0.2015, 0.19, 0.139, 0.1523, 0.1505
HALF = math.pi / 2

_MOTORS = ("1_pan", "2_lift", "3_lift", "4_lift", "5_wrist_roll")
_ARM = ("katana_base_link", *(f"katana_motor{motor}_link" for motor in _MOTORS))

#   offset, axis, limits, velocity, effort, orientation of the frame
_JOINTS = (
    Hinge((0.0, 0.0, BASE), Z, (-3.025528, 2.891097), 2.208932, 1.5),
    Hinge((0.0, 0.0, 0.0), Z, (-0.135228, 2.168572), 1.190799, 0.6, (HALF, 0.0, 0.0)),
    Hinge((UPPER, 0.0, 0.0), Z, (-2.221804, 2.054223), 1.190799, 0.25),
    Hinge((MIDDLE, 0.0, 0.0), Z, (-2.033309, 1.876133), 2.208932, 0.1, (math.pi, 0.0, 0.0)),
    Hinge((FORE, 0.0, 0.0), Z, (-2.99324, 2.870985), 2.208932, 0.01, (HALF, 0.0, -HALF)),
)


def describe(model: str) -> Description:
    """The arm with its gripper."""
    finger = (capsule((0, 0.012, 0), (0.01, 0.035, 0), 0.009), capsule((0.01, 0.035, 0), (0.066, 0.043, 0), 0.008))
    links = [
        body(_ARM[0], cylinder((0, 0, 0), (0, 0, 0.13), 0.055), mass=1.405),
        body(_ARM[1], capsule((0, 0, -0.03), (0, 0, 0), 0.045), capsule((0, -0.045, 0), (0, 0.045, 0), 0.04),
             mass=0.748),
        body(_ARM[2], capsule((0, 0, 0), (UPPER, 0, 0), 0.036), mass=0.802),
        body(_ARM[3], capsule((0, 0, 0), (MIDDLE, 0, 0), 0.036), mass=0.792),
        body(_ARM[4], capsule((0, 0, 0), (FORE - 0.05, 0, 0), 0.034), mass=0.691),
        body(_ARM[5], capsule((0, 0, 0.01), (0, 0, -0.005), 0.03), mass=0.256),
        body("katana_gripper_link", box((0.036, 0.044, 0.04), (0.012, 0, 0)), mass=0.055),
        body("katana_r_finger_link", *finger, mass=0.025),
        body("katana_l_finger_link", *finger, mass=0.025),
        body("katana_gripper_tool_frame"),
        body("katana_base_frame"),
    ]  # fmt: skip
    joints = hinges([f"katana_motor{motor}_joint" for motor in _MOTORS], _ARM, _JOINTS)
    fingers = ("katana_r_finger", "katana_l_finger")
    always = [
        (_ARM[4], "katana_gripper_link"),
        ("katana_r_finger_link", "katana_l_finger_link"),
        *((_ARM[5], f"{name}_link") for name in fingers),
    ]
    upright, ready = (0.0, HALF, 0.0, 0.0, 0.0), (0.0, 2.0, -1.8, 0.6, 0.0)
    parts = arm(links, joints, always, "arm", "katana_gripper_tool_frame", upright=upright, ready=ready)
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
    parts.groups.append(Group("gripper", joints=tuple(f"{name}_joint" for name in fingers)))
    parts.states += states("gripper", ["katana_r_finger_joint"], open=[0.3], closed=[-0.44])
    parts.end_effectors = [EndEffector("gripper", "katana_gripper_tool_frame", "gripper", "arm")]
    source = (
        f"Neuronics Katana {model[-3:]} 6M180, kinematics and limits of the public katana_description (lengths of the "
        "manual); collision primitives and inertias are approximations"
    )
    return parts.description(model, source)
