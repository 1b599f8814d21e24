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
from memetik.robot.bundled import builder
from memetik.robot.bundled.builder import Parts, Vector, X, Y, ball, body, box, capsule, fixed, hidden, joint, states
from memetik.robot.description import Description, EndEffector, Group, Joint, Mimic

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

_ARMS = {"iiwa14": ("iiwa", {}), "ur10": ("universal_robots", {"model": "ur10"})}


def describe() -> Description:
    """The hand with its forearm."""
    return _with_hand(Parts()).description("shadow_hand", SOURCE)


def on_arm(arm: str = "iiwa14") -> Description:
    """The hand on the flange of the arm "iiwa14" or "ur10"."""
    if arm not in _ARMS:
        raise InvalidInputError(f"the Shadow-like hand is mounted on 'iiwa14' or 'ur10', not on {arm!r}.")
    module, preset = _ARMS[arm]
    below: Description = importlib.import_module(f"memetik.robot.bundled.{module}").describe(**preset)
    parents = {j.child: j.parent for j in below.joints}
    meaning = below.semantics
    parts = Parts([*below.links], [*below.joints], [*meaning.groups], states=[*meaning.states])
    parts.joints.append(fixed("hand_mount", "tool0", "rh_forearm"))
    parts.always += [(a, b) for a, b, reason in meaning.disabled_pairs if reason != "Adjacent"]
    parts.always.append((parents[parents["tool0"]], "rh_forearm"))
    _with_hand(parts).groups.append(Group("arm_and_hand", subgroups=("manipulator", "rh_hand")))
    return parts.description("shadow_hand_arm", f"{SOURCE}; on {below.source}")


def _with_hand(parts: Parts) -> Parts:
    parts.links += [
        body("rh_forearm", capsule((0, 0, 0.05), (0.005, 0, 0.14), 0.05), mass=3.0),
        body("rh_wrist", capsule((0, -0.008, 0), (0, 0.008, 0), 0.014),
             capsule((-0.022, 0, 0.026), (0.028, 0, 0.026), 0.011), mass=0.1),
        body("rh_palm", box((0.062, 0.024, 0.08), (0.011, 0, 0.05)), mass=0.3),
        body("rh_lfmetacarpal", box((0.018, 0.024, 0.04), (0, 0, 0.038)), mass=0.03),
    ]  # fmt: skip
    parts.joints += [
        _hinge("WRJ2", "forearm", "wrist", (0.01, 0.0, 0.21301), Y, (-30, 10), 10.0),
        _hinge("WRJ1", "wrist", "palm", (0.0, 0.0, 0.034), X, (-40, 28), 5.0),
        _hinge("LFJ5", "palm", "lfmetacarpal", (-0.033, 0.0, 0.02071), (0.573576436, 0.0, 0.819152044), (0, 45)),
    ]
    for finger, parent, xyz, sign in _FINGERS:
        _add_finger(finger, parent, xyz, sign, parts)
    _add_thumb(parts)
    digits = ("ff", "mf", "rf", "lf", "th")
    moving = [j for j in parts.joints if j.kind != "fixed" and j.name.startswith("rh_")]
    named = [Group("rh_wrist", joints=("rh_WRJ2", "rh_WRJ1"))]
    for digit in digits:
        named.append(Group(f"rh_{digit}", joints=tuple(j.name for j in moving if j.name[3:5] == digit.upper())))
    parts.groups += [*named, Group("rh_hand", subgroups=tuple(group.name for group in named))]
    free = [j.name for j in moving if j.mimic is None]
    parts.states += states("rh_hand", free, open=[0.0] * len(free))
    parts.end_effectors += [EndEffector(f"rh_{digit}", f"rh_{digit}tip", f"rh_{digit}") for digit in digits]
    parts.always += [
        *builder.every_pair(["rh_wrist", "rh_palm", "rh_lfmetacarpal", "rh_thbase", "rh_thproximal"]),
        ("rh_palm", "rh_lfproximal"),
        ("rh_lfmetacarpal", "rh_rfproximal"),
        ("rh_forearm", "rh_palm"),
    ]
    return parts


