"""Comau Racer-5 COBOT and Racer3, six-joint arms, bare or with the asymmetric two-box tool.

Racer-5: kinematics and limits of the manufacturer's public racer5-cobot description; its reach of 809 mm is the data
sheet's. Racer3: the same structure with upper arm and forearm shortened so that the data sheet's reach of 630 mm comes
out (0.05 + 0.27 + hypot(0.05, 0.30594)), strokes and speeds of its data sheet. The tool is that of the
partial-orientation study: a cube of 5 cm on the flange and a plate of 0.35 x 0.1 x 0.04 m on the cube, centred (the
study does not state the offset). Approximations: collision primitives, inertias, masses of Racer3 (Racer-5's scaled),
speeds of Racer-5 (Racer3's; its description gives placeholders), the height of Racer3's base.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from memetik.errors import InvalidInputError
from memetik.robot.bundled.builder import Hinge, Range, arm, body, box, capsule, cylinder, degrees, fixed, hinges
from memetik.robot.description import Description

SPEEDS = tuple(math.radians(speed) for speed in (430, 450, 500, 600, 600, 900))
CUBE = 0.05
PLATE = (0.35, 0.1, 0.04)


@dataclass(frozen=True, slots=True)
class Model:
    """One arm: lengths in metres, limits in radians, masses from base to flange."""

    title: str
    upper: float
    fore: float
    limits: tuple[Range, ...]
    masses: tuple[float, ...]


MODELS = {
    "racer5": Model(
        "Comau Racer-5 COBOT",
        0.37,
        0.26494,
        ((-2.966, 2.966), (-1.99, 1.116), (-2.62, 1.483), (-3.49, 3.49), (-1.83, 1.83), (-47.1, 47.1)),
        (6.215, 5.468, 3.497, 2.683, 1.63, 0.805, 0.073),
    ),
    "racer3": Model(
        "Comau Racer3",
        0.27,
        0.18494,
        tuple(
            degrees(*stroke)
            for stroke in ((-170, 170), (-135, 95), (-155, 90), (-200, 200), (-125, 125), (-2700, 2700))
        ),
        (6.0, 5.2, 2.9, 2.6, 1.3, 0.8, 0.073),
    ),
}


def describe(model: str, tool: str | None = None) -> Description:
    """The arm; tool="plate" puts the two-box tool on its flange, whose tip is the middle of the plate's outer face."""
    built = MODELS[model]
    u, f = built.upper, built.fore
    shapes = (
        (box((0.2, 0.19, 0.03), (-0.01, 0, 0.015)), cylinder((0, 0, 0.03), (0, 0, 0.185), 0.085)),
        (capsule((0, 0, 0.07), (0.03, 0, 0.13), 0.08), capsule((0.05, -0.03, 0.1755), (0.05, 0.03, 0.1755), 0.075)),
        (capsule((-0.01, 0, 0), (-0.02, 0, u - 0.06), 0.06), capsule((0, -0.03, u), (0, 0.03, u), 0.055)),
        (capsule((-0.02, -0.015, 0), (-0.02, 0.015, 0), 0.065), capsule((-0.04, 0, 0.02), (-0.05, 0, 0.08), 0.055)),
        (capsule((0, 0, 0.03), (0, 0, f - 0.05), 0.043), capsule((0, -0.02, f), (0, 0.02, f), 0.038)),
        (capsule((0, 0, 0.005), (0, 0, 0.028), 0.036),),
        (cylinder((0, 0, -0.006), (0, 0, 0), 0.025),),
    )
    chain = ["base_link", *(f"link_{i}" for i in range(1, 7))]
    links = [body(name, *solid, mass=mass) for name, solid, mass in zip(chain, shapes, built.masses, strict=True)]
    links.append(body("tool0"))
    frames = (
        ((0.0, 0.0, 0.1895), (0, 0, 1)),
        ((0.05, 0.0, 0.1755), (0, -1, 0)),
        ((0.0, 0.0, u), (0, -1, 0)),
        ((-0.05, 0.0, 0.121), (0, 0, -1)),
        ((0.0, 0.0, f), (0, -1, 0)),
        ((0.0, 0.0, 0.0665), (0, 0, -1)),
    )
    rows = [Hinge(*frame, limits, speed) for frame, limits, speed in zip(frames, built.limits, SPEEDS, strict=True)]
    joints = hinges([f"joint_{i}" for i in range(1, 7)], chain, rows)
    joints.append(fixed("joint_6-tool0", "link_6", "tool0"))
    tip, always = "tool0", [("link_3", "link_5"), ("link_4", "link_6")]
    if tool == "plate":
        tip = "tool_tip"
        links += [
            body("tool_cube", box((CUBE, CUBE, CUBE), (0, 0, CUBE / 2)), mass=0.2),
            body("tool_plate", box(PLATE, (0, 0, -PLATE[2] / 2)), mass=0.8),
            body(tip),
        ]
        joints += [
            fixed("tool_mount", "tool0", "tool_cube"),
            fixed("tool_plate_joint", "tool_cube", "tool_plate", (0.0, 0.0, CUBE + PLATE[2])),
            fixed("tool_tip_joint", "tool_plate", tip),
        ]
        always.append(("link_5", "tool_cube"))
    elif tool is not None:
        raise InvalidInputError(f"the tool of a {built.title} is None or 'plate', not {tool!r}.")
    calibration = (0.0, 0.0, -math.pi / 2, 0.0, math.radians(-90.0), 0.0)
    source = (
        f"{built.title}, published dimensions and limits (manufacturer's public description, data sheet); "
        "collision primitives, inertias and speeds are approximations"
    )
    parts = arm(links, joints, always, tip=tip, effector="tool", upright=[0.0] * 6, home=calibration)
    return parts.description(model if tool is None else f"{model}_{tool}", source)
