"""A robot's collision geometry as spheres and capsules on its axes, in the arrays that the core wants."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from memetik import _core
from memetik.errors import MemetikError
from memetik.robot.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from memetik.scene.field import DistanceField
from memetik.scene.objects import Plane, PointCloud
from memetik.scene.spheres import Fit, as_mesh, fit_shape

if TYPE_CHECKING:
    from memetik.robot.robot import Robot
    from memetik.scene.objects import SceneObject

Setting = Literal["conservative", "tight"]

_CLUSTER = 12  # bodies that share a bounding sphere
_TOUCH = 1e-5  # bodies nearer than this count as touching, whatever the rounding of exact checks
_SAMPLE_SHARE = 0.077  # protrusion of samples of a capsule, as a share of its radius: a spacing of 0.8 radii
_MOST_SAMPLE_PROTRUSION = 0.001


@dataclass(frozen=True, slots=True)
class LinkReport:
    """How well bodies stand for the geometry of a link, or of an object attached to one.

    `coverage` is the share of the geometry that is covered, `protrusion` how far bodies reach beyond it, metres.
    """

    name: str
    bodies: int
    coverage: float
    protrusion: float


@dataclass(frozen=True, slots=True, eq=False)
class RobotBodies:
    """The native model of a robot's bodies, and what its groups stand for."""

    core: Any
    names: tuple[str, ...]
    """Per group, then per link object: the link or attached object it belongs to."""
    axes: np.ndarray
    """Per group: the axis that moves it, -1 for the base."""
    least_radius: float
    report: tuple[LinkReport, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A geometry on a link: its shape at `pose` there, and the bodies that cover it, in the link's frame."""

    name: str
    link: int
    shape: Any
    pose: np.ndarray
    fit: Fit
    padding: float

    @property
    def is_exact(self) -> bool:
        """Whether the bodies are the shape itself."""
        return self.fit.protrusion == 0.0


def default_protrusion(shape: Any) -> float:
    """A fiftieth of a primitive's largest extent, from 2 to 8 mm; a fortieth of a mesh's, from 4 to 8 mm."""
    vertices = getattr(shape, "vertices", None)
    if vertices is not None:
        return float(np.clip(np.ptp(vertices, axis=0).max() / 40.0, 0.004, 0.008))
    sizes = [np.max(getattr(shape, name)) for name in ("radius", "length", "size") if hasattr(shape, name)]
    return float(np.clip(max(sizes, default=0.2) / 50.0, 0.002, 0.008))


def robot_pieces(robot: Robot, padding: Mapping[str, float], protrusion: float | None) -> list[Piece]:
    """The collision geometry of all links, fitted."""
    return [
        _piece(link.name, index, geometry.shape, np.asarray(geometry.origin), padding.get(link.name, 0.0), protrusion)
        for index, link in enumerate(robot.description.links)
        for geometry in link.collisions
    ]


def attached_piece(robot: Robot, item: SceneObject, protrusion: float | None) -> Piece:
    """An object that is attached to a link, fitted."""
    assert item.link is not None
    return _piece(item.name, robot.link_index(item.link), item.shape, item.pose, item.padding, protrusion)


def _piece(name: str, link: int, shape: Any, pose: np.ndarray, padding: float, protrusion: float | None) -> Piece:
    if isinstance(shape, Mesh):
        from memetik.scene.mesh_files import load_mesh

        shape = load_mesh(shape)
    limit = default_protrusion(shape) if protrusion is None else protrusion
    return Piece(name, link, shape, pose, fit_shape(shape, limit).moved(pose), padding)


class BodyBuilder:
    """Collects the bodies of a robot group by group."""

    def __init__(self, robot: Robot, setting: Setting):
        self._robot = robot
        self._setting: Setting = setting
        self._chain = _chain_frames(robot)
        self._starts: list[np.ndarray] = []
        self._ends: list[np.ndarray] = []
        self._radii: list[float] = []
        self._groups: list[tuple[int, int, int, int]] = []
        self._names: list[str] = []
        self._arcs: list[tuple[float, int, int]] = []

    def build(self, pieces: list[Piece], checks: Callable[[str, str], bool]) -> RobotBodies:
        """The native model of these pieces; checks(name, name) tells which are to be kept apart."""
        parts = _merged(pieces)
        groups_of = [self._add(part) for part in parts]
        starts, ends = (np.array(rows, dtype=float).reshape(-1, 3) for rows in (self._starts, self._ends))
        radii = np.array(self._radii, dtype=float)
        samples, sample_radii = _samples(np.linalg.norm(ends - starts, axis=1), radii, self._setting)
        groups = np.array(self._groups, dtype=np.int32).reshape(-1, 4)
        pairs, objects = self._pairs(parts, groups_of, checks)
        arcs = sorted(self._arcs)
        core = _core.CollisionRobot.build(
            starts,
            ends,
            radii,
            samples,
            sample_radii,
            groups,
            np.array([(self._axis(piece), piece.link) for piece in objects], dtype=np.int32).reshape(-1, 2),
            *object_arrays([(p.shape, self._placement(p), p.padding, None) for p in objects], _link_field),
            np.array(pairs, dtype=np.int32).reshape(-1, 2),
            np.array([row[1:] for row in arcs], dtype=np.int32).reshape(-1, 2),
            np.array([row[0] for row in arcs], dtype=float),
        )
        names = (*self._names, *(piece.name for piece in objects))
        least = min((float(piece.fit.radii.min()) + piece.padding for piece in pieces), default=0.01)
        return RobotBodies(core, names, groups[:, 0], least, _report(pieces))

    def _axis(self, piece: Piece) -> int:
        return int(self._robot.tree.link_axes[piece.link])

    def _placement(self, piece: Piece) -> np.ndarray:
        """(3, 4): the shape in the frame of the axis that moves it."""
        return self._robot.tree.link_placements[piece.link] @ piece.pose

    def _add(self, piece: Piece) -> list[int]:
        """Add the bodies of a piece in groups of neighbours; the groups' numbers."""
        fit, placement = piece.fit, self._robot.tree.link_placements[piece.link]
        radii = (fit.radii + _TOUCH if self._setting == "conservative" else fit.inner) + piece.padding
        kept = np.flatnonzero(radii > 0.0)
        starts, ends, radii = fit.starts[kept], fit.ends[kept], radii[kept]
        distal = self._chain.get(piece.link)
        if distal is not None:  # sample 0 is the one nearer to the tip
            swap = np.linalg.norm(ends - distal[1], axis=1) < np.linalg.norm(starts - distal[1], axis=1)
            starts, ends = np.where(swap[:, None], ends, starts), np.where(swap[:, None], starts, ends)
        numbers = []
        for cluster in _clusters(0.5 * (starts + ends)):
            group, first = len(self._groups), len(self._radii)
            for k in cluster:
                if distal is not None:
                    arc = distal[0] + float(np.linalg.norm(starts[k] - distal[1]))
                    self._arcs.append((arc, group, len(self._radii)))
                self._starts.append(placement[:, :3] @ starts[k] + placement[:, 3])
                self._ends.append(placement[:, :3] @ ends[k] + placement[:, 3])
                self._radii.append(float(radii[k]))
            self._groups.append((self._axis(piece), piece.link, first, len(cluster)))
            self._names.append(piece.name)
            numbers.append(group)
        return numbers

    def _pairs(
        self, pieces: list[Piece], groups_of: list[list[int]], checks: Callable[[str, str], bool]
    ) -> tuple[list[tuple[int, int]], list[Piece]]:
        """Pairs (group, group or object after the groups), and the pieces that are objects in them.

        Of two pieces the one whose bodies fit better takes part with them, the other with its shape; where the bodies
        are the shape in both, both do.
        """
        pairs: list[tuple[int, int]] = []
        numbers: dict[int, int] = {}
        objects: list[Piece] = []
        for i, first in enumerate(pieces):
            for j in range(i + 1, len(pieces)):
                second = pieces[j]
                if self._axis(first) == self._axis(second) or not checks(first.name, second.name):
                    continue
                if first.is_exact and second.is_exact:
                    pairs += [(a, b) for a in groups_of[i] for b in groups_of[j]]
                    continue
                coarse_first = (first.fit.protrusion, len(first.fit)) > (second.fit.protrusion, len(second.fit))
                whole = i if coarse_first else j
                if whole not in numbers:
                    numbers[whole] = len(self._groups) + len(objects)
                    objects.append(pieces[whole])
                pairs += [(a, numbers[whole]) for a in groups_of[i + j - whole]]
        return pairs, objects


def _merged(pieces: list[Piece]) -> list[Piece]:
    """Pieces of one name that are their own bodies as one piece, the others as they are."""
    together: dict[tuple[str, int, float], list[Piece]] = {}
    parts = []
    for piece in pieces:
        if piece.is_exact:
            together.setdefault((piece.name, piece.link, piece.padding), []).append(piece)
        else:
            parts.append(piece)
    for (name, link, padding), same in together.items():
        starts, ends = np.concatenate([p.fit.starts for p in same]), np.concatenate([p.fit.ends for p in same])
        radii = np.concatenate([p.fit.radii for p in same])
        parts.append(Piece(name, link, None, np.eye(4), Fit(starts, ends, radii, radii), padding))
    return parts


_OBJECT_KINDS = {"sphere": 0, "box": 1, "capsule": 2, "cylinder": 3, "half_space": 4, "field": 5}


def object_arrays(items: list[tuple[Any, np.ndarray, float, Any]], field: Callable[[Any, Any], Any]) -> tuple[Any, ...]:
    """Objects (shape, pose (3, 4), padding, context) as the core wants them: kinds, poses, sizes, paddings, fields.

    field(shape, context) gives the distance field of shapes that are no primitive.
    """
    described = [_primitive(shape) for shape, *_ in items]
    fields = [
        field(shape, context).core if kind == "field" else None
        for (kind, _), (shape, _, _, context) in zip(described, items, strict=True)
    ]
    return (
        np.array([_OBJECT_KINDS[kind] for kind, _ in described], dtype=np.int32),
        np.array([item[1] for item in items], dtype=float).reshape(-1, 3, 4),
        np.array([size for _, size in described], dtype=float).reshape(-1, 3),
        np.array([item[2] for item in items], dtype=float),
        fields,
    )


def _primitive(shape: Any) -> tuple[str, tuple[float, float, float]]:
    """Kind and size of a shape as the core has it."""
    if isinstance(shape, Box):
        x, y, z = shape.size
        return "box", (0.5 * x, 0.5 * y, 0.5 * z)
    if isinstance(shape, Sphere):
        return "sphere", (shape.radius, 0.0, 0.0)
    if isinstance(shape, Capsule):
        return "capsule", (shape.radius, 0.0, 0.5 * shape.length)
    if isinstance(shape, Cylinder):
        return "cylinder", (shape.radius, 0.0, 0.5 * shape.length)
    if isinstance(shape, Plane):
        return "half_space", (0.0, 0.0, 0.0)
    return "field", (0.0, 0.0, 0.0)


def _link_field(shape: Any, _: Any) -> DistanceField:
    """The field of a link's mesh: as fine as its fit."""
    if isinstance(shape, PointCloud):
        return DistanceField.from_points(shape.points, shape.radius)
    mesh = as_mesh(shape)
    return DistanceField.of_mesh(mesh, max(default_protrusion(mesh), float(np.ptp(mesh.bounds, axis=0).max()) / 200))


def _samples(lengths: np.ndarray, radii: np.ndarray, setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """How many spheres stand for each capsule where it meets a distance field, and their radius.

    Spheres of radius sqrt(r^2 + (s/2)^2) at a spacing s cover a capsule of radius r.
    """
    protrusion = np.minimum(_SAMPLE_SHARE * radii, _MOST_SAMPLE_PROTRUSION)
    spacing = 2.0 * np.sqrt((radii + protrusion) ** 2 - radii**2)
    samples = np.where(lengths > 0.0, np.ceil(lengths / np.maximum(spacing, 1e-9)) + 1, 1).astype(np.int32)
    gap = np.where(samples > 1, lengths / np.maximum(samples - 1, 1), 0.0)
    covering = np.hypot(radii, 0.5 * gap) if setting == "conservative" else radii
    return samples, np.ascontiguousarray(covering)


def _clusters(points: np.ndarray) -> list[np.ndarray]:
    """Numbers of points (N, 3) in clusters: halved at the median along the widest direction while too large."""
    pending, done = [np.arange(len(points))], []
    while pending:
        numbers = pending.pop()
        if len(numbers) <= _CLUSTER:
            if len(numbers):
                done.append(numbers)
            continue
        axis = int(np.argmax(np.ptp(points[numbers], axis=0)))
        order = numbers[np.argsort(points[numbers, axis], kind="stable")]
        pending += [order[len(order) // 2 :], order[: len(order) // 2]]
    return done


def _chain_frames(robot: Robot) -> dict[int, tuple[float, np.ndarray]]:
    """For each link from the tip to the base: the arc length from the tip to its distal point, and that point.

    A link's distal point is the origin of the next link towards the tip; the tip's is its own origin. Empty where the
    robot has no single tip.
    """
    try:
        link: str | None = robot.tip
    except MemetikError:
        return {}
    frames, arc, point = {}, 0.0, np.zeros(3)
    while link is not None:
        frames[robot.link_index(link)] = (arc, point)
        joint = robot.parent_joint(link)
        if joint is None:
            break
        arc += float(np.linalg.norm(point))
        point = np.asarray(joint.origin)[:3, 3]
        link = robot.parent(link)
    return frames


def _report(pieces: list[Piece]) -> tuple[LinkReport, ...]:
    by_name: dict[str, list[Fit]] = {}
    for piece in pieces:
        by_name.setdefault(piece.name, []).append(piece.fit)
    return tuple(
        LinkReport(
            name,
            sum(len(fit) for fit in fits),
            math.fsum(fit.coverage for fit in fits) / len(fits),
            max(fit.protrusion for fit in fits),
        )
        for name, fits in by_name.items()
    )
