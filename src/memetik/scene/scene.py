"""The world around a robot: named objects, what is attached to links, which pairs may touch.

A `Scene` changes cheaply: every object is an immutable record and a change replaces one of them. `snapshot()` gives the
scene as it is now, unaffected by later changes; whatever is expensive to derive from a shape is kept per shape, not
here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from memetik.errors import GeometryError, InvalidInputError, UnknownNameError
from memetik.robot.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from memetik.robot.transforms import as_pose
from memetik.scene.objects import (
    SHAPES,
    Cone,
    HeightMap,
    Plane,
    PointCloud,
    SceneObject,
    SceneShape,
    TriangleMesh,
    VoxelMap,
    as_names,
)

_versions = itertools.count(1)

Pose = Any
"""A 4x4 array or what `memetik.transform` and scipy make; None for the identity."""


@dataclass(frozen=True, slots=True)
class SceneSnapshot:
    """A scene at one moment. `version` names this content: no two different contents of a process share one."""

    objects: Mapping[str, SceneObject]
    allowed: frozenset[tuple[str, str]]
    version: int


class Scene:
    """Named objects in the world and on links. Metres; poses take an object's coordinates to the world's.

    Every object has a name of its own, can be moved, removed, attached to a link and detached. `padding` grows it.
    A scene pickles, copies cheaply and compares by content.
    """

    def __init__(self, objects: Iterable[SceneObject] = (), *, allowed: Iterable[tuple[str, str]] = ()):
        self._objects: dict[str, SceneObject] = {}
        self._allowed: frozenset[tuple[str, str]] = frozenset()
        self._snapshot: SceneSnapshot | None = None
        self._version = next(_versions)
        for item in objects:
            self._insert(item)
        for first, second in allowed:
            self.allow(first, second)

    # adding

    def add(
        self,
        name: str,
        shape: SceneShape | Mesh,
        pose: Pose = None,
        *,
        padding: float = 0.0,
        solid: bool | None = None,
        color: Sequence[float] | None = None,
    ) -> SceneObject:
        """Add an object of any shape."""
        return self._insert(_record(name, shape, pose, padding, solid, color))

    def add_box(self, name: str, size: Sequence[float], pose: Pose = None, **options: Any) -> SceneObject:
        """A box of full edge lengths `size` = (x, y, z), centred at its pose."""
        return self.add(name, Box(tuple(size)), pose, **options)  # type: ignore[arg-type]

    def add_sphere(self, name: str, radius: float, pose: Pose = None, **options: Any) -> SceneObject:
        """A sphere of `radius`, centred at its pose."""
        return self.add(name, Sphere(radius), pose, **options)

    def add_cylinder(self, name: str, radius: float, length: float, pose: Pose = None, **options: Any) -> SceneObject:
        """A cylinder of full `length` along its z, centred at its pose."""
        return self.add(name, Cylinder(radius, length), pose, **options)

    def add_capsule(self, name: str, radius: float, length: float, pose: Pose = None, **options: Any) -> SceneObject:
        """A capsule: all within `radius` of a segment of `length` along its z, centred at its pose."""
        return self.add(name, Capsule(radius, length), pose, **options)

    def add_cone(self, name: str, radius: float, length: float, pose: Pose = None, **options: Any) -> SceneObject:
        """A cone along its z, base at -length/2 and apex at +length/2."""
        return self.add(name, Cone(radius, length), pose, **options)

    def add_plane(
        self, name: str, normal: Sequence[float] = (0.0, 0.0, 1.0), offset: float = 0.0, **options: Any
    ) -> SceneObject:
        """The half-space {x: normal . x <= offset}, solid; by default the floor z <= 0."""
        return self.add(name, Plane(), plane_pose(normal, offset), **options)

    def add_mesh(
        self,
        name: str,
        mesh: Any,
        pose: Pose = None,
        *,
        scale: float | Sequence[float] = 1.0,
        **options: Any,
    ) -> SceneObject:
        """A triangle mesh: the path of a file (STL, OBJ, DAE, GLB, glTF, PLY), a `TriangleMesh`, or any object with
        `vertices` and `faces`. The file is read now; later changes to it do not reach the scene.

        `solid`: True, False, or None for what the surface says (closed: its inside counts as occupied; open: a shell).
        """
        return self.add(name, _triangle_mesh(mesh, scale), pose, **options)

    def add_heightmap(
        self,
        name: str,
        heights: Any,
        size: Sequence[float],
        pose: Pose = None,
        *,
        base: float | None = None,
        **options: Any,
    ) -> SceneObject:
        """Ground of `heights` (nx, ny) over a rectangle of `size` (x, y) about its pose, solid down to z = base."""
        return self.add(name, HeightMap(heights, tuple(size), base), pose, **options)  # type: ignore[arg-type]

    def add_points(self, name: str, points: Any, radius: float, pose: Pose = None, **options: Any) -> SceneObject:
        """A point cloud (N, 3), or the path of a PLY or PCD file; every point is a ball of `radius`."""
        if isinstance(points, str) or hasattr(points, "__fspath__"):
            from memetik.scene.mesh_files import load_points

            points = load_points(points)
        return self.add(name, PointCloud(points, radius), pose, **options)

    def add_voxels(
        self,
        name: str,
        occupied: Any,
        size: float,
        pose: Pose = None,
        *,
        origin: Sequence[float] = (0.0, 0.0, 0.0),
        **options: Any,
    ) -> SceneObject:
        """Occupied cells (nx, ny, nz) of edge `size`; the grid's lowest corner is at `origin` of its pose."""
        return self.add(name, VoxelMap(occupied, size, tuple(origin)), pose, **options)  # type: ignore[arg-type]

    # changing

    def move(self, name: str, pose: Pose) -> SceneObject:
        """Give an object a new pose (in its link's coordinates where it is attached)."""
        return self._put(replace(self[name], pose=_pose(pose, name)))

    def replace(self, name: str, shape: SceneShape | Mesh) -> SceneObject:
        """Give an object another shape, all else kept."""
        return self._put(replace(self[name], shape=_shape(shape)))

    def set_padding(self, name: str, padding: float) -> SceneObject:
        """Grow an object by `padding` metres on all sides."""
        return self._put(replace(self[name], padding=_padding(padding, name)))

    def set_color(self, name: str, color: Sequence[float] | None) -> SceneObject:
        """Give an object a colour (red, green, blue, opacity), each from 0 to 1."""
        return self._put(replace(self[name], color=_color(color, name)))

    def remove(self, name: str) -> SceneObject:
        """Take an object out of the scene, and the pairs it was allowed in; gives its record."""
        record = self[name]
        objects = self._own()
        del objects[name]
        self._allowed = frozenset(pair for pair in self._allowed if name not in pair)
        return record

    def clear(self) -> None:
        """Remove all objects and allowed pairs."""
        self._own().clear()
        self._allowed = frozenset()

    def attach(
        self,
        name: str,
        shape: SceneShape | Mesh | None = None,
        *,
        link: str,
        pose: Pose = None,
        touch: str | Sequence[str] = (),
        padding: float | None = None,
        solid: bool | None = None,
        color: Sequence[float] | None = None,
    ) -> SceneObject:
        """Fix an object to a link, at `pose` in the link's coordinates; it may touch that link and the links in
        `touch`.

        With a shape, a new object; without one, the object of that name, which leaves the world
        (say its pose on the link: `inverse(robot.pose(link, q)) @ scene["cup"].pose` for a grasp at q).
        """
        if not isinstance(link, str) or not link:
            raise InvalidInputError(f"link= of attach must be the name of a link, not {link!r}.")
        if isinstance(shape, Plane) or (shape is None and isinstance(self[name].shape, Plane)):
            raise InvalidInputError(f"{name!r} is a plane, which has no end; it cannot be attached to a link.")
        if shape is not None:
            record = _record(name, shape, pose, padding or 0.0, solid, color)
            return self._insert(replace(record, link=link, touch=_touch(touch)))
        record = self[name]
        if pose is None:
            raise InvalidInputError(
                f"attach({name!r}, link={link!r}) needs pose=, the object's pose in the link's coordinates."
            )
        changes: dict[str, Any] = {"link": link, "touch": _touch(touch), "pose": _pose(pose, name)}
        if padding is not None:
            changes["padding"] = _padding(padding, name)
        if solid is not None:
            changes["solid"] = solid
        if color is not None:
            changes["color"] = _color(color, name)
        return self._put(replace(record, **changes))

    def detach(self, name: str, pose: Pose) -> SceneObject:
        """Release an attached object: it stays in the world at `pose`
        (after a motion to q: `robot.pose(link, q) @ scene["cup"].pose`)."""
        record = self[name]
        if record.link is None:
            raise InvalidInputError(f"object {name!r} is not attached to a link, so it cannot be detached.")
        return self._put(replace(record, link=None, touch=(), pose=_pose(pose, name)))

    def allow(self, first: str, second: str) -> None:
        """Let two bodies touch and overlap: names of links or objects, in either order."""
        pair = ordered_pair(first, second)
        if pair not in self._allowed:
            self._own()
            self._allowed = self._allowed | {pair}

    def forbid(self, first: str, second: str) -> None:
        """Take back `allow`."""
        pair = ordered_pair(first, second)
        if pair not in self._allowed:
            raise InvalidInputError(
                f"{first!r} and {second!r} are not allowed to touch, so there is nothing to forbid."
            )
        self._own()
        self._allowed = self._allowed - {pair}

    # reading

    @property
    def version(self) -> int:
        """Grows with every change; equal versions in a process mean equal content."""
        return self._version

    @property
    def allowed(self) -> frozenset[tuple[str, str]]:
        """The pairs of names that may touch, each in alphabetical order."""
        return self._allowed

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all objects, in the order they came."""
        return tuple(self._objects)

    @property
    def world_objects(self) -> tuple[SceneObject, ...]:
        """The objects that stand in the world."""
        return tuple(item for item in self._objects.values() if item.link is None)

    @property
    def attached_objects(self) -> tuple[SceneObject, ...]:
        """The objects that move with a link."""
        return tuple(item for item in self._objects.values() if item.link is not None)

    def snapshot(self) -> SceneSnapshot:
        """The scene as it is now, unaffected by later changes. Costs nothing until the next change."""
        if self._snapshot is None:
            self._snapshot = SceneSnapshot(MappingProxyType(self._objects), self._allowed, self._version)
        return self._snapshot

    def copy(self) -> Scene:
        """A scene of the same content that changes on its own."""
        other = Scene()
        other._objects, other._allowed = dict(self._objects), self._allowed
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Scene:
        return self.copy()  # records and shapes are immutable

    def save(self, path: Any) -> None:
        """Write the scene as TOML, with its meshes and grids in files beside it; see `memetik.scene.scene_file`."""
        from memetik.scene.scene_file import save_scene

        save_scene(self, path)

    @classmethod
    def load(cls, path: Any) -> Scene:
        """Read a scene from TOML, or from MoveIt's text format (.scene)."""
        from memetik.scene.scene_file import load_scene

        return load_scene(path)

    def __getitem__(self, name: str) -> SceneObject:
        try:
            return self._objects[name]
        except (KeyError, TypeError):
            raise UnknownNameError("object", name, "the scene", self._objects) from None

    def __contains__(self, name: object) -> bool:
        return name in self._objects

    def __iter__(self) -> Iterator[SceneObject]:
        return iter(tuple(self._objects.values()))

    def __len__(self) -> int:
        return len(self._objects)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scene):
            return NotImplemented
        return self._objects == other._objects and self._allowed == other._allowed

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if not self._objects:
            return "Scene(empty)"
        shown = ", ".join(
            f"{item.name}: {type(item.shape).__name__}" + (f" on {item.link}" if item.link else "")
            for item in itertools.islice(self._objects.values(), 8)
        )
        more = f", and {len(self) - 8} more" if len(self) > 8 else ""
        return f"Scene({len(self)} object{'s' if len(self) > 1 else ''}: {shown}{more})"

    def __getstate__(self) -> dict[str, Any]:
        return {"objects": dict(self._objects), "allowed": self._allowed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._objects, self._allowed = state["objects"], state["allowed"]
        for item in self._objects.values():
            item.pose.setflags(write=False)  # numpy forgets this on the way
        self._snapshot, self._version = None, next(_versions)

    # inside

    def _own(self) -> dict[str, SceneObject]:
        """The dictionary of objects, ready to be changed: apart from any snapshot, under a new version."""
        if self._snapshot is not None:
            self._objects, self._snapshot = dict(self._objects), None
        self._version = next(_versions)
        return self._objects

    def _insert(self, record: SceneObject) -> SceneObject:
        if record.name in self._objects:
            raise InvalidInputError(
                f"the scene already has an object {record.name!r}; choose another name, or move or remove that one."
            )
        return self._put(record)

    def _put(self, record: SceneObject) -> SceneObject:
        self._own()[record.name] = record
        return record


def plane_pose(normal: Sequence[float], offset: float) -> np.ndarray:
    """A pose whose z axis is the unit normal and whose origin is the point of the plane nearest to the world's."""
    direction = np.asarray(normal, dtype=float)
    length = float(np.linalg.norm(direction)) if direction.shape == (3,) else math.nan
    if not (1e-12 < length < math.inf) or not math.isfinite(offset):
        raise GeometryError(
            f"a plane needs a normal of three finite numbers, not all zero, and an offset; not {normal!r}, {offset!r}."
        )
    z = direction / length
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = x, np.cross(z, x), z, z * (offset / length)
    return pose


def ordered_pair(first: str, second: str) -> tuple[str, str]:
    """Two names in alphabetical order, so that a pair is one key."""
    for name in (first, second):
        if not isinstance(name, str) or not name:
            raise InvalidInputError(f"a pair consists of two names of links or objects, not {name!r}.")
    if first == second:
        raise InvalidInputError(f"a pair consists of two different names, not {first!r} twice.")
    return (first, second) if first < second else (second, first)


def _record(
    name: str, shape: Any, pose: Pose, padding: float, solid: bool | None, color: Sequence[float] | None
) -> SceneObject:
    if not isinstance(name, str) or not name.strip():
        raise InvalidInputError(f"the name of an object must be a text that is not empty, not {name!r}.")
    if solid not in (None, True, False):
        raise InvalidInputError(f"solid= must be True, False or None, not {solid!r}.")
    return SceneObject(
        name, _shape(shape), _pose(pose, name), _padding(padding, name), solid, color=_color(color, name)
    )


def _shape(shape: Any) -> SceneShape:
    if isinstance(shape, SHAPES):
        return shape
    if isinstance(shape, Mesh):
        return _triangle_mesh(shape, 1.0)
    names = ", ".join(kind.__name__ for kind in SHAPES)
    raise InvalidInputError(f"an object's shape must be one of {names} or a Mesh, not {type(shape).__name__}.")


def _triangle_mesh(mesh: Any, scale: float | Sequence[float]) -> TriangleMesh:
    factors = (
        np.broadcast_to(np.asarray(scale, dtype=float), (3,)) if np.shape(scale) in ((), (3,)) else np.array([np.nan])
    )
    if not (np.isfinite(factors).all() and (factors != 0.0).all()):
        raise InvalidInputError(f"scale= must be a number or three, finite and not zero, not {scale!r}.")
    if isinstance(mesh, Mesh | str) or hasattr(mesh, "__fspath__"):
        from memetik.scene.mesh_files import load_mesh

        mesh = load_mesh(mesh)
    elif not isinstance(mesh, TriangleMesh):
        if not hasattr(mesh, "vertices") or not hasattr(mesh, "faces"):
            raise InvalidInputError(
                f"a mesh is a path, a TriangleMesh or something with vertices and faces, not {type(mesh).__name__}."
            )
        mesh = TriangleMesh(mesh.vertices, mesh.faces)
    if (factors == 1.0).all():
        return mesh
    faces = mesh.faces[:, ::-1] if np.prod(factors) < 0.0 else mesh.faces  # a mirror turns surfaces inside out
    return TriangleMesh(mesh.vertices * factors, faces, mesh.source)


def _pose(pose: Pose, name: str) -> np.ndarray:
    array = np.eye(4) if pose is None else as_pose(pose, f"the pose of object {name!r}")
    if array.shape != (4, 4):
        raise InvalidInputError(f"the pose of object {name!r} must have shape (4, 4), not {array.shape}.")
    array.setflags(write=False)
    return array


def _padding(padding: float, name: str) -> float:
    if not isinstance(padding, int | float) or not 0.0 <= padding < math.inf:
        raise InvalidInputError(f"the padding of object {name!r} must be at least zero and finite, not {padding!r}.")
    return float(padding)


def _color(color: Sequence[float] | None, name: str) -> tuple[float, float, float, float] | None:
    if color is None:
        return None
    values = tuple(float(v) for v in color)
    if len(values) == 3:
        values = (*values, 1.0)
    if len(values) != 4 or not all(0.0 <= v <= 1.0 for v in values):
        raise InvalidInputError(f"the colour of object {name!r} is three or four numbers from 0 to 1, not {color!r}.")
    return values  # type: ignore[return-value]


def _touch(touch: str | Sequence[str]) -> tuple[str, ...]:
    names = as_names(touch)
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidInputError(f"touch= must be names of links, not {name!r}.")
    return names
