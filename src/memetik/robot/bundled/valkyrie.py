"""Valkyrie-like humanoid: 32 body joints, a pelvis that can translate, two hands of 13 joints.

Kinematics, limits, rates, masses and names: the public val_description of NASA's R5 Valkyrie (its simulation model; the
ankles' narrow range). The right side is the left one mirrored at the x-z plane. The pelvis moves on three slides, so
that the whole body has 35 joints, or 61 with the hands; their ranges are chosen here. Groups named after the eight
full-body setups of the Bio IK thesis, table 5.4. Approximations: collision primitives, inertias (of those primitives),
ranges of the pelvis.

All frames are parallel in the zero configuration (x ahead, y left, z up; arms sideways, legs straight), except
where fingers fan out.
"""

from __future__ import annotations

from typing import NamedTuple

from memetik.errors import InvalidInputError
from memetik.robot.bundled import builder
from memetik.robot.bundled.builder import ZERO, Parts, Vector, X, Y, Z, ball, box, capsule, hidden, joint, states
from memetik.robot.bundled.looks import DARK, GLASS, GOLD, GREY, SILVER, WHITE, block, dress, orb, pill, tube
from memetik.robot.description import Description, EndEffector, Geometry, Group

SOURCE = (
    "NASA R5 Valkyrie, kinematics, limits and masses of the public val_description; "
    "collision primitives, inertias and the ranges of the pelvis are approximations"
)

STANDING = 0.1853 + 0.0609 + 0.430959 + 0.40627 + 0.09
"""Height of the pelvis above the soles of straight legs."""

TORSO = ("torsoYaw", "torsoPitch", "torsoRoll")
NECK = ("lowerNeckPitch", "neckYaw", "upperNeckPitch")
PELVIS = ("pelvisX", "pelvisY", "pelvisZ")


class _Hinge(NamedTuple):
    """A joint of the trunk or of the left side, whose frame is rolled by `roll`."""

    name: str
    parent: str
    child: str
    xyz: Vector
    axis: Vector
    lower: float
    upper: float
    velocity: float
    effort: float
    roll: float = 0.0


_TRUNK = (
    _Hinge("torsoYaw", "pelvis", "torsoYawLink", (0, 0, 0), Z, -1.329, 1.181, 5.89, 190),
    _Hinge("torsoPitch", "torsoYawLink", "torsoPitchLink", (0.04191, 0, 0), Y, -0.13, 0.666, 9, 150),
    _Hinge("torsoRoll", "torsoPitchLink", "torso", (0, 0, 0.0203), X, -0.23, 0.255, 9, 150),
    _Hinge("lowerNeckPitch", "torso", "lowerNeckPitchLink", (0.0203518, 0, 0.33845), Y, 0, 1.162, 5, 26),
    _Hinge("neckYaw", "lowerNeckPitchLink", "neckYawLink", (-0.051924, 0, 0), Z, -1.0472, 1.0472, 5, 26),
    _Hinge("upperNeckPitch", "neckYawLink", "upperNeckPitchLink", (-0.06, 0, 0.195997), Y, -0.872, 0, 5, 26),
)

_ARM = (
    _Hinge("ShoulderPitch", "torso", "ShoulderPitchLink", (-0.0316, 0, 0.2984), Y, -2.85, 2.0, 5.89, 190),
    _Hinge("ShoulderRoll", "ShoulderPitchLink", "ShoulderRollLink", (0, 0.2499, 0), X, -1.519, 1.266, 5.89, 190),
    _Hinge("ShoulderYaw", "ShoulderRollLink", "ShoulderYawLink", (0, 0, 0), Y, -3.1, 2.18, 11.5, 65),
    _Hinge("ElbowPitch", "ShoulderYawLink", "ElbowPitchLink", (0.0254, 0.33, 0), Z, -2.174, 0.12, 11.5, 65),
    _Hinge("ForearmYaw", "ElbowPitchLink", "ForearmLink", (-0.0254, 0, 0), Y, -2.019, 3.14, 5, 26),
    _Hinge("WristRoll", "ForearmLink", "WristRollLink", (0, 0.2871, 0), X, -0.62, 0.625, 1, 14),
    _Hinge("WristPitch", "WristRollLink", "Palm", (0, 0, 0), Z, -0.36, 0.49, 1, 14),
)

