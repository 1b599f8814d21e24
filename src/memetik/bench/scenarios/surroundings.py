"""Surroundings made by code: tanks, barrel, shelf, tables, corridor, each with targets on its surfaces.

A class holds the dimensions; `make` gives `Surroundings`: a scene, target poses (N, 4, 4) and metadata. `count` targets
are drawn uniformly over the named surfaces with `rng`; the tool's z axis points against the surface normal, its x axis
along the world's x as far as the surface lets it (along the world's y where the normal is within 26 degrees of x). The
same arguments give the same surroundings. Metres.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.geometry.shapes import Box, TriangleMesh
from memetik.geometry.surface_points import sample_triangles, surface_frames
from memetik.geometry.transforms import as_pose, transform
from memetik.scene.scene import Scene

MOVED_TANK_POSE = transform((0.52, 0.66, 0.7), rpy=(0.0, 0.0, math.radians(-40.0))) @ transform(
    rpy=(math.radians(-25.0), 0.0, 0.0)
)
"""Another place for a tank's mouth: turned by 40 degrees about z and pointing 25 degrees down."""


Rng: TypeAlias = "int | np.random.Generator"


class Surroundings(NamedTuple):
    """A scene, target poses (N, 4, 4), and what is known of them.

    `metadata` has the name, the names of the inspected objects ("surfaces"), points and normals of the targets, and
    the dimensions.
    """

    scene: Scene
    targets: np.ndarray
    metadata: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class _Drawn:
    """How many targets are drawn, and with which random numbers."""

    count: int = 1000
    rng: Rng = 0

    def make(self) -> Surroundings:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class HydrogenTank(_Drawn):
    """A thick-walled pressure vessel with one opening, lying along +y: targets on its inner wall.

    Outside, a cylinder of `radius` and `length` with hemispherical ends; inside, a cavity `wall` thinner with
    concentric ends, so that it ends `wall` before the far end. The neck, `neck` proud of the near end, opens with the
    diameter `mouth` and leads straight into the cavity.
    pose: of the centre of the mouth, +y into the tank; by default at (0, 1.0, 0.5), so that the body is from y =
    1.003 to 2.094.
    reach: targets lie between these depths behind the mouth.
    """

    mouth: float = 0.07
    pose: ArrayLike | None = None
    radius: float = 0.083
    length: float = 1.091
    wall: float = 0.04
    neck: float = 0.003
    neck_wall: float = 0.01
    reach: tuple[float, float] = (0.08, 0.48)
    segments: int = 36

    def make(self) -> Surroundings:
        mouth, radius, cavity = self.mouth, self.radius, self.radius - self.wall
        place = _placed(self.pose, 0.0, 1.0, 0.5)
        narrowest = min(cavity, radius - self.neck_wall)
        if not 0.0 < 0.5 * mouth < narrowest or self.wall <= 0.0 or self.length <= 2.0 * radius:
            raise InvalidInputError(
                f"a mouth of {mouth} m does not fit a tank of radius {radius} m with walls of {self.wall} m."
            )
        mesh = revolve(self._profile(), self.segments, "hydrogen tank")
        scene = Scene()
        scene.add_mesh("tank", mesh, place, solid=True, color=(0.55, 0.6, 0.65, 1.0))
        inner = np.hypot(mesh.triangles[:, :, 0], mesh.triangles[:, :, 2]).max(axis=1) < cavity + 1e-9
        targets = sample_triangles(_clipped(mesh.triangles[inner], *self.reach), self.count, self.rng)
        name = "HydrogenTank" if mouth > 0.05 else "HydrogenTankSmall"
        opening = {"centre": place[:3, 3].copy(), "axis": place[:3, 1].copy(), "diameter": mouth}
        return _surroundings(scene, name, ("tank",), targets, place, opening=opening, radius=radius, cavity=cavity)

    def _profile(self) -> np.ndarray:
        """Points (y, r) from the far end of the cavity through the mouth (y = 0) and around the outside."""
        mouth, radius, cavity = 0.5 * self.mouth, self.radius, self.radius - self.wall
        near, far = self.neck + radius, self.neck + self.length - radius  # centres of the ends' spheres
        shoulder = math.acos(mouth / cavity)
        root = math.acos((mouth + self.neck_wall) / radius)

        def arc(centre: float, size: float, start: float, end: float, count: int) -> list[tuple[float, float]]:
            """Points of a quarter circle; angles from the direction across the axis, positive towards +y."""
            return [(centre + size * math.sin(a), size * math.cos(a)) for a in np.linspace(start, end, count)]

        inside = arc(far, cavity, math.pi / 2.0, 0.0, 8)
        inside += [(y, cavity) for y in np.linspace(far, near, 21)[1:]]
        inside += arc(near, cavity, 0.0, -shoulder, 5)[1:]
        inside += [(y, mouth) for y in np.linspace(inside[-1][0], 0.0, 4)[1:]]
        outside = [(0.0, mouth + self.neck_wall)]
        outside += arc(near, radius, -root, 0.0, 9)
        outside += [(y, radius) for y in np.linspace(near, far, 11)[1:]]
        outside += arc(far, radius, 0.0, math.pi / 2.0, 11)[1:]
        profile = np.array(inside + outside)
        profile[[0, -1], 1] = 0.0
        return profile


