"""Surroundings made by code: tanks, barrel, shelf, tables, corridor, each with targets on its surfaces.

Every function gives `Surroundings`: a scene, target poses (N, 4, 4) and metadata. Targets are drawn uniformly over
the named surfaces with `rng`; the tool's z axis points against the surface normal, its x axis along the world's x as
far as the surface lets it (along the world's y where the normal is within 26 degrees of x). The same arguments give
the same surroundings. Metres.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.robot.transforms import as_pose, transform
from memetik.scene.objects import TriangleMesh
from memetik.scene.scene import Scene

MOVED_TANK_POSE = transform((0.52, 0.66, 0.7), rpy=(0.0, 0.0, math.radians(-40.0))) @ transform(
    rpy=(math.radians(-25.0), 0.0, 0.0)
)
"""Another place for a tank's mouth: turned by 40 degrees about z and pointing 25 degrees down."""


class Surroundings(NamedTuple):
    """A scene, target poses (N, 4, 4), and what is known of them.

    `metadata` has the name, the names of the inspected objects ("surfaces"), points and normals of the targets, and
    the dimensions.
    """

    scene: Scene
    targets: np.ndarray
    metadata: dict[str, Any]


def hydrogen_tank(
    *,
    mouth: float = 0.07,
    pose: Any = None,
    count: int = 1000,
    rng: Any = 0,
    radius: float = 0.083,
    length: float = 1.091,
    wall: float = 0.04,
    neck: float = 0.003,
    neck_wall: float = 0.01,
    reach: tuple[float, float] = (0.08, 0.48),
    segments: int = 36,
) -> Surroundings:
    """A thick-walled pressure vessel with one opening, lying along +y: targets on its inner wall.

    Outside, a cylinder of `radius` and `length` with hemispherical ends; inside, a cavity `wall` thinner with
    concentric ends, so that it ends `wall` before the far end. The neck, `neck` proud of the near end, opens with the
    diameter `mouth` and leads straight into the cavity.
    pose: of the centre of the mouth, +y into the tank; by default at (0, 1.0, 0.5), so that the body is from y =
    1.003 to 2.094.
    reach: targets lie between these depths behind the mouth.
    """
    place = transform((0.0, 1.0, 0.5)) if pose is None else as_pose(pose)
    cavity = radius - wall
    if not 0.0 < 0.5 * mouth < min(cavity, radius - neck_wall) or wall <= 0.0 or length <= 2.0 * radius:
        raise InvalidInputError(
            f"a mouth of {mouth} m does not fit a tank of radius {radius} m with walls of {wall} m."
        )
    profile = _tank_profile(0.5 * mouth, radius, length, cavity, neck, neck_wall)
    mesh = revolve(profile, segments, "hydrogen tank")
    scene = Scene()
    scene.add_mesh("tank", mesh, place, solid=True, color=(0.55, 0.6, 0.65, 1.0))
    triangles = mesh.triangles
    inner = np.hypot(triangles[:, :, 0], triangles[:, :, 2]).max(axis=1) < cavity + 1e-9
    pieces = _clipped(triangles[inner], *reach)
    points, normals = sample_triangles(pieces, count, rng)
    name = "HydrogenTank" if mouth > 0.05 else "HydrogenTankSmall"
    opening = {"centre": place[:3, 3].copy(), "axis": place[:3, 1].copy(), "diameter": mouth}
    return _surroundings(scene, name, ("tank",), points, normals, place, opening=opening, radius=radius, cavity=cavity)


def hydrogen_tank_small(**options: Any) -> Surroundings:
    """The same tank with a mouth of 3.5 cm."""
    return hydrogen_tank(**{"mouth": 0.035, **options})


