"""Wolf: a four-legged body of 58 joints.

Joint counts as in the Bio IK thesis, table 5.1: 3 in pelvis, neck and head each, 9 in the spine, 8 in each front leg, 6
in each back leg, 12 in the tail. Dimensions, ranges and weights are those of a grey wolf of about 0.75 m at the
withers and 45 kg as drawn here; all of them, collision primitives and inertias are approximations.

In the zero configuration the wolf stands, looks along x and carries its tail low. Limbs hang along their own -z.
"""

from __future__ import annotations

from memetik.robot.bundled.builder import ball, box, capsule, every_pair, state
from memetik.robot.bundled.limbs import Limbs, Turns
from memetik.robot.description import Description, EndEffector, Group

SOURCE = "a grey wolf as drawn here; dimensions, ranges, masses, collision primitives and inertias are approximations"

SPINE: Turns = (("y", -20, 20), ("z", -20, 20), ("x", -15, 15))
NECK: Turns = (("y", -60, 50), ("z", -50, 50), ("x", -25, 25))
BONE = 0.17
TAIL = 0.07


def describe(pelvis: str = "translating") -> Description:
    """The wolf. Its pelvis translates, or turns with pelvis="turning"."""
    limbs = Limbs()
    limbs.root("pelvis", 0.74, 6.0, [capsule((-0.02, 0, -0.03), (0.06, 0, -0.03), 0.1)], pelvis)
    parent, at = "pelvis", (0.08, 0.0, 0.0)
    for i, radius in enumerate((0.095, 0.11, 0.12), start=1):
        limbs.add(f"spine_{i}", parent, at, SPINE, 5.0, capsule((0.05, 0, -0.05), (BONE - 0.05, 0, -0.05), radius))
        parent, at = f"spine_{i}", (BONE, 0.0, 0.0)
    limbs.add("neck", "spine_3", at, NECK, 3.0, capsule((0.05, 0, 0.02), (0.17, 0, 0.1), 0.075))
    limbs.add("head", "neck", (0.2, 0, 0.12), (("y", -40, 50), ("z", -40, 40), ("x", -25, 25)), 2.5,
              ball((0.07, 0, 0.0), 0.08), capsule((0.12, 0, -0.03), (0.22, 0, -0.045), 0.04))  # fmt: skip
    limbs.end("muzzle", "head", (0.26, 0, -0.045))
    _back_legs(limbs)
    _front_legs(limbs)
    _tail(limbs)
    _name_parts(limbs)
    return limbs.description("wolf", SOURCE)


def _back_legs(limbs: Limbs) -> None:
    hip: Turns = (("y", -60, 60), ("x", -25, 30), ("z", -25, 25))
    limbs.add_both("thigh", "pelvis", (-0.02, 0.085, -0.05), hip, 1.6, capsule((0, 0, -0.03), (0, 0, -0.2), 0.05),
                   pitch=-20)  # fmt: skip
    limbs.add_both("shank", "thigh", (0, 0, -0.26), (("y", -50, 60),), 0.9,
                   capsule((0, 0, -0.01), (0, 0, -0.26), 0.032), pitch=60)  # fmt: skip
    limbs.add_both("hock", "shank", (0, 0, -0.28), (("y", -60, 45),), 0.4,
                   capsule((0, 0, 0), (0, 0, -0.18), 0.024), pitch=-50)  # fmt: skip
    limbs.add_both("back_paw", "hock", (0, 0, -0.2), (("y", -45, 60),), 0.25,
                   box((0.1, 0.06, 0.035), (0.025, 0, -0.0175)), pitch=10)  # fmt: skip
    limbs.end_both("back_sole", "back_paw", (0.025, 0, -0.035))


def _front_legs(limbs: Limbs) -> None:
    limbs.add_both("scapula", "spine_3", (0.05, 0.1, -0.044), (("y", -30, 30), ("x", -8, 12)), 1.0,
                   capsule((0, 0.01, -0.01), (0, 0.01, -0.13), 0.035), pitch=-30)  # fmt: skip
    limbs.add_both("upper_arm", "scapula", (0, 0.01, -0.17), (("y", -50, 50), ("x", -20, 25), ("z", -20, 20)), 1.2,
                   capsule((0, 0, -0.01), (0, 0, -0.18), 0.038), pitch=65)  # fmt: skip
    limbs.add_both("forearm", "upper_arm", (0, 0, -0.2), (("y", -80, 30),), 0.8,
                   capsule((0, 0, -0.01), (0, 0, -0.23), 0.027), pitch=-35)  # fmt: skip
    limbs.add_both("carpus", "forearm", (0, 0, -0.25), (("y", -10, 90),), 0.25,
                   capsule((0, 0, -0.005), (0, 0, -0.085), 0.022), pitch=-5)  # fmt: skip
    limbs.add_both("front_paw", "carpus", (0, 0, -0.1), (("y", -45, 60),), 0.25,
                   box((0.1, 0.06, 0.035), (0.025, 0, -0.0175)), pitch=5)  # fmt: skip
    limbs.end_both("front_sole", "front_paw", (0.025, 0, -0.035))


def _tail(limbs: Limbs) -> None:
    parent, at, pitch = "pelvis", (-0.11, 0.0, 0.02), -50.0
    for i in range(1, 7):
        rod = capsule((-0.015, 0, 0), (-TAIL + 0.015, 0, 0), 0.03 if i < 6 else 0.022)
        limbs.add(f"tail_{i}", parent, at, (("y", -35, 35), ("z", -35, 35)), 0.12, rod, pitch=pitch)
        parent, at, pitch = f"tail_{i}", (-TAIL, 0.0, 0.0), 0.0
    limbs.end("tail_tip", parent, at)


def _name_parts(limbs: Limbs) -> None:
    tips = [f"{side}_{end}_sole" for end in ("front", "back") for side in ("left", "right")]
    parts = {"pelvis": ("pelvis",), "spine": ("spine",), "head": ("neck", "head"), "tail": ("tail",)}
    groups = [Group(name, joints=limbs.names(*bones)) for name, bones in parts.items()]
    front, back = ("scapula", "upper_arm", "forearm", "carpus", "front_paw"), ("thigh", "shank", "hock", "back_paw")
    for side in ("left", "right"):
        groups.append(Group(f"{side}_front_leg", joints=limbs.names(*(f"{side}_{part}" for part in front))))
        groups.append(Group(f"{side}_back_leg", joints=limbs.names(*(f"{side}_{part}" for part in back))))
    groups.append(Group("full_body", subgroups=tuple(group.name for group in groups)))
    zero = dict.fromkeys((j.name for j in limbs.joints if j.kind != "fixed"), 0.0)
    # trunk and shoulder blades lie on each other under the skin
    limbs.always = [
        *every_pair(["pelvis", "spine_1", "spine_2"]),
        *every_pair(["spine_2", "spine_3", "neck", "left_scapula", "right_scapula"]),
        *((trunk, f"{side}_{limb}") for side in ("left", "right") for trunk, limb in (
            ("spine_3", "upper_arm"), ("spine_2", "upper_arm"), ("spine_1", "thigh"))),
        ("pelvis", "tail_2"),
        ("spine_3", "head"),
    ]  # fmt: skip
    limbs.groups, limbs.states = groups, [state("stand", "full_body", zero)]
    limbs.end_effectors = [EndEffector(tip, tip) for tip in ("muzzle", *tips, "tail_tip")]