_LEG = (
    _Hinge("HipYaw", "pelvis", "HipYawLink", (0, 0.1016, -0.1853), Z, -0.4141, 1.1, 5.89, 190),
    _Hinge("HipRoll", "HipYawLink", "HipRollLink", (0, 0, 0), X, -0.467, 0.5515, 7, 350),
    _Hinge("HipPitch", "HipRollLink", "HipPitchLink", (0, 0, -0.0609), Y, -2.42, 1.619, 6.11, 350),
    _Hinge("KneePitch", "HipPitchLink", "KneePitchLink", (0.000112225, 0.0361046, -0.430959), Y, -0.083, 2.057, 6.11,
           350),
    _Hinge("AnklePitch", "KneePitchLink", "AnklePitchLink", (-0.0102381, 0, -0.40627), Y, -0.8644, 0.875, 11, 205),
    _Hinge("AnkleRoll", "AnklePitchLink", "Foot", (0, 0, 0), X, -0.349, 0.348, 11, 205),
)  # fmt: skip

#   finger, first joint's offset from the palm and roll there, curls of the three joints
_FINGERS = (
    ("IndexFinger", (0.0022, 0.0976, 0.0235), 0.1745, (-1.57, -1.658, -1.92)),
    ("MiddleFinger", (0.0022, 0.097, -0.0119), -0.1222, (-1.658, -1.92, -1.57)),
    ("Pinky", (0.0022, 0.0838, -0.041), -0.1222, (-1.57, -1.658, -1.92)),
)

HOME = (0.1, -1.25, 0.0, -0.6, 1.3, 0.0, 0.0)
CROUCH = (0.0, 0.0, -0.6, 1.2, -0.6, 0.0)


def describe(pelvis: str = "translating", hands: bool = True) -> Description:
    """The humanoid. pelvis="fixed" makes the pelvis the root; hands=False ends the arms at the palms."""
    parts = Parts()
    _add_root(pelvis, parts)
    _add_trunk(parts)
    for side in ("left", "right"):
        _Side(side, parts).build(hands)
    _name_parts(parts, pelvis, hands)
    return dress(parts, _looks(), rest=DARK).description("valkyrie", SOURCE)


def _looks() -> dict[str, list[Geometry]]:
    """White soft covers over dark joints, a golden ring of light on the chest."""
    seen = {
        "pelvis": [pill(GREY, (0, -0.07, -0.09), (0, 0.07, -0.09), 0.09),
                   pill(WHITE, (0.02, -0.06, -0.06), (0.02, 0.06, -0.06), 0.085),
                   tube(DARK, (0.03, 0, -0.02), (0.03, 0, 0.03), 0.075)],
        "torso": [tube(DARK, (-0.03, 0, 0.0), (-0.03, 0, 0.09), 0.085),
                  pill(WHITE, (-0.03, -0.04, 0.14), (-0.03, 0.04, 0.14), 0.11),
                  pill(WHITE, (-0.04, -0.09, 0.25), (-0.04, 0.09, 0.25), 0.125),
                  pill(WHITE, (-0.05, -0.1, 0.31), (-0.05, 0.1, 0.31), 0.095),
                  block(SILVER, (0.16, 0.28, 0.34), (-0.17, 0, 0.23)),
                  tube(GOLD, (0.07, 0, 0.25), (0.092, 0, 0.25), 0.05),
                  tube(GLASS, (0.08, 0, 0.25), (0.096, 0, 0.25), 0.038)],
        "neckYawLink": [pill(DARK, (-0.01, 0, 0.06), (-0.05, 0, 0.17), 0.042)],
        "upperNeckPitchLink": [pill(WHITE, (0.05, 0, 0.04), (0.09, 0, 0.05), 0.112),
                               orb(GLASS, (0.115, 0, 0.045), 0.105),
                               tube(GREY, (0.06, -0.118, 0.04), (0.06, 0.118, 0.04), 0.04)],
    }  # fmt: skip
    for side, sign in (("left", 1.0), ("right", -1.0)):
        seen |= {side + name: shapes for name, shapes in _side_looks(sign).items()}
    return seen


