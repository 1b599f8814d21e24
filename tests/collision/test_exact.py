"""Exact checks against closed forms, brute force over triangles, and bodies wholly inside solids."""

import pickle
import threading

import numpy as np
import pytest
import trimesh
from gantry import gantry, random_configurations

from memetik.collision.exact import CollisionChecker, CollisionModel
from memetik.errors import GeometryError, InvalidInputError, UnknownNameError
from memetik.geometry import primitives
from memetik.geometry.shapes import Box, Capsule, Cone, Cylinder, Mesh, Sphere, TriangleMesh
from memetik.geometry.transforms import transform
from memetik.robot.robot import load_robot
from memetik.scene.scene import Scene

pytest.importorskip("coal")


def as_mesh(mesh: trimesh.Trimesh) -> TriangleMesh:
    return TriangleMesh(mesh.vertices, mesh.faces)


def thick_bowl() -> trimesh.Trimesh:
    """A solid with a deep hollow: nothing here is convex."""
    return trimesh.creation.revolve([[0, 0], [0.5, 0], [0.5, 0.6], [0.4, 0.6], [0.4, 0.1], [0, 0.1]], sections=64)


def bowl_distance(points: np.ndarray) -> np.ndarray:
    """The signed distance of the bowl of revolution, from the segments of its section."""
    section = np.array([[0, 0], [0.5, 0], [0.5, 0.6], [0.4, 0.6], [0.4, 0.1], [0, 0.1]])
    flat = np.stack([np.hypot(points[:, 0], points[:, 1]), points[:, 2]], axis=1)
    start, edge = section[:-1], np.diff(section, axis=0)
    share = np.clip(np.einsum("psk,sk->ps", flat[:, None] - start, edge) / np.sum(edge**2, axis=1), 0.0, 1.0)
    distance = np.linalg.norm(flat[:, None] - start - share[..., None] * edge, axis=2).min(axis=1)
    r, z = flat.T
    inside = (r <= 0.5) & (z >= 0.0) & (z <= 0.6) & ~((r < 0.4) & (z > 0.1))
    return np.where(inside, -distance, distance)


OBSTACLES = [Box((0.4, 0.3, 0.2)), Sphere(0.3), Cylinder(0.2, 0.5), Capsule(0.1, 0.4), Cone(0.25, 0.5)]


@pytest.mark.parametrize("shape", OBSTACLES)
def test_a_sphere_keeps_the_closed_form_distance_to_every_primitive(shape):
    place = transform((0.1, -0.2, 0.3), rpy=(0.3, 0.5, 0.7))
    scene = Scene()
    scene.add("obstacle", shape, place)
    model = CollisionModel(gantry(Sphere(0.05)), scene)
    configurations = random_configurations(400, 0.5)
    local = (configurations[:, :3] - place[:3, 3]) @ place[:3, :3]
    expected = primitives.signed_distance(shape, local) - 0.05
    assert np.allclose(model.distance(configurations), expected, atol=1e-9)
    sure = np.abs(expected) > 1e-5
    assert np.array_equal(model.collides(configurations)[sure], expected[sure] < 0.0)


def test_a_plane_is_solid_below_and_exact_for_every_shape():
    scene = Scene()
    scene.add_plane("slope", (0.0, 0.6, 0.8), 0.1)
    cube = as_mesh(trimesh.creation.box((0.2, 0.2, 0.2)))
    for shape in [*OBSTACLES, cube]:
        model = CollisionModel(gantry(shape), scene)
        for q in random_configurations(20, 0.6, seed=1):
            pose = model.robot.pose("body", q)
            points = cube.vertices if shape is cube else primitives.surface_points(shape)
            heights = (points @ pose[:3, :3].T + pose[:3, 3]) @ (0.0, 0.6, 0.8) - 0.1
            assert model.distance(q) <= heights.min() + 1e-9
            assert model.distance(q) >= heights.min() - 0.03
            assert model.collides(q) == (model.distance(q) < 0.0)
    assert CollisionModel(gantry(Sphere(0.1)), scene).distance(np.zeros(6)) == pytest.approx(-0.2)


