"""Scenes as TOML: what is saved is loaded, what is wrong is named, nothing is left half written."""

import os

import numpy as np
import pytest
import trimesh
from test_scene import full_scene

from memetik.bench.scenarios.surroundings import MOVED_TANK_POSE, hydrogen_tank
from memetik.errors import GeometryError, InvalidInputError
from memetik.geometry.transforms import transform
from memetik.scene import scene_file
from memetik.scene.scene import Scene


def awkward_scene() -> Scene:
    scene = full_scene()
    scene.add_mesh("tank", hydrogen_tank().scene["tank"].shape, MOVED_TANK_POSE, solid=False)
    scene.add_box('quote " back \\ line \n tab \t ü', (1e-9, 1e5, 1 / 3), transform((0.1, 0.2, 0.3), rpy=(1, 2, 3)))
    return scene


def test_a_scene_is_loaded_exactly_as_it_was_saved(tmp_path):
    scene = awkward_scene()
    scene.save(tmp_path / "cell.toml")
    assert Scene.load(tmp_path / "cell.toml") == scene
    text = (tmp_path / "cell.toml").read_text()
    assert "schema = 1" in text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cell.files", "cell.toml"]


def test_a_saved_scene_moves_with_its_folder(tmp_path):
    scene = awkward_scene()
    (tmp_path / "here").mkdir()
    scene.save(tmp_path / "here/cell.toml")
    os.rename(tmp_path / "here", tmp_path / "there")
    assert Scene.load(tmp_path / "there/cell.toml") == scene


def test_a_scene_by_hand_may_name_meshes_and_write_poses_as_it_likes(tmp_path):
    trimesh.creation.box((1, 1, 1)).export(tmp_path / "cube.stl")
    (tmp_path / "cell.toml").write_text("""
schema = 1
[[object]]
name = "cube"
shape = "mesh"
file = "cube.stl"
scale = [1, 2, 3]
position = [1, 2, 3]
rpy = [0, 0, 1.5707963267948966]
[[object]]
name = "ball"
shape = "sphere"
radius = 1
quat_xyzw = [0, 0, 2, 0]
[[object]]
name = "dots"
shape = "points"
points = [[0, 0, 0], [1, 1, 1]]
radius = 0.1
""")
    scene = Scene.load(tmp_path / "cell.toml")
    assert scene["cube"].shape.volume == pytest.approx(6.0)
    assert np.allclose(scene["cube"].pose[:3, 0], (0, 1, 0))
    assert np.allclose(scene["ball"].pose, np.diag([-1, -1, 1, 1]))
    assert len(scene["dots"].shape.points) == 2


def test_a_write_that_fails_leaves_the_old_scene_and_no_rubbish(tmp_path, monkeypatch):
    scene = Scene()
    scene.add_sphere("old", 1.0)
    scene.save(tmp_path / "cell.toml")
    scene.add_sphere("new", 1.0)

    def fail(*_arguments):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InvalidInputError, match="disk full"):
        scene.save(tmp_path / "cell.toml")
    monkeypatch.undo()
    assert Scene.load(tmp_path / "cell.toml").names == ("old",)
    assert [p.name for p in tmp_path.iterdir()] == ["cell.toml"]


def test_a_changed_mesh_file_is_noticed(tmp_path):
    awkward_scene().save(tmp_path / "cell.toml")
    for path in (tmp_path / "cell.files").glob("mesh-*.ply"):
        data = bytearray(path.read_bytes())
        data[data.index(b"end_header") + 15] ^= 1
        path.write_bytes(bytes(data))
    with pytest.raises(GeometryError, match="not the mesh that was saved"):
        Scene.load(tmp_path / "cell.toml")