def _side_looks(sign: float) -> dict[str, list[Geometry]]:
    def at(x: float, y: float, z: float) -> Vector:
        return (x, sign * y, z)

    return {
        "ShoulderPitchLink": [tube(DARK, at(0, 0.14, 0), at(0, 0.2, 0), 0.066),
                              pill(WHITE, at(0, 0.2, 0), at(0, 0.215, 0), 0.07)],
        "ShoulderRollLink": [tube(DARK, (-0.075, 0, 0), (0.075, 0, 0), 0.055),
                             pill(WHITE, at(0, 0.02, 0), at(0, 0.07, 0), 0.068)],
        "ShoulderYawLink": [tube(DARK, at(0, 0.09, 0), at(0, 0.14, 0), 0.055),
                            pill(WHITE, at(0, 0.16, 0), at(0.008, 0.27, 0), 0.06)],
        "ElbowPitchLink": [tube(DARK, (-0.005, 0, -0.065), (-0.005, 0, 0.065), 0.048),
                           tube(GOLD, (-0.005, 0, 0.064), (-0.005, 0, 0.069), 0.03),
                           tube(GOLD, (-0.005, 0, -0.064), (-0.005, 0, -0.069), 0.03)],
        "ForearmLink": [tube(DARK, at(0, 0.03, 0), at(0, 0.08, 0), 0.045),
                        pill(WHITE, at(0, 0.1, 0), at(0, 0.2, 0.004), 0.056),
                        tube(GREY, at(0, 0.22, 0.004), at(0, 0.275, 0.004), 0.036)],
        "Palm": [block(GREY, (0.045, 0.075, 0.085), at(0, 0.048, -0.008)),
                 block(WHITE, (0.02, 0.06, 0.075), at(-0.02, 0.05, -0.008))],
        "HipRollLink": [orb(DARK, (0, 0, -0.03), 0.068)],
        "HipPitchLink": [tube(DARK, at(0, 0.0, 0), at(0, 0.11, 0), 0.06),
                         pill(WHITE, at(0.015, 0.068, -0.06), at(0.015, 0.06, -0.27), 0.082),
                         pill(WHITE, at(0.012, 0.055, -0.28), at(0.004, 0.042, -0.37), 0.066)],
        "KneePitchLink": [tube(DARK, at(0, -0.07, 0), at(0, 0.07, 0), 0.056),
                          tube(GOLD, at(0, 0.069, 0), at(0, 0.075, 0), 0.034),
                          pill(WHITE, (0.01, 0, -0.07), (0.0, 0, -0.24), 0.066),
                          pill(GREY, (0, 0, -0.28), (0, 0, -0.35), 0.045)],
        "Foot": [block(WHITE, (0.27, 0.15, 0.035), (0.066, 0, -0.0545)),
                 block(DARK, (0.27, 0.155, 0.018), (0.066, 0, -0.081)),
                 pill(GREY, (0, 0, -0.03), (0, 0, -0.005), 0.045)],
    }  # fmt: skip


def _add_root(pelvis: str, parts: Parts) -> None:
    # weight and centre of mass of the pelvis include the motors of the hips' yaw
    shape = capsule((0, -0.07, -0.09), (0, 0.07, -0.09), 0.095)
    trunk = builder.body("pelvis", shape, mass=8.22, com=(-0.00532, 0, -0.0036))
    if pelvis not in ("fixed", "translating"):
        raise InvalidInputError(f"the pelvis of Valkyrie is 'translating' or 'fixed', not {pelvis!r}.")
    if pelvis == "translating":
        parts.links += [builder.body("world"), hidden("pelvisXLink", 0.01), hidden("pelvisYLink", 0.01)]
    parts.links.append(trunk)
    if pelvis == "fixed":
        return
    ranges = ((0.0, -0.5, 0.5), (0.0, -0.5, 0.5), (STANDING, -0.6, 0.1))
    parts.joints += [
        joint("prismatic", name, parts.links[i].name, parts.links[i + 1].name, (0.0, 0.0, height), axis=axis,
              limits=(lower, upper), velocity=1.0)
        for i, (name, axis, (height, lower, upper)) in enumerate(zip(PELVIS, (X, Y, Z), ranges, strict=True))
    ]  # fmt: skip


def _add_trunk(parts: Parts) -> None:
    trunk = _Side("", parts)
    for hinge in _TRUNK:
        trunk.add(hinge)
    parts.links += [hidden("torsoYawLink", 0.5, (0, 0, -0.01), 0.05), hidden("torsoPitchLink", 0.1, (0, 0, 0.005))]
    trunk.body("torso", 39.47, (-0.095548, -0.003337, 0.243098), box((0.32, 0.3, 0.34), (-0.09, 0, 0.23)),
               capsule((-0.03, 0, 0.06), (-0.04, 0, 0.1), 0.12))  # fmt: skip
    parts.links.append(hidden("lowerNeckPitchLink", 1.05, (-0.02, 0, 0.04), 0.05))
    trunk.body("neckYawLink", 1.4, (-0.03, -0.01, 0.15), capsule((-0.01, 0, 0.07), (-0.05, 0, 0.17), 0.045))
    trunk.body("upperNeckPitchLink", 4.59, (0.100912, 0.005783, 0.034787),
               capsule((0.06, 0, 0.045), (0.12, 0, 0.05), 0.115))  # fmt: skip


