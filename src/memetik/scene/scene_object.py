"""The record of one object of a scene, and what is checked when one is made."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Protocol, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import GeometryError, InvalidInputError
from memetik.geometry.shapes import SHAPES, Mesh, SceneShape, TriangleMesh
from memetik.geometry.transforms import PoseLike, as_pose

Color = tuple[float, float, float, float]


class ObjectOptions(TypedDict, total=False):
    """What any object of a scene may have: see `SceneObject`."""

    padding: float
    solid: bool | None
    color: Sequence[float] | None


class MeshArrays(Protocol):
    """Anything with the vertices (V, 3) and faces (F, 3) of a triangle mesh, such as trimesh's."""

    @property
    def vertices(self) -> ArrayLike: ...

    @property
    def faces(self) -> ArrayLike: ...


MeshLike = str | os.PathLike[str] | Mesh | TriangleMesh | MeshArrays
"""What a mesh is made of: the path of a file, a mesh, or its arrays."""


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One object of a scene, never changed: a change makes a new record.

    `pose` takes the shape's coordinates to the world's, or to those of `link` where the object is attached to one.
    `padding` grows the object by that many metres. `solid` tells of a mesh whether its inside counts as occupied:
    True, False, or None for what its surface says (closed: solid; open: shell).
    An attached object may touch its own link and the links in `touch`.
    """

    name: str
    shape: SceneShape
    pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    padding: float = 0.0
    solid: bool | None = None
    link: str | None = None
    touch: tuple[str, ...] = ()
    color: Color | None = None

    @property
    def attached(self) -> bool:
        """Whether the object moves with a link."""
        return self.link is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SceneObject):
            return NotImplemented
        plain = attrgetter("name", "shape", "padding", "solid", "link", "touch", "color")
        return plain(self) == plain(other) and np.array_equal(self.pose, other.pose)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        place = ", ".join(f"{value:.4g}" for value in self.pose[:3, 3])
        where = f" on link {self.link!r}" if self.link is not None else ""
        return f"SceneObject({self.name!r}, {self.shape!r}, at ({place}){where})"


def make_object(
    name: str,
    shape: SceneShape | Mesh,
    pose: PoseLike | None,
    *,
    padding: float = 0.0,
    solid: bool | None = None,
    color: Sequence[float] | None = None,
) -> SceneObject:
    """A checked record."""
    if not isinstance(name, str) or not name.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"the name of an object must be a text that is not empty, not {name!r}.")
    if solid not in (None, True, False):
        raise InvalidInputError(f"solid= must be True, False or None, not {solid!r}.")
    place, grown = checked_pose(pose, name), checked_padding(padding, name)
    return SceneObject(name, checked_shape(shape), place, grown, solid, color=checked_color(color, name))


def checked_shape(shape: SceneShape | Mesh) -> SceneShape:
    """A shape of the scene; the file of a mesh is read."""
    if isinstance(shape, SHAPES):
        return shape
    if isinstance(shape, Mesh):  # pyright: ignore[reportUnnecessaryIsInstance]
        return triangle_mesh(shape)
    names = ", ".join(kind.__name__ for kind in SHAPES)
    raise InvalidInputError(f"an object's shape must be one of {names} or a Mesh, not {type(shape).__name__}.")


def triangle_mesh(mesh: MeshLike, scale: float | Sequence[float] = 1.0) -> TriangleMesh:
    """A triangle mesh from what there is, scaled."""
    factors = np.asarray(scale, dtype=float)
    if factors.shape not in ((), (3,)) or not (np.isfinite(factors).all() and (factors != 0.0).all()):
        raise InvalidInputError(f"scale= must be a number or three, finite and not zero, not {scale!r}.")
    if isinstance(mesh, Mesh | str | os.PathLike):
        from memetik.geometry.mesh_files import load_mesh

        mesh = load_mesh(mesh)
    elif not isinstance(mesh, TriangleMesh):
        if not hasattr(mesh, "vertices") or not hasattr(mesh, "faces"):
            kind = type(mesh).__name__
            raise InvalidInputError(f"a mesh is a path, a TriangleMesh or has vertices and faces, not {kind}.")
        mesh = TriangleMesh(mesh.vertices, mesh.faces)  # type: ignore[arg-type]
    if (factors == 1.0).all():
        return mesh
    mirrored = np.prod(np.broadcast_to(factors, 3)) < 0.0  # which turns surfaces inside out
    faces = mesh.faces[:, ::-1] if mirrored else mesh.faces
    return TriangleMesh(mesh.vertices * factors, faces, mesh.source)


def checked_pose(pose: PoseLike | None, name: str) -> np.ndarray:
    """A pose (4, 4) of an object, read-only; the identity for None."""
    array = np.eye(4) if pose is None else as_pose(pose, f"the pose of object {name!r}")
    if array.shape != (4, 4):
        raise InvalidInputError(f"the pose of object {name!r} must have shape (4, 4), not {array.shape}.")
    array.setflags(write=False)
    return array


def checked_padding(padding: float, name: str) -> float:
    """A padding in metres."""
    if not isinstance(padding, int | float) or not 0.0 <= padding < math.inf:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"the padding of object {name!r} must be at least zero and finite, not {padding!r}.")
    return float(padding)


def checked_color(color: Sequence[float] | None, name: str) -> Color | None:
    """Red, green, blue and opacity from three or four numbers."""
    if color is None:
        return None
    values = tuple(float(v) for v in color)
    if len(values) == 3:
        values = (*values, 1.0)
    if len(values) != 4 or not all(0.0 <= v <= 1.0 for v in values):
        raise InvalidInputError(f"the colour of object {name!r} is three or four numbers from 0 to 1, not {color!r}.")
    return values


def checked_touch(touch: str | Sequence[str]) -> tuple[str, ...]:
    """Names from one or several."""
    names = (touch,) if isinstance(touch, str) else tuple(touch)
    for name in names:
        if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"touch= must be names of links, not {name!r}.")
    return names


def ordered_pair(first: str, second: str) -> tuple[str, str]:
    """Two names in alphabetical order, so that a pair is one key."""
    for name in (first, second):
        if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"a pair consists of two names of links or objects, not {name!r}.")
    if first == second:
        raise InvalidInputError(f"a pair consists of two different names, not {first!r} twice.")
    return (first, second) if first < second else (second, first)


def plane_pose(normal: Sequence[float], offset: float) -> np.ndarray:
    """A pose whose z axis is the unit normal and whose origin is the point of the plane nearest to the world's."""
    direction = np.asarray(normal, dtype=float)
    length = float(np.linalg.norm(direction)) if direction.shape == (3,) else math.nan
    if not (1e-12 < length < math.inf) or not math.isfinite(offset):
        needed = "a normal of three finite numbers, not all zero, and an offset"
        raise GeometryError(f"a plane needs {needed}; not {normal!r}, {offset!r}.")
    z = direction / length
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = x, np.cross(z, x), z, z * (offset / length)
    return pose
