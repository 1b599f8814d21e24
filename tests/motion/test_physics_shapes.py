"""Shapes under physics: rays from above hit each where it is, and volumes are those of the shapes."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import memetik as mk
from memetik.errors import GeometryError
from memetik.geometry.shapes import Box, Capsule, Cylinder, HeightMap, PointCloud, Sphere, TriangleMesh, VoxelMap
from memetik.motion.execution.physics_shapes import MOST_PIECES, GeomWriter, wxyz

mujoco = pytest.importorskip("mujoco")


def world(shape, pose=None, **options):
    """A world of one body with one shape, compiled and placed."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="body")
    GeomWriter(spec).add(body, shape, np.eye(4) if pose is None else pose, "it", **options)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def height(model, data, x: float, y: float, top: float = 5.0) -> float | None:
    """Where a ray from above meets the world."""
    hit = np.zeros(1, dtype=np.int32)
    distance = mujoco.mj_ray(model, data, np.array([x, y, top]), np.array([0.0, 0.0, -1.0]), None, 1, -1, hit)
    return None if distance < 0.0 else top - distance


@pytest.mark.parametrize(
    ("shape", "top", "edge"),
    [
        (Box((0.4, 0.6, 1.0)), 0.5, (0.2, 0.3)),
        (Sphere(0.3), 0.3, (0.3, 0.3)),
        (Cylinder(0.25, 0.8), 0.4, (0.25, 0.25)),
        (Capsule(0.2, 0.6), 0.5, (0.2, 0.2)),
    ],
)
def test_primitives_have_their_size_and_place(shape, top, edge):
    model, data = world(shape, mk.transform((0.1, -0.2, 0.3)))
    assert height(model, data, 0.1, -0.2) == pytest.approx(0.3 + top)
    for axis in (0, 1):
        for sign in (-1.0, 1.0):
            inside, outside = np.array([0.1, -0.2]), np.array([0.1, -0.2])
            inside[axis] += sign * 0.98 * edge[axis]
            outside[axis] += sign * 1.02 * edge[axis]
            assert height(model, data, *inside) is not None
            assert height(model, data, *outside) is None


def test_a_rotated_shape_is_rotated():
    turned = mk.transform(rpy=(0.0, 0.5 * np.pi, 0.0))
    model, data = world(Cylinder(0.1, 1.0), turned)
    assert height(model, data, 0.45, 0.0) == pytest.approx(0.1)
    assert height(model, data, 0.0, 0.15) is None


@pytest.mark.parametrize("rng", range(4))
def test_quaternions_have_their_real_part_first(rng):
    rotation = Rotation.random(random_state=rng)
    x, y, z, w = rotation.as_quat()
    found = wxyz(rotation.as_matrix())
    expected = np.array([w, x, y, z])
    assert min(np.abs(found - expected).max(), np.abs(found + expected).max()) < 1e-9


def test_a_ground_has_its_heights_where_they_are_and_not_transposed():
    heights = np.zeros((5, 4))
    heights[4, 0] = 0.3  # at the largest x and the least y
    heights[0, 3] = 0.1
    model, data = world(HeightMap(heights - 0.05, (2.0, 3.0), base=-0.5))
    assert height(model, data, 0.99, -1.49) == pytest.approx(0.25, abs=0.02)
    assert height(model, data, -0.99, 1.49) == pytest.approx(0.05, abs=0.01)
    assert height(model, data, -0.99, -1.49) == pytest.approx(-0.05, abs=1e-3)
    assert height(model, data, 0.99, 1.49) == pytest.approx(-0.05, abs=1e-3)


def test_a_flat_ground_is_flat():
    model, data = world(HeightMap(np.full((3, 3), 0.2), (1.0, 1.0), base=0.0))
    for x in (-0.4, 0.0, 0.3):
        assert height(model, data, x, 0.1) == pytest.approx(0.2, abs=1e-4)


