"""Volumes, inertias and hulls, against trimesh and against each other."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from memetik.errors import GeometryError
from memetik.geometry.hulls import convex_hull
from memetik.geometry.inertia import ellipsoid_solid, mesh_solid, solid_of
from memetik.geometry.shapes import Box, Capsule, Cone, Cylinder, Plane, Sphere, TriangleMesh
from memetik.geometry.tessellate import surface_mesh

SHAPES = (Box((0.2, 0.3, 0.5)), Sphere(0.3), Cylinder(0.2, 0.5), Capsule(0.2, 0.5), Cone(0.2, 0.5))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
@pytest.mark.parametrize("rule", ["legacy", "exact", "convex"])
def test_closed_forms_agree_with_fine_meshes(shape, rule) -> None:
    closed, meshed = solid_of(shape), mesh_solid(surface_mesh(shape, 200), rule)
    assert meshed is not None
    assert meshed.volume == pytest.approx(closed.volume, rel=1e-3)
    np.testing.assert_allclose(meshed.centroid, closed.centroid, atol=1e-4)
    np.testing.assert_allclose(meshed.inertia, closed.inertia, rtol=1e-3, atol=1e-5)


def test_solids_and_shells_agree_with_trimesh() -> None:
    theirs = trimesh.creation.annulus(0.1, 0.2, 0.3)
    theirs.apply_translation((0.3, -0.1, 0.2))
    solid = mesh_solid(TriangleMesh(theirs.vertices, theirs.faces))
    assert solid is not None
    assert solid.volume == pytest.approx(theirs.volume)
    np.testing.assert_allclose(solid.centroid, theirs.center_mass, atol=1e-12)
    np.testing.assert_allclose(solid.inertia, theirs.moment_inertia / theirs.volume, atol=1e-12)
    shell = mesh_solid(TriangleMesh(theirs.vertices, theirs.faces), "shell")
    assert shell is not None
    assert shell.volume == pytest.approx(theirs.area)
    np.testing.assert_allclose(shell.centroid, theirs.centroid, atol=1e-12)


def test_an_ellipsoid_of_equal_diameters_is_a_sphere() -> None:
    ellipsoid, sphere = ellipsoid_solid((0.6, 0.6, 0.6)), solid_of(Sphere(0.3))
    assert ellipsoid.volume == pytest.approx(sphere.volume)
    np.testing.assert_allclose(ellipsoid.inertia, sphere.inertia)


def test_what_encloses_nothing_has_no_solid() -> None:
    flat = TriangleMesh(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), np.array([[0, 1, 2], [1, 3, 2]]))
    assert mesh_solid(flat) is None
    assert mesh_solid(flat, "convex") is None
    assert convex_hull(flat.vertices) is None
    with pytest.raises(GeometryError, match="Plane"):
        solid_of(Plane())


def test_hulls_hold_their_points_and_agree_with_trimesh() -> None:
    points = np.random.default_rng(0).normal(size=(200, 3))
    hull = convex_hull(points)
    assert hull is not None
    assert (points @ hull.normals.T <= hull.offsets + 1e-12).all()
    theirs = trimesh.Trimesh(points, hull.faces, process=False)
    assert theirs.is_winding_consistent
    assert theirs.volume == pytest.approx(hull.volume)
    assert theirs.area == pytest.approx(hull.area)
    assert set(hull.corners) == set(np.unique(hull.faces))