def test_a_sphere_against_a_solid_mesh_is_signed_inside_and_out():
    scene = Scene()
    scene.add_mesh("bowl", thick_bowl(), transform((0.2, 0.1, -0.3)))
    model = CollisionModel(gantry(Sphere(0.02)), scene)
    configurations = random_configurations(500, 0.7, seed=2)
    exact = bowl_distance(configurations[:, :3] - (0.2, 0.1, -0.3)) - 0.02
    sure = np.abs(exact) > 2e-3  # the mesh is faceted: it lies up to 0.6 mm within the round surface
    assert np.array_equal(model.collides(configurations)[sure], exact[sure] < 0.0)
    outside = exact > 0.0
    assert np.allclose(model.distance(configurations[outside]), exact[outside], atol=2e-3)
    inside = exact < -2e-3
    assert inside.sum() > 10
    assert (model.distance(configurations[inside]) < 0.0).all()


def test_the_depth_in_a_solid_mesh_is_that_of_the_deepest_point():
    scene = Scene()
    scene.add_mesh("block", trimesh.creation.box((1, 1, 1)), solid=None)
    scene.replace("block", as_mesh(_notched_block()))
    model = CollisionModel(gantry(Sphere(0.05)), scene)
    for height in (0.52, 0.45, 0.3):
        q = np.array([-0.25, 0.0, height, 0.4, 0.2, 0.1])
        depth = min(0.5 - height + 0.05, 0.25)
        assert model.penetration(q) == pytest.approx(depth, rel=0.02)
        contact = model.contacts(q)[0]
        assert contact.depth == pytest.approx(depth, rel=0.02)
        assert {contact.first, contact.second} == {"body", "block"}


def _notched_block() -> trimesh.Trimesh:
    """A cube of edge 1 with a quarter cut out: not convex, its left half is x < 0, whole."""
    return trimesh.creation.extrude_polygon(
        _notch_polygon(), 1.0, transform=transform((0, 0.5, 0), rpy=(np.pi / 2, 0, 0))
    )


def _notch_polygon():
    shapely = pytest.importorskip("shapely.geometry")
    return shapely.Polygon([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.0), (0.0, 0.0), (0.0, 0.5), (-0.5, 0.5)])


def brute_force_distance(first: trimesh.Trimesh, second: trimesh.Trimesh) -> float:
    """Least distance of two meshes that are apart: from the edges of each, densely sampled, to the other."""
    best = np.inf
    for mesh, other in ((first, second), (second, first)):
        edges = mesh.vertices[mesh.edges_unique]
        shares = np.linspace(0, 1, 5)[:, None, None]
        points = (edges[:, 0] * (1 - shares) + edges[:, 1] * shares).reshape(-1, 3)
        best = min(best, float(trimesh.proximity.closest_point(other, points)[1].min()))
    return best


def test_meshes_against_meshes_and_primitives_agree_with_brute_force():
    obstacle = trimesh.creation.torus(0.4, 0.1, major_sections=16, minor_sections=8)
    scene = Scene()
    scene.add_mesh("torus", obstacle)
    carried = trimesh.creation.revolve(
        [[0, 0], [0.1, 0], [0.1, 0.2], [0.05, 0.2], [0.05, 0.05], [0, 0.05]], sections=10
    )
    box = Box((0.1, 0.2, 0.05))
    for shape, body in ((as_mesh(carried), carried), (box, trimesh.creation.box(box.size))):
        model = CollisionModel(gantry(shape), scene)
        seen = 0
        for q in random_configurations(18, 0.6, seed=3):
            moved = body.copy()
            moved.apply_transform(model.robot.pose("body", q))
            if not model.collides(q):
                seen += 1
                expected = brute_force_distance(moved, obstacle)
                assert model.distance(q) <= expected + 1e-9
                assert model.distance(q) == pytest.approx(expected, abs=4e-3)
            else:
                assert model.distance(q) < 0.0
        assert seen > 6


SOLIDS = {
    "box": Box((1, 1, 1)),
    "mesh": as_mesh(trimesh.creation.box((1, 1, 1))),
    "concave mesh": as_mesh(thick_bowl()),
}