def _hinge(
    name: str, parent: str, child: str, xyz: Vector, axis: Vector, degrees: tuple[float, float], effort: float = 2.0,
    mimic: Mimic | None = None,
) -> Joint:  # fmt: skip
    limits = builder.degrees(*degrees)
    return joint("revolute", f"rh_{name}", f"rh_{parent}", f"rh_{child}", xyz, axis=axis, limits=limits, velocity=2.0,
                 effort=effort, mimic=mimic)  # fmt: skip


def _add_finger(finger: str, parent: str, xyz: Vector, sign: float, parts: Parts) -> None:
    upper = finger.upper()
    parts.links += [
        hidden(f"rh_{finger}knuckle", 0.008, radius=0.007),
        body(f"rh_{finger}proximal", capsule((0, 0, 0.006), (0, 0, 0.042), 0.0085), mass=0.03),
        body(f"rh_{finger}middle", capsule((0, 0, 0.005), (0, 0, 0.021), 0.008), mass=0.017),
        body(f"rh_{finger}distal", capsule((0, 0, 0.004), (0, 0, 0.0185), 0.0075), mass=0.012),
        body(f"rh_{finger}tip"),
    ]
    parts.joints += [
        _hinge(f"{upper}J4", parent, f"{finger}knuckle", xyz, (0.0, sign, 0.0), (-20, 20)),
        _hinge(f"{upper}J3", f"{finger}knuckle", f"{finger}proximal", (0.0, 0.0, 0.0), X, (-15, 90)),
        _hinge(f"{upper}J2", f"{finger}proximal", f"{finger}middle", (0.0, 0.0, 0.045), X, (0, 90)),
        _hinge(f"{upper}J1", f"{finger}middle", f"{finger}distal", (0.0, 0.0, 0.025), X, (0, 90),
              mimic=Mimic(f"rh_{upper}J2")),
        fixed(f"rh_{upper}tip", f"rh_{finger}distal", f"rh_{finger}tip", (0.0, 0.0, 0.026)),
    ]  # fmt: skip


def _add_thumb(parts: Parts) -> None:
    parts.links += [
        body("rh_thbase", ball((0, 0, 0), 0.011), mass=0.01),
        body("rh_thproximal", capsule((0, 0, 0.012), (0, 0, 0.029), 0.012), mass=0.04),
        body("rh_thhub"),
        body("rh_thmiddle", capsule((0, 0, 0.008), (0, 0, 0.022), 0.011), mass=0.02),
        body("rh_thdistal", capsule((0, 0, 0.006), (0, 0, 0.0185), 0.009), mass=0.016),
        body("rh_thtip"),
    ]
    limits = (-math.pi / 3, math.pi / 3)
    parts.joints += [
        joint("revolute", "rh_THJ5", "rh_palm", "rh_thbase", (0.034, -0.00858, 0.029), (0.0, math.pi / 4, 0.0),
              (0, 0, -1), limits=limits, velocity=4.0, effort=5.0),
        _hinge("THJ4", "thbase", "thproximal", (0.0, 0.0, 0.0), X, (0, 70), 3.0),
        fixed("rh_THJ3", "rh_thproximal", "rh_thhub", (0.0, 0.0, 0.038)),
        _hinge("THJ2", "thhub", "thmiddle", (0.0, 0.0, 0.0), (0.0, -1.0, 0.0), (-40, 40)),
        _hinge("THJ1", "thmiddle", "thdistal", (0.0, 0.0, 0.032), X, (-15, 90), 1.0),
        fixed("rh_thtip_joint", "rh_thdistal", "rh_thtip", (0.0, 0.0, 0.0275)),
    ]  # fmt: skip
