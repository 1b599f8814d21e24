"""What the bundled bodies of people and animals are made of: limbs joined by several hinges in one place.

Frames are parallel to the body's in the zero configuration (x ahead, y left, z up) unless a limb is said to be pitched.
Rotations in one place are successive hinges with empty links between them. A limb on the left is written once; the
right one is its mirror image at the x-z plane, where rotations about x and z change sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from memetik.errors import InvalidInputError
from memetik.robot.bundled.builder import AXES, ZERO, Parts, Vector, body, degrees, fixed, hidden, joint
from memetik.robot.description import Geometry, Link

Turns = Sequence[tuple[str, float, float]]
"""Hinges in one place: axis and range in degrees, of the left side."""

SPEED = 8.0
"""rad/s, about what people reach in quick movements of single joints."""


class Limbs(Parts):
    """The parts of a body, limb by limb."""

    __slots__ = ()

    def root(self, name: str, height: float, mass: float, shapes: Sequence[Geometry], pelvis: str) -> None:
        """The pelvis, on three slides or three hinges from a root link `world` at the floor, `height` above it."""
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
        self,
        name: str,
        parent: str,
        at: Vector,
        turns: Turns,
        mass: float,
        *shapes: Geometry,
        pitch: float = 0.0,
        mirror: bool = False,
    ) -> None:
        """A limb `name` on `parent`, turning at `at` by hinges called name_axis; its frame is pitched (degrees).

        With `mirror`, its mirror image is added.
        """
        own = [_mirrored(shape) for shape in shapes] if mirror else shapes
        at = (at[0], -at[1] if mirror else at[1], at[2])
        rpy: Vector = (0.0, math.radians(pitch), 0.0)
        for i, (axis, lower, upper) in enumerate(turns):
            last = i == len(turns) - 1
            child = name if last else f"{name}_{axis}_link"
            self.links.append(body(child, *own, mass=mass) if last else _between(child))
            limits = degrees(-upper, -lower) if mirror and axis != "y" else degrees(lower, upper)
            self.joints.append(
                joint("revolute", f"{name}_{axis}", parent, child, at, rpy, AXES[axis], limits=limits, velocity=SPEED)
            )
            parent, at, rpy = child, ZERO, ZERO

    def add_both(
        self, name: str, parent: str, at: Vector, turns: Turns, mass: float, *shapes: Geometry, pitch: float = 0.0
    ) -> None:
        """The limb left_`name` and its mirror image right_`name`; a parent of both sides is named without its side."""
        for side in ("left_", "right_"):
            above = parent if any(link.name == parent for link in self.links) else side + parent
            self.add(side + name, above, at, turns, mass, *shapes, pitch=pitch, mirror=side == "right_")

    def end(self, name: str, parent: str, at: Vector) -> None:
        """A frame at the end of a limb."""
        self.links.append(body(name))
        self.joints.append(fixed(f"{name}_joint", parent, name, at))

    def end_both(self, name: str, parent: str, at: Vector) -> None:
        """Frames at the ends of limbs of both sides, `at` a point of their plane of symmetry."""
        for side in ("left_", "right_"):
            self.end(side + name, side + parent, at)

    def names(self, *parts: str) -> tuple[str, ...]:
        """The moving joints whose name begins with one of `parts`."""
        return tuple(j.name for j in self.joints if j.kind != "fixed" and j.name.startswith(parts))


def _between(name: str) -> Link:
    """A link between hinges in one place; a few grams, since simulators want every moving link to weigh something."""
    return hidden(name, 0.005, radius=0.02)


def _mirrored(geometry: Geometry) -> Geometry:
    """The mirror image at the x-z plane of a primitive, each of which is its own mirror image up to a rotation."""
    origin = geometry.origin.copy()
    origin[1, 3] *= -1.0
    # M R M with M = diag(1, -1, 1) is the rotation of the mirrored axes; primitives do not change under the second M
    origin[1, :3] *= -1.0
    origin[:3, 1] *= -1.0
    origin.setflags(write=False)
    return replace(geometry, origin=origin)
