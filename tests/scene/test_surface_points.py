"""Points on surfaces and lines of sight."""

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.geometry import primitives
from memetik.geometry.shapes import Capsule, Cone
from memetik.geometry.transforms import transform
from memetik.scene.surface_points import LinesOfSight, sample_surface, triangles_of


def table_with_ball() -> mk.Scene:
    scene = mk.Scene()
    scene.add_box("table", (1.0, 0.6, 0.1), transform((0.0, 0.0, 0.5)))
    scene.add_sphere("ball", 0.1, transform((0.2, 0.0, 0.65)))
    scene.add_plane("ground")
    return scene


def test_spots_share_the_area_out_and_lie_on_their_objects():
    scene = table_with_ball()
    spots = sample_surface(scene, count=4000)
    areas = {"table": 2 * (0.6 + 0.1 + 0.06), "ball": 4 * np.pi * 0.01}
    for name, area in areas.items():
        own = np.array(spots.objects) == name
        assert own.mean() == pytest.approx(area / sum(areas.values()), abs=0.03)
        item = scene[name]
        local = (spots.points[own] - item.pose[:3, 3]) @ item.pose[:3, :3]
        assert np.abs(primitives.signed_distance(item.shape, local)).max() < 5e-4
        out = (spots.points[own] + 0.01 * spots.normals[own] - item.pose[:3, 3]) @ item.pose[:3, :3]
        assert (primitives.signed_distance(item.shape, out) > 0.009).all()
    assert spots.area * len(spots) == pytest.approx(sum(areas.values()), rel=0.02)


def test_spots_keep_to_what_is_asked_for():
    spots = sample_surface(table_with_ball(), "table", count=100, low=(0, -1, 0), where=lambda p, n: n[:, 2] > 0.9)
    assert len(spots) == 100
    assert (spots.points[:, 0] >= 0.0).all()
    assert np.allclose(spots.points[:, 2], 0.55)
    again = sample_surface(table_with_ball(), "table", count=100, low=(0, -1, 0), where=lambda p, n: n[:, 2] > 0.9)
    assert np.array_equal(spots.points, again.points)
    assert np.allclose(spots.poses(0.05)[:, 2, 3], 0.6)
    assert np.allclose(spots.poses()[:, :3, 2], (0, 0, -1))
    assert np.allclose(spots.frames()[:, :3, 2], (0, 0, 1))
    assert np.allclose(np.linalg.det(spots.frames()[:, :3, :3]), 1.0)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'table'"):
        sample_surface(table_with_ball(), "tabel")
    with pytest.raises(InvalidInputError, match="none of the objects has a surface"):
        sample_surface(table_with_ball(), "ground")
    with pytest.raises(InvalidInputError, match="0 are where"):
        sample_surface(table_with_ball(), "table", count=4, low=(5, 5, 5))


@pytest.mark.parametrize("shape", [Capsule(0.1, 0.3), Cone(0.1, 0.3)])
def test_triangles_of_round_shapes_lie_on_them(shape):
    scene = mk.Scene()
    scene.add("thing", shape, transform((1.0, 2.0, 3.0), rpy=(0.3, -0.2, 1.0)))
    item = scene["thing"]
    corners = (triangles_of(item).reshape(-1, 3) - item.pose[:3, 3]) @ item.pose[:3, :3]
    assert np.abs(primitives.signed_distance(shape, corners)).max() < 1e-6


def test_lines_of_sight_agree_with_coal():
    coal = pytest.importorskip("coal")
    scene = table_with_ball()
    rng = np.random.default_rng(3)
    eyes, spots = rng.uniform(-0.7, 0.9, (400, 3)), rng.uniform(-0.7, 0.9, (400, 3))
    clear = LinesOfSight(scene).is_clear(eyes, spots, gap=0.0)
    shapes = [(coal.Box(1.0, 0.6, 0.1), (0.0, 0.0, 0.5)), (coal.Sphere(0.1), (0.2, 0.0, 0.65))]
    for eye, spot, found in zip(eyes, spots, clear, strict=True):
        inside = any(
            (np.abs(p - (0, 0, 0.5)) < (0.5, 0.3, 0.05)).all() or np.linalg.norm(p - (0.2, 0, 0.65)) < 0.1
            for p in (eye, spot)
        )
        if inside:
            continue
        way = spot - eye
        turn = np.linalg.svd(way[None])[2][::-1].T
        turn[:, 2] = way / np.linalg.norm(way)
        turn[:, 0] *= np.sign(np.linalg.det(turn))
        needle = coal.Capsule(1e-6, float(np.linalg.norm(way)))
        place = coal.Transform3s(np.ascontiguousarray(turn), 0.5 * (eye + spot))
        distance = min(
            coal.distance(needle, place, shape, coal.Transform3s(np.eye(3), np.array(at)), coal.DistanceRequest(),
                          coal.DistanceResult())
            for shape, at in shapes
        )  # fmt: skip
        if abs(distance) > 1e-3:
            assert found == (distance > 0.0)
