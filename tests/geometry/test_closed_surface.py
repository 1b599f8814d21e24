"""Inside and outside of meshes, whatever their winding, doubled vertices, holes and nesting."""

import numpy as np
import pytest
import trimesh

from memetik.geometry.closed_surface import InsideTest, analyse, winding_number
from memetik.geometry.mesh_files import merge_vertices
from memetik.geometry.shapes import HeightMap, TriangleMesh, VoxelMap
from memetik.geometry.tessellate import height_map_mesh, voxel_map_mesh

RNG = np.random.default_rng(3)


def as_mesh(mesh: trimesh.Trimesh) -> TriangleMesh:
    return TriangleMesh(mesh.vertices, mesh.faces)


def flipped(mesh: trimesh.Trimesh, share: float) -> trimesh.Trimesh:
    faces = mesh.faces.copy()
    chosen = RNG.random(len(faces)) < share
    faces[chosen] = faces[chosen][:, ::-1]
    return trimesh.Trimesh(mesh.vertices, faces, process=False)


def torus() -> trimesh.Trimesh:
    return trimesh.creation.torus(1.0, 0.3, major_sections=48, minor_sections=32)


def check(mesh: trimesh.Trimesh, inside, solid: bool | None = None, band: float = 0.0) -> None:
    """Random points, but those within `band` of where the closed form changes its mind about a faceted surface."""
    surface = analyse(as_mesh(mesh), solid)
    assert surface.is_solid
    test = InsideTest(surface.boundary)
    points = RNG.uniform(mesh.bounds[0] - 0.1, mesh.bounds[1] + 0.1, (600, 3))
    value = inside(points)
    sure = np.abs(value) > band
    assert np.array_equal(test.contains_each(points)[sure], value[sure] < 0.0)
    by_angles = np.array([winding_number(surface.boundary, point) > 0.5 for point in points[:100]])
    assert np.array_equal(test.contains_each(points[:100]), by_angles)


def torus_distance(points: np.ndarray) -> np.ndarray:
    return np.hypot(np.hypot(points[:, 0], points[:, 1]) - 1.0, points[:, 2]) - 0.3


def box_distance(points: np.ndarray, size: float, centre: float = 0.0) -> np.ndarray:
    return np.abs(points - centre).max(axis=1) - 0.5 * size


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_winding_does_not_matter(share):
    check(flipped(torus(), share), torus_distance, band=0.01)


def test_doubled_vertices_are_merged_before_it_matters():
    soup = torus().triangles.reshape(-1, 3)
    vertices, faces = merge_vertices(soup, np.arange(len(soup)).reshape(-1, 3))
    check(flipped(trimesh.Trimesh(vertices, faces, process=False), 0.4), torus_distance, band=0.01)


def test_a_surface_drawn_from_both_sides_encloses_what_it_would_from_one():
    mesh = torus()
    both = trimesh.Trimesh(mesh.vertices, np.concatenate([mesh.faces, mesh.faces[:, ::-1]]), process=False)
    check(both, torus_distance, band=0.01)
    twice = trimesh.Trimesh(mesh.vertices, np.concatenate([mesh.faces, mesh.faces]), process=False)
    check(twice, torus_distance, band=0.01)


def test_bodies_that_share_a_wall_become_one():
    first, second = trimesh.creation.box((1, 1, 1)), trimesh.creation.box((1, 1, 1))
    second.apply_transform(np.diag([-1.0, 1.0, 1.0, 1.0]))  # mirrored, so that both cut the wall along one diagonal
    second.apply_translation((1, 0, 0))
    soup = np.concatenate([first.triangles, second.triangles])
    vertices, faces = merge_vertices(soup.reshape(-1, 3), np.arange(3 * len(soup)).reshape(-1, 3))
    assert len(vertices) == 12
    surface = analyse(TriangleMesh(vertices, faces.astype(np.int32)))
    assert surface.closed.tolist() == [True]
    assert len(surface.boundary) == 20

    def distance(points):
        return np.maximum(np.abs(points[:, 0] - 0.5) - 1.0, np.abs(points[:, 1:]).max(axis=1) - 0.5)

    check(trimesh.Trimesh(vertices, faces, process=False), distance)


def test_a_cavity_is_outside_whichever_way_it_is_wound():
    outer, inner = trimesh.creation.box((2, 2, 2)), trimesh.creation.box((1, 1, 1))
    inner.invert()
    hollow = trimesh.util.concatenate([outer, inner])

    def distance(points):
        return np.maximum(box_distance(points, 2.0), -box_distance(points, 1.0))

    check(hollow, distance)
    hollow.invert()
    check(hollow, distance)
    check(flipped(hollow, 0.5), distance)


def test_overlapping_bodies_are_solid_where_they_overlap():
    first, second = trimesh.creation.box((1, 1, 1)), trimesh.creation.box((1, 1, 1))
    second.apply_translation((0.5, 0.5, 0.5))
    check(
        trimesh.util.concatenate([first, second]),
        lambda p: np.minimum(box_distance(p, 1.0), box_distance(p, 1.0, 0.5)),
    )


def test_points_over_edges_and_corners_are_decided():
    test = InsideTest(analyse(as_mesh(trimesh.creation.box((1, 1, 1)))).boundary)
    assert test.contains(np.zeros(3))
    assert test.contains(np.array([0.25, 0.25, 0.25]))
    assert not test.contains(np.array([0.0, 0.0, 0.6]))
    assert not test.contains(np.array([0.5 + 1e-9, 0.0, 0.0]))


