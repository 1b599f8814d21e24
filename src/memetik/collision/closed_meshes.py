"""Meshes as exact checks take them: vertices merged, faces without area left out, and what they enclose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memetik.errors import GeometryError
from memetik.geometry.closed_surface import Surface, analyse
from memetik.geometry.hulls import convex_hull
from memetik.geometry.mesh_files import has_area, merge_vertices
from memetik.geometry.shapes import TriangleMesh


@dataclass(frozen=True, slots=True, eq=False)
class CleanMesh:
    """A mesh, its parts, and whether it is one convex solid."""

    mesh: TriangleMesh
    surface: Surface
    is_convex: bool


def clean_mesh(mesh: TriangleMesh, solid: bool | None) -> CleanMesh:
    """A mesh ready for exact checks; `solid` as in `Scene.add_mesh`."""
    # Vertices in one place are one, else no edge would have two faces; checks want no triangle without area.
    vertices, faces = merge_vertices(mesh.vertices, mesh.faces)
    surface = analyse(TriangleMesh(vertices, faces.astype(np.int32)), solid)
    flat = ~has_area(vertices, faces)
    if flat.all():
        raise GeometryError(f"the mesh has {len(faces)} triangles, none of which has an area.")
    mesh = TriangleMesh(vertices, faces[~flat].astype(np.int32), mesh.source)
    closed = surface.is_solid and not surface.is_open and len(surface.closed) == 1
    return CleanMesh(mesh, surface, closed and _fills_hull(mesh, surface))


def _fills_hull(mesh: TriangleMesh, surface: Surface) -> bool:
    """Whether a closed mesh fills its convex hull, to one part in a million of the volume."""
    corners = surface.boundary - mesh.bounds.mean(axis=0)
    volume = float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0)
    hull = convex_hull(mesh.vertices)
    if hull is None or surface.lidded:
        return False
    return abs(hull.volume - volume) <= 1e-6 * hull.volume and abs(hull.area - mesh.area) <= 1e-5 * hull.area
