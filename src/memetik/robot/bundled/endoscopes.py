"""Endoscopes on a UR10: elise, a thin rod with three joints, and one with a rigid curved shaft.

elise follows the robot of the confined-space benchmark: three joints in a thin rod on the flange of a UR10. Its
lengths and limits were never printed; those here (rods of 0.60, 0.08 and 0.035 m, radius 6 mm, +-100 degrees) are the
ones this project's benchmark fixes, and parameters. The curved shaft has the shape of an inspection endoscope with a
fixed bend, its dimensions are chosen here. Approximations: all dimensions, masses and rates of the endoscopes; of the
arm, what universal_robots says.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from memetik.errors import InvalidInputError
from memetik.robot.bundled import universal_robots as ur
from memetik.robot.bundled.builder import AXES, body, capsule, cylinder, fixed, hidden, joint, states
from memetik.robot.description import Description, EndEffector, Group, Link

LIMIT = math.radians(100.0)
STEEL = 2000.0
"""kg/m^3: a steel tube with ropes or cables inside."""


def describe(
    lengths: Sequence[float] = (0.60, 0.08, 0.035),
    radius: float = 0.006,
    limits: Sequence[float] = (LIMIT, LIMIT, LIMIT),
    axes: Sequence[str] = ("y", "y", "x"),
    tip_length: float = 0.0075,
) -> Description:
    """elise: rod, joint, rod, two joints in one place, rod; all rods along z of the flange when straight.

    `lengths` are the three rods', `limits` the joints' largest turns to both sides, `axes` what they turn about. The
    last `tip_length` of the last rod are the link `tip`, which may touch what it inspects; its frame is at its end.
    """
    _check("lengths", lengths, 3)
    _check("limits", limits, 3)
    if radius <= 0.0 or not 0.0 < tip_length < lengths[2]:
        raise InvalidInputError(
            f"an endoscope needs a radius above 0 and a tip_length between 0 and its last rod's {lengths[2]} m, "
            f"not {radius} and {tip_length}."
        )
    if len(axes) != 3 or any(axis not in ("x", "y") for axis in axes):
        raise InvalidInputError(f"axes of an endoscope are three of 'x' and 'y', not {axes!r}.")
    one, two, three = lengths
    parts = ur.arm(ur.MODELS["ur10"])
    parts.links += [
        _rod("endoscope_rod_1", one, radius),
        _rod("endoscope_rod_2", two, radius),
        hidden("endoscope_wrist", 0.001, radius=0.5 * radius),
        _rod("endoscope_rod_3", three - tip_length, radius),
        body("tip", cylinder((0, 0, -tip_length), (0, 0, 0), radius), mass=_mass(tip_length, radius)),
    ]
    chain = ("endoscope_rod_1", "endoscope_rod_2", "endoscope_wrist", "endoscope_rod_3")
    parts.joints.append(fixed("endoscope_mount", "tool0", "endoscope_rod_1"))
    for i, along in enumerate((one, two, 0.0)):
        parts.joints.append(
            joint("revolute", f"endoscope_joint_{i + 1}", chain[i], chain[i + 1], (0.0, 0.0, along),
                  axis=AXES[axes[i]], limits=(-limits[i], limits[i]), velocity=1.0, effort=5.0)
        )  # fmt: skip
    parts.joints.append(fixed("endoscope_tip_joint", "endoscope_rod_3", "tip", (0.0, 0.0, three)))
    parts.groups += [
        Group("endoscope", chains=(("tool0", "tip"),)),
        Group("elise", chains=(("base_link", "tip"),)),
    ]
    parts.states += states("endoscope", [f"endoscope_joint_{i}" for i in (1, 2, 3)], straight=[0.0] * 3)
    parts.end_effectors = [EndEffector("endoscope", "tip", "endoscope", "manipulator")]
    source = f"endoscope of rods {', '.join(f'{x:g}' for x in lengths)} m, radius {radius:g} m, on {ur.source('ur10')}"
    return parts.description("elise", source)


def curved(
    straight: float = 0.35,
    bend_radius: float = 0.25,
    bend: float = math.radians(70.0),
    end: float = 0.08,
    radius: float = 0.015,
    segments: int = 6,
) -> Description:
    """A UR10 with a rigid shaft: straight along the flange's z, then an arc towards its x, then a straight end.

    The shaft has no joints; the arc is wrapped by `segments` capsules. The frame of `tip` is at its end, z along.
    """
    _check("dimensions", (straight, bend_radius, bend, end, radius), 5)
    if segments < 1:
        raise InvalidInputError(f"a curved shaft needs at least one segment, not {segments}.")
    points = [(0.0, 0.0, 0.0)]
    for i in range(segments + 1):
        angle = bend * i / segments
        points.append((bend_radius * (1.0 - math.cos(angle)), 0.0, straight + bend_radius * math.sin(angle)))
    x, _, z = points[-1]
    tip = (x + end * math.sin(bend), 0.0, z + end * math.cos(bend))
    # the caps end with the shaft: the last capsule stops a radius before it
    stop = max(end - radius, 0.5 * end)
    points.append((x + stop * math.sin(bend), 0.0, z + stop * math.cos(bend)))
    length = straight + bend_radius * bend + end
    shaft = [capsule(a, b, radius) for a, b in itertools.pairwise(points)]
    parts = ur.arm(ur.MODELS["ur10"])
    parts.links += [body("endoscope_shaft", *shaft, mass=_mass(length, radius)), body("tip")]
    parts.joints += [
        fixed("endoscope_mount", "tool0", "endoscope_shaft"),
        fixed("endoscope_tip_joint", "endoscope_shaft", "tip", tip, (0.0, bend, 0.0)),
    ]
    parts.groups.append(Group("endoscope", links=("endoscope_shaft", "tip")))
    parts.end_effectors = [EndEffector("endoscope", "tip", "endoscope", "manipulator")]
    source = f"rigid curved endoscope of radius {radius:g} m (dimensions chosen here) on {ur.source('ur10')}"
    return parts.description("ur10_curved_endoscope", source)


def _rod(name: str, length: float, radius: float) -> Link:
    return body(name, capsule((0, 0, 0), (0, 0, length), radius), mass=_mass(length, radius))


def _mass(length: float, radius: float) -> float:
    return STEEL * math.pi * radius * radius * length


def _check(what: str, values: Sequence[float], count: int) -> None:
    if len(values) != count or not all(0.0 < value < math.inf for value in values):
        raise InvalidInputError(f"{what} of an endoscope are {count} positive numbers, not {values!r}.")