@dataclass(frozen=True, kw_only=True)
class HydrogenTankSmall(HydrogenTank):
    """The same tank with a mouth of 3.5 cm."""

    mouth: float = 0.035


@dataclass(frozen=True, kw_only=True)
class Barrel(_Drawn):
    """A hexagonal barrel, open on top, `across` its outer flats: targets on its inner walls and bottom.

    pose: of the middle of the barrel, +z up; by default at `centre`.
    """

    across: float = 0.36
    height: float = 0.35
    wall: float = 0.02
    centre: Sequence[float] = (0.0, 0.5, 0.0)
    pose: ArrayLike | None = None

    def make(self) -> Surroundings:
        across, height, wall = self.across, self.height, self.wall
        if not 0.0 < 2.0 * wall < across or not wall < height:
            raise InvalidInputError(f"walls of {wall} m do not fit a barrel of {across} x {height} m.")
        place = _placed(self.pose, *self.centre)
        to_corner = 1.0 / math.cos(math.pi / 6.0)
        outer, inner = 0.5 * across * to_corner, (0.5 * across - wall) * to_corner
        low, high = -0.5 * height, 0.5 * height
        profile = [(low, 0.0), (low, outer), (high, outer), (high, inner), (low + wall, inner), (low + wall, 0.0)]
        lying = revolve(np.array(profile), 6, "barrel")
        # A revolved profile lies along y; the barrel stands along z.
        upright = lying.vertices @ transform(rpy=(math.pi / 2.0, 0.0, 0.0))[:3, :3].T
        mesh = TriangleMesh(upright, lying.faces, "barrel")
        scene = Scene()
        scene.add_mesh("barrel", mesh, place, solid=True, color=(0.7, 0.45, 0.2, 1.0))
        triangles = mesh.triangles
        inside = np.hypot(triangles[:, :, 0], triangles[:, :, 1]).max(axis=1) < inner + 1e-9
        inside &= triangles[:, :, 2].min(axis=1) > low + 0.5 * wall
        targets = sample_triangles(triangles[inside], self.count, self.rng)
        return _surroundings(scene, "Barrel", ("barrel",), targets, place, across=across, height=height, wall=wall)