def test_points_are_balls_of_their_radius():
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.5]])
    model, data = world(PointCloud(points, 0.05))
    assert model.ngeom == 2
    assert height(model, data, 0.0, 0.0) == pytest.approx(0.05)
    assert height(model, data, 1.0, 0.0) == pytest.approx(0.55)
    assert height(model, data, 0.5, 0.0) is None


def test_cells_in_a_row_become_one_box_and_gaps_stay_open():
    occupied = np.zeros((6, 2, 2), dtype=bool)
    occupied[0:3, 0, 0] = True
    occupied[4, 0, 0] = True
    occupied[5, 1, 1] = True
    model, data = world(VoxelMap(occupied, 0.1, (1.0, 2.0, 3.0)))
    assert model.ngeom == 3
    for x in (1.05, 1.15, 1.25, 1.45):
        assert height(model, data, x, 2.05) == pytest.approx(3.1)
    assert height(model, data, 1.35, 2.05) is None
    assert height(model, data, 1.55, 2.05) is None
    assert height(model, data, 1.55, 2.15) == pytest.approx(3.2)
    assert height(model, data, 1.05, 2.15) is None


def test_every_cell_and_no_other_is_filled():
    occupied = np.random.default_rng(0).random((5, 4, 3)) < 0.4
    model, data = world(VoxelMap(occupied, 0.2, (0.0, 0.0, 0.0)))
    for i, j in np.ndindex(5, 4):
        above = height(model, data, 0.2 * i + 0.1, 0.2 * j + 0.1)
        filled = np.flatnonzero(occupied[i, j])
        assert (above is None) == (len(filled) == 0)
        if above is not None:
            assert above == pytest.approx(0.2 * (filled.max() + 1))


def cup() -> TriangleMesh:
    """A box of 0.4 m that is open at the top."""
    box = trimesh.creation.box((0.4, 0.4, 0.4))
    kept = box.faces[box.face_normals[:, 2] < 0.5]
    return TriangleMesh(box.vertices, kept)


def test_a_mesh_that_is_not_convex_is_not_filled():
    model, data = world(cup())
    assert height(model, data, 0.0, 0.0) == pytest.approx(-0.2, abs=3e-3)
    assert height(model, data, 0.199, 0.0) == pytest.approx(0.2, abs=3e-3)


def test_the_same_mesh_as_a_hull_is_filled():
    model, data = world(cup(), hull=True)
    assert model.ngeom == 1
    assert height(model, data, 0.0, 0.0) == pytest.approx(0.2, abs=1e-6)


def test_a_convex_mesh_is_one_hull():
    ball = trimesh.creation.icosphere(2, 0.3)
    model, data = world(TriangleMesh(ball.vertices, ball.faces))
    assert model.ngeom == 1
    assert height(model, data, 0.013, 0.007) == pytest.approx(0.3, rel=0.02)


def test_equal_meshes_are_stored_once():
    spec = mujoco.MjSpec()
    writer = GeomWriter(spec)
    ball = trimesh.creation.icosphere(1, 0.3)
    mesh = TriangleMesh(ball.vertices, ball.faces)
    for k in range(3):
        writer.add(spec.worldbody.add_body(name=f"body {k}"), mesh, mk.transform((float(k), 0.0, 0.0)), "ball")
    model = spec.compile()
    assert (model.ngeom, model.nmesh) == (3, 1)


def test_settings_are_those_of_every_piece():
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.5]])
    model, _ = world(PointCloud(points, 0.05), friction=[0.3, 0.1, 0.1], contype=4)
    np.testing.assert_array_equal(model.geom_contype, [4, 4])
    np.testing.assert_allclose(model.geom_friction[:, 0], 0.3)


def test_what_would_take_too_many_pieces_is_refused_by_name():
    with pytest.raises(GeometryError, match=rf"'it' has {MOST_PIECES + 1} points; .*at most {MOST_PIECES}"):
        world(PointCloud(np.zeros((MOST_PIECES + 1, 3)), 0.01))