def barrel(
    *,
    across: float = 0.36,
    height: float = 0.35,
    wall: float = 0.02,
    centre: Sequence[float] = (0.0, 0.5, 0.0),
    pose: Any = None,
    count: int = 1000,
    rng: Any = 0,
) -> Surroundings:
    """A hexagonal barrel, open on top, `across` its outer flats: targets on its inner walls and bottom.

    pose: of the middle of the barrel, +z up; by default at `centre`.
    """
    if not 0.0 < 2.0 * wall < across or not wall < height:
        raise InvalidInputError(f"walls of {wall} m do not fit a barrel of {across} x {height} m.")
    place = transform(tuple(centre)) if pose is None else as_pose(pose)
    to_corner = 1.0 / math.cos(math.pi / 6.0)
    outer, inner = 0.5 * across * to_corner, (0.5 * across - wall) * to_corner
    low, high = -0.5 * height, 0.5 * height
    profile = [(low, 0.0), (low, outer), (high, outer), (high, inner), (low + wall, inner), (low + wall, 0.0)]
    upright = revolve(np.array(profile), 6, "barrel")
    # A revolved profile lies along y; the barrel stands along z.
    mesh = TriangleMesh(upright.vertices @ transform(rpy=(math.pi / 2.0, 0.0, 0.0))[:3, :3].T, upright.faces, "barrel")
    scene = Scene()
    scene.add_mesh("barrel", mesh, place, solid=True, color=(0.7, 0.45, 0.2, 1.0))
    triangles = mesh.triangles
    inside = np.hypot(triangles[:, :, 0], triangles[:, :, 1]).max(axis=1) < inner + 1e-9
    inside &= triangles[:, :, 2].min(axis=1) > low + 0.5 * wall
    points, normals = sample_triangles(triangles[inside], count, rng)
    return _surroundings(scene, "Barrel", ("barrel",), points, normals, place, across=across, height=height, wall=wall)


def shelf(
    *,
    size: Sequence[float] = (0.47, 0.95, 0.87),
    board: float = 0.02,
    compartments: int = 2,
    front: float = 0.33,
    pose: Any = None,
    count: int = 1000,
    rng: Any = 0,
) -> Surroundings:
    """A shelf open to the front and back, with a square grid of compartments: targets on all sides of all compartments.

    pose: of the middle of its lower front edge, +x into the shelf, +z up; by default at (front, 0, 0).
    """
    depth, width, height = (float(v) for v in size)
    if compartments < 1 or (compartments + 1) * board >= min(width, height):
        raise InvalidInputError(
            f"{compartments} compartments with boards of {board} m do not fit {width} x {height} m."
        )
    place = transform((front, 0.0, 0.0)) if pose is None else as_pose(pose)
    scene = Scene()
    across = np.linspace(-0.5 * width, 0.5 * width - board, compartments + 1)
    upward = np.linspace(0.0, height - board, compartments + 1)
    names = []
    for index, y in enumerate(across):
        names.append(f"upright_{index + 1}")
        pose_of = transform((0.5 * depth, y + 0.5 * board, 0.5 * height))
        scene.add_box(names[-1], (depth, board, height), place @ pose_of, color=_WOOD)
    for index, z in enumerate(upward):
        names.append(f"board_{index + 1}")
        scene.add_box(
            names[-1], (depth, width, board), place @ transform((0.5 * depth, 0.0, z + 0.5 * board)), color=_WOOD
        )
    walls = []
    for y, next_y in zip(across + board, across[1:], strict=False):
        for z, next_z in zip(upward + board, upward[1:], strict=False):
            walls += [
                _rectangle((0.0, y, z), (depth, 0.0, 0.0), (0.0, next_y - y, 0.0)),
                _rectangle((0.0, y, next_z), (0.0, next_y - y, 0.0), (depth, 0.0, 0.0)),
                _rectangle((0.0, y, z), (0.0, 0.0, next_z - z), (depth, 0.0, 0.0)),
                _rectangle((0.0, next_y, z), (depth, 0.0, 0.0), (0.0, 0.0, next_z - z)),
            ]
    points, normals = sample_triangles(np.concatenate(walls), count, rng)
    return _surroundings(scene, "Shelf", tuple(names), points, normals, place, size=(depth, width, height), board=board)


def table(
    *,
    size: Sequence[float] = (1.0, 0.96),
    height: float = 0.74,
    centre: Sequence[float] = (0.0, 0.98),
    thickness: float = 0.03,
    leg: float = 0.06,
    pose: Any = None,
    count: int = 1000,
    rng: Any = 0,
    name: str = "Table",
) -> Surroundings:
    """A table with four legs: targets on its top.

    pose: of the point of the floor below the middle of the top, +z up; by default at `centre`.
    """
    place = transform((*centre, 0.0)) if pose is None else as_pose(pose)
    scene = Scene()
    _add_table(scene, place, size, height, thickness, leg)
    points, normals = sample_triangles(
        _rectangle((-0.5 * size[0], -0.5 * size[1], height), (size[0], 0.0, 0.0), (0.0, size[1], 0.0)), count, rng
    )
    return _surroundings(scene, name, ("top",), points, normals, place, size=tuple(size), height=height)


