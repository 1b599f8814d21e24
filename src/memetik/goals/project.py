"""A link on a surface, where a ray along one of its axes meets it: Project."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memetik.errors import GoalError
from memetik.goals.base import Kind, put
from memetik.goals.checks import as_angle, as_direction, as_number, as_positive
from memetik.goals.compiler import Compiler
from memetik.goals.geometry import as_surface, surface_geometry
from memetik.goals.pose import DEFAULT_TOLERANCE, ROTATION_SCALE, LinkGoal
from memetik.robot.transforms import as_pose


@dataclass(frozen=True, eq=False, repr=False)
class Project(LinkGoal):
    """A point of the link is on a surface, or at a distance from it, where the ray along an axis of the link meets it,
    and the axis is against the surface there: a foot on uneven ground, a tool on a workpiece.

    With x the link's point, a = R axis, h where x + t a meets the surface and n the normal there,
    r = [ x - (h + stand_off n) ;  rotation_scale * (a + n) ].  On a curved surface n turns gradually across its faces.

    Without a hit, r is that of a Pose goal on `fallback`; where there is none, h is the surface's point nearest to x.

    axis                in the link's frame: "x", "-z", ... or a vector.
    surface             a mesh, the path of one, a Box, Cone, HeightMap or VoxelMap, or an object with vertices and
                        faces, in the world or in the frame of `relative_to`. Closed ones are met from outside; open
                        ones have two sides.
    stand_off           metres from the surface along its normal.
    fallback            (4, 4) pose of the link (or of its offset); None: the nearest point; "open": given at each
                        solve.
    surface_pose        (4, 4) where the surface is.
    crease              radians: faces that meet at less than this angle are pieces of a curved surface, whose normals
                        are interpolated across them; 0: every face is flat.
    behind, reach       metres: hits are looked for from so far behind the link's point to so far before it, and the one
                        nearest to it counts. Behind, so that a link that has gone through the surface finds back.
    position_tolerance  metres.
    rotation_tolerance  radians.
    rotation_scale      metres per radian: how much a turn weighs against a way.
    """

    axis: Any = "z"
    surface: Any = None
    stand_off: float = 0.0
    fallback: Any = None
    surface_pose: Any = field(default=None, kw_only=True)
    crease: float = field(default=0.5, kw_only=True)
    behind: float = field(default=0.1, kw_only=True)
    reach: float = field(default=math.inf, kw_only=True)
    position_tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    rotation_tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    rotation_scale: float = field(default=ROTATION_SCALE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, axis=as_direction(self.axis, "the axis of Project"))
        put(self, stand_off=as_number(self.stand_off, "the stand_off of Project"))
        put(self, behind=as_number(self.behind, "`behind` of Project"))
        put(self, crease=as_angle(self.crease, "the crease of Project"))
        if self.behind < 0.0 or not self.reach > 0.0:
            raise GoalError(
                f"Project looks from `behind` >= 0 m behind the link to `reach` > 0 m before it, not {self.behind!r} "
                f"and {self.reach!r}."
            )
        for name in ("position_tolerance", "rotation_tolerance", "rotation_scale"):
            put(self, **{name: as_positive(getattr(self, name), f"the {name} of Project")})
        if self.surface is None:
            raise GoalError("Project needs a surface: a mesh, the path of one, or a shape.")
        pose = None if self.surface_pose is None else as_pose(self.surface_pose, "the surface_pose of Project")
        put(self, surface=as_surface(self.surface, pose), surface_pose=None)
        if isinstance(self.fallback, str):
            if self.fallback != "open":
                raise GoalError(f"the fallback of Project is a pose, None or 'open', not {self.fallback!r}.")
        elif self.fallback is not None:
            put(self, fallback=as_pose(self.fallback, "the fallback of Project"))

    @property
    def is_open(self) -> bool:
        return isinstance(self.fallback, str)

    def compile(self, compiler: Compiler) -> None:
        fallback = self.fallback if isinstance(self.fallback, np.ndarray) else np.eye(4)
        data = np.concatenate(
            [
                [surface_geometry(compiler, self.surface, self.crease)],
                self.axis,
                [self.stand_off, -self.behind, self.reach, self.fallback is not None],
                fallback[:3, :3].ravel(),
                fallback[:3, 3],
                np.zeros(6),
            ]
        )
        frames = self.frames(compiler)
        place = compiler.term(
            Kind.PROJECT_POINT, data, label="position", unit="m", rows=3, tolerance=self.position_tolerance, **frames
        )
        turn = compiler.term(
            Kind.PROJECT_AXIS, data, label="rotation", unit="rad", rows=3, tolerance=self.rotation_tolerance,
            scale=self.rotation_scale, **frames,
        )  # fmt: skip
        if self.is_open:
            rotation = [(4 * r + c, 8 + 3 * r + c) for r in range(3) for c in range(3)]
            copies = [(4 * r + 3, place, 17 + r) for r in range(3)]
            copies += [(source, term, to) for term in (place, turn) for source, to in rotation]
            compiler.open("pose", (4, 4), copies)
