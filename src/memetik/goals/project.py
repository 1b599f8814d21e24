"""A link on a surface, where a ray along one of its axes meets it: ProjectOntoSurface."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from memetik._core import TermKind
from memetik.errors import GoalError
from memetik.geometry.transforms import as_pose
from memetik.goals.arguments import array_of, as_angle, as_direction, as_number, as_positive, is_array
from memetik.goals.base import FieldChecks, set_fields
from memetik.goals.compiler import GoalCompiler
from memetik.goals.link_geometry import as_surface, surface_geometry
from memetik.goals.pose import DEFAULT_TOLERANCE, ROTATION_SCALE, LinkGoal


@dataclass(frozen=True, eq=False, repr=False)
class ProjectOntoSurface(LinkGoal):
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
    rotation_scale      metres per radian: weight of rotation relative to translation.
    """

    stored_name: ClassVar[str] = "Project"

    axis: str | ArrayLike = "z"
    surface: Any = None
    stand_off: float = 0.0
    fallback: str | ArrayLike | None = None
    surface_pose: ArrayLike | None = field(default=None, kw_only=True)
    crease: float = field(default=0.5, kw_only=True)
    behind: float = field(default=0.1, kw_only=True)
    reach: float = field(default=math.inf, kw_only=True)
    position_tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    rotation_tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    rotation_scale: float = field(default=ROTATION_SCALE, kw_only=True)
    field_checks: ClassVar[FieldChecks] = {
        "axis": as_direction, "stand_off": as_number, "behind": as_number, "crease": as_angle, "surface_pose": as_pose,
        "position_tolerance": as_positive, "rotation_tolerance": as_positive, "rotation_scale": as_positive,
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.behind < 0.0 or not self.reach > 0.0:
            raise GoalError(
                "ProjectOntoSurface looks from `behind` >= 0 m behind the link to `reach` > 0 m before it, not "
                f"{self.behind!r} and {self.reach!r}."
            )
        if self.surface is None:
            raise GoalError("ProjectOntoSurface needs a surface: a mesh, the path of one, or a shape.")
        set_fields(
            self,
            surface=as_surface(self.surface, None if self.surface_pose is None else array_of(self.surface_pose)),
            surface_pose=None,
        )
        if isinstance(self.fallback, str):
            if self.fallback != "open":
                raise GoalError(f"the fallback of ProjectOntoSurface is a pose, None or 'open', not {self.fallback!r}.")
        elif self.fallback is not None:
            set_fields(self, fallback=as_pose(self.fallback, "the fallback of ProjectOntoSurface"))

    @property
    def is_open(self) -> bool:
        return isinstance(self.fallback, str)

    def compile(self, compiler: GoalCompiler) -> None:
        fallback = self.fallback if is_array(self.fallback) else np.eye(4)
        data = [
            surface_geometry(compiler, self.surface, self.crease), *array_of(self.axis), self.stand_off, -self.behind,
            self.reach, self.fallback is not None, *fallback[:3, :3].ravel(), *fallback[:3, 3], *np.zeros(6),
        ]  # fmt: skip
        frames = self.frames(compiler)
        place = compiler.term(
            TermKind.project_point, data, measure=("position", "m"), tolerance=self.position_tolerance, frames=frames
        )
        axis = compiler.term(
            TermKind.project_axis, data, measure=("rotation", "rad"), tolerance=self.rotation_tolerance,
            scale=self.rotation_scale, frames=frames,
        )  # fmt: skip
        if self.is_open:
            rotation = [(4 * r + c, 8 + 3 * r + c) for r in range(3) for c in range(3)]
            copies = [(4 * r + 3, place, 17 + r) for r in range(3)]
            copies += [(source, term, to) for term in (place, axis) for source, to in rotation]
            compiler.open("pose", (4, 4), copies)
