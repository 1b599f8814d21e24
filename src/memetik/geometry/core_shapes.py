"""Shapes in the form of the core: kinds and sizes of primitives, surfaces of meshes in parts.

A mesh is split into solids and shells. Solids that overlap are kept apart, so that the distance to their union is the
least of the distances to each; faces inside others then do not matter.
"""

from __future__ import annotations

import numpy as np

from memetik import _core
from memetik.geometry.closed_surface import analyse, connected
from memetik.geometry.distance_field import DistanceField
from memetik.geometry.mesh_files import merge_vertices
from memetik.geometry.shapes import Box, Capsule, Cylinder, Plane, PointCloud, SceneShape, Shape, Sphere, TriangleMesh


def object_spec(
    shape: Shape | SceneShape,
    pose: np.ndarray,
    padding: float = 0.0,
    field: DistanceField | None = None,
    key: int = 0,
) -> _core.ObjectSpec:
    """A shape at a pose (3, 4) for the core, with its distance field where it `needs_field`."""
    kind, size = core_primitive(shape)
    core = None if field is None else field.core
    cloud = shape.core if isinstance(shape, PointCloud) else None
    return _core.ObjectSpec(kind=kind, pose=pose, size=size, padding=padding, field=core, cloud=cloud, key=key)


def needs_field(shape: Shape | SceneShape) -> bool:
    """Whether a shape is neither a primitive of the core nor a point cloud."""
    return core_primitive(shape)[0] == _core.ObjectKind.field


def core_primitive(shape: Shape | SceneShape) -> tuple[_core.ObjectKind, tuple[float, float, float]]:
    """Kind and size (metres) of a shape as the core has it; a field where the core has no form of its own for it."""
    match shape:
        case Box((x, y, z)):
            return _core.ObjectKind.box, (0.5 * x, 0.5 * y, 0.5 * z)
        case Sphere(radius):
            return _core.ObjectKind.sphere, (radius, 0.0, 0.0)
        case Capsule(radius, length):
            return _core.ObjectKind.capsule, (radius, 0.0, 0.5 * length)
        case Cylinder(radius, length):
            return _core.ObjectKind.cylinder, (radius, 0.0, 0.5 * length)
        case Plane():
            return _core.ObjectKind.half_space, (0.0, 0.0, 0.0)
        case PointCloud():
            return _core.ObjectKind.cloud, (0.0, 0.0, 0.0)
        case _:
            return _core.ObjectKind.field, (0.0, 0.0, 0.0)


def split_surface(mesh: TriangleMesh) -> list[tuple[np.ndarray, np.ndarray, bool]]:
    """Vertices, faces and whether it is a solid: sets of solids that do not overlap, and the shell that is left."""
    vertices, faces = merge_vertices(mesh.vertices, mesh.faces.astype(np.int64))
    kept = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    faces = faces[kept] if kept.any() else faces
    surface = analyse(TriangleMesh(vertices, faces.astype(np.int32)))
    parts = [(*indexed(triangles), True) for triangles in _disjoint_solids(surface.boundary)]
    shell = vertices[faces[~surface.closed[surface.part_of_face]]]
    return parts if not len(shell) else [*parts, (*indexed(shell), False)]


def whole_surface(mesh: TriangleMesh) -> tuple[np.ndarray, np.ndarray, bool]:
    """Vertices, faces and whether it is a solid: a mesh in one, a shell with two sides unless all of it is closed."""
    surface = analyse(mesh)
    closed = surface.is_solid and not surface.is_open
    return *indexed(surface.boundary if closed else mesh.triangles), closed


def indexed(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices, each place once, and faces of triangles (T, 3, 3)."""
    vertices, numbers = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    return np.ascontiguousarray(vertices), np.ascontiguousarray(numbers.reshape(-1, 3), dtype=np.int32)


def _disjoint_solids(triangles: np.ndarray) -> list[np.ndarray]:
    """Closed triangles (T, 3, 3) in sets whose bodies do not overlap; holes stay with the body that they are in."""
    if not len(triangles):
        return []
    vertices, faces = indexed(triangles)
    first, second = np.concatenate([faces[:, 0], faces[:, 1]]), np.concatenate([faces[:, 1], faces[:, 2]])
    label = connected(first, second, len(vertices))[0][faces[:, 0]]
    corners = triangles - triangles.mean(axis=(0, 1))
    terms = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
    names: list[int] = np.unique(label).tolist()
    volumes = {name: float(terms[label == name].sum()) for name in names}
    boxes: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for name in names:
        own = triangles[label == name]
        boxes[name] = own.min(axis=(0, 1)), own.max(axis=(0, 1))
    bodies = {name: [name] for name in sorted(names, key=lambda name: volumes[name]) if volumes[name] > 0.0}
    for name in (name for name in names if volumes[name] <= 0.0):
        low, high = boxes[name]
        around = (body for body in bodies if (boxes[body][0] <= low).all() and (boxes[body][1] >= high).all())
        bodies.setdefault(next(around, name), []).append(name)
    sets: list[list[int]] = []
    for body in bodies:
        low, high = boxes[body]
        for others in sets:
            if all((boxes[other][0] > high).any() or (boxes[other][1] < low).any() for other in others):
                others.append(body)
                break
        else:
            sets.append([body])
    return [triangles[np.isin(label, [part for body in members for part in bodies[body]])] for members in sets]
