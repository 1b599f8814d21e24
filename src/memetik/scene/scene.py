"""The world around a robot: named objects, what is attached to links, which pairs may touch.

A `Scene` changes cheaply: every object is an immutable record and a change replaces one of them. `snapshot()` gives the
scene as it is now, unaffected by later changes; whatever is expensive to derive from a shape is kept per shape, not
here.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, zip_longest
from operator import is_not
from types import MappingProxyType
from typing import TypedDict, Unpack

from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.geometry import shapes
from memetik.geometry.shapes import Mesh, SceneShape
from memetik.geometry.transforms import PoseLike
from memetik.scene import scene_object as records
from memetik.scene.scene_object import MeshLike, ObjectOptions, SceneObject, make_object, ordered_pair

_versions = itertools.count(1)

Pose = PoseLike | None
"""What `memetik.transform` and scipy make, or a 4x4 array; None for the identity."""


@dataclass(frozen=True, slots=True)
class SceneSnapshot:
    """A scene at one moment. `version` names this content: no two different contents of a process share one."""

    objects: Mapping[str, SceneObject]
    allowed: frozenset[tuple[str, str]]
    version: int

    def replaced_by(self, other: SceneSnapshot) -> list[SceneObject] | None:
        """The records of another snapshot that this one has not, where the names, their order, allowed pairs and
        attached objects are the same in both; else None."""
        if self.allowed is not other.allowed and self.allowed != other.allowed:
            return None
        if list(self.objects) != list(other.objects):
            return None
        old, new = self.objects.values(), other.objects.values()
        changed = list(compress(zip(old, new, strict=True), map(is_not, old, new)))
        return None if any(a.link is not None or b.link is not None for a, b in changed) else [b for _, b in changed]

    def moved_to(self, other: SceneSnapshot) -> list[SceneObject] | None:
        """As `replaced_by`, where nothing but poses differs; else None."""
        changed = self.replaced_by(other)
        if changed is None or not all(_is_same_body(self.objects[item.name], item) for item in changed):
            return None
        return changed

    def keeps_robot(self, other: SceneSnapshot) -> bool:
        """Whether allowed pairs and attached objects are the same in another snapshot."""
        if self.allowed is not other.allowed and self.allowed != other.allowed:
            return False
        pairs = zip_longest(self.attached, other.attached)
        return all(a is b for a, b in pairs)

    @property
    def attached(self) -> list[SceneObject]:
        """The objects that move with a link."""
        return [item for item in self.objects.values() if item.link is not None]


def _is_same_body(old: SceneObject, new: SceneObject) -> bool:
    return old.shape is new.shape and old.padding == new.padding and old.solid == new.solid


EMPTY = SceneSnapshot({}, frozenset(), 0)
"""No scene."""


class _State(TypedDict):
    objects: dict[str, SceneObject]
    allowed: frozenset[tuple[str, str]]


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
            self.insert(item)
        for first, second in allowed:
            self.allow(first, second)

    def add(
        self, name: str, shape: SceneShape | Mesh, pose: Pose = None, **options: Unpack[ObjectOptions]
    ) -> SceneObject:
        """Add an object of any shape.

        Options of all objects: `padding`, metres by which it grows; `solid`, of a mesh, see `add_mesh`; `color`.
        """
        return self.insert(make_object(name, shape, pose, **options))

    def insert(self, record: SceneObject) -> SceneObject:
        """Add an object of another scene, or one that was removed."""
        if record.name in self._objects:
            raise InvalidInputError(f"the scene already has an object {record.name!r}; choose another name or move it.")
        return self._put(record)

    def add_box(
        self, name: str, size: Sequence[float], pose: Pose = None, **options: Unpack[ObjectOptions]
    ) -> SceneObject:
        """A box of full edge lengths `size` = (x, y, z), centred at its pose."""
        return self.add(name, shapes.Box(tuple(size)), pose, **options)  # type: ignore[arg-type]

    def add_sphere(self, name: str, radius: float, pose: Pose = None, **options: Unpack[ObjectOptions]) -> SceneObject:
        """A sphere of `radius`, centred at its pose."""
        return self.add(name, shapes.Sphere(radius), pose, **options)

    def add_cylinder(
        self, name: str, radius: float, length: float, pose: Pose = None, **options: Unpack[ObjectOptions]
    ) -> SceneObject:
        """A cylinder of full `length` along its z, centred at its pose."""
        return self.add(name, shapes.Cylinder(radius, length), pose, **options)

    def add_capsule(
        self, name: str, radius: float, length: float, pose: Pose = None, **options: Unpack[ObjectOptions]
    ) -> SceneObject:
        """A capsule: all within `radius` of a segment of `length` along its z, centred at its pose."""
        return self.add(name, shapes.Capsule(radius, length), pose, **options)

    def add_cone(
        self, name: str, radius: float, length: float, pose: Pose = None, **options: Unpack[ObjectOptions]
    ) -> SceneObject:
        """A cone along its z, base at -length/2 and apex at +length/2."""
        return self.add(name, shapes.Cone(radius, length), pose, **options)

    def add_plane(
        self,
        name: str,
        normal: Sequence[float] = (0.0, 0.0, 1.0),
        offset: float = 0.0,
        **options: Unpack[ObjectOptions],
    ) -> SceneObject:
        """The half-space {x: normal . x <= offset}, solid; by default the floor z <= 0."""
        return self.add(name, shapes.Plane(), records.plane_pose(normal, offset), **options)

    def add_mesh(
        self,
        name: str,
        mesh: MeshLike,
        pose: Pose = None,
        *,
        scale: float | Sequence[float] = 1.0,
        **options: Unpack[ObjectOptions],
    ) -> SceneObject:
        """A triangle mesh: the path of a file (of `memetik.geometry.formats`), a `TriangleMesh`, or any object with
        `vertices` and `faces`. The file is read now; later changes to it do not reach the scene.

        `solid`: True, False, or None for what the surface says (closed: its inside counts as occupied; open: a shell).
        """
        return self.add(name, records.triangle_mesh(mesh, scale), pose, **options)

    def add_heightmap(
        self,
        name: str,
        heights: ArrayLike,
        size: Sequence[float],
        pose: Pose = None,
        *,
        base: float | None = None,
        **options: Unpack[ObjectOptions],
    ) -> SceneObject:
        """Ground of `heights` (nx, ny) over a rectangle of `size` (x, y) about its pose, solid down to z = base."""
        return self.add(name, shapes.HeightMap(heights, tuple(size), base), pose, **options)  # type: ignore[arg-type]

    def add_points(
        self,
        name: str,
        points: ArrayLike | str | os.PathLike[str],
        radius: float,
        pose: Pose = None,
        **options: Unpack[ObjectOptions],
    ) -> SceneObject:
        """A point cloud (N, 3), or the path of a PLY or PCD file; every point is a ball of `radius`."""
        if isinstance(points, str | os.PathLike):
            from memetik.geometry.mesh_files import load_points

            points = load_points(points)
        return self.add(name, shapes.PointCloud(points, radius), pose, **options)  # type: ignore[arg-type]

    def add_voxels(
        self,
        name: str,
        occupied: ArrayLike,
        size: float,
        pose: Pose = None,
        *,
        origin: Sequence[float] = (0.0, 0.0, 0.0),
        **options: Unpack[ObjectOptions],
    ) -> SceneObject:
        """Occupied cells (nx, ny, nz) of edge `size`; the grid's lowest corner is at `origin` of its pose."""
        return self.add(name, shapes.VoxelMap(occupied, size, tuple(origin)), pose, **options)  # type: ignore[arg-type]

    def move(self, name: str, pose: PoseLike) -> SceneObject:
        """Give an object a new pose (in its link's coordinates where it is attached)."""
        return self._put(replace(self[name], pose=records.checked_pose(pose, name)))

    def replace(self, name: str, shape: SceneShape | Mesh) -> SceneObject:
        """Give an object another shape, all else kept."""
        return self._put(replace(self[name], shape=records.checked_shape(shape)))

    def set_padding(self, name: str, padding: float) -> SceneObject:
        """Grow an object by `padding` metres on all sides."""
        return self._put(replace(self[name], padding=records.checked_padding(padding, name)))

    def set_color(self, name: str, color: Sequence[float] | None) -> SceneObject:
        """Give an object a colour (red, green, blue, opacity), each from 0 to 1."""
        return self._put(replace(self[name], color=records.checked_color(color, name)))

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
        if not isinstance(link, str) or not link:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"link= of attach must be the name of a link, not {link!r}.")
        body = self[name].shape if shape is None else shape
        if isinstance(body, shapes.Plane):
            raise InvalidInputError(f"{name!r} is a plane, which has no end; it cannot be attached to a link.")
        if shape is None:
            if pose is None:
                raise InvalidInputError(f"attach({name!r}, link={link!r}) needs pose=, in the link's coordinates.")
            own = self[name]
            padding = own.padding if padding is None else padding
            solid, color = own.solid if solid is None else solid, own.color if color is None else color
        record = make_object(name, body, pose, padding=padding or 0.0, solid=solid, color=color)
        record = replace(record, link=link, touch=records.checked_touch(touch))
        return self._put(record) if shape is None else self.insert(record)

    def detach(self, name: str, pose: PoseLike) -> SceneObject:
        """Release an attached object: it stays in the world at `pose`
        (after a motion to q: `robot.pose(link, q) @ scene["cup"].pose`)."""
        record = self[name]
        if record.link is None:
            raise InvalidInputError(f"object {name!r} is not attached to a link, so it cannot be detached.")
        return self._put(replace(record, link=None, touch=(), pose=records.checked_pose(pose, name)))

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
            raise InvalidInputError(f"{first!r} and {second!r} are not allowed to touch: there is nothing to forbid.")
        self._own()
        self._allowed = self._allowed - {pair}

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

    def restore(self, snapshot: SceneSnapshot) -> None:
        """Bring the scene to the content of a snapshot, its own or another scene's."""
        self._objects, self._allowed, self._snapshot = dict(snapshot.objects), snapshot.allowed, None
        self._version = next(_versions)

    def copy(self) -> Scene:
        """A scene of the same content that changes on its own."""
        other = Scene()
        other._objects, other._allowed = dict(self._objects), self._allowed
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, object]) -> Scene:
        return self.copy()  # records and shapes are immutable

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scene as TOML, with its meshes and grids in files beside it; see `memetik.scene.scene_file`."""
        from memetik.scene.scene_file import save_scene

        save_scene(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scene:
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

    def __getstate__(self) -> _State:
        return {"objects": dict(self._objects), "allowed": self._allowed}

    def __setstate__(self, state: _State) -> None:
        self._objects, self._allowed = state["objects"], state["allowed"]
        for item in self._objects.values():
            item.pose.setflags(write=False)  # numpy forgets this on the way
        self._snapshot, self._version = None, next(_versions)

    def _own(self) -> dict[str, SceneObject]:
        """The dictionary of objects, ready to be changed: apart from any snapshot, under a new version."""
        if self._snapshot is not None:
            self._objects, self._snapshot = dict(self._objects), None
        self._version = next(_versions)
        return self._objects

    def _put(self, record: SceneObject) -> SceneObject:
        self._own()[record.name] = record
        return record
