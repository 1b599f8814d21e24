"""Universal Robots' six-joint arms: UR3, UR5, UR10 and the e-series UR3e, UR5e, UR10e.

Kinematics: the manufacturer's published Denavit-Hartenberg parameters; the split of d4 into the offsets of shoulder,
elbow and wrist, and all names and frames, as in the public ur_description: `base_link` is the root, the controller's
`base` frame is turned against it by pi about z, `tool0` is the controller's flange frame. Speeds, torques and masses:
data sheets and the same description. Approximations: collision capsules (fitted to the outside of the arms; those of
the e-series are those of the older arm of the same size), centres of mass and inertias (of those capsules).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from memetik.robot.bundled import builder, looks
from memetik.robot.bundled.builder import Parts, Y, Z, body, box, capsule, cylinder, fixed, joint
from memetik.robot.bundled.looks import BLUE, DARK, GREY, SILVER, can, tube
from memetik.robot.description import Description, Geometry

HALF = math.pi / 2
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
ARM = ("base_link", "shoulder_link", "upper_arm_link", "forearm_link", "wrist_1_link", "wrist_2_link", "wrist_3_link")

HOME = (0.0, -HALF, 0.0, -HALF, 0.0, 0.0)
READY = (0.0, -HALF, HALF, -HALF, -HALF, 0.0)


@dataclass(frozen=True, slots=True)
class Model:
    """One arm. Lengths along the arm and sideways offsets in metres, in the order of the chain."""

    height: float
    upper: float
    fore: float
    shoulder_offset: float
    elbow_offset: float
    d4: float
    d5: float
    d6: float
    size: str
    speeds: tuple[float, ...]
    torques: tuple[float, ...]
    masses: tuple[float, ...]


def _degrees(*speeds: float) -> tuple[float, ...]:
    return tuple(math.radians(speed) for speed in speeds)


MODELS = {
    "ur3": Model(0.1519, 0.24365, 0.21325, 0.1198, -0.0925, 0.11235, 0.08535, 0.0819, "small",
                 _degrees(180, 180, 180, 360, 360, 360), (56, 56, 28, 12, 12, 12),
                 (2.0, 2.0, 3.42, 1.26, 0.8, 0.8, 0.35)),
    "ur5": Model(0.089159, 0.425, 0.39225, 0.13585, -0.1197, 0.10915, 0.09465, 0.0823, "medium",
                 (3.15, 3.15, 3.15, 3.2, 3.2, 3.2), (150, 150, 150, 28, 28, 28),
                 (4.0, 3.7, 8.393, 2.275, 1.219, 1.219, 0.1879)),
    "ur10": Model(0.1273, 0.612, 0.5723, 0.220941, -0.1719, 0.163941, 0.1157, 0.0922, "large",
                  (2.16, 2.16, 3.15, 3.2, 3.2, 3.2), (330, 330, 150, 54, 54, 54),
                  (4.0, 7.778, 12.93, 3.87, 1.96, 1.96, 0.202)),
    "ur3e": Model(0.15185, 0.24355, 0.2132, 0.12, -0.093, 0.13105, 0.08535, 0.0921, "small",
                  _degrees(180, 180, 180, 360, 360, 360), (56, 56, 28, 12, 12, 12),
                  (2.0, 1.98, 3.4445, 1.437, 0.871, 0.805, 0.261)),
    "ur5e": Model(0.1625, 0.425, 0.3922, 0.138, -0.131, 0.1333, 0.0997, 0.0996, "medium",
                  _degrees(180, 180, 180, 180, 180, 180), (150, 150, 150, 28, 28, 28),
                  (4.0, 3.761, 8.058, 2.846, 1.37, 1.3, 0.365)),
    "ur10e": Model(0.1807, 0.6127, 0.57155, 0.176, -0.137, 0.17415, 0.11985, 0.11655, "large",
                   _degrees(120, 120, 180, 180, 180, 180), (330, 330, 150, 56, 56, 56),
                   (4.0, 7.369, 13.051, 3.989, 2.1, 1.98, 0.615)),
}  # fmt: skip


def describe(model: str) -> Description:
    """The arm `model` with its bare flange."""
    return arm(MODELS[model]).description(model, source(model))


def source(model: str) -> str:
    """Where the numbers of `model` come from."""
    return (
        f"Universal Robots {model.upper()}, published DH parameters and data sheet, frames of the public "
        "ur_description; collision primitives and inertias are approximations"
    )


def arm(model: Model) -> Parts:
    """The arm from base_link to tool0."""
    shapes = _SHAPES[model.size](model)
    links = [body(name, *shapes[name], mass=mass) for name, mass in zip(ARM, model.masses, strict=True)]
    links += [body("base"), body("ee_link"), body("tool0")]
    frames = (
        ((0.0, 0.0, model.height), 0.0, Z),
        ((0.0, model.shoulder_offset, 0.0), HALF, Y),
        ((0.0, model.elbow_offset, model.upper), 0.0, Y),
        ((0.0, 0.0, model.fore), HALF, Y),
        ((0.0, _wrist(model), 0.0), 0.0, Z),
        ((0.0, 0.0, model.d5), 0.0, Y),
    )
    joints = []
    for i, (xyz, pitch, axis) in enumerate(frames):
        most = math.pi if JOINTS[i] == "elbow" else 2 * math.pi
        joints.append(
            joint("revolute", f"{JOINTS[i]}_joint", ARM[i], ARM[i + 1], xyz, (0.0, pitch, 0.0), axis,
                  limits=(-most, most), velocity=model.speeds[i], effort=model.torques[i])
        )  # fmt: skip
    joints += [
        fixed("base_link-base_fixed_joint", "base_link", "base", rpy=(0.0, 0.0, -math.pi)),
        fixed("ee_fixed_joint", "wrist_3_link", "ee_link", (0.0, model.d6, 0.0), (0.0, 0.0, HALF)),
        fixed("wrist_3_link-tool0_fixed_joint", "wrist_3_link", "tool0", (0.0, model.d6, 0.0), (-HALF, 0.0, 0.0)),
    ]
    parts = builder.arm(links, joints, [("wrist_1_link", "wrist_3_link")], home=HOME, ready=READY)
    return looks.dress(parts, _looks(model))


def _looks(model: Model) -> dict[str, list[Geometry]]:
    """Aluminium tubes between the housings of the joints, each of which has a blue lid."""
    big, middle, little, thick, thin = _RADII[model.size]
    u, f, w, d5, d6, h = model.upper, model.fore, _wrist(model), model.d5, model.d6, model.height
    beside = 0.176 - model.shoulder_offset if model.size == "large" else 0.0  # the upper arm, beside its frame
    inner, outer = beside - big, beside + big
    return {
        "base_link": [tube(DARK, (0, 0, 0), (0, 0, 0.012), 1.25 * big),
                      tube(SILVER, (0, 0, 0.012), (0, 0, h - 1.1 * big), big),
                      tube(DARK, (0, 0, h - 1.1 * big), (0, 0, h - big), 0.94 * big),
                      tube(DARK, (0, -1.1 * big, 0.03), (0, -1.5 * big, 0.03), 0.012)],
        "shoulder_link": [*can(SILVER, (0, 0, -big), (0, 0, big), big, GREY, 0.004),
                          tube(DARK, (0, 0.9 * big, 0), (0, model.shoulder_offset + inner, 0), 0.9 * big),
                          *can(SILVER, (0, 0.95 * big, 0), (0, -1.05 * big, 0), big, BLUE)],
        "upper_arm_link": [*can(SILVER, (0, inner + 0.004, 0), (0, outer, 0), big, BLUE),
                           tube(GREY, (0, beside, 0.8 * big), (0, beside, big + 0.02), 1.12 * thick),
                           tube(SILVER, (0, beside, big), (0, beside, u - middle), thick),
                           tube(GREY, (0, beside, u - middle - 0.02), (0, beside, u - 0.8 * middle), 1.12 * thick),
                           tube(DARK, (0, model.elbow_offset + middle, u), (0, beside - middle, u), 0.9 * middle),
                           *can(SILVER, (0, beside - middle, u), (0, beside + middle, u), middle, BLUE)],
        "forearm_link": [*can(SILVER, (0, middle, 0), (0, -middle, 0), middle, BLUE),
                         tube(GREY, (0, 0, 0.8 * middle), (0, 0, middle + 0.02), 1.12 * thin),
                         tube(SILVER, (0, 0, middle), (0, 0, f - little), thin),
                         tube(GREY, (0, 0, f - little - 0.02), (0, 0, f - 0.8 * little), 1.12 * thin),
                         *can(SILVER, (0, little, f), (0, -1.2 * little, f), little, BLUE)],
        "wrist_1_link": [tube(DARK, (0, 0.9 * little, 0), (0, w - little, 0), 0.9 * little),
                         tube(SILVER, (0, w - little, 0), (0, w + 0.2 * little, 0), little),
                         *can(SILVER, (0, w, 1.05 * little), (0, w, -1.2 * little), little, BLUE)],
        "wrist_2_link": [tube(DARK, (0, 0, little), (0, 0, d5 - little), 0.9 * little),
                         tube(SILVER, (0, 0, d5 - little), (0, 0, d5 + 0.2 * little), little),
                         *can(SILVER, (0, 1.05 * little, d5), (0, -1.2 * little, d5), little, BLUE)],
        "wrist_3_link": [tube(DARK, (0, 1.05 * little, 0), (0, d6 - 0.018, 0), 0.88 * little),
                         tube(SILVER, (0, d6 - 0.022, 0), (0, d6 - 0.004, 0), 0.95 * little),
                         tube(GREY, (0, d6 - 0.004, 0), (0, d6, 0), 0.8 * little)],
    }  # fmt: skip


def _small(model: Model) -> dict[str, tuple[Geometry, ...]]:
    u, f, w, d5, d6 = model.upper, model.fore, _wrist(model), model.d5, model.d6
    h = model.height
    return {
        "base_link": (cylinder((0, 0, 0), (0, 0, h - 0.066), 0.064), box((0.03, 0.036, 0.024), (0, -0.08, 0.012))),
        "shoulder_link": (capsule((0, 0, -0.038), (0, 0, 0.018), 0.048), capsule((0, 0, 0), (0, 0.024, 0), 0.049)),
        "upper_arm_link": (capsule((0, -0.02, 0), (0, 0.01, 0), 0.055), capsule((0, 0, 0.05), (0, 0, u - 0.04), 0.038),
                           capsule((0, -0.03, u), (0, 0.03, u), 0.039)),
        "forearm_link": (capsule((0, 0, 0), (0, 0.028, 0), 0.038), capsule((0, 0, 0.02), (0, 0, f - 0.02), 0.031),
                         capsule((0, -0.025, f), (0, 0.025, f), 0.031)),
        "wrist_1_link": (capsule((0, w - 0.022, 0), (0, w, 0.012), 0.034), capsule((0, w, -0.02), (0, w, 0.02), 0.032)),
        "wrist_2_link": (capsule((0, 0, d5 - 0.022), (0, 0.012, d5), 0.034),
                         capsule((0, -0.024, d5), (0, 0.015, d5), 0.032)),
        "wrist_3_link": (capsule((0, d6 - 0.028, 0), (0, d6 - 0.022, 0), 0.034),),
    }  # fmt: skip


def _medium(model: Model) -> dict[str, tuple[Geometry, ...]]:
    u, f, w, d5, d6 = model.upper, model.fore, _wrist(model), model.d5, model.d6
    h = model.height
    return {
        "base_link": (cylinder((0, 0, 0), (0, 0, h - 0.066), 0.074), box((0.024, 0.036, 0.016), (0, -0.09, 0.008))),
        "shoulder_link": (capsule((0, 0, -0.035), (0, 0, 0.02), 0.06), capsule((0, 0, 0), (0, 0.05, 0), 0.06)),
        "upper_arm_link": (capsule((0, -0.015, 0), (0, 0.015, 0), 0.067), capsule((0, 0, 0.05), (0, 0, u - 0.05), 0.05),
                           capsule((0, -0.015, u), (0, 0.015, u), 0.067)),
        "forearm_link": (capsule((0, 0, 0), (0, 0.015, 0), 0.062), capsule((0, 0, 0.02), (0, 0, f - 0.02), 0.04),
                         capsule((0, -0.02, f), (0, 0.016, f), 0.046)),
        "wrist_1_link": (capsule((0, w - 0.024, 0), (0, w, 0.012), 0.041), capsule((0, w, -0.03), (0, w, 0.02), 0.039)),
        "wrist_2_link": (capsule((0, 0, d5 - 0.024), (0, 0.012, d5), 0.041),
                         capsule((0, -0.025, d5), (0, 0.02, d5), 0.039)),
        "wrist_3_link": (capsule((0, d6 - 0.024, 0), (0, d6 - 0.02, 0), 0.04),),
    }  # fmt: skip


def _large(model: Model) -> dict[str, tuple[Geometry, ...]]:
    u, f, w, d5, d6 = model.upper, model.fore, _wrist(model), model.d5, model.d6
    h = model.height
    # the tube of the upper arm runs 0.176 m beside the pan axis, wherever the shoulder's frame is put
    t = 0.176 - model.shoulder_offset
    return {
        "base_link": (cylinder((0, 0, 0), (0, 0, h - 0.089), 0.078), box((0.1, 0.04, 0.036), (0, -0.075, 0.018))),
        "shoulder_link": (capsule((0, 0, -0.053), (0, 0, 0.03), 0.077), capsule((0, 0.0, 0), (0, 0.04, 0), 0.08)),
        "upper_arm_link": (capsule((0, t - 0.02, 0.012), (0, t + 0.015, 0.012), 0.092),
                           capsule((0, t, 0.05), (0, t, u - 0.05), 0.056),
                           capsule((0, t - 0.02, u), (0, t + 0.02, u), 0.068)),
        "forearm_link": (capsule((0, -0.01, 0), (0, 0.015, 0), 0.067), capsule((0, 0, 0.03), (0, 0, f - 0.03), 0.047),
                         capsule((0, -0.015, f), (0, 0.015, f), 0.056)),
        "wrist_1_link": (capsule((0, w - 0.028, 0), (0, w, 0.015), 0.049),
                         capsule((0, w, -0.022), (0, w, 0.03), 0.047)),
        "wrist_2_link": (capsule((0, 0, d5 - 0.028), (0, 0.015, d5), 0.049),
                         capsule((0, -0.022, d5), (0, 0.03, d5), 0.047)),
        "wrist_3_link": (capsule((0, d6 - 0.023, 0), (0, d6 - 0.021, 0), 0.046),),
    }  # fmt: skip


def _wrist(model: Model) -> float:
    """How far wrist 2's axis lies beside the forearm."""
    return model.d4 - model.shoulder_offset - model.elbow_offset


_RADII = {
    "small": (0.047, 0.04, 0.032, 0.033, 0.028),
    "medium": (0.06, 0.052, 0.039, 0.045, 0.037),
    "large": (0.078, 0.064, 0.047, 0.056, 0.046),
}
"""Of the housings of shoulder, elbow and wrists, of the tubes of upper arm and forearm."""

_SHAPES = {"small": _small, "medium": _medium, "large": _large}
