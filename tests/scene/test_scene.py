"""Scenes: named objects that change cheaply, snapshots that do not."""

import copy
import pickle
import time

import numpy as np
import pytest

from memetik.errors import GeometryError, InvalidInputError, UnknownNameError
from memetik.geometry.shapes import Box, Cone, HeightMap, PointCloud, Sphere, TriangleMesh, VoxelMap, content_key
from memetik.geometry.transforms import transform
from memetik.scene.scene import Scene
from memetik.scene.scene_object import plane_pose

TETRAHEDRON = TriangleMesh(
    np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float),
    np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]], dtype=np.int32),
)


def full_scene() -> Scene:
    scene = Scene()
    scene.add_box("box", (1, 2, 3), transform((1, 2, 3)), padding=0.01, color=(1, 0, 0))
    scene.add_sphere("sphere", 0.1)
    scene.add_cylinder("cylinder", 0.1, 0.2)
    scene.add_capsule("capsule", 0.1, 0.2)
    scene.add_cone("cone", 0.1, 0.2)
    scene.add_plane("floor", (0, 0, 1), -0.1)
    scene.add_mesh("mesh", TETRAHEDRON, solid=True)
    scene.add_heightmap("ground", [[0.0, 0.1], [0.2, 0.3]], (2, 1))
    scene.add_points("cloud", [[0, 0, 1], [0, 0, 2]], 0.05)
    scene.add_voxels("voxels", np.ones((2, 2, 2), dtype=bool), 0.1)
    scene.attach("tool", Box((0.1, 0.1, 0.1)), link="hand", touch="wrist")
    scene.allow("hand", "box")
    return scene


def test_every_kind_of_object_is_named_posed_and_counted():
    scene = full_scene()
    assert len(scene) == 11
    assert scene.names[0] == "box"
    assert "cone" in scene
    assert "cones" not in scene
    assert [item.name for item in scene.attached_objects] == ["tool"]
    assert len(scene.world_objects) == 10
    assert np.array_equal(scene["box"].pose, transform((1, 2, 3)))
    assert scene["box"].color == (1.0, 0.0, 0.0, 1.0)
    assert scene["tool"].touch == ("wrist",)
    assert "11 objects" in repr(scene)
    assert "box: Box" in repr(scene)


def test_an_unknown_name_suggests_the_right_one():
    with pytest.raises(UnknownNameError, match="did you mean 'cylinder'"):
        full_scene()["cilinder"]


def test_a_name_is_given_once():
    scene = full_scene()
    with pytest.raises(InvalidInputError, match="already has an object 'box'"):
        scene.add_sphere("box", 1.0)
    assert isinstance(scene["box"].shape, Box)


@pytest.mark.parametrize("name", ["", "  ", 3, None])
def test_a_name_is_a_text(name):
    with pytest.raises(InvalidInputError, match="name of an object"):
        Scene().add_box(name, (1, 1, 1))


def test_moving_gives_a_new_version_and_leaves_snapshots_alone():
    scene = full_scene()
    before, version = scene.snapshot(), scene.version
    scene.move("box", transform((9, 9, 9)))
    assert scene.version > version
    assert before.version == version
    assert np.array_equal(before.objects["box"].pose[:3, 3], (1, 2, 3))
    assert np.array_equal(scene.snapshot().objects["box"].pose[:3, 3], (9, 9, 9))
    assert before.objects["sphere"] is scene["sphere"]


def test_a_snapshot_is_the_same_object_until_something_changes():
    scene = full_scene()
    assert scene.snapshot() is scene.snapshot()
    first = scene.snapshot()
    scene.allow("hand", "sphere")
    assert scene.snapshot() is not first
    assert ("hand", "sphere") not in first.allowed


