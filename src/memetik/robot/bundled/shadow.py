"""Shadow-like hand of 19 joints (right), alone and on an arm.

Kinematics, limits and names: the public sr_description of the Shadow Dexterous Hand. Joint count as in the Bio IK
thesis, table 5.1: 2 in the wrist, 4 in thumb and little finger, 3 in the other fingers. That is the real hand's
coupling: of each finger the last joint follows the middle one (there by one tendon, here one to one), and the thumb's
hub (THJ3, +-12 degrees) is fixed. On the arm, the hand's forearm stands on the flange of a KUKA LBR iiwa 14 or a UR10.
Approximations: the couplings, collision primitives (after the description's), inertias (of those), masses of fingers.
"""

from __future__ import annotations

import importlib
import math

from memetik.errors import InvalidInputError
from memetik.robot.bundled.builder import (
    assemble,
    ball,
    body,
    box,
    capsule,
    every_pair,
    fixed,
    hidden,
    joint,
    semantics,
    state,
)
from memetik.robot.description import Description, EndEffector, Group, Joint, Link, Mimic

SOURCE = (
    "Shadow Dexterous Hand, kinematics and limits of the public sr_description, last joints of the fingers coupled and "
    "THJ3 fixed; couplings, collision primitives and inertias are approximations"
)

#   finger, parent, first joint's place, sign of the axis of its spreading joint
_FINGERS = (
    ("ff", "palm", (0.033, 0.0, 0.095), -1.0),
    ("mf", "palm", (0.011, 0.0, 0.099), -1.0),
    ("rf", "palm", (-0.011, 0.0, 0.095), 1.0),
    ("lf", "lfmetacarpal", (0.0, 0.0, 0.06579), 1.0),
)

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def describe() -> Description:
    """The hand with its forearm."""
    links, joints = _hand()
    return assemble("shadow_hand", links, joints, _meaning(links, joints), SOURCE)


_ARMS = {"iiwa14": ("iiwa", {}), "ur10": ("universal_robots", {"model": "ur10"})}


def on_arm(arm: str = "iiwa14") -> Description:
    """The hand on the flange of the arm "iiwa14" or "ur10"."""
    if arm not in _ARMS:
        raise InvalidInputError(f"the Shadow-like hand is mounted on 'iiwa14' or 'ur10', not on {arm!r}.")
    module, preset = _ARMS[arm]
    below = importlib.import_module(f"memetik.robot.bundled.{module}").describe(**preset)
    hand_links, hand_joints = _hand()
    links = [*below.links, *hand_links]
    joints = [*below.joints, fixed("hand_mount", "tool0", "rh_forearm"), *hand_joints]
    meaning = _meaning(links, joints, below)
    return assemble("shadow_hand_arm", links, joints, meaning, f"{SOURCE}; on {below.source}")


def _hand() -> tuple[list[Link], list[Joint]]:
    links = [
        body("rh_forearm", capsule((0, 0, 0.05), (0.005, 0, 0.14), 0.05), mass=3.0),
        body("rh_wrist", capsule((0, -0.008, 0), (0, 0.008, 0), 0.014),
             capsule((-0.022, 0, 0.026), (0.028, 0, 0.026), 0.011),
             mass=0.1),
        body("rh_palm", box((0.062, 0.024, 0.08), (0.011, 0, 0.05)), mass=0.3),
        body("rh_lfmetacarpal", box((0.018, 0.024, 0.04), (0, 0, 0.038)), mass=0.03),
    ]  # fmt: skip
    joints = [
        _turn("WRJ2", "forearm", "wrist", (0.01, 0.0, 0.21301), Y, -30, 10, 10.0),
        _turn("WRJ1", "wrist", "palm", (0.0, 0.0, 0.034), X, -40, 28, 5.0),
        _turn("LFJ5", "palm", "lfmetacarpal", (-0.033, 0.0, 0.02071), (0.573576436, 0.0, 0.819152044), 0, 45),
    ]
    for finger, parent, xyz, sign in _FINGERS:
        _finger(finger, parent, xyz, sign, links, joints)
    _thumb(links, joints)
    return links, joints


def _turn(
    name: str, parent: str, child: str, xyz, axis, lower: float, upper: float, effort: float = 2.0,
    mimic: Mimic | None = None,
) -> Joint:  # fmt: skip
    limits = (math.radians(lower), math.radians(upper))
    return joint("revolute", f"rh_{name}", f"rh_{parent}", f"rh_{child}", xyz, axis=axis, limits=limits, velocity=2.0,
                 effort=effort, mimic=mimic)  # fmt: skip


