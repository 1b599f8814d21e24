"""Arm of the KUKA youBot: five joints and a two-finger gripper.

Kinematics: the manufacturer's manual (33, 155, 135 and 217.5 mm from joint 2 to the gripper's tips) in the frames of
the public youbot_description, whose joints count from their lower stops, with its limits; speeds and torques of the
manual. The gripper's two motors are coupled here: the right finger follows the left one. Approximations: collision
capsules, masses, centres of mass and inertias (of those capsules).
"""

from __future__ import annotations

import math

from memetik.robot.bundled.builder import assemble, body, box, capsule, cylinder, fixed, joint, semantics, state
from memetik.robot.description import Description, EndEffector, Group, Mimic

SOURCE = (
    "KUKA youBot arm, dimensions of the manual, frames and limits of the public youbot_description; "
    "masses, collision primitives and inertias are approximations"
)

#   offset, turn of the frame (degrees), axis, lower, upper (degrees), effort
_JOINTS = (
    ((0.024, 0.0, 0.115), 169.0, (0, 0, -1), 0.0, 338.0, 9.5),
    ((0.033, 0.0, 0.0), -65.0, (0, 1, 0), 0.0, 155.0, 9.5),
    ((0.0, 0.0, 0.155), 146.0, (0, 1, 0), -297.0, 0.0, 6.0),
    ((0.0, 0.0, 0.135), -102.5, (0, 1, 0), 0.0, 205.0, 2.0),
    ((0.0, 0.0, 0.1136), 167.5, (0, 0, -1), 0.0, 335.0, 1.0),
)
PALM = 0.05716
TIP = 0.2175 - 0.1136 - PALM

UPRIGHT = tuple(math.radians(q) for q in (169.0, 65.0, -146.0, 102.5, 167.5))
READY = tuple(math.radians(q) for q in (169.0, 30.0, -90.0, 150.0, 167.5))


def describe() -> Description:
    """The arm with its gripper, standing on its own base plate."""
    links = [
        body("arm_link_0", cylinder((0.024, 0, 0), (0.024, 0, 0.07), 0.08), mass=0.845),
        body("arm_link_1", capsule((0, 0, -0.02), (0.02, 0, 0), 0.055), mass=2.412),
        body("arm_link_2", capsule((0, 0, 0), (0, 0, 0.155), 0.043), mass=1.155),
        body("arm_link_3", capsule((0, 0, 0), (0, 0, 0.135), 0.038), mass=0.934),
        body("arm_link_4", capsule((0, 0, 0), (0, 0, 0.06), 0.04), mass=0.877),
        body("arm_link_5", cylinder((0, 0, -0.012), (0, 0, 0.02), 0.03), mass=0.251),
        body("gripper_palm_link", box((0.05, 0.08, 0.036), (0, 0, -0.018)), mass=0.2),
        *(
            body(f"gripper_finger_link_{side}", box((0.012, 0.008, 0.046), (0, sign * 0.006, 0.024)), mass=0.01)
            for side, sign in (("l", 1), ("r", -1))
        ),
        body("gripper_tool_frame"),
    ]
    joints = []
    for i, (xyz, turn, axis, lower, upper, effort) in enumerate(_JOINTS):
        angle = math.radians(turn)
        joints.append(
            joint("revolute", f"arm_joint_{i + 1}", f"arm_link_{i}", f"arm_link_{i + 1}", xyz,
                  (0.0, angle, 0.0) if axis[1] else (0.0, 0.0, angle), axis,
                  (math.radians(lower), math.radians(upper)), math.pi / 2, effort)
        )  # fmt: skip
    joints += [
        fixed("gripper_palm_joint", "arm_link_5", "gripper_palm_link", (0.0, 0.0, PALM)),
        *(
            joint("prismatic", f"gripper_finger_joint_{side}", "gripper_palm_link", f"gripper_finger_link_{side}",
                  (0.0, sign * 0.0082, 0.0), axis=(0, sign, 0), limits=(0.0, 0.0115), velocity=0.02,
                  mimic=Mimic("gripper_finger_joint_l") if side == "r" else None)
            for side, sign in (("l", 1), ("r", -1))
        ),
        fixed("gripper_tool_joint", "gripper_palm_link", "gripper_tool_frame", (0.0, 0.0, TIP)),
    ]  # fmt: skip
    names = [f"arm_joint_{i}" for i in range(1, 6)]
    groups = [
        Group("arm", chains=(("arm_link_0", "gripper_tool_frame"),)),
        Group("gripper", joints=("gripper_finger_joint_l", "gripper_finger_joint_r")),
    ]
    states = [
        state("upright", "arm", dict(zip(names, UPRIGHT, strict=True))),
        state("ready", "arm", dict(zip(names, READY, strict=True))),
        state("open", "gripper", {"gripper_finger_joint_l": 0.0115}),
        state("closed", "gripper", {"gripper_finger_joint_l": 0.0}),
    ]
    effectors = [EndEffector("gripper", "gripper_tool_frame", "gripper", "arm")]
    always = [
        ("arm_link_4", "gripper_palm_link"),
        ("gripper_finger_link_l", "gripper_finger_link_r"),
    ]
    return assemble("youbot_arm", links, joints, semantics(links, joints, groups, effectors, states, always), SOURCE)