@pytest.mark.parametrize("inner", [Sphere(0.01), Box((0.02, 0.02, 0.02)), as_mesh(trimesh.creation.torus(0.01, 0.004))])
@pytest.mark.parametrize("outer", list(SOLIDS))
def test_a_body_wholly_inside_a_solid_collides(inner, outer):
    scene = Scene()
    scene.add("solid", SOLIDS[outer])
    q = np.array([0.45, 0.0, 0.3, 0.1, 0.2, 0.3])  # within the wall of the bowl, and within the boxes
    model = CollisionModel(gantry(inner), scene)
    assert model.collides(q)
    assert model.collides(q[None]).all()
    assert model.distance(q) < 0.0
    assert model.contacts(q)[0].depth > 0.0
    assert model.colliding_pair(q) == ("body", "solid")
    if outer == "concave mesh":
        assert not model.collides(np.array([0.0, 0.0, 0.3, 0, 0, 0]))  # in the hollow


@pytest.mark.parametrize("inner", [Sphere(0.01), as_mesh(trimesh.creation.torus(0.01, 0.004))])
def test_an_object_wholly_inside_a_link_collides(inner):
    scene = Scene()
    scene.add("small", inner, transform((0.45, 0.0, 0.3)))
    for name, shape in SOLIDS.items():
        assert CollisionModel(gantry(shape), scene).collides(np.zeros(6)), name


def test_padding_does_not_undo_the_inside():
    scene = Scene()
    scene.add("solid", SOLIDS["concave mesh"], padding=0.01)
    assert CollisionModel(gantry(Sphere(0.01)), scene).collides(np.array([0.45, 0, 0.3, 0, 0, 0]))


def test_an_open_shell_has_no_inside_but_its_surface_counts():
    ball = trimesh.creation.icosphere(3)
    bowl = trimesh.Trimesh(ball.vertices, ball.faces[ball.triangles_center[:, 2] < 0.3], process=False)
    scene = Scene()
    scene.add_mesh("bowl", bowl)
    model = CollisionModel(gantry(Sphere(0.1)), scene)
    assert not model.collides(np.zeros(6))
    assert model.distance(np.zeros(6)) == pytest.approx(0.9, abs=0.02)
    touching = np.array([0.95, 0, 0, 0, 0, 0])
    assert model.collides(touching)
    assert model.distance(touching) < 0.0
    assert not model.collides(np.array([0, 0, 0.9, 0, 0, 0]))  # through the opening


def test_a_closed_mesh_may_be_declared_a_shell():
    scene = Scene()
    scene.add_mesh("box", trimesh.creation.box((1, 1, 1)), solid=False)
    assert not CollisionModel(gantry(Sphere(0.1)), scene).collides(np.zeros(6))
    assert CollisionModel(gantry(Sphere(0.1)), scene).distance(np.zeros(6)) == pytest.approx(0.4)


def test_an_open_mesh_declared_solid_is_filled():
    ball = trimesh.creation.icosphere(3)
    bowl = trimesh.Trimesh(ball.vertices, ball.faces[ball.triangles_center[:, 2] < 0.3], process=False)
    scene = Scene()
    scene.add_mesh("bowl", bowl, solid=True)
    assert CollisionModel(gantry(Sphere(0.1)), scene).collides(np.zeros(6))


def test_winding_and_doubled_vertices_do_not_matter():
    soup = thick_bowl().triangles.copy()
    soup[::2] = soup[::2, ::-1]
    scene = Scene()
    scene.add_mesh("bowl", trimesh.Trimesh(soup.reshape(-1, 3), np.arange(3 * len(soup)).reshape(-1, 3), process=False))
    model = CollisionModel(gantry(Sphere(0.01)), scene)
    assert model.collides(np.array([0.45, 0, 0.3, 0, 0, 0]))
    assert not model.collides(np.array([0.2, 0, 0.3, 0, 0, 0]))


