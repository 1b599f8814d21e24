"""Shapes as triangles: closed, wound outwards, near the surface that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from memetik.errors import GeometryError
from memetik.geometry.primitives import PRIMITIVES, extreme_point, half_extents, signed_distance
from memetik.geometry.shapes import Box, Capsule, Cone, Cylinder, Plane, PointCloud, Sphere, TriangleMesh
from memetik.geometry.tessellate import as_mesh, box_mesh, cloud_mesh, cone_mesh, subdivide, surface_mesh

SHAPES = (Box((0.2, 0.3, 0.5)), Sphere(0.3), Cylinder(0.2, 0.5), Capsule(0.2, 0.5), Cone(0.2, 0.5))


def as_trimesh(mesh: TriangleMesh) -> trimesh.Trimesh:
    return trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_surfaces_are_closed_outward_and_on_the_shape(shape: Box | Sphere | Cylinder | Capsule | Cone) -> None:
    mesh = surface_mesh(shape, 48)
    solid = as_trimesh(mesh)
    assert solid.is_watertight
    assert solid.is_winding_consistent
    assert solid.volume > 0.0
    np.testing.assert_allclose(signed_distance(shape, mesh.vertices), 0.0, atol=1e-12)
    np.testing.assert_allclose(mesh.bounds[1], half_extents(shape), rtol=3e-3)
    exact = {
        Box: lambda s: np.prod(s.size),
        Sphere: lambda s: 4.0 / 3.0 * np.pi * s.radius**3,
        Cylinder: lambda s: np.pi * s.radius**2 * s.length,
        Capsule: lambda s: np.pi * s.radius**2 * (s.length + 4.0 / 3.0 * s.radius),
        Cone: lambda s: np.pi * s.radius**2 * s.length / 3.0,
    }[type(shape)](shape)
    assert solid.volume == pytest.approx(exact, rel=8e-3)


def test_round_shapes_have_the_facets_of_a_revolved_outline() -> None:
    for ours, theirs in (
        (surface_mesh(Cylinder(0.2, 0.5), 24), trimesh.creation.cylinder(0.2, 0.5, sections=24)),
        (surface_mesh(Capsule(0.2, 0.5), 24), trimesh.creation.capsule(0.5, 0.2, count=(24, 24))),
    ):
        np.testing.assert_allclose(ours.triangles, theirs.triangles, atol=1e-12)


def test_draws_on_boxes_and_balls_are_those_of_the_known_triangulations() -> None:
    box = trimesh.creation.box((0.2, 0.3, 0.5))
    np.testing.assert_array_equal(surface_mesh(Box((0.2, 0.3, 0.5)), 48).triangles, box.triangles)
    ball = trimesh.creation.icosphere(subdivisions=4, radius=0.3)
    np.testing.assert_allclose(surface_mesh(Sphere(0.3), 48).triangles, ball.triangles, rtol=0.0, atol=1e-15)


def test_meshes_for_collision_contain_their_shape() -> None:
    cone = Cone(0.2, 0.5)
    around = as_trimesh(cone_mesh(cone))
    inner = surface_mesh(cone, 96).vertices
    normals, corners = around.face_normals, around.triangles[:, 0]
    assert (np.einsum("fk,fpk->fp", normals, inner[None] - corners[:, None]) < 1e-12).all()
    assert as_mesh(Box((1.0, 2.0, 3.0))).key == box_mesh(Box((1.0, 2.0, 3.0))).key
    for shape in (Sphere(0.1), Plane()):
        with pytest.raises(GeometryError, match=type(shape).__name__):
            as_mesh(shape)


def test_clouds_are_octahedra_and_large_ones_are_thinned() -> None:
    points = np.random.default_rng(0).normal(size=(100, 3))
    mesh = cloud_mesh(PointCloud(points, 0.01))
    assert len(mesh.faces) == 800
    np.testing.assert_allclose(mesh.triangles.reshape(100, -1, 3).mean(axis=1), points, atol=1e-12)
    assert len(cloud_mesh(PointCloud(points, 0.01), 30).faces) == 8 * 25


@pytest.mark.parametrize("longest", [0.5, 0.11, 0.04])
def test_subdivided_surfaces_are_the_same_surface_in_smaller_triangles(longest: float) -> None:
    start = surface_mesh(Cylinder(0.2, 0.5), 12)
    vertices, faces = subdivide(start.vertices, start.faces, longest)
    fine = trimesh.Trimesh(vertices, faces, process=False)
    assert fine.edges_unique_length.max() <= longest
    assert fine.is_watertight
    assert fine.area == pytest.approx(start.area)
    assert fine.volume == pytest.approx(as_trimesh(start).volume)


def test_the_extreme_point_is_the_farthest_of_the_surface() -> None:
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        assert isinstance(shape, PRIMITIVES)
        for direction in rng.normal(size=(20, 3)):
            unit = direction / np.linalg.norm(direction)
            reach = float(extreme_point(shape, unit) @ unit)
            sampled = float((surface_mesh(shape, 96).vertices @ unit).max())
            assert sampled - 1e-12 <= reach <= sampled + 1e-3
            mesh = surface_mesh(shape, 96)
            assert float(extreme_point(mesh, unit) @ unit) == pytest.approx(sampled)
