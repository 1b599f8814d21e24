"""Baxter-like robot: two seven-joint arms with parallel grippers on a pedestal, a head that pans.

Kinematics, limits, rates, masses and names: the public baxter_description (baxter_common) of the Rethink Robotics
Baxter with its electric grippers. Left out: sensors, cameras and the screen's frames. The speed and torque given there
for the head are placeholders. Approximations: the head's speed, collision primitives (drawn after its simplified
cylinders and meshes), centres of mass and inertias (of those primitives).
"""

from __future__ import annotations

import math

from memetik.robot.bundled.builder import Parts, body, box, capsule, cylinder, every_pair, fixed, hidden, joint, states
from memetik.robot.description import Description, EndEffector, Group, Mimic

SOURCE = (
    "Baxter (Rethink Robotics), kinematics and limits of the public baxter_description; "
    "collision primitives and inertias are approximations"
)

HALF = math.pi / 2
AHEAD, ASIDE, UP = (-HALF, 0.0, 0.0), (HALF, 0.0, HALF), (-HALF, -HALF, 0.0)

#   joint, child, offset, orientation of the frame, lower, upper, velocity, effort
_ARM = (
    ("s0", "upper_shoulder", (0.055695, 0, 0.011038), (0.0, 0.0, 0.0), -1.70167993878, 1.70167993878, 1.5, 50),
    ("s1", "lower_shoulder", (0.069, 0, 0.27035), AHEAD, -2.147, 1.047, 1.5, 50),
    ("e0", "upper_elbow", (0.102, 0, 0), ASIDE, -3.05417993878, 3.05417993878, 1.5, 50),
    ("e1", "lower_elbow", (0.069, 0, 0.26242), UP, -0.05, 2.618, 1.5, 50),
    ("w0", "upper_forearm", (0.10359, 0, 0), ASIDE, -3.059, 3.059, 4.0, 15),
    ("w1", "lower_forearm", (0.01, 0, 0.2707), UP, -HALF, 2.094, 4.0, 15),
    ("w2", "wrist", (0.115975, 0, 0), ASIDE, -3.059, 3.059, 4.0, 15),
)

NEUTRAL = (0.0, -0.55, 0.0, 0.75, 0.0, 1.26, 0.0)


def describe() -> Description:
    """The robot on its pedestal; the root `base` is 0.92 m above the floor."""
    parts = Parts()
    parts.links += [
        body("base"),
        body("torso", box((0.34, 0.4, 0.6), (-0.05, 0, 0.28)), box((0.3, 0.44, 0.09), (-0.03, 0, 0.0)),
             capsule((-0.1, 0, 0.62), (0.05, 0, 0.8), 0.08), mass=35.336455),
        body("pedestal", box((0.9, 0.82, 0.34), (-0.04, 0, -0.75)), cylinder((0, 0, -0.58), (0, 0, -0.06), 0.17),
             mass=60.86397744),
        body("head", box((0.08, 0.3, 0.2), (0.12, 0, 0.02)), capsule((-0.02, 0, 0.03), (0.06, 0, 0.03), 0.06),
             mass=0.987938),
    ]  # fmt: skip
    parts.joints += [
        fixed("torso_t0", "base", "torso"),
        fixed("pedestal_fixed", "torso", "pedestal"),
        joint("revolute", "head_pan", "torso", "head", (0.06, 0.0, 0.686), limits=(-1.3963, 1.3963), velocity=1.0),
    ]
    parts.groups.append(Group("head", joints=("head_pan",)))
    parts.states += states("head", ["head_pan"], ahead=[0.0])
    parts.always += [("torso", "left_lower_shoulder"), ("torso", "right_lower_shoulder")]
    for side in ("left", "right"):
        _arm(side, parts)
        _gripper(side, parts)
    parts.groups.append(Group("both_arms", subgroups=("left_arm", "right_arm")))
    return parts.description("baxter", SOURCE)