def test_point_clouds_are_balls():
    points = np.random.default_rng(5).uniform(-0.5, 0.5, (400, 3))
    scene = Scene()
    scene.add_points("cloud", points, 0.01, transform((0.1, 0, 0), rpy=(0, 0, 0.5)))
    world = points @ transform(rpy=(0, 0, 0.5))[:3, :3].T + (0.1, 0, 0)
    for shape in (Capsule(0.03, 0.2), Box((0.1, 0.05, 0.2))):
        model = CollisionModel(gantry(shape), scene)
        for q in random_configurations(40, 0.7, seed=6):
            pose = model.robot.pose("body", q)
            expected = primitives.signed_distance(shape, (world - pose[:3, 3]) @ pose[:3, :3]).min() - 0.01
            assert model.distance(q) == pytest.approx(expected, abs=1e-9)
            assert model.collides(q) == (expected < 0.0)
    torus = as_mesh(trimesh.creation.torus(0.1, 0.03, major_sections=20, minor_sections=10))
    model = CollisionModel(gantry(torus), scene)
    for q in random_configurations(15, 0.7, seed=7):
        pose = model.robot.pose("body", q)
        local = (world - pose[:3, 3]) @ pose[:3, :3]
        truth = -trimesh.proximity.signed_distance(trimesh.Trimesh(torus.vertices, torus.faces), local).max() - 0.01
        assert model.distance(q) == pytest.approx(truth, abs=1e-6)


def test_height_maps_and_voxels_are_solid():
    scene = Scene()
    scene.add_heightmap("ground", [[0.0, 0.0], [1.0, 1.0]], (2.0, 2.0), base=-1.0)  # rises along x from 0 to 1
    model = CollisionModel(gantry(Sphere(0.1)), scene)
    slope = 2.0 / np.sqrt(5.0)
    for height in (0.7, 1.2):
        assert model.distance(np.array([0, 0, height, 0, 0, 0])) == pytest.approx((height - 0.5) * slope - 0.1)
    assert model.collides(np.array([0, 0, 0.0, 0, 0, 0]))
    assert not model.collides(np.array([0, 0, -1.2, 0, 0, 0]))
    occupied = np.zeros((4, 4, 4), dtype=bool)
    occupied[1:3, 1:3, 1:3] = True
    scene = Scene()
    scene.add_voxels("cells", occupied, 0.25, origin=(-0.5, -0.5, -0.5))
    model = CollisionModel(gantry(Sphere(0.05)), scene)
    assert model.collides(np.zeros(6))
    assert model.distance(np.array([0.5, 0, 0, 0, 0, 0])) == pytest.approx(0.2)


def test_a_hull_is_tested_at_a_point_of_its_own():
    """The middle of the box around a tetrahedron lies outside it, here within the wall of a small bowl."""
    corners = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3]])
    tetrahedron = TriangleMesh(corners, np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]], dtype=np.int32))
    scene = Scene()
    scene.add_mesh("bowl", thick_bowl(), transform((0.15 - 0.0225, 0.15, 0.15 - 0.015)), scale=0.05)
    model = CollisionModel(gantry(tetrahedron), scene)
    assert not model.collides(np.zeros(6))
    assert 0.0 < model.distance(np.zeros(6)) < 0.15 / np.sqrt(3.0)


def test_an_allowed_name_that_is_nowhere_is_warned_of_once(caplog):
    scene = Scene()
    scene.add_sphere("ball", 0.1, transform((5, 0, 0)))
    scene.allow("boddy", "ball")
    model = CollisionModel(gantry(Sphere(0.1)), scene)
    assert "did you mean 'body'" in caplog.text
    caplog.clear()
    scene.set_padding("ball", 0.1)
    model.collides(np.zeros(6))
    assert not caplog.text


def test_several_shapes_of_a_link_all_count_at_their_origins():
    robot = gantry(Sphere(0.1), Box((0.1, 0.1, 2.0)), origin=transform((0, 0.5, 0)))
    scene = Scene()
    scene.add_sphere("ball", 0.1, transform((0, 0.5, 1.5)))
    assert CollisionModel(robot, scene).distance(np.zeros(6)) == pytest.approx(0.4)