def test_small_holes_are_closed_by_lids_and_said_so():
    mesh = torus()
    keep = np.ones(len(mesh.faces), dtype=bool)
    keep[[5, 6, 900]] = False
    holed = trimesh.Trimesh(mesh.vertices, mesh.faces[keep], process=False)
    assert analyse(as_mesh(holed)).lidded == 1
    check(holed, torus_distance, band=0.02)
    check(flipped(holed, 0.3), torus_distance, band=0.02)


def test_a_bowl_is_a_shell_unless_said_to_be_solid():
    ball = trimesh.creation.icosphere(4)
    bowl = trimesh.Trimesh(ball.vertices, ball.faces[ball.triangles_center[:, 2] < 0.3], process=False)
    surface = analyse(as_mesh(bowl))
    assert not surface.is_solid
    assert surface.is_open
    forced = InsideTest(analyse(as_mesh(bowl), solid=True).boundary)
    assert forced.contains(np.zeros(3))
    assert not forced.contains(np.array([0, 0, 0.6]))


def test_a_solid_may_be_declared_a_shell():
    surface = analyse(as_mesh(trimesh.creation.box((1, 1, 1))), solid=False)
    assert not surface.is_solid


def test_loose_faces_beside_a_solid_enclose_nothing():
    box = trimesh.creation.box((1, 1, 1))
    sheet = trimesh.Trimesh([[3, 0, 0], [4, 0, 0], [3, 1, 0]], [[0, 1, 2]], process=False)
    surface = analyse(as_mesh(trimesh.util.concatenate([box, sheet])))
    assert surface.closed.tolist().count(True) == 1
    assert surface.is_open
    assert InsideTest(surface.boundary).contains(np.zeros(3))


def test_a_moebius_strip_is_a_shell():
    turn = 2.0 * np.pi * np.arange(40) / 40
    points = [
        ((1 + w * np.cos(t / 2)) * np.cos(t), (1 + w * np.cos(t / 2)) * np.sin(t), w * np.sin(t / 2))
        for t in turn
        for w in (-0.3, 0.3)
    ]
    faces = []
    for k in range(40):
        a, b = 2 * k, 2 * k + 1
        c, d = (2 * k + 2, 2 * k + 3) if k < 39 else (1, 0)
        faces += [[a, b, c], [b, d, c]]
    assert not analyse(TriangleMesh(np.array(points), np.array(faces, dtype=np.int32))).is_solid


def test_a_soup_of_loose_triangles_is_looked_at_in_bounded_time():
    count = 20_000
    mesh = TriangleMesh(RNG.random((3 * count, 3)), np.arange(3 * count).reshape(-1, 3).astype(np.int32))
    surface = analyse(mesh)
    assert len(surface.closed) == count
    assert not surface.is_solid


def test_many_bodies_inside_out_are_turned():
    count = 2_000
    corners = RNG.random((count, 1, 3)) * 100.0 + 0.1 * np.eye(4, 3, k=-1)
    faces = np.array([[0, 1, 2], [0, 3, 1], [1, 3, 2], [0, 2, 3]]) + 4 * np.arange(count)[:, None, None]
    surface = analyse(TriangleMesh(corners.reshape(-1, 3), faces.reshape(-1, 3).astype(np.int32)))
    assert surface.rewound == 4 * count
    test = InsideTest(surface.boundary)
    assert all(test.contains(body.mean(axis=0)) for body in corners[:50])


def test_a_height_map_is_the_ground_below_its_triangles():
    heights = RNG.random((7, 9))
    shape = HeightMap(heights, (2.0, 3.0), base=-0.5)
    mesh = height_map_mesh(shape)
    cell = (2.0 / 6) * (3.0 / 8)
    a, b, c, d = heights[:-1, :-1], heights[1:, :-1], heights[1:, 1:], heights[:-1, 1:]
    assert mesh.volume == pytest.approx(cell * ((a + b + c) / 6 + (a + c + d) / 6).sum() + 0.5 * 6.0)
    surface = analyse(mesh)
    assert surface.closed.all()
    test = InsideTest(surface.boundary)
    for i, j in ((0, 0), (3, 4), (5, 7)):
        place = ((i / 6 - 0.5) * 2.0 + 1e-4, (j / 8 - 0.5) * 3.0 + 1e-4)
        assert test.contains(np.array([*place, heights[i, j] - 0.01]))
        assert not test.contains(np.array([*place, heights[i, j] + 0.01]))


def test_a_voxel_map_is_its_occupied_cells():
    occupied = RNG.random((6, 5, 4)) < 0.4
    shape = VoxelMap(occupied, 0.1, (1.0, 2.0, 3.0))
    mesh = voxel_map_mesh(shape)
    assert mesh.volume == pytest.approx(occupied.sum() * 1e-3)
    test = InsideTest(analyse(mesh, True).boundary)
    points = RNG.uniform((1.0, 2.0, 3.0), (1.6, 2.5, 3.4), (500, 3))
    cells = ((points - (1.0, 2.0, 3.0)) / 0.1).astype(int)
    assert np.array_equal(test.contains_each(points), occupied[tuple(cells.T)])