def small_table(**options: Any) -> Surroundings:
    """A small table, 0.5 x 0.48 m, its top at z = 0.37 m, centred at (0, 0.59)."""
    return table(
        **{"size": (0.5, 0.48), "height": 0.37, "centre": (0.0, 0.59), "leg": 0.04, "name": "SmallTable", **options}
    )


def table_objects(*, pose: Any = None, count: int = 1000, rng: Any = 0) -> Surroundings:
    """Six cylinders on the small table: targets on their sides and caps.

    pose: of the point of the floor below the middle of the table, +z up; by default at (0, 0.59, 0).
    """
    height, size = 0.37, (0.5, 0.48)
    place = transform((0.0, 0.59, 0.0)) if pose is None else as_pose(pose)
    scene = Scene()
    _add_table(scene, place, size, height, 0.03, 0.04)
    areas, names = [], []
    for index, (x, y, radius, tall) in enumerate(_CYLINDERS):
        names.append(f"cylinder_{index + 1}")
        scene.add_cylinder(
            names[-1], radius, tall, place @ transform((x, y, height + 0.5 * tall)), color=(0.2, 0.4, 0.7, 1.0)
        )
        areas.append((2.0 * math.pi * radius * tall, math.pi * radius * radius))
    generator = np.random.default_rng(rng)
    shares = np.array(areas).ravel()
    chosen = generator.choice(len(shares), count, p=shares / shares.sum())
    points, normals = np.zeros((count, 3)), np.zeros((count, 3))
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
    return _surroundings(scene, "TableObjects", tuple(names), points, normals, place, cylinders=_CYLINDERS)


def corridor(
    *,
    wall: Sequence[float] = (0.6, 0.1, 0.2),
    centre: Sequence[float] = (0.6, 0.0, 0.1),
    offset: float = 0.2,
    target: Sequence[float] = (0.6, 0.0, 0.08),
    low: Sequence[float] = (0.45, -0.03, 0.06),
    high: Sequence[float] = (0.75, 0.03, 0.16),
    count: int = 500,
    rng: Any = 0,
    plate_link: str | None = None,
    plate: Sequence[float] = (0.35, 0.1, 0.04),
    plate_pose: Any = None,
    touch: Sequence[str] = (),
) -> Surroundings:
    """Two walls, and targets between them for a tool that reaches in from above: roll pi, pitch 0, yaw free.

    The first target is at `target`, with yaw 0; then `count` random ones in the box from `low` to `high`, of random
    yaw.
    plate_link: a link to attach the `plate` to, centred at `plate_pose` there, free to touch the links in `touch`;
    for robots that do not carry it themselves.
    """
    scene = Scene()
    for name, side in (("left_wall", 1.0), ("right_wall", -1.0)):
        scene.add_box(
            name, wall, transform((centre[0], centre[1] + side * offset, centre[2])), color=(0.75, 0.75, 0.7, 1.0)
        )
    if plate_link is not None:
        from memetik.robot.shapes import Box

        scene.attach("plate", Box(tuple(plate)), link=plate_link, pose=plate_pose, touch=touch)  # type: ignore[arg-type]
    generator = np.random.default_rng(rng)
    points = np.concatenate([[target], generator.uniform(low, high, (count, 3))])
    yaws = np.concatenate([[0.0], generator.uniform(-math.pi, math.pi, count)])
    targets = np.array([transform(point, rpy=(math.pi, 0.0, yaw)) for point, yaw in zip(points, yaws, strict=True)])
    metadata = {"name": "Corridor", "surfaces": (), "points": points, "free": "yaw", "gap": 2.0 * offset - wall[1]}
    return Surroundings(scene, targets, metadata)


SURROUNDINGS: dict[str, Callable[..., Surroundings]] = {
    "HydrogenTank": hydrogen_tank,
    "HydrogenTankSmall": hydrogen_tank_small,
    "Barrel": barrel,
    "Shelf": shelf,
    "Table": table,
    "SmallTable": small_table,
    "TableObjects": table_objects,
    "Corridor": corridor,
}
"""All surroundings by name."""


