"""What the bundled bodies of people and animals are made of: limbs joined by several turns in one place.

Frames are parallel to the body's in the zero posture (x ahead, y left, z up) unless a limb is said to be pitched. Turns
in one place are successive hinges with empty links between them. A limb on the left is written once; the right one is
its mirror image at the x-z plane, where turns about x and z change sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from memetik.errors import InvalidInputError
from memetik.robot.bundled.builder import Vector, body, hidden, joint
from memetik.robot.description import Geometry, Joint, Link

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}

Turns = Sequence[tuple[str, float, float]]
"""Hinges in one place: axis and range in degrees, of the left side."""

SPEED = 8.0
"""rad/s, about what people reach in quick movements of single joints."""


class Limbs:
    """Collects the links and joints of a body."""

    def __init__(self) -> None:
        self.links: list[Link] = []
        self.joints: list[Joint] = []

    def root(self, name: str, height: float, mass: float, shapes: Sequence[Geometry], pelvis: str) -> None:
        """The pelvis, on three slides or three turns from a root link `world` at the floor, `height` above it."""
        if pelvis not in ("translating", "turning"):
            raise InvalidInputError(f"the pelvis of a bundled body is 'translating' or 'turning', not {pelvis!r}.")
        self.links.append(body("world"))
        parent = "world"
        for axis in "xyz":
            child = name if axis == "z" else f"{name}_{axis}_link"
            self.links.append(body(child, *shapes, mass=mass) if axis == "z" else _between(child))
            at = (0.0, 0.0, height if axis == "x" else 0.0)
            kind = "prismatic" if pelvis == "translating" else "revolute"
            most = 0.6 if pelvis == "translating" else math.pi / 2
            self.joints.append(
                joint(kind, f"{name}_{axis}", parent, child, at, axis=AXES[axis], limits=(-most, most), velocity=2.0)
            )
            parent = child

    def add(
        self, name: str, parent: str, at: Vector, turns: Turns, mass: float, *shapes: Geometry, pitch: float = 0.0
    ) -> None:
        """A limb `name` on `parent`, turning at `at` by hinges called name_axis; its frame is pitched (degrees)."""
        self._add("", 1.0, name, parent, at, turns, mass, shapes, pitch)

    def add_both(
        self, name: str, parent: str, at: Vector, turns: Turns, mass: float, *shapes: Geometry, pitch: float = 0.0
    ) -> None:
        """The limb left_`name` and its mirror image right_`name`; a parent of both sides is named without its side."""
        for side, sign in (("left_", 1.0), ("right_", -1.0)):
            above = parent if any(link.name == parent for link in self.links) else side + parent
            self._add(side, sign, name, above, at, turns, mass, [_mirrored(s, sign) for s in shapes], pitch)

    def _add(
        self, side: str, sign: float, name: str, parent: str, at: Vector, turns: Turns, mass: float,
        shapes: Sequence[Geometry], pitch: float,
    ) -> None:  # fmt: skip
        at, turn = (at[0], sign * at[1], at[2]), (0.0, math.radians(pitch), 0.0)
        for i, (axis, lower, upper) in enumerate(turns):
            last = i == len(turns) - 1
            child = side + name if last else f"{side}{name}_{axis}_link"
            self.links.append(body(child, *shapes, mass=mass) if last else _between(child))
            if sign < 0.0 and axis != "y":
                lower, upper = -upper, -lower
            self.joints.append(
                joint("revolute", f"{side}{name}_{axis}", parent, child, at, turn, AXES[axis],
                      (math.radians(lower), math.radians(upper)), SPEED)
            )  # fmt: skip
            parent, at, turn = child, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)

    def end(self, name: str, parent: str, at: Vector) -> None:
        """A frame at the end of a limb."""
        self.links.append(body(name))
        self.joints.append(joint("fixed", f"{name}_joint", parent, name, at))

    def names(self, *parts: str) -> tuple[str, ...]:
        """The moving joints whose name begins with one of `parts`."""
        return tuple(j.name for j in self.joints if j.kind != "fixed" and j.name.startswith(parts))


def _between(name: str) -> Link:
    """A link between hinges in one place; a few grams, since simulators want every moving link to weigh something."""
    return hidden(name, 0.005, radius=0.02)


def _mirrored(geometry: Geometry, sign: float) -> Geometry:
    """The mirror image at the x-z plane of a primitive, each of which is its own mirror image up to a turn."""
    if sign > 0.0:
        return geometry
    origin = geometry.origin.copy()
    origin[1, 3] *= -1.0
    # M R M with M = diag(1, -1, 1) is the rotation of the mirrored axes; primitives do not change under the second M
    origin[1, :3] *= -1.0
    origin[:3, 1] *= -1.0
    origin.setflags(write=False)
    return replace(geometry, origin=origin)
