"""Human figures: a mannequin of 42 joints and a character of 78 joints with fingers.

Joint counts as in the Bio IK thesis, table 5.1: the mannequin has 3 in the pelvis, 6 in the spine, 7 in each leg and
arm, 5 in neck and head; the character 3 in pelvis, spine, neck and head each, 7 in each leg and arm, 19 in the fingers
of each hand. Lengths of the segments are fractions of the height, and their weights fractions of the whole, after
Winter, "Biomechanics and Motor Control of Human Movement" (there after Drillis and Contini 1966, Dempster 1955);
ranges of motion after the norms of the American Academy of Orthopaedic Surgeons, rounded. Approximations: all of them,
the placing of the spine's and the hand's joints, collision primitives, inertias.

In the zero configuration the figure stands with hanging arms, palms towards the thighs, eyes along x.
"""

from __future__ import annotations

from memetik.errors import InvalidInputError
from memetik.robot.bundled.builder import box, capsule, every_pair, state
from memetik.robot.bundled.limbs import Limbs, Turns
from memetik.robot.description import Description, EndEffector, Group

SOURCE = (
    "{what} of {height:g} m and {mass:g} kg, segment lengths and weights after Winter (Drillis and Contini, Dempster), "
    "ranges of motion after AAOS norms; all of it, collision primitives and inertias are approximations"
)

HIP: Turns = (("z", -45, 45), ("x", -30, 45), ("y", -120, 30))
SHOULDER: Turns = (("y", -170, 50), ("x", -20, 150), ("z", -70, 70))
FINGERS = ("index", "middle", "ring", "pinky")


def mannequin(height: float = 1.75, mass: float = 75.0, pelvis: str = "translating") -> Description:
    """The 42-joint figure without fingers. Its pelvis translates, or turns with pelvis="turning"."""
    h = _checked(height, mass)
    limbs = _legs_and_pelvis(h, mass, pelvis)
    limbs.add("lumbar", "pelvis", (0, 0, 0.05 * h), (("y", -15, 40), ("x", -20, 20), ("z", -10, 10)), 0.139 * mass,
              capsule((0.0, -0.03 * h, 0.055 * h), (0.0, 0.03 * h, 0.055 * h), 0.06 * h))  # fmt: skip
    limbs.add("chest", "lumbar", (0, 0, 0.1 * h), (("y", -15, 30), ("x", -25, 25), ("z", -35, 35)), 0.216 * mass,
              capsule((0.0, -0.04 * h, 0.075 * h), (0.0, 0.04 * h, 0.075 * h), 0.068 * h))  # fmt: skip
    _arms(limbs, h, mass, fingers=False)
    limbs.add("neck", "chest", (0, 0, 0.155 * h), (("y", -30, 30), ("x", -25, 25)), 0.02 * mass,
              capsule((0, 0, 0.005 * h), (0.005 * h, 0, 0.03 * h), 0.028 * h))  # fmt: skip
    _head(limbs, h, mass, (("z", -70, 70), ("y", -30, 30), ("x", -15, 15)))
    return _figure("mannequin", "human mannequin", limbs, height, mass)


def character(height: float = 1.8, mass: float = 80.0, pelvis: str = "translating") -> Description:
    """The 78-joint figure with fingers. Its pelvis translates, or turns with pelvis="turning"."""
    h = _checked(height, mass)
    limbs = _legs_and_pelvis(h, mass, pelvis)
    limbs.add("chest", "pelvis", (0, 0, 0.06 * h), (("y", -25, 60), ("x", -35, 35), ("z", -40, 40)), 0.355 * mass,
              capsule((0.0, -0.03 * h, 0.05 * h), (0.0, 0.03 * h, 0.05 * h), 0.055 * h),
              capsule((0.0, -0.04 * h, 0.165 * h), (0.0, 0.04 * h, 0.165 * h), 0.068 * h))  # fmt: skip
    _arms(limbs, h, mass, fingers=True)
    limbs.add("neck", "chest", (0, 0, 0.245 * h), (("y", -30, 30), ("x", -25, 25), ("z", -30, 30)), 0.02 * mass,
              capsule((0, 0, 0.005 * h), (0.005 * h, 0, 0.03 * h), 0.028 * h))  # fmt: skip
    _head(limbs, h, mass, (("z", -50, 50), ("y", -30, 30), ("x", -15, 15)))
    return _figure("character", "humanoid character", limbs, height, mass)