def make_surroundings(name: str, **options: Any) -> Surroundings:
    """The surroundings of that name; options as its function has them."""
    if name not in SURROUNDINGS:
        raise UnknownNameError("surroundings", name, "memetik", SURROUNDINGS)
    return SURROUNDINGS[name](**options)


def allow_touch(surroundings: Surroundings, links: Sequence[str]) -> Scene:
    """The scene in which these links, such as the tip of an endoscope, may touch the inspected objects."""
    scene = surroundings.scene.copy()
    for link in links:
        for name in surroundings.metadata["surfaces"]:
            scene.allow(link, name)
    return scene


def surface_frames(points: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Target poses (N, 4, 4) at points of a surface: z against the normal, x along the world's x, or else y."""
    along = np.where(np.abs(normals[:, :1]) < 0.9, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    x = along - np.sum(along * normals, axis=1, keepdims=True) * normals
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    poses = np.tile(np.eye(4), (len(points), 1, 1))
    poses[:, :3, 0], poses[:, :3, 1], poses[:, :3, 2], poses[:, :3, 3] = x, np.cross(x, normals), -normals, points
    return poses


def sample_triangles(triangles: np.ndarray, count: int, rng: Any = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points (count, 3) uniform over triangles (T, 3, 3), and the triangles' normals there."""
    generator = np.random.default_rng(rng)
    cross = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    area = np.linalg.norm(cross, axis=1)
    chosen = generator.choice(len(triangles), count, p=area / area.sum())
    u, v = np.sqrt(generator.uniform(size=(count, 1))), generator.uniform(size=(count, 1))
    a, b, c = np.moveaxis(triangles[chosen], 1, 0)
    return (1.0 - u) * a + u * (1.0 - v) * b + u * v * c, cross[chosen] / area[chosen, None]


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


def _tank_profile(
    mouth: float, radius: float, length: float, cavity: float, neck: float, neck_wall: float
) -> np.ndarray:
    """Points (y, r) from the far end of the cavity through the mouth (y = 0) and around the outside."""
    near, far = neck + radius, neck + length - radius  # centres of the ends' spheres
    shoulder = math.acos(mouth / cavity)
    root = math.acos((mouth + neck_wall) / radius)

    def arc(centre: float, size: float, start: float, end: float, count: int) -> list[tuple[float, float]]:
        """Points of a quarter circle; angles from the direction across the axis, positive towards +y."""
        return [(centre + size * math.sin(a), size * math.cos(a)) for a in np.linspace(start, end, count)]

    inside = arc(far, cavity, math.pi / 2.0, 0.0, 8)
    inside += [(y, cavity) for y in np.linspace(far, near, 21)[1:]]
    inside += arc(near, cavity, 0.0, -shoulder, 5)[1:]
    inside += [(y, mouth) for y in np.linspace(inside[-1][0], 0.0, 4)[1:]]
    outside = [(0.0, mouth + neck_wall)]
    outside += arc(near, radius, -root, 0.0, 9)
    outside += [(y, radius) for y in np.linspace(near, far, 11)[1:]]
    outside += arc(far, radius, 0.0, math.pi / 2.0, 11)[1:]
    profile = np.array(inside + outside)
    profile[[0, -1], 1] = 0.0
    return profile


def _add_table(
    scene: Scene, place: np.ndarray, size: Sequence[float], height: float, thickness: float, leg: float
) -> None:
    scene.add_box(
        "top", (size[0], size[1], thickness), place @ transform((0.0, 0.0, height - 0.5 * thickness)), color=_WOOD
    )
    tall = height - thickness
    for index, (x, y) in enumerate(((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))):
        corner = (x * 0.5 * (size[0] - leg), y * 0.5 * (size[1] - leg), 0.5 * tall)
        scene.add_box(f"leg_{index + 1}", (leg, leg, tall), place @ transform(corner), color=_WOOD)


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


def _surroundings(
    scene: Scene,
    name: str,
    surfaces: tuple[str, ...],
    points: np.ndarray,
    normals: np.ndarray,
    place: np.ndarray,
    **more: Any,
) -> Surroundings:
    """Points and normals from the coordinates of `place` to the world's, and poses from them."""
    points, normals = points @ place[:3, :3].T + place[:3, 3], normals @ place[:3, :3].T
    metadata = {"name": name, "surfaces": surfaces, "points": points, "normals": normals, "pose": place, **more}
    return Surroundings(scene, surface_frames(points, normals), metadata)