class _Side:
    """One side of the body, written for the left and mirrored for the right; or the trunk, whose side is "".

    Mirroring at the x-z plane makes a rotation about x or z by q one by -q and leaves a rotation about y as it is.
    """

    def __init__(self, side: str, parts: Parts):
        self.side, self.links, self.joints = side, parts.links, parts.joints
        self.sign = -1.0 if side == "right" else 1.0

    def build(self, hands: bool) -> None:
        for hinge in (*_ARM, *_LEG):
            self.add(hinge)
        self.arm_links()
        self.leg_links()
        if hands:
            self.fingers()
            self.thumb()

    def name(self, part: str) -> str:
        return part if part in ("torso", "pelvis") else self.side + part

    def at(self, point: Vector) -> tuple[float, float, float]:
        return (point[0], self.sign * point[1], point[2])

    def add(self, hinge: _Hinge) -> None:
        mirror = hinge.axis != Y and self.sign < 0
        name, parent, child = (self.name(part) for part in (hinge.name, hinge.parent, hinge.child))
        limits = (-hinge.upper, -hinge.lower) if mirror else (hinge.lower, hinge.upper)
        self.joints.append(
            joint("revolute", name, parent, child, self.at(hinge.xyz), (self.sign * hinge.roll, 0.0, 0.0), hinge.axis,
                  limits=limits, velocity=hinge.velocity, effort=hinge.effort)
        )  # fmt: skip

    def body(self, name: str, mass: float, com: Vector | None, *shapes: Geometry) -> None:
        self.links.append(builder.body(self.name(name), *shapes, mass=mass, com=None if com is None else self.at(com)))

    def rod(self, start: Vector, end: Vector, radius: float) -> Geometry:
        return capsule(self.at(start), self.at(end), radius)

    def arm_links(self) -> None:
        rod = self.rod
        self.body("ShoulderPitchLink", 2.65, (-0.012, 0.251, 0), rod((0, 0.19, 0), (0, 0.215, 0), 0.07))
        self.body("ShoulderRollLink", 3.97, (-0.008513, 0.02068, 0.001088), rod((0, 0, 0), (0, 0.06, 0), 0.075))
        self.body("ShoulderYawLink", 3.085, (-0.004304, 0.209832, -0.007295), rod((0, 0.12, 0), (0.01, 0.29, 0), 0.06))
        self.body("ElbowPitchLink", 1.83, (-0.020344, 0.014722, 0), rod((-0.015, 0, -0.02), (-0.015, 0, 0.02), 0.055))
        self.body("ForearmLink", 2.476, (0.015, 0.13, 0.019564), rod((0, 0.07, 0), (0, 0.23, 0.005), 0.055))
        self.links.append(hidden(self.name("WristRollLink"), 0.14, radius=0.02))
        palm = box((0.045, 0.075, 0.09), self.at((0, 0.048, -0.008)))
        self.body("Palm", 0.712, (0.002954, 0.052034, -0.000236), palm)

    def leg_links(self) -> None:
        rod = self.rod
        self.links.append(hidden(self.name("HipYawLink"), 2.39, (0.02176, 0, 0.03867), 0.07))
        self.body("HipRollLink", 3.665, (0.012959, 0.00755, -0.01595), ball((0, 0, -0.03), 0.07))
        self.body("HipPitchLink", 10.2, (0.016691, 0.091397, -0.207875),
                  rod((0.015, 0.07, -0.03), (0.015, 0.075, -0.3), 0.085),
                  rod((0.01, 0.06, -0.33), (0, 0.0361, -0.42), 0.07))  # fmt: skip
        self.body("KneePitchLink", 6.6, (0.002425, 0, -0.189511), rod((0, 0, -0.04), (0, 0, -0.31), 0.07))
        self.links.append(hidden(self.name("AnklePitchLink"), 0.06))
        self.body("Foot", 3.255, (0.037702, 0, -0.047634), box((0.27, 0.16, 0.066), (0.066, 0, -0.057)))

    def fingers(self) -> None:
        for finger, xyz, roll, curls in _FINGERS:
            parent = "Palm"
            for i, curl in enumerate(curls, start=1):
                offset = xyz if i == 1 else (0.0, 0.0381 if i == 2 else 0.0229, 0.0)
                child = f"{finger}Pitch{i}Link"
                self.add(_Hinge(child.removesuffix("Link"), parent, child, offset, Z, curl, 0.0, 1, 10, roll))
                roll = 0.0
                end = (0.0381, 0.0229, 0.02)[i - 1]
                self.body(child, (0.02, 0.011, 0.006)[i - 1], None, self.rod((0, 0.002, 0), (0, end, 0), 0.009))
                parent = child

    def thumb(self) -> None:
        self.add(_Hinge("ThumbRoll", "Palm", "ThumbRollLink", (0.0049, 0.0351, 0.0228), Y, 0.0, 2.356, 1, 10, -0.3491))
        self.body("ThumbRollLink", 0.017, None, self.rod((0, 0, 0.005), (0, 0, 0.02), 0.011))
        offsets = ((0, 0, 0.0229), (0, 0.0066, 0.0375), (0, 0.0049, 0.0275), (0, 0.004, 0.02))
        masses = (0.02, 0.013, 0.006)
        parent = "ThumbRollLink"
        for i, curl in enumerate((-1.658, -1.92, -1.57), start=1):
            child = f"ThumbPitch{i}Link"
            roll = 0.3491 if i == 1 else 0.0
            self.add(_Hinge(f"ThumbPitch{i}", parent, child, offsets[i - 1], X, curl, 0.0, 1, 10, roll))
            self.body(child, masses[i - 1], None, self.rod((0, 0, 0.002), offsets[i], 0.01))
            parent = child