def _checked(height: float, mass: float) -> float:
    if not (0.2 <= height <= 5.0 and 0.0 < mass < 1000.0):
        raise InvalidInputError(
            f"a figure is 0.2 to 5 m high and weighs above 0 and below 1000 kg, not {height!r} m and {mass!r} kg."
        )
    return height


def _legs_and_pelvis(h: float, mass: float, pelvis: str) -> Limbs:
    limbs = Limbs()
    # thigh 0.245, shank 0.246, ankle 0.039 of the height
    limbs.root("pelvis", 0.53 * h, 0.142 * mass,
               [capsule((0, -0.045 * h, 0.01 * h), (0, 0.045 * h, 0.01 * h), 0.052 * h)], pelvis)  # fmt: skip
    limbs.add_both("thigh", "pelvis", (0, 0.052 * h, 0), HIP, 0.1 * mass,
                   capsule((0, 0, -0.035 * h), (0, 0, -0.235 * h), 0.04 * h))  # fmt: skip
    limbs.add_both("shank", "thigh", (0, 0, -0.245 * h), (("y", 0, 140),), 0.0465 * mass,
                   capsule((0, 0, -0.015 * h), (0, 0, -0.225 * h), 0.03 * h))  # fmt: skip
    limbs.add_both("foot", "shank", (0, 0, -0.246 * h), (("y", -20, 50), ("x", -20, 35)), 0.0115 * mass,
                   box((0.115 * h, 0.05 * h, 0.03 * h), (0.027 * h, 0, -0.024 * h)))  # fmt: skip
    limbs.add_both("toes", "foot", (0.085 * h, 0, -0.03 * h), (("y", -60, 30),), 0.003 * mass,
                   box((0.034 * h, 0.048 * h, 0.018 * h), (0.019 * h, 0, 0)))  # fmt: skip
    limbs.end_both("sole", "foot", (0.04 * h, 0, -0.039 * h))
    return limbs


def _arms(limbs: Limbs, h: float, mass: float, fingers: bool) -> None:
    top = (0.228 if fingers else 0.138) * h
    limbs.add_both("upper_arm", "chest", (0, 0.129 * h, top), SHOULDER, 0.028 * mass,
                   capsule((0, 0, -0.005 * h), (0, 0, -0.175 * h), 0.026 * h))  # fmt: skip
    limbs.add_both("forearm", "upper_arm", (0, 0, -0.186 * h), (("y", -145, 0), ("z", -80, 80)), 0.016 * mass,
                   capsule((0, 0, -0.012 * h), (0, 0, -0.128 * h), 0.021 * h))  # fmt: skip
    palm = box((0.048 * h, 0.016 * h, 0.05 * h), (0, 0, -0.03 * h))
    limbs.add_both("hand", "forearm", (0, 0, -0.146 * h), (("x", -70, 70), ("y", -20, 35)),
                   (0.003 if fingers else 0.006) * mass, palm,
                   *(() if fingers else (box((0.044 * h, 0.012 * h, 0.05 * h), (0, 0, -0.08 * h)),)))  # fmt: skip
    if not fingers:
        limbs.end_both("fingertips", "hand", (0, 0, -0.108 * h))
        return
    bone = 0.0002 * mass
    thick = 0.0048 * h
    for i, name in enumerate(FINGERS):
        lengths = [f * h for f in ((0.024, 0.014, 0.011), (0.026, 0.016, 0.012), (0.024, 0.015, 0.011),
                                   (0.019, 0.011, 0.01))[i]]  # fmt: skip
        at = (0.018 * h - i * 0.012 * h, 0.0, -0.058 * h)
        parent = "hand"
        for k, length in enumerate(lengths, start=1):
            turns: Turns = (("y", -15, 15), ("x", -90, 10)) if k == 1 else (("x", -100 if k == 2 else -80, 0),)
            rod = capsule((0, 0, -0.2 * length), (0, 0, -0.9 * length), thick)
            limbs.add_both(f"{name}_{k}", parent, at, turns, bone, rod)
            parent, at = f"{name}_{k}", (0.0, 0.0, -length)
        limbs.end_both(f"{name}_tip", f"{name}_3", at)
    limbs.add_both("thumb_1", "hand", (0.018 * h, -0.006 * h, -0.015 * h), (("y", -50, 25), ("x", -60, 20)), bone,
                   capsule((0.006 * h, 0, -0.003 * h), (0.02 * h, 0, -0.012 * h), 1.1 * thick))  # fmt: skip
    limbs.add_both("thumb_2", "thumb_1", (0.024 * h, 0, -0.015 * h), (("x", -80, 5),), bone,
                   capsule((0.004 * h, 0, -0.004 * h), (0.013 * h, 0, -0.013 * h), thick))  # fmt: skip
    limbs.end_both("thumb_tip", "thumb_2", (0.016 * h, 0, -0.016 * h))