@dataclass(frozen=True, kw_only=True)
class Shelf(_Drawn):
    """A shelf open to the front and back, with a square grid of compartments: targets on all sides of all compartments.

    pose: of the middle of its lower front edge, +x into the shelf, +z up; by default at (front, 0, 0).
    """

    size: Sequence[float] = (0.47, 0.95, 0.87)
    board: float = 0.02
    compartments: int = 2
    front: float = 0.33
    pose: ArrayLike | None = None

    def make(self) -> Surroundings:
        depth, width, height = (float(v) for v in self.size)
        board, compartments = self.board, self.compartments
        if compartments < 1 or (compartments + 1) * board >= min(width, height):
            raise InvalidInputError(
                f"{compartments} compartments with boards of {board} m do not fit {width} x {height} m."
            )
        place = _placed(self.pose, self.front, 0.0, 0.0)
        across = np.linspace(-0.5 * width, 0.5 * width - board, compartments + 1)
        upward = np.linspace(0.0, height - board, compartments + 1)
        boards = [(f"upright_{k}", (depth, board, height), (y + 0.5 * board, 0.5 * height))
                  for k, y in enumerate(across, 1)]  # fmt: skip
        boards += [(f"board_{k}", (depth, width, board), (0.0, z + 0.5 * board)) for k, z in enumerate(upward, 1)]
        scene = Scene()
        for name, size, middle in boards:
            scene.add_box(name, size, place @ transform((0.5 * depth, *middle)), color=_WOOD)
        walls = []
        for y, next_y in zip(across + board, across[1:], strict=False):
            for z, next_z in zip(upward + board, upward[1:], strict=False):
                walls += [
                    _rectangle((0.0, y, z), (depth, 0.0, 0.0), (0.0, next_y - y, 0.0)),
                    _rectangle((0.0, y, next_z), (0.0, next_y - y, 0.0), (depth, 0.0, 0.0)),
                    _rectangle((0.0, y, z), (0.0, 0.0, next_z - z), (depth, 0.0, 0.0)),
                    _rectangle((0.0, next_y, z), (depth, 0.0, 0.0), (0.0, 0.0, next_z - z)),
                ]
        targets = sample_triangles(np.concatenate(walls), self.count, self.rng)
        return _surroundings(scene, "Shelf", scene.names, targets, place, size=(depth, width, height), board=board)


@dataclass(frozen=True, kw_only=True)
class Table(_Drawn):
    """A table with four legs: targets on its top.

    pose: of the point of the floor below the middle of the top, +z up; by default at `centre`.
    """

    size: Sequence[float] = (1.0, 0.96)
    height: float = 0.74
    centre: Sequence[float] = (0.0, 0.98)
    thickness: float = 0.03
    leg: float = 0.06
    pose: ArrayLike | None = None

    def make(self) -> Surroundings:
        (x, y), height = self.size, self.height
        place, top = (
            _placed(self.pose, *self.centre, 0.0),
            _rectangle((-0.5 * x, -0.5 * y, height), (x, 0, 0), (0, y, 0)),
        )
        targets = sample_triangles(top, self.count, self.rng)
        name = type(self).__name__
        return _surroundings(self.scene(place), name, ("top",), targets, place, size=tuple(self.size), height=height)

    def scene(self, place: np.ndarray) -> Scene:
        """The table alone."""
        (width, depth), leg, tall = self.size, self.leg, self.height - self.thickness
        scene, middle = Scene(), transform((0.0, 0.0, self.height - 0.5 * self.thickness))
        scene.add_box("top", (width, depth, self.thickness), place @ middle, color=_WOOD)
        for index, (x, y) in enumerate(((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)), 1):
            corner = (x * 0.5 * (width - leg), y * 0.5 * (depth - leg), 0.5 * tall)
            scene.add_box(f"leg_{index}", (leg, leg, tall), place @ transform(corner), color=_WOOD)
        return scene


@dataclass(frozen=True, kw_only=True)
class SmallTable(Table):
    """A small table, 0.5 x 0.48 m, its top at z = 0.37 m, centred at (0, 0.59)."""

    size: Sequence[float] = (0.5, 0.48)
    height: float = 0.37
    centre: Sequence[float] = (0.0, 0.59)
    leg: float = 0.04