def test_a_scene_is_restored_to_a_snapshot_under_a_new_version():
    scene = Scene()
    scene.add_box("table", (1.0, 1.0, 0.1))
    scene.add_sphere("ball", 0.1)
    scene.allow("table", "ball")
    before, table = scene.snapshot(), scene["table"]
    scene.remove("table")
    version = scene.version
    scene.restore(before)
    assert scene.names == ("table", "ball")
    assert scene["table"] is table
    assert scene.allowed == before.allowed
    assert scene.version not in (version, before.version)
    scene.move("ball", transform((0.0, 0.0, 1.0)))
    assert np.array_equal(before.objects["ball"].pose, np.eye(4))


def test_a_snapshot_cannot_be_changed():
    snapshot = full_scene().snapshot()
    with pytest.raises(TypeError):
        snapshot.objects["new"] = 1  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        snapshot.objects["box"].pose[0, 3] = 5.0


def test_different_contents_never_share_a_version():
    scenes = [full_scene(), full_scene(), Scene(), pickle.loads(pickle.dumps(full_scene()))]
    assert len({scene.version for scene in scenes}) == len(scenes)


def test_removing_takes_the_allowed_pairs_along():
    scene = full_scene()
    scene.remove("box")
    assert "box" not in scene
    assert not scene.allowed


def test_attach_and_detach_carry_an_object_from_the_world_to_a_link_and_back():
    scene = full_scene()
    grasp = transform((0, 0, 0.1))
    scene.attach("sphere", link="hand", pose=grasp, touch=["finger"])
    assert scene["sphere"].link == "hand"
    assert np.array_equal(scene["sphere"].pose, grasp)
    scene.detach("sphere", transform((1, 1, 1)))
    assert scene["sphere"].link is None
    assert scene["sphere"].touch == ()
    with pytest.raises(InvalidInputError, match="not attached"):
        scene.detach("box", np.eye(4))


def test_an_object_of_the_world_is_attached_only_with_its_pose_on_the_link():
    with pytest.raises(InvalidInputError, match="needs pose="):
        full_scene().attach("sphere", link="hand")


def test_a_plane_cannot_be_attached():
    with pytest.raises(InvalidInputError, match="plane"):
        full_scene().attach("floor", link="hand", pose=np.eye(4))


def test_allow_is_symmetric_and_forbid_takes_it_back():
    scene = full_scene()
    scene.allow("box", "hand")
    assert scene.allowed == {("box", "hand")}
    scene.forbid("hand", "box")
    assert not scene.allowed
    with pytest.raises(InvalidInputError, match="nothing to forbid"):
        scene.forbid("hand", "box")
    with pytest.raises(InvalidInputError, match="two different names"):
        scene.allow("hand", "hand")


def test_copies_and_pickles_are_equal_and_change_on_their_own():
    scene = full_scene()
    for other in (scene.copy(), copy.deepcopy(scene), copy.copy(scene), pickle.loads(pickle.dumps(scene))):
        assert other == scene
        other.move("box", np.eye(4))
        assert other != scene