@pytest.mark.parametrize("reference", ["../outside.stl", "/etc/hostname", "inner/../../outside.stl", "link.stl"])
def test_files_outside_the_scenes_folder_are_not_read(tmp_path, reference):
    folder = tmp_path / "scene"
    (folder / "inner").mkdir(parents=True)
    trimesh.creation.box((1, 1, 1)).export(tmp_path / "outside.stl")
    (folder / "link.stl").symlink_to(tmp_path / "outside.stl")
    (folder / "a.toml").write_text(f'schema = 1\n[[object]]\nname = "a"\nshape = "mesh"\nfile = "{reference}"\n')
    with pytest.raises(GeometryError, match="not in its own folder"):
        Scene.load(folder / "a.toml")


BOX = 'schema = 1\n[[object]]\nname = "a"\nshape = "box"\nsize = [1, 1, 1]\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "schema is None"),
        ("schema = 2", "schema is 2"),
        ("schema = 1\nobjects = 3", "did you mean 'object'"),
        ("schema = 1\nobject = 3", "tables"),
        ('schema = 1\n[[object]]\nname = "a"\nshape = "bux"', "did you mean 'box'"),
        (BOX + "radius = 1", "line 6, object 'a': there is no entry 'radius'"),
        (BOX.replace("[1, 1, 1]", "[1, 1]"), "3 numbers"),
        (BOX.replace("[1, 1, 1]", '["x", 1, 1]'), "3 numbers"),
        (BOX.replace("[1, 1, 1]", "[1, 1, -1]"), "positive"),
        (BOX + "position = [nan, 0, 0]", "finite"),
        (BOX + "rpy = [0, 0, 0]\nquat_xyzw = [0, 0, 0, 1]", "one way"),
        (BOX + "rotation = [[1, 0, 0], [0, 1, 0], [0, 0, 5]]", "orthonormal"),
        (BOX + "rotation = 5", "shape"),
        (BOX + "padding = -1", "padding"),
        (BOX + 'padding = "much"', "padding"),
        (BOX + 'touch = ["x"]', "attached"),
        (BOX + "link = 3", "link"),
        (BOX + 'link = "hand"\ntouch = "x"', "list of texts"),
        (BOX + "color = [2, 0, 0]", "colour"),
        (BOX + BOX.removeprefix("schema = 1\n"), "already has"),
        (BOX.replace('"a"', "7"), "name of an object"),
        ('schema = 1\nallowed = [["a"]]', "two names"),
        ('schema = 1\nallowed = [["a", "a"]]', "twice"),
        ('schema = 1\n[[object]]\nname = "a"\nshape = "mesh"', "'file' is needed"),
        ('schema = 1\n[[object]]\nname = "a"\nshape = "voxels"\nsize = 1', "unless occupied"),
        ('schema = 1\n[[object]]\nname = "a"\nshape = "points"\npoints = [[1, 2], [3]]\nradius = 1', "a"),
        ("schema = ", "TOML"),
        ("schema = 1\na = " + "[" * 5000, "TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, says):
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(GeometryError, match=says):
        Scene.load(tmp_path / "a.toml")


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 9)}",
    ],
)
def test_damaged_grids_are_refused_before_memory_is_taken(tmp_path, damage):
    full_scene().save(tmp_path / "a.toml")
    next((tmp_path / "a.files").glob("heights-*.npy")).write_bytes(damage.ljust(128) if len(damage) > 20 else damage)
    with pytest.raises(GeometryError, match="grid file"):
        Scene.load(tmp_path / "a.toml")


def test_only_toml_is_written_and_a_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match="toml"):
        Scene().save(tmp_path / "a.json")
    with pytest.raises(GeometryError, match=r"b\.toml' cannot be read"):
        Scene.load(tmp_path / "b.toml")


def test_a_file_too_large_is_not_read(tmp_path, monkeypatch):
    Scene().save(tmp_path / "a.toml")
    monkeypatch.setattr(scene_file, "MAX_BYTES", 10)
    with pytest.raises(GeometryError, match="larger"):
        Scene.load(tmp_path / "a.toml")