def _finger(finger: str, parent: str, xyz, sign: float, links: list[Link], joints: list[Joint]) -> None:
    upper = finger.upper()
    links += [
        hidden(f"rh_{finger}knuckle", 0.008, radius=0.007),
        body(f"rh_{finger}proximal", capsule((0, 0, 0.006), (0, 0, 0.042), 0.0085), mass=0.03),
        body(f"rh_{finger}middle", capsule((0, 0, 0.005), (0, 0, 0.021), 0.008), mass=0.017),
        body(f"rh_{finger}distal", capsule((0, 0, 0.004), (0, 0, 0.0185), 0.0075), mass=0.012),
        body(f"rh_{finger}tip"),
    ]
    joints += [
        _turn(f"{upper}J4", parent, f"{finger}knuckle", xyz, (0.0, sign, 0.0), -20, 20),
        _turn(f"{upper}J3", f"{finger}knuckle", f"{finger}proximal", (0.0, 0.0, 0.0), X, -15, 90),
        _turn(f"{upper}J2", f"{finger}proximal", f"{finger}middle", (0.0, 0.0, 0.045), X, 0, 90),
        _turn(f"{upper}J1", f"{finger}middle", f"{finger}distal", (0.0, 0.0, 0.025), X, 0, 90,
              mimic=Mimic(f"rh_{upper}J2")),
        fixed(f"rh_{upper}tip", f"rh_{finger}distal", f"rh_{finger}tip", (0.0, 0.0, 0.026)),
    ]  # fmt: skip


def _thumb(links: list[Link], joints: list[Joint]) -> None:
    links += [
        body("rh_thbase", ball((0, 0, 0), 0.011), mass=0.01),
        body("rh_thproximal", capsule((0, 0, 0.012), (0, 0, 0.029), 0.012), mass=0.04),
        body("rh_thhub"),
        body("rh_thmiddle", capsule((0, 0, 0.008), (0, 0, 0.022), 0.011), mass=0.02),
        body("rh_thdistal", capsule((0, 0, 0.006), (0, 0, 0.0185), 0.009), mass=0.016),
        body("rh_thtip"),
    ]
    limits = (-math.pi / 3, math.pi / 3)
    joints += [
        joint("revolute", "rh_THJ5", "rh_palm", "rh_thbase", (0.034, -0.00858, 0.029), (0.0, math.pi / 4, 0.0),
              (0, 0, -1), limits, 4.0, 5.0),
        _turn("THJ4", "thbase", "thproximal", (0.0, 0.0, 0.0), X, 0, 70, 3.0),
        fixed("rh_THJ3", "rh_thproximal", "rh_thhub", (0.0, 0.0, 0.038)),
        _turn("THJ2", "thhub", "thmiddle", (0.0, 0.0, 0.0), (0.0, -1.0, 0.0), -40, 40),
        _turn("THJ1", "thmiddle", "thdistal", (0.0, 0.0, 0.032), X, -15, 90, 1.0),
        fixed("rh_thtip_joint", "rh_thdistal", "rh_thtip", (0.0, 0.0, 0.0275)),
    ]  # fmt: skip


def _meaning(links: list[Link], joints: list[Joint], arm: Description | None = None):
    digits = ("ff", "mf", "rf", "lf", "th")
    moving = [j.name for j in joints if j.kind != "fixed" and j.name.startswith("rh_")]
    groups = [Group("rh_wrist", joints=("rh_WRJ2", "rh_WRJ1"))]
    for digit in digits:
        groups.append(Group(f"rh_{digit}", joints=tuple(name for name in moving if name[3:5] == digit.upper())))
    groups.append(Group("rh_hand", subgroups=tuple(group.name for group in groups)))
    free = [j.name for j in joints if j.name in moving and j.mimic is None]
    states = [state("open", "rh_hand", dict.fromkeys(free, 0.0))]
    effectors = [EndEffector(f"rh_{digit}", f"rh_{digit}tip", f"rh_{digit}") for digit in digits]
    always = [
        *every_pair(["rh_wrist", "rh_palm", "rh_lfmetacarpal", "rh_thbase", "rh_thproximal"]),
        ("rh_palm", "rh_lfproximal"),
        ("rh_lfmetacarpal", "rh_rfproximal"),
        ("rh_forearm", "rh_palm"),
    ]
    if arm is not None:
        groups = [*arm.semantics.groups, *groups, Group("arm_and_hand", subgroups=("manipulator", "rh_hand"))]
        states = [*arm.semantics.states, *states]
        always += [(a, b) for a, b, reason in arm.semantics.disabled_pairs if reason != "Adjacent"]
        last = next(j.parent for j in joints if j.child == "tool0")
        always.append((next(j.parent for j in joints if j.child == last), "rh_forearm"))
    return semantics(links, joints, groups, effectors, states, always)
