"""Distance fields against closed forms and exact distances, on good and on broken meshes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import trimesh

from memetik.errors import GeometryError, InvalidInputError
from memetik.geometry import cache
from memetik.geometry.distance_field import DistanceField, mesh_distance
from memetik.geometry.shapes import TriangleMesh


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMETIK_CACHE", str(tmp_path / "cache"))


def brute_force_distance(mesh: trimesh.Trimesh, points: np.ndarray) -> np.ndarray:
    """Distance to each triangle in turn, by its own algorithm: the plane where the foot is inside, else the edges."""
    best = np.full(len(points), np.inf)
    for a, b, c in mesh.vertices[mesh.faces]:
        normal = np.cross(b - a, c - a)
        area = np.linalg.norm(normal)
        distance = np.full(len(points), np.inf)
        for p, q in ((a, b), (b, c), (c, a)):
            along = q - p
            t = np.clip((points - p) @ along / max(along @ along, 1e-300), 0.0, 1.0)
            distance = np.minimum(distance, np.linalg.norm(points - p - t[:, None] * along, axis=1))
        if area > 0.0:
            normal = normal / area
            inside = np.ones(len(points), dtype=bool)
            for p, q in ((a, b), (b, c), (c, a)):
                inside &= np.cross(q - p, points - p) @ normal >= 0.0
            distance = np.where(inside, np.abs((points - a) @ normal), distance)
        best = np.minimum(best, distance)
    return best


def points_around(mesh: trimesh.Trimesh, count: int, reach: float) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.uniform(mesh.bounds[0] - reach, mesh.bounds[1] + reach, (count, 3))


def assert_within_bounds(field: DistanceField, points: np.ndarray, truth: np.ndarray) -> None:
    """The stated bounds: near the surface, in the grid, and the lower bound outside it."""
    error = field.value(points) - truth
    low, high = field.box
    inside_grid = ((points >= low) & (points <= high)).all(axis=1)
    near = inside_grid & (np.abs(truth) < field.band)
    assert near.any()
    assert np.abs(error[near]).max() <= field.bound
    assert np.abs(error[inside_grid]).max() <= field.far_bound
    assert (error[~inside_grid] <= field.far_bound).all()


def test_distance_to_a_mesh_is_exact():
    mesh = trimesh.creation.annulus(0.05, 0.1, 0.08, sections=11)
    points = points_around(mesh, 400, 0.1)
    assert np.allclose(mesh_distance(mesh.vertices, mesh.faces, points), brute_force_distance(mesh, points), atol=1e-12)


@pytest.mark.parametrize("resolution", [0.01, 0.004])
def test_values_of_a_sphere_are_within_the_bound(resolution):
    mesh = trimesh.creation.icosphere(subdivisions=3, radius=0.1)
    field = DistanceField(mesh.vertices, mesh.faces, resolution)
    points = points_around(mesh, 20_000, 0.4)
    truth = mesh_distance(mesh.vertices, mesh.faces, points) * np.where(mesh.contains(points), -1.0, 1.0)
    assert not field.is_shell
    assert_within_bounds(field, points, truth)


def test_values_of_a_box_are_within_the_bound_of_the_closed_form():
    half = np.array([0.1, 0.05, 0.15])
    mesh = trimesh.creation.box(2.0 * half)
    field = DistanceField(mesh.vertices, mesh.faces, 0.006)
    points = points_around(mesh, 20_000, 0.3)
    q = np.abs(points) - half
    truth = np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0)
    assert_within_bounds(field, points, truth)


def test_positive_values_exceed_the_distance_by_no_more_than_stated():
    mesh = trimesh.creation.icosphere(subdivisions=3, radius=0.1)
    field = DistanceField(mesh.vertices, mesh.faces, 0.01)
    points = points_around(mesh, 20_000, 0.3)
    truth = mesh_distance(mesh.vertices, mesh.faces, points)
    outside = ~mesh.contains(points) & (truth > 1e-4)
    points, truth = points[outside], truth[outside]
    excess = field.value(points) - truth
    h, near = field.resolution, truth < field.band
    assert (excess[near] <= np.sqrt(truth[near] ** 2 + 0.75 * h * h) - truth[near] + 1e-6).all()
    assert (excess <= np.sqrt(truth**2 + 12.0 * h * h) - truth + 1e-6).all()


def test_gradient_is_that_of_the_value():
    mesh = trimesh.creation.icosphere(subdivisions=2, radius=0.1)
    field = DistanceField(mesh.vertices, mesh.faces, 0.01)
    points = points_around(mesh, 2000, 0.4)  # some of them outside the grid
    step = 1e-7
    numeric = np.stack(
        [(field.value(points + step * e) - field.value(points - step * e)) / (2 * step) for e in np.eye(3)], 1
    )
    close = np.abs(numeric - field.gradient(points)).max(axis=1) < 1e-5
    assert close.mean() > 0.999  # a cell's border may lie between the two points


def test_winding_and_doubled_vertices_do_not_matter():
    mesh = trimesh.creation.icosphere(subdivisions=3, radius=0.1)
    rng = np.random.default_rng(0)
    faces = np.where(rng.uniform(size=len(mesh.faces))[:, None] < 0.4, mesh.faces[:, ::-1], mesh.faces)
    soup = mesh.vertices[faces].reshape(-1, 3)
    points = points_around(mesh, 5000, 0.1)
    good = DistanceField(mesh.vertices, mesh.faces, 0.008)
    bad = DistanceField(soup, np.arange(len(soup)).reshape(-1, 3), 0.008)
    assert not bad.is_shell
    assert np.abs(good.value(points) - bad.value(points)).max() < 1e-6


def test_slivers_and_degenerate_faces_change_nothing():
    mesh = trimesh.creation.box((0.2, 0.1, 0.1))
    corner, other = mesh.vertices[mesh.faces[0, 0]], mesh.vertices[mesh.faces[0, 1]]
    middle = 0.5 * (corner + other)
    vertices = np.concatenate([mesh.vertices, [middle, middle + 1e-9, corner]])
    count = len(mesh.vertices)
    extra = [[mesh.faces[0, 0], mesh.faces[0, 1], count], [count, count + 1, mesh.faces[0, 0]], [count + 2] * 3]
    points = points_around(mesh, 5000, 0.1)
    plain = DistanceField(mesh.vertices, mesh.faces, 0.006)
    sliver = DistanceField(vertices, np.concatenate([mesh.faces, extra]), 0.006)
    assert np.abs(plain.value(points) - sliver.value(points)).max() < 1e-5


def test_an_open_mesh_is_a_shell_and_says_so():
    mesh = trimesh.creation.icosphere(subdivisions=3, radius=0.1)
    cap = mesh.triangles_center[:, 2] < 0.05
    field = DistanceField(mesh.vertices, mesh.faces[cap], 0.006)
    points = points_around(mesh, 5000, 0.1)
    assert field.is_shell
    assert_within_bounds(field, points, mesh_distance(mesh.vertices, mesh.faces[cap], points))


def test_a_pinhole_does_not_make_a_solid_a_shell():
    mesh = trimesh.creation.icosphere(subdivisions=4, radius=0.1)
    field = DistanceField(mesh.vertices, mesh.faces[1:], 0.004)
    assert field.is_lidded
    assert not field.is_shell
    assert field.value([0.05, 0.0, 0.0]) == pytest.approx(-0.05, abs=0.002)


def test_a_solid_taken_for_a_shell_has_unsigned_distances():
    mesh = trimesh.creation.box((0.2, 0.2, 0.2))
    field = DistanceField(mesh.vertices, mesh.faces, 0.01, solid=False)
    assert field.is_shell
    assert field.value(np.zeros(3)) == pytest.approx(0.1, abs=field.far_bound)


def test_a_closed_room_is_free_inside_and_its_walls_are_not():
    inner = trimesh.creation.box((0.8, 0.8, 0.8))
    inner.invert()
    room = trimesh.util.concatenate([trimesh.creation.box((1.0, 1.0, 1.0)), inner])
    field = DistanceField(room.vertices, room.faces, 0.02)
    value = field.value([[0.0, 0.0, 0.0], [0.45, 0.0, 0.0], [0.7, 0.0, 0.0]])
    assert value[0] > 0.3
    assert value[1] == pytest.approx(-0.05, abs=field.bound)
    assert value[2] == pytest.approx(0.2, abs=field.bound + 0.01)


def test_concave_polygons_are_not_filled():
    # A plate with a notch, as one polygon of eight corners, and its sides.
    outline = np.array([[0, 0], [3, 0], [3, 3], [2, 3], [2, 1], [1, 1], [1, 3], [0, 3]], dtype=float) * 0.1
    low, high = np.c_[outline, np.zeros(8)], np.c_[outline, np.full(8, 0.1)]
    sides = [[k, (k + 1) % 8, 8 + (k + 1) % 8, 8 + k] for k in range(8)]
    field = DistanceField(np.concatenate([low, high]), [list(range(7, -1, -1)), list(range(8, 16)), *sides], 0.01)
    assert not field.is_shell
    assert field.value([0.15, 0.2, 0.05]) == pytest.approx(0.05, abs=field.bound)
    assert field.value([0.05, 0.15, 0.05]) == pytest.approx(-0.05, abs=field.bound)


def test_points_are_balls():
    points = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    faces = np.repeat(np.arange(2, dtype=np.int32)[:, None], 3, axis=1)  # triangles without extent
    field = DistanceField(points, faces, 0.01, thickness=0.1, solid=False)
    assert field.is_shell
    assert field.value([0.0, 0.07, 0.0]) == pytest.approx(0.02, abs=field.bound)
    assert field.value([0.5, 0.0, 0.03]) == pytest.approx(-0.02, abs=field.bound)


def test_a_field_is_found_again_in_memory_and_on_disk(tmp_path):
    mesh = trimesh.creation.box((0.1, 0.1, 0.1))
    shape = TriangleMesh(mesh.vertices, mesh.faces)
    first = DistanceField.of_mesh(shape, 0.01)
    assert DistanceField.of_mesh(shape, 0.01) is first
    files = list((tmp_path / "cache").glob("field-*.npz"))
    assert len(files) == 1
    points = points_around(mesh, 500, 0.1)
    values = first.value(points)
    del first
    assert np.array_equal(DistanceField.of_mesh(shape, 0.01).value(points), values)


@pytest.mark.parametrize("damage", [b"", b"not an archive", None])
def test_a_damaged_cache_entry_is_made_anew(tmp_path, damage):
    mesh = trimesh.creation.box((0.1, 0.1, 0.1))
    shape = TriangleMesh(mesh.vertices, mesh.faces)
    DistanceField.of_mesh(shape, 0.01)
    (path,) = (tmp_path / "cache").glob("field-*.npz")
    path.write_bytes(path.read_bytes()[:-2000] if damage is None else damage)
    assert DistanceField.of_mesh(shape, 0.01).value(np.zeros(3)) < 0.0


def test_an_entry_that_does_not_fit_together_is_made_anew(tmp_path):
    mesh = trimesh.creation.box((0.1, 0.1, 0.1))
    shape = TriangleMesh(mesh.vertices, mesh.faces)
    DistanceField.of_mesh(shape, 0.01)
    (path,) = (tmp_path / "cache").glob("field-*.npz")
    with np.load(path) as entry:
        arrays = {name: entry[name] for name in entry.files}
    np.savez(path, **{**arrays, "starts": arrays["starts"] + 10_000_000})
    assert DistanceField.of_mesh(shape, 0.01).value(np.zeros(3)) < 0.0


def test_the_cache_can_be_switched_off(monkeypatch, tmp_path):
    monkeypatch.setenv("MEMETIK_CACHE", "off")
    assert cache.folder() is None
    cache.store("field", "key", {"a": np.zeros(3)})
    assert cache.load("field", "key") is None


def test_old_entries_go_when_the_folder_grows_too_large(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "MAX_BYTES", 20_000)
    for number in range(5):
        cache.store("test", str(number), {"a": np.zeros(1000)})
    names = {path.name for path in (tmp_path / "cache").glob("*.npz")}
    assert len(names) == 2
    assert f"test-{cache.VERSION}-4.npz" in names


def test_a_field_that_is_too_large_is_an_error_or_becomes_coarser():
    mesh = trimesh.creation.box((1.0, 1.0, 1.0))
    with pytest.raises(GeometryError, match="choose a coarser resolution"):
        DistanceField(mesh.vertices, mesh.faces, 0.001, max_values=100_000)
    field = DistanceField(mesh.vertices, mesh.faces, max_values=200_000)
    assert field.nbytes < 2_000_000
    assert not field.is_shell


def test_fields_pickle():
    mesh = trimesh.creation.box((0.1, 0.1, 0.1))
    field = DistanceField(mesh.vertices, mesh.faces, 0.01)
    again = pickle.loads(pickle.dumps(field))
    points = points_around(mesh, 100, 0.1)
    assert np.array_equal(again.value(points), field.value(points))


def test_wrong_input_is_refused():
    mesh = trimesh.creation.box((0.1, 0.1, 0.1))
    with pytest.raises(GeometryError, match="vertex that does not exist"):
        DistanceField(mesh.vertices, mesh.faces + 8, 0.01)
    with pytest.raises(GeometryError, match="finite"):
        DistanceField(mesh.vertices * np.nan, mesh.faces, 0.01)
    with pytest.raises(InvalidInputError, match="resolution must be positive"):
        DistanceField(mesh.vertices, mesh.faces, -1.0)
    field = DistanceField(mesh.vertices, mesh.faces, 0.01)
    with pytest.raises(InvalidInputError, match=r"shape \(\.\.\., 3\)"):
        field.value(np.zeros(2))
    with pytest.raises(InvalidInputError, match="finite"):
        field.value([np.nan, 0.0, 0.0])