def test_unpickled_arrays_are_still_read_only():
    other = pickle.loads(pickle.dumps(full_scene()))
    with pytest.raises(ValueError, match="read-only"):
        other["mesh"].shape.vertices[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        other["box"].pose[0, 0] = 1.0


def test_shapes_with_arrays_compare_by_content():
    same = TriangleMesh(TETRAHEDRON.vertices.copy(), TETRAHEDRON.faces.copy(), "elsewhere")
    other = TriangleMesh(TETRAHEDRON.vertices * 2.0, TETRAHEDRON.faces)
    assert same == TETRAHEDRON
    assert hash(same) == hash(TETRAHEDRON)
    assert content_key(same) == content_key(TETRAHEDRON)
    assert other != TETRAHEDRON
    assert content_key(Box((1, 2, 3))) == content_key(Box((1.0, 2.0, 3.0)))
    assert content_key(Sphere(1.0)) != content_key(Sphere(2.0))


@pytest.mark.clock
def test_moving_a_large_mesh_costs_no_more_than_moving_a_box():
    rng = np.random.default_rng(0)
    scene = Scene()
    scene.add_mesh("large", TriangleMesh(rng.random((90_000, 3)), np.arange(90_000).reshape(-1, 3).astype(np.int32)))
    for index in range(50):
        scene.add_box(f"box {index}", (1, 1, 1))
    poses = [transform((0.001 * k, 0, 0)) for k in range(200)]

    def seconds(name: str) -> float:
        start = time.process_time()
        for pose in poses:
            scene.move(name, pose)
            scene.snapshot()
        return time.process_time() - start

    large, small = (min(seconds(name) for _ in range(5)) for name in ("large", "box 7"))
    assert large < 5.0 * small


def test_the_pose_given_is_copied():
    pose = transform((1, 0, 0))
    scene = Scene()
    scene.add_box("box", (1, 1, 1), pose)
    pose[0, 3] = 7.0
    assert scene["box"].pose[0, 3] == 1.0


@pytest.mark.parametrize(
    "pose", [np.full((4, 4), np.nan), np.eye(3), np.diag([2.0, 2.0, 2.0, 1.0]), np.tile(np.eye(4), (2, 1, 1)), "here"]
)
def test_what_is_no_pose_is_refused(pose):
    with pytest.raises(InvalidInputError, match="'box'"):
        Scene().add_box("box", (1, 1, 1), pose)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Box((1, 0, 1)), "positive"),
        (lambda: Cone(0.1, float("nan")), "positive"),
        (lambda: TriangleMesh(np.zeros((3, 3)), np.array([[0, 1, 3]])), "vertex 3"),
        (lambda: TriangleMesh(np.zeros((3, 3)), np.array([[0, 1, -1]])), "vertex -1"),
        (lambda: TriangleMesh(np.full((3, 3), np.nan), np.array([[0, 1, 2]])), "finite"),
        (lambda: TriangleMesh(np.full((3, 3), 1e9), np.array([[0, 1, 2]])), "within 1e\\+06"),
        (lambda: TriangleMesh(np.zeros((3, 3)), np.zeros((0, 3), dtype=int)), "no faces"),
        (lambda: TriangleMesh(np.zeros((3, 3)), np.array([[0.5, 1, 2]])), "whole numbers"),
        (lambda: HeightMap([[1.0]], (1, 1)), "2 x 2"),
        (lambda: HeightMap([[1.0, np.inf], [0, 0]], (1, 1)), "finite"),
        (lambda: HeightMap([[1.0, 1.0], [0, 0]], (1, 1), base=0.5), "below its lowest"),
        (lambda: PointCloud(np.zeros((0, 3)), 0.1), "at least one point"),
        (lambda: PointCloud([[0, 0, 0]], 0.0), "radius"),
        (lambda: VoxelMap(np.zeros((2, 2, 2)), 0.1), "occupied"),
        (lambda: VoxelMap(np.ones((2, 2)), 0.1), "three dimensions"),
        (lambda: plane_pose((0, 0, 0), 1.0), "normal"),
    ],
)
def test_shapes_that_cannot_be_are_refused_with_a_sentence(make, says):
    with pytest.raises(GeometryError, match=says):
        make()


def test_a_mirroring_scale_keeps_the_outside_outside():
    scene = Scene()
    scene.add_mesh("mirrored", TETRAHEDRON, scale=(-1.0, 1.0, 1.0))
    assert scene["mirrored"].shape.volume == pytest.approx(1.0 / 6.0)


def test_a_plane_stands_where_normal_and_offset_say():
    pose = plane_pose((0.0, 3.0, 4.0), 10.0)  # 3y + 4z = 10
    assert np.allclose(pose[:3, 2], (0, 0.6, 0.8))
    assert pose[:3, 3] @ (0, 3, 4) == pytest.approx(10.0)
    assert np.allclose(pose[:3, :3].T @ pose[:3, :3], np.eye(3))
    assert np.linalg.det(pose) == pytest.approx(1.0)