def _name_parts(parts: Parts, pelvis: str, hands: bool) -> None:
    groups, always = parts.groups, parts.always
    groups += [Group("torso", joints=TORSO), Group("head", joints=NECK)]
    parts.end_effectors.append(EndEffector("head", "upperNeckPitchLink", "", "head"))
    parts.states += [*states("head", NECK, ahead=ZERO), *states("torso", TORSO, upright=ZERO)]
    if pelvis == "translating":
        groups.append(Group("pelvis", joints=PELVIS))
        parts.states += states("pelvis", PELVIS, standing=ZERO)
    always += [("pelvis", "torso"), ("torso", "upperNeckPitchLink")]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        arm = tuple(side + hinge.name for hinge in _ARM)
        leg = tuple(side + hinge.name for hinge in _LEG)
        groups += [Group(f"{side}_arm", joints=arm), Group(f"{side}_leg", joints=leg)]
        home = [q if hinge.axis == Y else sign * q for hinge, q in zip(_ARM, HOME, strict=True)]
        crouch = [q if hinge.axis == Y else sign * q for hinge, q in zip(_LEG, CROUCH, strict=True)]
        parts.states += states(f"{side}_arm", arm, down=home)
        parts.states += states(f"{side}_leg", leg, straight=[0.0] * len(leg), crouch=crouch)
        parts.end_effectors += [
            EndEffector(f"{side}_palm", f"{side}Palm", f"{side}_hand" if hands else "", f"{side}_arm"),
            EndEffector(f"{side}_foot", f"{side}Foot", "", f"{side}_leg"),
        ]
        always += [
            ("torso", f"{side}ShoulderRollLink"),
            (f"{side}ShoulderPitchLink", f"{side}ShoulderYawLink"),
            (f"{side}ShoulderYawLink", f"{side}ForearmLink"),
            ("pelvis", f"{side}HipPitchLink"),
        ]
        if hands:
            fingers = [j.name for j in parts.joints if j.name.startswith(side) and any(f in j.name for f in _DIGITS)]
            groups.append(Group(f"{side}_hand", joints=tuple(fingers)))
            parts.states += states(f"{side}_hand", fingers, open=[0.0] * len(fingers))
            # neighbouring digits lie against each other, and against the palm, within the thickness of the primitives
            roots = [f"{side}{digit}Pitch1Link" for digit in ("IndexFinger", "MiddleFinger", "Pinky", "Thumb")]
            always += builder.every_pair([f"{side}Palm", f"{side}ThumbRollLink", *roots])
    groups += _full_body_groups(pelvis, hands)


_DIGITS = ("Finger", "Pinky", "Thumb")


def _full_body_groups(pelvis: str, hands: bool) -> list[Group]:
    """The groups of the eight full-body robots of the thesis; `right_leg` is one of them already."""
    root = ("pelvis",) if pelvis == "translating" else ()
    both = ("torso", "left_arm", "right_arm")
    legs = ("left_leg", "right_leg")
    groups = {
        "torso_right_arm": ("torso", "right_arm"),
        "torso_both_arms": both,
        "torso_right_arm_head": ("torso", "right_arm", "head"),
        "torso_both_arms_head": (*both, "head"),
        "torso_right_hand": ("torso", "right_arm", "right_hand"),
        "body_without_head": (*root, *both, *legs),
        "full_body": (*root, *both, *legs, "head"),
    }
    if not hands:
        del groups["torso_right_hand"]
    return [Group(name, subgroups=parts) for name, parts in groups.items()]