@dataclass(frozen=True, kw_only=True)
class TableObjects(_Drawn):
    """Six cylinders on the small table: targets on their sides and caps.

    pose: of the point of the floor below the middle of the table, +z up; by default at (0, 0.59, 0).
    """

    pose: ArrayLike | None = None

    def make(self) -> Surroundings:
        desk, place = SmallTable(), _placed(self.pose, 0.0, 0.59, 0.0)
        scene, height = desk.scene(place), desk.height
        areas, names = [], []
        for index, (x, y, radius, tall) in enumerate(_CYLINDERS):
            names.append(f"cylinder_{index + 1}")
            middle = place @ transform((x, y, height + 0.5 * tall))
            scene.add_cylinder(names[-1], radius, tall, middle, color=(0.2, 0.4, 0.7, 1.0))
            areas.append((2.0 * math.pi * radius * tall, math.pi * radius * radius))
        generator = np.random.default_rng(self.rng)
        shares = np.array(areas).ravel()
        chosen = generator.choice(len(shares), self.count, p=shares / shares.sum())
        points, normals = np.zeros((self.count, 3)), np.zeros((self.count, 3))
        for target, surface in enumerate(chosen):
            x, y, radius, tall = _CYLINDERS[surface // 2]
            angle, share = generator.uniform(0.0, 2.0 * math.pi), generator.uniform()
            around = np.array([math.cos(angle), math.sin(angle), 0.0])
            if surface % 2 == 0:
                points[target] = (x, y, height + share * tall) + radius * around
                normals[target] = around
            else:
                points[target] = (x, y, height + tall) + radius * math.sqrt(share) * around
                normals[target] = (0.0, 0.0, 1.0)
        return _surroundings(scene, "TableObjects", names, (points, normals), place, cylinders=_CYLINDERS)


@dataclass(frozen=True, kw_only=True)
class Corridor(_Drawn):
    """Two walls, and targets between them for a tool that reaches in from above: roll pi, pitch 0, yaw free.

    The first target is at `target`, with yaw 0; then `count` random ones in the box from `low` to `high`, of random
    yaw.
    plate_link: a link to attach the `plate` to, centred at `plate_pose` there, free to touch the links in `touch`;
    for robots that do not carry it themselves.
    """

    wall: Sequence[float] = (0.6, 0.1, 0.2)
    centre: Sequence[float] = (0.6, 0.0, 0.1)
    offset: float = 0.2
    target: Sequence[float] = (0.6, 0.0, 0.08)
    low: Sequence[float] = (0.45, -0.03, 0.06)
    high: Sequence[float] = (0.75, 0.03, 0.16)
    count: int = 500
    plate_link: str | None = None
    plate: tuple[float, float, float] = (0.35, 0.1, 0.04)
    plate_pose: ArrayLike | None = None
    touch: Sequence[str] = ()

    def make(self) -> Surroundings:
        scene, (x, y, z) = Scene(), self.centre
        for name, side in (("left_wall", self.offset), ("right_wall", -self.offset)):
            scene.add_box(name, self.wall, transform((x, y + side, z)), color=(0.75, 0.75, 0.7, 1.0))
        if self.plate_link is not None:
            plate = Box((self.plate[0], self.plate[1], self.plate[2]))
            scene.attach("plate", plate, link=self.plate_link, pose=self.plate_pose, touch=self.touch)
        generator = np.random.default_rng(self.rng)
        points = np.concatenate([[self.target], generator.uniform(self.low, self.high, (self.count, 3))])
        yaws = np.concatenate([[0.0], generator.uniform(-math.pi, math.pi, self.count)])
        targets = np.array([transform(point, rpy=(math.pi, 0.0, yaw)) for point, yaw in zip(points, yaws, strict=True)])
        gap = 2.0 * self.offset - self.wall[1]
        metadata = {"name": "Corridor", "surfaces": (), "points": points, "free": "yaw", "gap": gap}
        return Surroundings(scene, targets, metadata)


SURROUNDINGS: dict[str, type[_Drawn]] = {
    made.__name__: made
    for made in (HydrogenTank, HydrogenTankSmall, Barrel, Shelf, Table, SmallTable, TableObjects, Corridor)
}
"""All surroundings by name."""


def make_surroundings(name: str, **options: ArrayLike | np.random.Generator | None) -> Surroundings:
    """The surroundings of that name; options as its class has them."""
    if name not in SURROUNDINGS:
        raise UnknownNameError("surroundings", name, "memetik", SURROUNDINGS)
    return SURROUNDINGS[name](**options).make()  # pyright: ignore[reportArgumentType]


hydrogen_tank, hydrogen_tank_small, barrel, shelf, table, small_table, table_objects, corridor = (
    partial(make_surroundings, name) for name in SURROUNDINGS
)


def allow_touch(surroundings: Surroundings, links: Sequence[str]) -> Scene:
    """The scene in which these links, such as the tip of an endoscope, may touch the inspected objects."""
    scene = surroundings.scene.copy()
    for link in links:
        for name in surroundings.metadata["surfaces"]:
            scene.allow(link, name)
    return scene


def revolve(profile: np.ndarray, segments: int, source: str = "") -> TriangleMesh:
    """A closed solid: the profile, points (y, r) from the axis around the outside and back to the axis, turned about y.

    The profile starts and ends on the axis (r = 0) and goes around the matter clockwise, seen with y to the right and r
    upwards; faces then are wound outwards.
    """
    profile = np.asarray(profile, dtype=float)
    angles = 2.0 * math.pi * np.arange(segments) / segments
    around = np.stack([np.cos(angles), np.zeros(segments), np.sin(angles)], axis=1)
    vertices, rings = [], []
    for y, r in profile:
        first = sum(len(part) for part in vertices)
        vertices.append(np.array([[0.0, y, 0.0]]) if r <= 0.0 else (0.0, y, 0.0) + r * around)
        rings.append(first + (np.zeros(segments, dtype=int) if r <= 0.0 else np.arange(segments)))
    faces = []
    for (lower, lower_r), (upper, upper_r) in zip(
        zip(rings, profile[:, 1], strict=True), zip(rings[1:], profile[1:, 1], strict=True), strict=False
    ):
        lower_next, upper_next = np.roll(lower, -1), np.roll(upper, -1)
        if upper_r > 0.0:
            faces.append(np.stack([lower, upper, upper_next], axis=1))
        if lower_r > 0.0:
            faces.append(np.stack([lower, upper_next, lower_next], axis=1))
    return TriangleMesh(np.concatenate(vertices), np.concatenate(faces).astype(np.int32), source)


_WOOD = (0.72, 0.58, 0.4, 1.0)

#   x, y from the middle of the table, radius, height
_CYLINDERS = (
    (-0.16, -0.14, 0.035, 0.09),
    (0.0, -0.15, 0.03, 0.085),
    (0.16, -0.13, 0.04, 0.095),
    (-0.15, 0.12, 0.04, 0.09),
    (0.01, 0.13, 0.035, 0.095),
    (0.16, 0.14, 0.03, 0.09),
)


def _rectangle(corner: Sequence[float], first: Sequence[float], second: Sequence[float]) -> np.ndarray:
    """Two triangles (2, 3, 3) of a rectangle; its normal is first x second."""
    a = np.asarray(corner, dtype=float)
    b, d = a + first, a + second
    c = b + second
    return np.array([[a, b, c], [a, c, d]])


def _clipped(triangles: np.ndarray, low: float, high: float) -> np.ndarray:
    """The parts of triangles (T, 3, 3) between y = low and y = high, cut into triangles."""
    pieces = []
    for triangle in triangles:
        polygon = list(triangle)
        for sign, limit in ((1.0, low), (-1.0, -high)):
            kept = []
            for start, end in zip(polygon, polygon[1:] + polygon[:1], strict=True):
                before, after = sign * start[1] - limit, sign * end[1] - limit
                if before >= 0.0:
                    kept.append(start)
                if (before >= 0.0) != (after >= 0.0):
                    kept.append(start + (end - start) * (before / (before - after)))
            polygon = kept
        pieces += [[polygon[0], polygon[k], polygon[k + 1]] for k in range(1, len(polygon) - 1)]
    return np.array(pieces).reshape(-1, 3, 3)


def _placed(pose: ArrayLike | None, *default: float) -> np.ndarray:
    return transform(default) if pose is None else as_pose(pose)


def _surroundings(
    scene: Scene,
    name: str,
    surfaces: Sequence[str],
    targets: tuple[np.ndarray, np.ndarray],
    place: np.ndarray,
    **more: ArrayLike | Mapping[str, ArrayLike],
) -> Surroundings:
    """Points and normals from the coordinates of `place` to the world's, and poses from them."""
    points, normals = targets[0] @ place[:3, :3].T + place[:3, 3], targets[1] @ place[:3, :3].T
    known = {"name": name, "surfaces": tuple(surfaces), "points": points, "normals": normals, "pose": place, **more}
    return Surroundings(scene, surface_frames(points, normals), known)
