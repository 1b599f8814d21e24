"""A robot's collision geometry as spheres and capsules on its axes, in the arrays that the core wants."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from memetik import _core
from memetik.errors import MemetikError
from memetik.geometry.core_shapes import needs_field, object_spec
from memetik.geometry.distance_field import DistanceField
from memetik.geometry.shapes import Mesh, SceneShape, Shape, TriangleMesh
from memetik.geometry.sphere_fit import Fit, fit_shape
from memetik.geometry.tessellate import as_mesh

if TYPE_CHECKING:
    from memetik.robot.description import Geometry, Link
    from memetik.robot.robot import Robot
    from memetik.scene.scene_object import SceneObject

Setting = Literal["conservative", "tight"]

_THREADS = 2
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

    core: _core.CollisionRobot
    names: tuple[str, ...]
    """Per group, then per link object: the link or attached object it belongs to."""
    axes: tuple[int, ...]
    """Per group: the axis that moves it, -1 for the base."""
    pair_names: tuple[tuple[str, str], ...]
    """Per pair of groups, or of a group and a link object, that is kept apart: the two names."""
    least_radius: float
    report: tuple[LinkReport, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FittedShape:
    """A geometry on a link: its shape at `pose` there, and the bodies that cover it, in the link's frame.

    Shapes that are their own bodies are put together where they are on one link; `shape` is None then.
    """

    name: str
    link: int
    shape: SceneShape | None
    pose: np.ndarray
    fit: Fit
    padding: float

    @property
    def is_exact(self) -> bool:
        """Whether the bodies are the shape itself."""
        return self.fit.protrusion == 0.0


def default_protrusion(shape: SceneShape) -> float:
    """A fiftieth of a primitive's largest extent, from 2 to 8 mm; a fortieth of a mesh's, from 4 to 8 mm."""
    if isinstance(shape, TriangleMesh):
        return float(np.clip(np.ptp(shape.vertices, axis=0).max() / 40.0, 0.004, 0.008))
    sizes = [np.max(getattr(shape, name)) for name in ("radius", "length", "size") if hasattr(shape, name)]
    return float(np.clip(max(sizes, default=0.2) / 50.0, 0.002, 0.008))


def fit_links(robot: Robot, padding: Mapping[str, float], protrusion: float | None) -> list[FittedShape]:
    """The collision geometry of all links, fitted, two shapes at a time."""
    listed = [(index, link, item) for index, link in enumerate(robot.description.links) for item in link.collisions]

    def fitted(one: tuple[int, Link, Geometry]) -> FittedShape:
        index, link, item = one
        return _fitted(link.name, index, item.shape, np.asarray(item.origin), padding.get(link.name, 0.0), protrusion)

    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(fitted, listed))


def fit_attached(robot: Robot, item: SceneObject, protrusion: float | None) -> FittedShape:
    """An object that is attached to a link, fitted."""
    assert item.link is not None
    return _fitted(item.name, robot.link_index(item.link), item.shape, item.pose, item.padding, protrusion)


def _fitted(
    name: str, link: int, shape: Shape | SceneShape, pose: np.ndarray, padding: float, protrusion: float | None
) -> FittedShape:
    shape = as_mesh(shape) if isinstance(shape, Mesh) else shape
    limit = default_protrusion(shape) if protrusion is None else protrusion
    return FittedShape(name, link, shape, pose, fit_shape(shape, limit).moved(pose), padding)


def build_bodies(
    robot: Robot, setting: Setting, shapes: list[FittedShape], checks: Callable[[str, str], bool]
) -> RobotBodies:
    """The native model of these shapes; checks(name, name) tells which are to be kept apart."""
    builder = _Builder(robot, setting)
    merged = _merged(shapes)
    groups_of = [builder.add(shape) for shape in merged]
    pairs, objects = builder.pairs(merged, groups_of, checks)
    link_objects = [
        _core.LinkObjectSpec(object=builder.link_object(shape), axis=builder.axis(shape), link=shape.link)
        for shape in objects
    ]
    chain = sorted(builder.chain, key=lambda body: (body.arc, body.group, body.body))
    bodies, groups = builder.bodies(), builder.groups
    core = _core.CollisionRobot(bodies=bodies, groups=groups, link_objects=link_objects, pairs=pairs, chain=chain)
    names = (*builder.names, *(shape.name for shape in objects))
    axes = tuple(group.axis for group in builder.groups)
    least = min((float(shape.fit.radii.min()) + shape.padding for shape in shapes), default=0.01)
    return RobotBodies(core, names, axes, tuple((names[a], names[b]) for a, b in pairs), least, _report(shapes))


class _Builder:
    """Collects the bodies of a robot group by group."""

    def __init__(self, robot: Robot, setting: Setting):
        self.groups: list[_core.GroupSpec] = []
        self.names: list[str] = []
        self.chain: list[_core.ChainBody] = []
        self._robot = robot
        self._setting: Setting = setting
        self._chain_frames = _chain_frames(robot)
        self._starts: list[np.ndarray] = []
        self._ends: list[np.ndarray] = []
        self._radii: list[float] = []

    def axis(self, shape: FittedShape) -> int:
        return int(self._robot.tree.link_axes[shape.link])

    def link_object(self, shape: FittedShape) -> _core.ObjectSpec:
        """The shape as one object, in the frame of the axis that moves it."""
        assert shape.shape is not None
        placement = self._robot.tree.link_placements[shape.link] @ shape.pose
        field = _link_field(shape.shape) if needs_field(shape.shape) else None
        return object_spec(shape.shape, placement, shape.padding, field)

    def bodies(self) -> list[_core.BodySpec]:
        starts, ends = (np.array(rows, dtype=float).reshape(-1, 3) for rows in (self._starts, self._ends))
        radii = np.array(self._radii, dtype=float)
        samples, sample_radii = _samples(np.linalg.norm(ends - starts, axis=1), radii, self._setting)
        columns = (column.tolist() for column in (starts, ends, radii, samples, sample_radii))
        names = ("start", "end", "radius", "samples", "sample_radius")
        return [_core.BodySpec(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]

    def add(self, shape: FittedShape) -> list[int]:
        """Add the bodies of a shape in groups of neighbours; the groups' numbers."""
        fit, placement = shape.fit, self._robot.tree.link_placements[shape.link]
        radii = (fit.radii + _TOUCH if self._setting == "conservative" else fit.inner) + shape.padding
        kept = np.flatnonzero(radii > 0.0)
        starts, ends, radii = fit.starts[kept], fit.ends[kept], radii[kept]
        distal = self._chain_frames.get(shape.link)
        if distal is not None:  # sample 0 is the one nearer to the tip
            swap = np.linalg.norm(ends - distal[1], axis=1) < np.linalg.norm(starts - distal[1], axis=1)
            starts, ends = np.where(swap[:, None], ends, starts), np.where(swap[:, None], starts, ends)
        numbers: list[int] = []
        for cluster in _clusters(0.5 * (starts + ends)):
            group, first = len(self.groups), len(self._radii)
            for k in cluster:
                if distal is not None:
                    arc = distal[0] + float(np.linalg.norm(starts[k] - distal[1]))
                    self.chain.append(_core.ChainBody(group=group, body=len(self._radii), arc=arc))
                self._starts.append(placement[:, :3] @ starts[k] + placement[:, 3])
                self._ends.append(placement[:, :3] @ ends[k] + placement[:, 3])
                self._radii.append(float(radii[k]))
            axis = self.axis(shape)
            self.groups.append(_core.GroupSpec(axis=axis, link=shape.link, first=first, count=len(cluster)))
            self.names.append(shape.name)
            numbers.append(group)
        return numbers

    def pairs(
        self, shapes: list[FittedShape], groups_of: list[list[int]], checks: Callable[[str, str], bool]
    ) -> tuple[list[tuple[int, int]], list[FittedShape]]:
        """Pairs (group, group or object after the groups), and the shapes that are objects in them.

        Of two shapes the one whose bodies fit better takes part with them, the other with its shape; where the bodies
        are the shape in both, both do.
        """
        pairs: list[tuple[int, int]] = []
        numbers: dict[int, int] = {}
        objects: list[FittedShape] = []
        for i, first in enumerate(shapes):
            for j in range(i + 1, len(shapes)):
                second = shapes[j]
                if self.axis(first) == self.axis(second) or not checks(first.name, second.name):
                    continue
                if first.is_exact and second.is_exact:
                    pairs += [(a, b) for a in groups_of[i] for b in groups_of[j]]
                    continue
                coarse_first = (first.fit.protrusion, len(first.fit)) > (second.fit.protrusion, len(second.fit))
                whole = i if coarse_first else j
                if whole not in numbers:
                    numbers[whole] = len(self.groups) + len(objects)
                    objects.append(shapes[whole])
                pairs += [(a, numbers[whole]) for a in groups_of[i + j - whole]]
        return pairs, objects