def _head(limbs: Limbs, h: float, mass: float, turns: Turns) -> None:
    limbs.add("head", "neck", (0.005 * h, 0, 0.035 * h), turns, 0.061 * mass,
              capsule((0.01 * h, 0, 0.05 * h), (0.01 * h, 0, 0.08 * h), 0.05 * h))  # fmt: skip
    limbs.end("eyes", "head", (0.055 * h, 0, 0.066 * h))


def _figure(name: str, what: str, limbs: Limbs, height: float, mass: float) -> Description:
    tips = ["eyes", "left_sole", "right_sole"]
    hands = ["left_fingertips", "right_fingertips"]
    if name == "character":
        hands = ["left_hand", "right_hand"]
        tips += [f"{side}_{finger}_tip" for side in ("left", "right") for finger in (*FINGERS, "thumb")]
    groups = [Group("pelvis", joints=limbs.names("pelvis")), Group("spine", joints=limbs.names("lumbar", "chest"))]
    groups.append(Group("head", joints=limbs.names("neck", "head")))
    always = [("pelvis", "chest"), ("chest", "head")]
    for side in ("left", "right"):
        digits = limbs.names(*(f"{side}_{finger}" for finger in (*FINGERS, "thumb")))
        for limb, bones in (("leg", ("thigh", "shank", "foot", "toes")), ("arm", ("upper_arm", "forearm", "hand"))):
            groups.append(Group(f"{side}_{limb}", joints=limbs.names(*(f"{side}_{bone}" for bone in bones))))
        if digits:
            groups.append(Group(f"{side}_fingers", joints=digits))
            # the roots of the fingers stand side by side, closer than the primitives are thick when they spread
            always += every_pair([f"{side}_hand", *(f"{side}_{finger}_1" for finger in (*FINGERS, "thumb"))])
            always += every_pair([f"{side}_{finger}_2" for finger in FINGERS])
            always += every_pair([f"{side}_{finger}_3" for finger in FINGERS])
            always += [(f"{side}_{a}_{i}", f"{side}_{b}_{i + 1}") for i in (1, 2)
                       for a in FINGERS for b in FINGERS if a != b]  # fmt: skip
    groups.append(Group("full_body", subgroups=tuple(group.name for group in groups)))
    zero = dict.fromkeys((j.name for j in limbs.joints if j.kind != "fixed"), 0.0)
    stand = {**zero, "left_upper_arm_x": 0.15, "right_upper_arm_x": -0.15}
    t_pose = {**zero, "left_upper_arm_x": 1.5, "right_upper_arm_x": -1.5}
    limbs.groups, limbs.always = groups, always
    limbs.states = [state("stand", "full_body", stand), state("t_pose", "full_body", t_pose)]
    limbs.end_effectors = [EndEffector(tip, tip) for tip in (*hands, *tips)]
    return limbs.description(name, SOURCE.format(what=what, height=height, mass=mass))