def test_padding_of_links_and_objects_adds_up():
    scene = Scene()
    scene.add_box("wall", (0.1, 1, 1), transform((1, 0, 0)), padding=0.02)
    for padding, more in ((0.0, 0.0), (0.03, 0.03), ({"body": 0.05}, 0.05)):
        model = CollisionModel(gantry(Sphere(0.1)), scene, padding=padding)
        assert model.distance(np.zeros(6)) == pytest.approx(0.85 - 0.02 - more)
        assert model.collides(np.array([0.85 - 0.02 - more + 1e-3, 0, 0, 0, 0, 0]))
        assert not model.collides(np.array([0.85 - 0.02 - more - 1e-3, 0, 0, 0, 0, 0]))
    with pytest.raises(InvalidInputError, match="padding"):
        CollisionModel(gantry(Sphere(0.1)), scene, padding=-1.0)
    with pytest.raises(UnknownNameError, match="bdy"):
        CollisionModel(gantry(Sphere(0.1)), scene, padding={"bdy": 1.0})


@pytest.mark.parametrize("padding", [0.01, 0.1])
def test_padded_meshes_collide_exactly_where_their_distance_says(padding):
    torus = trimesh.creation.torus(0.2, 0.05, major_sections=20, minor_sections=10)
    scene = Scene()
    scene.add_mesh("torus", torus, padding=padding)
    for shape in (as_mesh(torus), Box((0.1, 0.1, 0.1)), Sphere(0.05), as_mesh(trimesh.creation.icosphere(1, 0.05))):
        model = CollisionModel(gantry(shape), scene)
        configurations = random_configurations(40, 0.3, seed=8)
        distances = model.distance(configurations)
        assert np.array_equal(model.collides(configurations), distances < 0.0)
        assert (distances < 0.0).sum() > 2


def test_triangles_without_area_do_no_harm():
    box = trimesh.creation.box((1, 1, 1))
    faces = np.concatenate([box.faces, [[0, 0, 1], [2, 2, 2]]])
    scene = Scene()
    scene.add_mesh("box", TriangleMesh(box.vertices, faces))
    model = CollisionModel(gantry(Sphere(0.1)), scene)
    assert model.collides(np.zeros(6))
    assert model.distance(np.array([1, 0, 0, 0, 0, 0])) == pytest.approx(0.4)
    scene.replace("box", TriangleMesh(box.vertices, np.array([[0, 0, 1]])))
    with pytest.raises(GeometryError, match="none of which has an area"):
        model.collides(np.zeros(6))


def test_contacts_name_bodies_and_point_from_first_to_second():
    scene = Scene()
    scene.add_box("wall", (0.1, 1, 1), transform((0.12, 0, 0)))
    scene.add_sphere("ball", 0.1, transform((0, 0, 0.15)))
    model = CollisionModel(gantry(Sphere(0.1)), scene)
    contacts = model.contacts(np.zeros(6))
    assert [(c.first, c.second) for c in contacts] == [("body", "ball"), ("body", "wall")]
    ball, wall = contacts
    assert ball.depth == pytest.approx(0.05)
    assert np.allclose(ball.normal, (0, 0, 1), atol=1e-6)
    assert np.allclose(ball.points, [[0, 0, 0.1], [0, 0, 0.05]], atol=1e-6)
    assert wall.depth == pytest.approx(0.03)
    assert np.allclose(wall.normal, (1, 0, 0), atol=1e-6)
    assert model.contacts(np.array([-1, 0, 0, 0, 0, 0])) == []


def test_moving_an_object_is_seen_at_the_next_question():
    scene = Scene()
    scene.add_mesh("torus", trimesh.creation.torus(0.4, 0.1))
    model = CollisionModel(gantry(Sphere(0.1)), scene)
    assert not model.collides(np.zeros(6))
    scene.move("torus", transform((0.4, 0, 0)))
    assert model.collides(np.zeros(6))
    assert model.distance(np.zeros(6)) < 0.0
    scene.move("torus", transform((0.0, 0, 5.0)))
    assert not model.collides(np.zeros(6))


