"""Arm of the KUKA youBot: five joints and a two-finger gripper.

Kinematics: the manufacturer's manual (33, 155, 135 and 217.5 mm from joint 2 to the gripper's tips) in the frames of
the public youbot_description, whose joints count from their lower stops, with its limits; speeds and torques of the
manual. The gripper's two motors are coupled here: the right finger follows the left one. Approximations: collision
capsules, masses, centres of mass and inertias (of those capsules).
"""

from __future__ import annotations

import math

from memetik.robot.bundled.builder import Hinge, arm, body, box, capsule, cylinder, degrees, fixed, hinges, joint, state
from memetik.robot.description import Description, EndEffector, Group, Mimic

SOURCE = (
    "KUKA youBot arm, dimensions of the manual, frames and limits of the public youbot_description; "
    "masses, collision primitives and inertias are approximations"
)

PAN, LIFT, SPEED = (0, 0, -1), (0, 1, 0), math.pi / 2

#   offset, axis, limits, velocity, effort, orientation of the frame
_JOINTS = (
    Hinge((0.024, 0.0, 0.115), PAN, degrees(0, 338), SPEED, 9.5, (0.0, 0.0, math.radians(169.0))),
    Hinge((0.033, 0.0, 0.0), LIFT, degrees(0, 155), SPEED, 9.5, (0.0, math.radians(-65.0), 0.0)),
    Hinge((0.0, 0.0, 0.155), LIFT, degrees(-297, 0), SPEED, 6.0, (0.0, math.radians(146.0), 0.0)),
    Hinge((0.0, 0.0, 0.135), LIFT, degrees(0, 205), SPEED, 2.0, (0.0, math.radians(-102.5), 0.0)),
    Hinge((0.0, 0.0, 0.1136), PAN, degrees(0, 335), SPEED, 1.0, (0.0, 0.0, math.radians(167.5))),
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
    joints = hinges([f"arm_joint_{i}" for i in range(1, 6)], [link.name for link in links], _JOINTS)
    always = [("arm_link_4", "gripper_palm_link"), ("gripper_finger_link_l", "gripper_finger_link_r")]
    parts = arm(links, joints, always, "arm", "gripper_tool_frame", upright=UPRIGHT, ready=READY)
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
    parts.groups.append(Group("gripper", joints=("gripper_finger_joint_l", "gripper_finger_joint_r")))
    parts.states += [
        state("open", "gripper", {"gripper_finger_joint_l": 0.0115}),
        state("closed", "gripper", {"gripper_finger_joint_l": 0.0}),
    ]
    parts.end_effectors = [EndEffector("gripper", "gripper_tool_frame", "gripper", "arm")]
    return parts.description("youbot_arm", SOURCE)
