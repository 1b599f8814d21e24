"""Polygons cut into triangles: areas and coverage against closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memetik.errors import GeometryError
from memetik.geometry import polygons
from memetik.geometry.polygons import clip_ears, triangulate_polygons
from memetik.geometry.transforms import rotation_exp


def triangle_areas(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return 0.5 * np.cross(b - a, c - a)


def ring(corners: int, outer: float, inner: float) -> np.ndarray:
    """A ring as one polygon: around the outside, through a slit, around the hole and back through the slit."""
    turn = 2.0 * np.pi * np.arange(corners) / corners
    circle = np.stack([np.cos(turn), np.sin(turn), np.zeros(corners)], axis=1)
    return np.concatenate([outer * circle, outer * circle[:1], inner * circle[:1], inner * circle[::-1]])


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 2, 0), (2, 0, 1), (1, 0, 2), (0, 2, 1), (2, 1, 0)])
def test_a_ring_with_a_slit_stays_open_and_keeps_its_winding(axes):
    points = ring(36, 1.0, 0.5)[:, axes]
    triangles, regular = clip_ears(points)
    areas = triangle_areas(points, triangles)
    total = np.linalg.norm(areas, axis=1).sum()
    assert regular
    assert total == pytest.approx(0.5 * 36 * np.sin(2 * np.pi / 36) * (1.0 - 0.25))
    assert np.linalg.norm(areas.sum(axis=0)) == pytest.approx(total)
    middle = np.linalg.norm(points[triangles].mean(axis=1), axis=1)
    assert middle.min() > 0.45
    sign = np.linalg.det(np.eye(3)[:, axes])
    normal = np.zeros(3)
    normal[axes.index(2)] = sign
    assert areas.sum(axis=0) @ normal == pytest.approx(total)


@settings(max_examples=60, deadline=None)
@given(st.integers(4, 40), st.integers(0, 10_000))
def test_star_shaped_polygons_in_space_are_covered_exactly(corners, seed):
    rng = np.random.default_rng(seed)
    turn = 2.0 * np.pi * (np.arange(corners) + rng.uniform(-0.4, 0.4, corners)) / corners
    radius = rng.uniform(0.1, 1.0, corners)
    flat = np.stack([radius * np.cos(turn), radius * np.sin(turn), np.zeros(corners)], axis=1)
    x, y = flat[:, 0], flat[:, 1]
    area = 0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))
    points = flat @ rotation_exp(rng.normal(size=3)).T + rng.normal(size=3)
    triangles, irregular = triangulate_polygons(points, [np.arange(corners)[None]])
    assert irregular == 0
    assert len(triangles) == corners - 2
    areas = triangle_areas(points, triangles)
    assert np.linalg.norm(areas, axis=1).sum() == pytest.approx(area)
    assert np.linalg.norm(areas.sum(axis=0)) == pytest.approx(area)


def test_many_polygons_at_once_are_cut_as_each_alone():
    rng = np.random.default_rng(1)
    turn = 2.0 * np.pi * np.arange(6) / 6
    radius = rng.uniform(0.2, 1.0, (500, 6))
    points = np.stack([radius * np.cos(turn), radius * np.sin(turn), np.zeros((500, 6))], axis=2).reshape(-1, 3)
    groups = np.arange(3000).reshape(500, 6)
    together = np.linalg.norm(triangle_areas(points, triangulate_polygons(points, [groups])[0]), axis=1).sum()
    alone = sum(np.linalg.norm(triangle_areas(points[g], clip_ears(points[g])[0]), axis=1).sum() for g in groups)
    assert together == pytest.approx(alone)


def test_a_dart_is_cut_along_its_inner_diagonal_whatever_corner_comes_first():
    dart = np.array([[0, 0, 0], [1, -1, 0], [0.25, 0, 0], [1, 1, 0]], dtype=float)
    for start in range(4):
        points = np.roll(dart, start, axis=0)
        triangles, irregular = triangulate_polygons(points, [np.arange(4)[None]])
        assert irregular == 0
        assert np.linalg.norm(triangle_areas(points, triangles), axis=1).sum() == pytest.approx(0.25)


def test_corners_on_a_line_are_kept_and_do_no_harm():
    square = np.array([[0, 0, 0], [0.5, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    triangles, irregular = triangulate_polygons(square, [np.arange(5)[None]])
    assert irregular == 0
    assert np.linalg.norm(triangle_areas(square, triangles), axis=1).sum() == pytest.approx(1.0)
    assert set(triangles.ravel()) == {0, 1, 2, 3, 4}


def test_a_self_crossing_polygon_is_reported():
    star = np.array([[np.cos(a), np.sin(a), 0.0] for a in 4.0 * np.pi * np.arange(5) / 5])
    triangles, irregular = triangulate_polygons(star, [np.arange(5)[None]])
    assert irregular == 1
    assert len(triangles) == 3


def test_polygons_of_fewer_than_three_corners_vanish():
    points = np.eye(3)
    triangles, irregular = triangulate_polygons(points, [np.array([[0, 1]]), np.zeros((3, 0), dtype=int)])
    assert triangles.shape == (0, 3)
    assert irregular == 0


def test_too_much_work_is_refused(monkeypatch):
    monkeypatch.setattr(polygons, "MAX_WORK", 100)
    points = ring(36, 1.0, 0.5)
    with pytest.raises(GeometryError, match="intricate"):
        triangulate_polygons(points, [np.arange(len(points))[None]])