def _arm(side: str, parts: Parts) -> None:
    sign = 1.0 if side == "left" else -1.0
    shapes = {
        "upper_shoulder": ((capsule((0, 0, 0.05), (0, 0, 0.24), 0.075),
                           capsule((0, 0, 0.27), (0.06, 0, 0.27), 0.07)), 5.7),
        "lower_shoulder": ((capsule((0, 0, 0), (0.06, 0, 0), 0.07),), 3.227),
        "upper_elbow": ((capsule((0, 0, 0.05), (0, 0, 0.2), 0.062),
                        capsule((0, 0, 0.26), (0.06, 0, 0.262), 0.06)), 4.313),
        "lower_elbow": ((capsule((0, 0, 0), (0.06, 0, 0), 0.062),), 2.072),
        "upper_forearm": ((capsule((0, 0, 0.05), (0, 0, 0.24), 0.055),), 2.247),
        "lower_forearm": ((capsule((0, 0, 0), (0.07, 0, 0), 0.055),), 1.61),
        "wrist": ((capsule((0, 0, 0.02), (0, 0, 0.06), 0.045),), 0.351),
    }  # fmt: skip
    links, joints = parts.links, parts.joints
    links.append(hidden(f"{side}_arm_mount", 0.0001, radius=0.01))
    mount = (0.024645, sign * 0.219645, 0.118588)
    joints.append(fixed(f"{side}_torso_arm_mount", "torso", f"{side}_arm_mount", mount, (0.0, 0.0, sign * 0.7854)))
    parent = f"{side}_arm_mount"
    for name, child, xyz, rpy, lower, upper, velocity, effort in _ARM:
        solid, mass = shapes[child]
        links.append(body(f"{side}_{child}", *solid, mass=mass))
        joints.append(
            joint("revolute", f"{side}_{name}", parent, f"{side}_{child}", xyz, rpy, limits=(lower, upper),
                  velocity=velocity, effort=effort)
        )  # fmt: skip
        parent = f"{side}_{child}"
    links.append(body(f"{side}_hand_link", cylinder((0, 0, -0.0464), (0, 0, 0), 0.04), mass=0.19125))
    joints.append(fixed(f"{side}_hand_joint", parent, f"{side}_hand_link", (0.0, 0.0, 0.11355)))
    parts.groups.append(Group(f"{side}_arm", chains=(("torso", f"{side}_gripper"),)))
    parts.states += states(f"{side}_arm", [f"{side}_{row[0]}" for row in _ARM], neutral=NEUTRAL)
    parts.always += [
        (f"{side}_{one}", f"{side}_{other}")
        for one, other in (
            ("wrist", "gripper_base_link"),
            ("upper_shoulder", "upper_elbow"),
            ("upper_elbow", "upper_forearm"),
            ("upper_forearm", "wrist"),
        )
    ]


def _gripper(side: str, parts: Parts) -> None:
    base, short, links, joints = f"{side}_gripper_base_link", side[0], parts.links, parts.joints
    links.append(body(base, box((0.06, 0.09, 0.04), (0, 0, 0)), mass=0.3))
    joints.append(fixed(f"{side}_gripper_base_joint", f"{side}_hand_link", base, (0.0, 0.0, 0.025)))
    driver = f"{short}_gripper_l_finger_joint"
    for finger, sign in (("l", 1.0), ("r", -1.0)):
        name = f"{short}_gripper_{finger}_finger"
        links.append(
            body(name, box((0.01, 0.0135, 0.1127), (0, sign * 0.01725, 0.0615)),
                 box((0.016, 0.05, 0.017), (-sign * 0.005, -sign * 0.003, 0.0083)), mass=0.03)
        )  # fmt: skip
        joints.append(
            joint("prismatic", f"{name}_joint", base, name, (0.0, -sign * 0.0015, 0.02), axis=(0, 1, 0),
                  limits=(0.0, 0.020833) if finger == "l" else (-0.020833, 0.0), velocity=5.0, effort=20.0,
                  mimic=None if finger == "l" else Mimic(driver, -1.0))
        )  # fmt: skip
    links.append(body(f"{side}_gripper"))
    joints.append(fixed(f"{side}_endpoint", base, f"{side}_gripper", (0.0, 0.0, 0.1327)))
    fingers = [f"{short}_gripper_{finger}_finger" for finger in "lr"]
    parts.groups.append(Group(f"{side}_hand", joints=tuple(f"{finger}_joint" for finger in fingers)))
    parts.states += states(f"{side}_hand", [driver], open=[0.02])
    parts.end_effectors.append(EndEffector(f"{side}_hand", f"{side}_gripper", f"{side}_hand", f"{side}_arm"))
    parts.always += every_pair([f"{side}_hand_link", *fingers])