def test_adding_removing_replacing_allowing_and_attaching_are_seen():
    scene = Scene()
    model = CollisionModel(gantry(Sphere(0.1)), scene)
    q = np.zeros(6)
    assert model.distance(q) == np.inf
    scene.add_sphere("ball", 0.1, transform((0.15, 0, 0)))
    assert model.collides(q)
    scene.allow("body", "ball")
    assert not model.collides(q)
    scene.forbid("body", "ball")
    scene.replace("ball", Sphere(0.01))
    assert not model.collides(q)
    scene.set_padding("ball", 0.06)
    assert model.collides(q)
    scene.attach("ball", link="body", pose=transform((0.15, 0, 0)))
    assert not model.collides(q)
    scene.add_box("wall", (0.02, 1, 1), transform((0.2, 0, 0)))
    assert model.colliding_pair(q) == ("ball", "wall")
    scene.remove("wall")
    assert not model.collides(q)


def test_an_attached_object_may_touch_its_link_and_touch_links_only():
    robot = load_robot("panda")
    ready = robot.q({"panda_joint2": -0.785, "panda_joint4": -2.356, "panda_joint6": 1.571, "panda_joint7": 0.785})
    rod = Box((0.02, 0.02, 0.5))
    scene = Scene()
    scene.attach("rod", rod, link="panda_hand", pose=transform((0, 0, -0.1)))
    assert CollisionModel(robot, scene).collides(ready)  # through the hand, back into link 7 and beyond
    names = {
        name for contact in CollisionModel(robot, scene).contacts(ready) for name in (contact.first, contact.second)
    }
    assert "panda_hand" not in names
    scene.remove("rod")
    scene.attach("rod", rod, link="panda_hand", pose=transform((0, 0, -0.1)), touch=sorted(names - {"rod"}))
    assert not CollisionModel(robot, scene).collides(ready)
    scene.remove("rod")
    scene.attach("rod", rod, link="panda_hnd")
    with pytest.raises(UnknownNameError, match="did you mean 'panda_hand'"):
        CollisionModel(robot, scene)


def test_a_link_that_is_not_there_is_told_of_at_the_next_question():
    scene = Scene()
    model = CollisionModel(gantry(Sphere(0.1)), scene)
    assert not model.collides(np.zeros(6))
    scene.attach("rod", Box((0.1, 0.1, 0.1)), link="body", touch="bdy")
    for question in (model.collides, model.colliding_pair, model.distance):
        with pytest.raises(UnknownNameError, match="bdy"):
            question(np.zeros(6))


def test_links_that_no_joint_moves_are_not_held_against_the_world():
    robot = load_robot("panda")
    scene = Scene()
    scene.add_box("pedestal", (0.4, 0.4, 0.2), transform((0, 0, -0.05)))
    model = CollisionModel(robot, scene)
    assert not model.collides(robot.q({"panda_joint4": -1.5, "panda_joint6": 1.5}))
    assert ("panda_link0", "pedestal") not in model.pairs
    assert ("panda_link5", "pedestal") in model.pairs


def test_batches_equal_single_questions():
    robot = load_robot("panda")
    scene = Scene()
    scene.add_box("table", (1, 1, 0.1), transform((0.8, 0, 0.3)))
    scene.add_mesh("torus", trimesh.creation.torus(0.2, 0.05), transform((-0.4, 0, 0.6)))
    model = CollisionModel(robot, scene)
    configurations = robot.random(1, 150)
    single = [model.collides(q) for q in configurations]
    assert np.array_equal(model.collides(configurations), single)
    assert 5 < sum(single) < 145
    distances = model.distance(configurations[:40])
    assert np.array_equal(distances < 0.0, single[:40])
    assert np.array_equal(model.clearance(configurations[:40]), np.maximum(distances, 0.0))
    assert np.array_equal(model.penetration(configurations[:40]), np.maximum(-distances, 0.0))
    assert model.collides(np.zeros((0, robot.dof))).shape == (0,)


def test_distances_per_link_are_least_at_the_whole_robots():
    robot = load_robot("panda")
    scene = Scene()
    scene.add_sphere("ball", 0.1, transform((0.5, 0.3, 0.5)))
    model = CollisionModel(robot, scene)
    for q in robot.random(2, 15):
        per_link = model.per_link(q)
        distance, pair, points = model.closest(q)
        assert min(per_link.values()) == pytest.approx(distance)
        assert all(per_link[name] == pytest.approx(distance) for name in pair if name in per_link)
        assert np.linalg.norm(points[0] - points[1]) == pytest.approx(abs(distance), abs=1e-6)


