"""Closed forms of the primitives against coal and against sampling."""

import numpy as np
import pytest

from memetik.geometry import primitives
from memetik.geometry.shapes import Box, Capsule, Cone, Cylinder, Sphere

coal = pytest.importorskip("coal")

SHAPES = [
    (Box((0.4, 0.3, 0.2)), coal.Box(0.4, 0.3, 0.2)),
    (Sphere(0.3), coal.Sphere(0.3)),
    (Cylinder(0.2, 0.5), coal.Cylinder(0.2, 0.5)),
    (Capsule(0.1, 0.4), coal.Capsule(0.1, 0.4)),
    (Cone(0.25, 0.5), coal.Cone(0.25, 0.5)),
]


@pytest.mark.parametrize(("shape", "truth"), SHAPES)
def test_signed_distances_of_small_boxes_are_coals(shape, truth):
    """Not of small spheres: coal 3.0.3 is wrong about those inside a cylinder."""
    points = np.random.default_rng(0).uniform(-0.6, 0.6, (300, 3))
    found = primitives.signed_distance(shape, points)
    speck = coal.Box(1e-7, 1e-7, 1e-7)
    for point, distance in zip(points, found, strict=True):
        result = coal.DistanceResult()
        place = coal.Transform3s(np.eye(3), point)
        expected = coal.distance(speck, place, truth, coal.Transform3s(), coal.DistanceRequest(), result)
        assert distance == pytest.approx(expected, abs=3e-5)


@pytest.mark.parametrize("shape", [shape for shape, _ in SHAPES])
def test_bounds_extents_and_sampled_points_agree(shape):
    rng = np.random.default_rng(1)
    cloud = rng.uniform(-0.6, 0.6, (200_000, 3))
    inside = cloud[primitives.signed_distance(shape, cloud) <= 0.0]
    assert (np.abs(inside) <= primitives.half_extents(shape) + 1e-12).all()
    assert (np.abs(inside).max(axis=0) > 0.8 * primitives.half_extents(shape)).all()
    assert (primitives.signed_distance(shape, primitives.surface_points(shape)) <= 1e-12).all()
    for direction in rng.normal(size=(20, 3)):
        direction /= np.linalg.norm(direction)
        lowest = primitives.lowest_point(shape, direction)
        assert primitives.signed_distance(shape, lowest[None])[0] == pytest.approx(0.0, abs=1e-12)
        assert lowest @ direction <= (inside @ direction).min() + 1e-12
        assert lowest @ direction >= (inside @ direction).min() - 0.06


@pytest.mark.parametrize("shape", [shape for shape, _ in SHAPES])
def test_the_nearest_inside_is_inside_and_leaves_inner_points_alone(shape):
    points = np.random.default_rng(2).uniform(-0.6, 0.6, (500, 3))
    nearest = primitives.nearest_inside(shape, points)
    assert (primitives.signed_distance(shape, nearest) <= 1e-9).all()
    inside = primitives.signed_distance(shape, points) <= 0.0
    assert np.allclose(nearest[inside], points[inside])
