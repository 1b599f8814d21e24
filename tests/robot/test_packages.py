"""Packages are found as ROS users have them, and nothing outside the stated folders is opened."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import memetik as mk
from memetik.errors import DescriptionError, MemetikError
from memetik.robot.readers.mesh_paths import MeshFinder
from memetik.robot.readers.packages import PackageFinder, package_root, readable_root

TRIANGLE = (
    "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a"
)


def package(folder: Path, name: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if name is not None:
        (folder / "package.xml").write_text(f'<?xml version="1.0"?>\n<package format="3"><name>{name}</name></package>')
    (folder / "meshes").mkdir(exist_ok=True)
    (folder / "meshes" / "a.stl").write_text(TRIANGLE)
    return folder


def robot_with(mesh: str) -> str:
    return (
        f'<robot name="r"><link name="a"><collision><geometry><mesh filename="{mesh}"/></geometry></collision></link>'
        "</robot>"
    )


@pytest.fixture(autouse=True)
def _no_ros(monkeypatch):
    for variable in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "COLCON_PREFIX_PATH", "CMAKE_PREFIX_PATH"):
        monkeypatch.delenv(variable, raising=False)


def test_a_package_is_found_by_its_stated_name_anywhere_below_the_search_path(tmp_path):
    deep = package(tmp_path / "ws" / "src" / "vendor" / "robots" / "checkout-1.2", "arm_description")
    assert PackageFinder(None, [str(tmp_path / "ws")]).find("arm_description") == str(deep)
    assert PackageFinder(None, [str(tmp_path / "ws")]).find("checkout-1.2") is None


def test_a_package_that_appears_later_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("memetik.robot.readers.packages.FRESH", 0.0)
    assert PackageFinder(None, [str(tmp_path)]).find("late") is None
    made = package(tmp_path / "a" / "b", "late")
    assert PackageFinder(None, [str(tmp_path)]).find("late") == str(made)


def test_packages_beside_the_files_own_are_found(tmp_path):
    own = package(tmp_path / "src" / "arms" / "arm_description", "arm_description")
    (own / "urdf").mkdir()
    hand = package(tmp_path / "src" / "hands" / "checkout", "hand_description")
    finder = PackageFinder(str(own / "urdf"))
    assert finder.find("hand_description") == str(hand)
    assert finder.find("arm_description") == str(own)


@pytest.mark.parametrize("variable", ["AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "COLCON_PREFIX_PATH"])
def test_ament_and_colcon_prefixes(tmp_path, monkeypatch, variable):
    installed = package(tmp_path / "install" / "share" / "arm", "arm")
    isolated = package(tmp_path / "install" / "hand" / "share" / "hand", "hand")
    monkeypatch.setenv(variable, str(tmp_path / "install"))
    assert PackageFinder().find("arm") == str(installed)
    if variable == "COLCON_PREFIX_PATH":
        assert PackageFinder().find("hand") == str(isolated)


def test_a_catkin_development_space_leads_to_its_sources(tmp_path, monkeypatch):
    source = package(tmp_path / "src" / "checkout", "arm")
    (tmp_path / "devel").mkdir()
    (tmp_path / "devel" / ".catkin").write_text(str(tmp_path / "src"))
    monkeypatch.setenv("CMAKE_PREFIX_PATH", str(tmp_path / "devel"))
    assert PackageFinder().find("arm") == str(source)


def test_home_and_variables_in_every_path(tmp_path, monkeypatch):
    package(tmp_path / "ws" / "arm", "arm")
    (tmp_path / "r.urdf").write_text(robot_with("package://arm/meshes/a.stl"))
    (tmp_path / "r.yaml").write_text("joint_limits: {}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROBOTS", str(tmp_path))
    for path, folder in (("~/r.urdf", "$ROBOTS/ws"), ("$ROBOTS/r.urdf", "~/ws"), ("${ROBOTS}/r.urdf", "~/ws")):
        robot = mk.load_robot(path, search_path=folder, joint_limits="~/r.yaml")
        assert robot.link("a").collisions[0].shape.path == str(tmp_path / "ws/arm/meshes/a.stl")


def test_a_missing_package_is_named_with_where_it_was_looked_for(tmp_path):
    (tmp_path / "urdf").mkdir()
    (tmp_path / "urdf" / "r.urdf").write_text(robot_with("package://none/meshes/b.stl"))
    meshes = MeshFinder(str(tmp_path / "urdf"), [str(tmp_path / "ws")])
    assert meshes.find("package://none/meshes/b.stl") is None
    for word in ("'none'", str(tmp_path / "ws"), f"beside {tmp_path}", "no ROS variable"):
        assert word in meshes.reason("package://none/meshes/b.stl")
    notes = mk.load_robot(tmp_path / "urdf" / "r.urdf").notes
    assert any("package 'none' is not found" in note.message for note in notes)


def test_the_root_of_a_package_is_its_package_xml_else_two_folders_up_from_the_file(tmp_path):
    package(tmp_path / "p", "p")
    (tmp_path / "p" / "a" / "b" / "c").mkdir(parents=True)
    assert package_root(str(tmp_path / "p" / "a" / "b" / "c")) == str(tmp_path / "p")
    assert package_root(str(tmp_path / "q" / "urdf")) == str(tmp_path / "q")
    assert package_root("/robots") == "/robots"
    assert readable_root(str(tmp_path / "p" / "a" / "b" / "c")) == str(tmp_path / "p")
    assert readable_root(str(tmp_path / "q" / "r" / "urdf")) == str(tmp_path / "q")
    assert readable_root("/robots") == "/robots"


def test_what_may_be_read_unasked_ends_at_the_home_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home" / "me"))
    assert readable_root(str(tmp_path / "home" / "me" / "robots")) == str(tmp_path / "home" / "me")
    assert readable_root(str(tmp_path / "home" / "me")) == str(tmp_path / "home" / "me")


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """Every path that Python opens inside."""
    paths: list[str] = []
    active = [True]

    def hook(event: str, arguments: tuple) -> None:
        if active[0] and event == "open" and isinstance(arguments[0], str | bytes):
            paths.append(os.path.realpath(os.fsdecode(arguments[0])))

    sys.addaudithook(hook)
    try:
        yield paths
    finally:
        active[0] = False


@pytest.fixture
def hostile(tmp_path):
    """A package with links and references that lead out of it, and secrets around it."""
    secrets = tmp_path / "outside" / "secrets"
    secrets.mkdir(parents=True)
    (secrets / "a.stl").write_text(TRIANGLE)
    (secrets / "part.xacro").write_text('<robot xmlns:xacro="x"><link name="stolen"/></robot>')
    (secrets / "key.yaml").write_text("password: 1\n")
    (secrets / "r.srdf").write_text('<robot name="r"/>')
    root = package(tmp_path / "inside" / "pkg", "pkg")
    (root / "urdf").mkdir()
    (root / "config").mkdir()
    (root / "meshes" / "link.stl").symlink_to(secrets / "a.stl")
    (root / "meshes" / "folder").symlink_to(secrets)
    (root / "urdf" / "part.xacro").symlink_to(secrets / "part.xacro")
    (root / "urdf" / "r.srdf").symlink_to(secrets / "r.srdf")
    (root.parent / "stolen").symlink_to(secrets)
    (root / "loop").symlink_to(root)
    return tmp_path


MESHES = [
    "../meshes/link.stl",
    "../meshes/folder/a.stl",
    "../../../outside/secrets/a.stl",
    "package://pkg/../../outside/secrets/a.stl",
    "package://pkg/meshes/folder/a.stl",
    "package://pkg/loop/loop/meshes/link.stl",
    "package://stolen/a.stl",
    "package://secrets/a.stl",
    "package://outside/secrets/a.stl",
    "file://{outside}/secrets/a.stl",
    "{outside}/secrets/a.stl",
    "model://../outside/secrets/a.stl",
    "package://pkg/%2e%2e/%2e%2e/outside/secrets/a.stl",
    "..\\..\\..\\outside\\secrets\\a.stl",
]


@pytest.mark.parametrize("mesh", MESHES)
def test_meshes_outside_the_package_are_neither_taken_nor_opened(hostile, mesh):
    path = hostile / "inside" / "pkg" / "urdf" / "r.urdf"
    path.write_text(robot_with(mesh.format(outside=hostile / "outside")))
    with opened_files() as opened:
        robot = mk.load_robot(path)
        (shape,) = (geometry.shape for geometry in robot.link("a").collisions)
        assert shape.path is None
    assert not [name for name in opened if name.startswith(str(hostile / "outside"))]
    assert any(note.code == "missing-mesh" for note in robot.notes)


def test_a_search_path_opens_what_it_names(hostile):
    path = hostile / "inside" / "pkg" / "urdf" / "r.urdf"
    for mesh in ("../meshes/link.stl", f"file://{hostile}/outside/secrets/a.stl", "package://secrets/a.stl"):
        path.write_text(robot_with(mesh))
        robot = mk.load_robot(path, search_path=hostile / "outside")
        assert robot.link("a").collisions[0].shape.path is not None


INCLUDES = [
    '<xacro:include filename="part.xacro"/>',
    '<xacro:include filename="../../../outside/secrets/part.xacro"/>',
    '<xacro:include filename="{outside}/secrets/part.xacro"/>',
    '<xacro:include filename="{outside}/secrets/*.xacro"/>',
    '<xacro:include filename="$(find pkg)/../../outside/secrets/part.xacro"/>',
    '<xacro:include filename="$(find stolen)/part.xacro"/>',
    '<xacro:property name="p" value="${{xacro.load_yaml(\'{outside}/secrets/key.yaml\')}}"/>'
    "<link name=\"${{p['password']}}\"/>",
]


@pytest.mark.parametrize("include", INCLUDES)
def test_xacro_includes_outside_the_package_are_refused_and_not_opened(hostile, include):
    path = hostile / "inside" / "pkg" / "urdf" / "r.urdf.xacro"
    body = include.format(outside=hostile / "outside")
    path.write_text(f'<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><link name="a"/>{body}</robot>')
    with opened_files() as opened, pytest.raises(DescriptionError, match=r"outside the file's package|is not found"):
        mk.load_robot(path)
    assert not [name for name in opened if name.startswith(str(hostile / "outside"))]


def test_an_srdf_that_is_a_link_out_of_the_package_is_not_opened(hostile):
    path = hostile / "inside" / "pkg" / "urdf" / "r.urdf"
    path.write_text('<robot name="r"><link name="a"/></robot>')
    with opened_files() as opened:
        mk.load_robot(path)
    assert not [name for name in opened if name.startswith(str(hostile / "outside"))]


def test_special_files_and_endless_links_end_in_typed_errors(hostile):
    urdf = hostile / "inside" / "pkg" / "urdf"
    os.mkfifo(urdf / "fifo.urdf")
    (urdf / "self.urdf").symlink_to(urdf / "self.urdf")
    (urdf / "folder.urdf").mkdir()
    (urdf / "me.urdf.xacro").write_text(
        '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:include filename="me.urdf.xacro"/></robot>'
    )
    for name in ("fifo.urdf", "self.urdf", "folder.urdf", "me.urdf.xacro"):
        with pytest.raises(MemetikError):
            mk.load_robot(urdf / name)
