"""Contacts between links by coal, on the shapes themselves: convex hulls to be safe, triangles to be sure."""

from __future__ import annotations

from typing import Any

import numpy as np

from memetik.errors import GeometryError
from memetik.robot.description import Geometry
from memetik.robot.doctor.mesh_files import read_triangles
from memetik.robot.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere


class CoalSolid:
    """A link's collision geometry: each part has a hull that contains it, and its surface where that differs."""

    def __init__(self, geometries: tuple[Geometry, ...]):
        self.parts = [_Part(geometry) for geometry in geometries]
        self.parts = [part for part in self.parts if part.hull is not None]

    def __bool__(self) -> bool:
        return bool(self.parts)


class _Part:
    def __init__(self, geometry: Geometry):
        self.origin = geometry.origin
        self.surface: Any = None
        self.hull: Any = None
        shape = geometry.shape
        if isinstance(shape, Mesh):
            self.hull, self.surface = _mesh(shape)
        else:
            self.hull = _primitive(shape)
        if self.hull is not None:
            self.hull.computeLocalAABB()
            self.centre = self.origin[:3, :3] @ np.array(self.hull.aabb_center) + self.origin[:3, 3]
            self.radius = float(self.hull.aabb_radius)


def classify(
    first: CoalSolid, second: CoalSolid, first_poses: np.ndarray, second_poses: np.ndarray
) -> tuple[bool, bool]:
    """(may touch in some posture, surely overlap in every posture), for poses of shape (N, 4, 4)."""
    touched, always = False, True
    near = np.zeros(len(first_poses), dtype=bool)
    for a in first.parts:
        for b in second.parts:
            near |= _gaps(a, b, first_poses, second_poses) < 0.0
    if not near.all():
        always = False
    for k in np.flatnonzero(near):
        if touched and not always:
            break
        hulls_meet, surfaces_meet = _meet(first, second, first_poses[k], second_poses[k], surfaces=always)
        touched |= hulls_meet
        always &= surfaces_meet
    return touched, always and touched


def _gaps(a: _Part, b: _Part, first_poses: np.ndarray, second_poses: np.ndarray) -> np.ndarray:
    centres_a = first_poses[:, :3, :3] @ a.centre + first_poses[:, :3, 3]
    centres_b = second_poses[:, :3, :3] @ b.centre + second_poses[:, :3, 3]
    return np.linalg.norm(centres_a - centres_b, axis=1) - a.radius - b.radius


def _meet(
    first: CoalSolid, second: CoalSolid, first_pose: np.ndarray, second_pose: np.ndarray, surfaces: bool
) -> tuple[bool, bool]:
    """Whether the hulls meet, and whether, where asked for, the surfaces do."""
    hulls_meet = False
    for a in first.parts:
        for b in second.parts:
            pose_a, pose_b = first_pose @ a.origin, second_pose @ b.origin
            if not _collide(a.hull, pose_a, b.hull, pose_b):
                continue
            hulls_meet = True
            if not surfaces:
                return True, False
            if (a.surface is None and b.surface is None) or _collide(
                a.surface or a.hull, pose_a, b.surface or b.hull, pose_b
            ):
                return True, True
    return hulls_meet, False


def _collide(a: Any, pose_a: np.ndarray, b: Any, pose_b: np.ndarray) -> bool:
    coal = _coal()

    result = coal.CollisionResult()
    place_a = coal.Transform3s(pose_a[:3, :3], pose_a[:3, 3])
    place_b = coal.Transform3s(pose_b[:3, :3], pose_b[:3, 3])
    return coal.collide(a, place_a, b, place_b, coal.CollisionRequest(), result) > 0


def _coal() -> Any:
    """coal's names are made when it is imported, so that no type checker knows them."""
    import coal

    return coal


def _primitive(shape: Shape) -> Any:
    coal = _coal()

    match shape:
        case Box():
            return coal.Box(*shape.size)
        case Sphere():
            return coal.Sphere(shape.radius)
        case Cylinder():
            return coal.Cylinder(shape.radius, shape.length)
        case Capsule():
            return coal.Capsule(shape.radius, shape.length)
    return None


def _mesh(mesh: Mesh) -> tuple[Any, Any]:
    """Hull and surface of a mesh; None for both where the file is missing or unreadable."""
    coal = _coal()

    if mesh.path is None:
        return None, None
    try:
        vertices, faces = read_triangles(mesh.path)
    except GeometryError:
        return None, None
    scaled = vertices * np.array(mesh.scale)
    surface = coal.BVHModelOBBRSS()
    surface.beginModel(len(faces), len(scaled))
    surface.addVertices(scaled)
    surface.addTriangles(faces.astype(np.int64))
    surface.endModel()
    surface.computeLocalAABB()
    try:
        surface.buildConvexHull(True, "Qt")
    except Exception:  # a flat mesh has no hull; its triangles serve
        return surface, None
    return surface.convex, surface
