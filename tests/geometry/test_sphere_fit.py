"""Fitted bodies: everything covered, nothing protruding further than stated."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from memetik.errors import GeometryError
from memetik.geometry.distance_field import mesh_distance
from memetik.geometry.primitives import signed_distance
from memetik.geometry.shapes import Box, Capsule, Cone, Cylinder, Sphere, TriangleMesh
from memetik.geometry.sphere_fit import Fit, fit_shape

PRIMITIVES = [
    Box((0.35, 0.1, 0.04)),
    Box((0.6, 0.6, 0.3)),
    Box((0.02, 0.02, 0.05)),
    Box((0.5, 0.5, 0.5)),
    Box((1.0, 0.004, 0.004)),
    Cylinder(0.06, 0.15),
    Cylinder(0.1, 0.02),
    Cylinder(0.3, 0.5),
    Cylinder(0.05, 0.1),
    Cylinder(0.01, 0.5),
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMETIK_CACHE", str(tmp_path / "cache"))


def distance_to_bodies(fit: Fit, points: np.ndarray, radii: np.ndarray) -> np.ndarray:
    best = np.full(len(points), np.inf)
    for start, end, radius in zip(fit.starts, fit.ends, radii, strict=True):
        along = end - start
        t = np.clip((points - start) @ along / max(along @ along, 1e-300), 0.0, 1.0)
        best = np.minimum(best, np.linalg.norm(points - start - t[:, None] * along, axis=1) - radius)
    return best


def points_on_bodies(fit: Fit, radii: np.ndarray, rng: np.random.Generator, each: int) -> np.ndarray:
    direction = rng.normal(size=(len(fit), each, 3))
    direction /= np.linalg.norm(direction, axis=2, keepdims=True)
    t = rng.uniform(-0.2, 1.2, (len(fit), each, 1)).clip(0.0, 1.0)
    along = fit.starts[:, None] + t * (fit.ends - fit.starts)[:, None]
    return (along + radii[:, None, None] * direction).reshape(-1, 3)


def points_in(shape: Box | Cylinder, rng: np.random.Generator, count: int) -> np.ndarray:
    """Points of the shape, its faces, edges and corners well represented."""
    if isinstance(shape, Box):
        unit = rng.uniform(-1.0, 1.0, (count, 3))
        unit = np.where(rng.uniform(size=(count, 3)) < 0.4, np.sign(unit), unit)
        return 0.5 * unit * np.array(shape.size)
    radial = np.sqrt(rng.uniform(size=count))
    radial[rng.uniform(size=count) < 0.4] = 1.0
    height = rng.uniform(-1.0, 1.0, count)
    height = np.where(rng.uniform(size=count) < 0.4, np.sign(height), height)
    angle = rng.uniform(0.0, 2.0 * np.pi, count)
    return np.c_[
        shape.radius * radial * np.cos(angle), shape.radius * radial * np.sin(angle), 0.5 * shape.length * height
    ]


@pytest.mark.parametrize("shape", [Sphere(0.1), Capsule(0.05, 0.3)])
def test_spheres_and_capsules_are_themselves(shape):
    fit = fit_shape(shape)
    assert len(fit) == 1
    assert fit.protrusion == 0.0
    assert fit.radii[0] == fit.inner[0] == shape.radius


@pytest.mark.parametrize("protrusion", [0.002, 0.006])
@pytest.mark.parametrize("shape", PRIMITIVES, ids=repr)
def test_primitives_are_covered_and_bodies_protrude_no_further_than_asked(shape, protrusion):
    rng = np.random.default_rng(0)
    fit = fit_shape(shape, protrusion)
    assert fit.protrusion <= protrusion
    assert distance_to_bodies(fit, points_in(shape, rng, 40_000), fit.radii).max() <= 1e-9
    assert signed_distance(shape, points_on_bodies(fit, fit.radii, rng, 100)).max() <= protrusion + 1e-9


@pytest.mark.parametrize("shape", PRIMITIVES, ids=repr)
def test_tight_bodies_lie_inside(shape):
    fit = fit_shape(shape, 0.004)
    outermost = points_on_bodies(fit, fit.inner, np.random.default_rng(1), 100)
    assert signed_distance(shape, outermost).max() <= 1e-9


def test_fewer_bodies_where_they_may_protrude_further():
    counts = [len(fit_shape(Box((0.4, 0.2, 0.1)), protrusion)) for protrusion in (0.001, 0.003, 0.01)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[2]


@pytest.mark.parametrize(
    "mesh",
    [
        trimesh.creation.torus(0.1, 0.03),
        trimesh.creation.annulus(0.04, 0.06, 0.1),
        trimesh.creation.icosphere(subdivisions=2, radius=0.06),
    ],
    ids=["torus", "tube", "ball"],
)
def test_meshes_are_covered_and_balls_protrude_no_further_than_stated(mesh):
    fit = fit_shape(TriangleMesh(mesh.vertices, mesh.faces), 0.006)
    rng = np.random.default_rng(0)
    surface = trimesh.sample.sample_surface(mesh, 20_000, seed=1)[0]
    inside = rng.uniform(*mesh.bounds, (20_000, 3))
    inside = inside[mesh.contains(inside)]
    assert distance_to_bodies(fit, surface, fit.radii).max() <= 0.0
    assert distance_to_bodies(fit, inside, fit.radii).max() <= 0.0
    outermost = points_on_bodies(fit, fit.radii, rng, 50)
    beyond = mesh_distance(mesh.vertices, mesh.faces, outermost)[~mesh.contains(outermost)]
    assert beyond.max() <= fit.protrusion + 1e-6
    assert len(fit) < 400


def test_an_open_sheet_is_covered_too():
    sheet = TriangleMesh(
        np.array([[0, 0, 0], [0.1, 0, 0], [0.1, 0.1, 0], [0, 0.1, 0.0]]), np.array([[0, 1, 2], [0, 2, 3]])
    )
    fit = fit_shape(sheet, 0.01)
    points = np.c_[np.random.default_rng(0).uniform(0.0, 0.1, (5000, 2)), np.zeros(5000)]
    assert distance_to_bodies(fit, points, fit.radii).max() <= 0.0


def test_cones_are_covered():
    shape = Cone(0.05, 0.1)
    fit = fit_shape(shape, 0.01)
    rng = np.random.default_rng(0)
    height = rng.uniform(0.0, 1.0, 5000)
    radial = 0.05 * (1.0 - height) * np.sqrt(rng.uniform(size=5000))
    angle = rng.uniform(0.0, 2.0 * np.pi, 5000)
    points = np.c_[radial * np.cos(angle), radial * np.sin(angle), 0.1 * (height - 0.5)]
    assert distance_to_bodies(fit, points, fit.radii).max() <= 0.0


def test_fits_are_the_same_every_time_and_come_from_the_cache(tmp_path):
    mesh = trimesh.creation.torus(0.05, 0.02)
    shape = TriangleMesh(mesh.vertices, mesh.faces)
    first = fit_shape(shape, 0.006)
    assert len(list((tmp_path / "cache").glob("spheres-*.npz"))) == 1
    stored = fit_shape(shape, 0.006)
    for path in (tmp_path / "cache").glob("*.npz"):
        path.unlink()
    anew = fit_shape(shape, 0.006)
    for other in (stored, anew):
        assert np.array_equal(first.starts, other.starts)
        assert np.array_equal(first.radii, other.radii)
        assert np.allclose(first.inner, other.inner, atol=1e-15)


def test_a_moved_fit_covers_the_moved_shape():
    pose = np.eye(4)
    pose[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    pose[:3, 3] = (1.0, 2.0, 3.0)
    fit = fit_shape(Capsule(0.05, 0.3), 0.003).moved(pose)
    assert np.allclose(fit.starts[0], [1.0, 2.0, 2.85])
    assert np.allclose(fit.ends[0], [1.0, 2.0, 3.15])


def test_a_protrusion_must_be_positive():
    with pytest.raises(GeometryError, match="positive"):
        fit_shape(Box((0.1, 0.1, 0.1)), 0.0)