def _merged(shapes: list[FittedShape]) -> list[FittedShape]:
    """Shapes of one name that are their own bodies as one, the others as they are."""
    together: dict[tuple[str, int, float], list[Fit]] = {}
    parts: list[FittedShape] = []
    for shape in shapes:
        if shape.is_exact:
            together.setdefault((shape.name, shape.link, shape.padding), []).append(shape.fit)
        else:
            parts.append(shape)
    for (name, link, padding), fits in together.items():
        starts, ends = np.concatenate([fit.starts for fit in fits]), np.concatenate([fit.ends for fit in fits])
        radii = np.concatenate([fit.radii for fit in fits])
        parts.append(FittedShape(name, link, None, np.eye(4), Fit(starts, ends, radii, radii), padding))
    return parts


def _link_field(shape: SceneShape) -> DistanceField:
    """The field of a link's mesh: as fine as its fit."""
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
    pending, done = [np.arange(len(points))], list[np.ndarray]()
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
    frames: dict[int, tuple[float, np.ndarray]] = {}
    arc, point = 0.0, np.zeros(3)
    while link is not None:
        frames[robot.link_index(link)] = (arc, point)
        joint = robot.parent_joint(link)
        if joint is None:
            break
        arc += float(np.linalg.norm(point))
        point = np.asarray(joint.origin)[:3, 3]
        link = robot.parent(link)
    return frames


def _report(shapes: list[FittedShape]) -> tuple[LinkReport, ...]:
    by_name: dict[str, list[Fit]] = {}
    for shape in shapes:
        by_name.setdefault(shape.name, []).append(shape.fit)
    reports = list[LinkReport]()
    for name, fits in by_name.items():
        coverage = math.fsum(fit.coverage for fit in fits) / len(fits)
        protrusion = max(fit.protrusion for fit in fits)
        reports.append(LinkReport(name, sum(map(len, fits)), coverage, protrusion))
    return tuple(reports)
