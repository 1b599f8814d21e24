"""One door for every kind of source."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from public_robots import robot_file

from memetik.errors import DescriptionError, InvalidInputError
from memetik.robot import bundled
from memetik.robot.load import load_description
from memetik.robot.robot import Robot

URDF = '<robot name="r"><link name="a"/></robot>'
MJCF = '<mujoco model="m"><worldbody><body name="b"/></worldbody></mujoco>'


def test_bundled_names_load_without_anything_heavy():
    code = (
        "import sys, memetik; memetik.load_robot('panda');"
        "heavy = {'scipy', 'trimesh', 'yourdfpy', 'xacrodoc', 'xacro', 'yaml', 'lxml', 'coal'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_bundled_robot_passes_the_same_checks():
    for name in bundled.names():
        assert load_description(name).links


def test_a_name_takes_parameters_of_the_robot():
    with pytest.raises(InvalidInputError, match="no parameter 'colour'"):
        load_description("panda", arguments={"colour": "red"})


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("pandda", "did you mean 'panda'"),
        ("no such robot", "neither a bundled robot nor one of an installed package nor an existing file"),
        ("ur", "'ur"),
    ],
)
def test_unknown_names_lead_to_the_right_ones(name, word):
    with pytest.raises(DescriptionError, match=word):
        load_description(name)


def test_texts_and_bytes_of_both_formats_load():
    for text in (URDF, URDF.encode(), "\n" + URDF):
        assert load_description(text).name == "r"
    for text in (MJCF, MJCF.encode()):
        assert load_description(text).name == "m"


def test_files_are_told_apart_by_their_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text, robot in (
        ("a.xml", URDF, "r"),
        ("b.xml", MJCF, "m"),
        ("c.urdf", URDF, "r"),
        ("noending", URDF, "r"),
    ):
        Path(name).write_text(text)
        assert load_description(Path(name)).name == robot
        assert load_description(name).name == robot
        assert load_description(str(tmp_path / name)).source == str(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (b"  \n ", "empty"),
        (b"\x7fELF\0\0\0binary", "binary"),
        (b"solid cube", "not well-formed"),
        (b'<sdf version="1.7"/>', "SDF"),
        (b"\xff\xfe<\0r\0", "not well-formed"),
        (b'<?xml version="1.0" encoding="utf-7"?><robot/>', "encoding"),
        (b'<?xml version="1.0" encoding="nonsense"?><robot/>', "encoding"),
        (b'<robot name="\xff"/>', "not well-formed"),
    ],
)
def test_files_that_are_no_description_are_told_so(tmp_path, content, word):
    path = tmp_path / "file.urdf"
    path.write_bytes(content)
    with pytest.raises(DescriptionError, match=word):
        load_description(path)


def test_folders_and_missing_files_are_told_so(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    with pytest.raises(DescriptionError, match=r"folder .it holds arm\.urdf"):
        load_description(tmp_path)
    with pytest.raises(DescriptionError, match="no file"):
        load_description(tmp_path / "leg.urdf")
    with pytest.raises(DescriptionError, match="no file"):
        load_description("leg.urdf")
    with pytest.raises(DescriptionError, match=r"no file|neither"):
        load_description("nul\0.urdf")
    with pytest.raises(DescriptionError, match="not a regular file"):
        load_description(Path("/dev/zero"))


@pytest.mark.parametrize("source", [None, 3, ["panda"], np.eye(4), object()])
def test_other_objects_are_refused(source):
    with pytest.raises(InvalidInputError, match="yourdfpy"):
        load_description(source)


def test_an_empty_text_is_refused():
    with pytest.raises(InvalidInputError, match="empty"):
        load_description(" ")


@pytest.mark.parametrize("options", [{"arguments": 3}, {"search_path": [3]}, {"srdf": 3}])
def test_options_of_the_wrong_type_are_refused(options):
    with pytest.raises(InvalidInputError):
        load_description(URDF, **options)


@pytest.mark.parametrize("name", ["panda.urdf", "ur10_robot.urdf", "talos_full_v2.urdf"])
def test_yourdfpy_objects_become_the_robot_that_their_file_is(name):
    yourdfpy = pytest.importorskip("yourdfpy")
    path = robot_file(name)
    loaded = yourdfpy.URDF.load(str(path), build_scene_graph=False, load_meshes=False)
    through, direct = Robot(load_description(loaded)), Robot(load_description(path, srdf=False))
    assert through.joint_names == direct.joint_names
    q = np.linspace(-0.3, 0.4, direct.dof)
    for link in direct.links:
        np.testing.assert_allclose(through.pose(link, q), direct.pose(link, q), atol=1e-9)
    np.testing.assert_allclose(through.lower, direct.lower)
    found = [g.shape.path for link in through.description.links for g in link.visuals if hasattr(g.shape, "path")]
    assert found
    assert None not in found


def test_descriptions_pass_through():
    description = load_description("panda")
    assert load_description(description) is description
    assert all(math.isfinite(joint.acceleration[0]) for joint in description.joints if joint.axes == 1)