def test_every_pair_alone_agrees_with_the_whole():
    """The boxes around bodies must not lose a pair: all pairs are measured without them."""
    robot = load_robot("panda")
    scene = Scene()
    scene.add_box("table", (1, 1, 0.1), transform((0.8, 0, 0.3), rpy=(0.2, 0.3, 0.4)))
    scene.add_plane("wall", (-1, 0.2, 0), -0.9)
    model = CollisionModel(robot, scene)
    for q in robot.random(3, 20):
        layout = model.layout
        scratch = model._scratch(layout)
        scratch.place(model._poses(layout, q))
        every = min(scratch.separation(pair).distance for pair in range(len(layout.first)))
        assert model.distance(q) == pytest.approx(every)
        assert model.collides(q) == (every < 0.0)


def test_self_collision_is_told_and_can_be_left_out():
    robot = load_robot("panda")
    folded = robot.q({"panda_joint2": 1.7, "panda_joint4": -3.0, "panda_joint6": 3.5})
    assert CollisionModel(robot).collides(folded)
    assert not CollisionModel(robot, self_collision=False).collides(folded)


def test_allowed_by_hand_replaces_the_default_and_names_are_checked():
    robot = load_robot("panda")
    folded = robot.q({"panda_joint2": 1.7, "panda_joint4": -3.0, "panda_joint6": 3.5})
    model = CollisionModel(robot)
    pairs = {(c.first, c.second) for c in model.contacts(folded)}
    assert not CollisionModel(robot, allowed=[*model.allowed, *pairs]).collides(folded)
    with pytest.raises(UnknownNameError, match="panda_lnk0"):
        CollisionModel(robot, allowed=[("panda_lnk0", "panda_link1")])


def test_threads_get_the_answers_of_one():
    robot = load_robot("panda")
    scene = Scene()
    scene.add_mesh("torus", trimesh.creation.torus(0.3, 0.1), transform((0.4, 0, 0.5)))
    model = CollisionModel(robot, scene)
    configurations = robot.random(4, 120)
    expected = model.collides(configurations)
    answers = {}

    def ask(number):
        answers[number] = [model.collides(q) for q in configurations]

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(answers[k], expected) for k in range(4))


def test_a_model_pickles_with_its_scene():
    robot = load_robot("panda")
    scene = Scene()
    scene.add_sphere("ball", 0.2, transform((0.4, 0, 0.5)))
    model = CollisionModel(robot, scene, padding=0.01)
    other = pickle.loads(pickle.dumps(model))
    configurations = robot.random(5, 50)
    assert np.array_equal(other.collides(configurations), model.collides(configurations))
    assert "panda" in repr(other)


def test_configurations_are_checked_at_the_door():
    model = CollisionModel(load_robot("panda"))
    with pytest.raises(InvalidInputError):
        model.collides(np.full(model.robot.dof, np.nan))
    with pytest.raises(InvalidInputError):
        model.collides(np.zeros(3))
    with pytest.raises(InvalidInputError, match="one configuration"):
        model.contacts(np.zeros((2, model.robot.dof)))


def test_anything_that_says_collides_may_stand_in():
    class Never:
        def collides(self, q):
            return np.zeros(np.shape(q)[:-1], dtype=bool)

    assert isinstance(Never(), CollisionChecker)
    assert isinstance(CollisionModel(load_robot("panda")), CollisionChecker)


def test_mesh_links_of_a_public_robot_keep_their_distance_to_a_wall(tmp_path):
    trimesh.creation.annulus(0.1, 0.2, 0.3).export(tmp_path / "ring.stl")
    robot = gantry(Mesh("ring.stl", str(tmp_path / "ring.stl")))
    scene = Scene()
    scene.add_box("wall", (0.1, 2, 2), transform((1.0, 0, 0)))
    scene.add_sphere("ball", 0.05)
    model = CollisionModel(robot, scene)
    assert not model.collides(np.zeros(6))  # the ball is in the ring's hole
    assert model.per_link(np.zeros(6))["body"] == pytest.approx(0.05, abs=1e-3)
    assert model.collides(np.array([0.12, 0, 0, 0, 0, 0]))
