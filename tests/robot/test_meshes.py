"""Finding mesh files: every kind of reference, every kind of guess, and nothing from elsewhere."""

import logging

import pytest

from memetik.robot.readers.mesh_paths import MeshFinder


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """workspace/arm_description/{urdf,meshes/arm part.stl} and an installed package in share/."""
    for variable in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "GAZEBO_MODEL_PATH"):
        monkeypatch.delenv(variable, raising=False)
    for path in (
        "workspace/arm_description/meshes/arm part.stl",
        "workspace/arm_description/urdf/local.stl",
        "workspace/gripper/meshes/finger.stl",
        "workspace/share/installed/meshes/base.stl",
        "elsewhere/tools/meshes/drill.stl",
        "elsewhere/prefix/share/ament_tools/meshes/saw.stl",
        "elsewhere/checkout/meshes/lamp.stl",
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("solid")
    (tmp_path / "elsewhere/checkout/package.xml").write_text("<package>\n <name> lamp_description </name></package>")
    return tmp_path


def finder(tree, *search_path):
    return MeshFinder(str(tree / "workspace/arm_description/urdf"), [str(tree / entry) for entry in search_path])


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("package://arm_description/meshes/arm part.stl", "workspace/arm_description/meshes/arm part.stl"),
        ("package:///arm_description/meshes/arm part.stl", "workspace/arm_description/meshes/arm part.stl"),
        ("package://arm_description/meshes/arm%20part.stl", "workspace/arm_description/meshes/arm part.stl"),
        ("package:\\\\arm_description\\meshes\\arm part.stl", "workspace/arm_description/meshes/arm part.stl"),
        ("model://gripper/meshes/finger.stl", "workspace/gripper/meshes/finger.stl"),
        ("package://installed/meshes/base.stl", "workspace/share/installed/meshes/base.stl"),
        ("package://another_name/meshes/arm part.stl", "workspace/arm_description/meshes/arm part.stl"),
        ("local.stl", "workspace/arm_description/urdf/local.stl"),
        ("../meshes/arm part.stl", "workspace/arm_description/meshes/arm part.stl"),
        ("..\\meshes\\arm part.stl", "workspace/arm_description/meshes/arm part.stl"),
        ("file://local.stl", "workspace/arm_description/urdf/local.stl"),
        ("  local.stl ", "workspace/arm_description/urdf/local.stl"),
    ],
)
def test_references_are_found_from_the_file_alone(tree, uri, expected):
    assert finder(tree).find(uri) == str(tree / expected)


def test_absolute_paths_and_file_addresses(tree):
    path = str(tree / "elsewhere/tools/meshes/drill.stl")
    for uri in (path, f"file://{path}", f"file://localhost{path}", f"file:{path}"):
        assert MeshFinder().find(uri) == path


@pytest.mark.parametrize("entry", ["elsewhere", "elsewhere/tools"])
def test_search_path_takes_packages_and_folders_of_packages(tree, entry):
    assert finder(tree).find("package://tools/meshes/drill.stl") is None
    found = finder(tree, entry).find("package://tools/meshes/drill.stl")
    assert found == str(tree / "elsewhere/tools/meshes/drill.stl")


def test_search_path_may_name_packages_and_start_relative_paths(tree):
    named = MeshFinder(None, {"any_name": str(tree / "elsewhere/tools")})
    assert named.find("package://any_name/meshes/drill.stl") == str(tree / "elsewhere/tools/meshes/drill.stl")
    assert finder(tree, "elsewhere/tools").find("meshes/drill.stl") == str(tree / "elsewhere/tools/meshes/drill.stl")


def test_a_package_is_known_by_its_package_xml(tree):
    found = finder(tree, "elsewhere/checkout").find("package://lamp_description/meshes/lamp.stl")
    assert found == str(tree / "elsewhere/checkout/meshes/lamp.stl")


@pytest.mark.parametrize(
    ("variable", "value", "uri", "expected"),
    [
        ("ROS_PACKAGE_PATH", "elsewhere", "package://tools/meshes/drill.stl", "elsewhere/tools/meshes/drill.stl"),
        ("ROS_PACKAGE_PATH", ".", "package://tools/meshes/drill.stl", "elsewhere/tools/meshes/drill.stl"),
        ("GAZEBO_MODEL_PATH", "elsewhere", "model://tools/meshes/drill.stl", "elsewhere/tools/meshes/drill.stl"),
        (
            "AMENT_PREFIX_PATH",
            "elsewhere/prefix",
            "package://ament_tools/meshes/saw.stl",
            "elsewhere/prefix/share/ament_tools/meshes/saw.stl",
        ),
        (
            "CMAKE_PREFIX_PATH",
            "elsewhere/prefix",
            "package://ament_tools/meshes/saw.stl",
            "elsewhere/prefix/share/ament_tools/meshes/saw.stl",
        ),
    ],
)
def test_environment_variables_of_ros_are_used(tree, monkeypatch, variable, value, uri, expected):
    assert MeshFinder().find(uri) is None
    monkeypatch.setenv(variable, f"/nowhere:{tree / value}")
    assert MeshFinder().find(uri) == str(tree / expected)


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1:9/a.stl",
        "https://127.0.0.1:9/a.stl",
        "ftp://127.0.0.1/a.stl",
        "//host/share/a.stl",
        "\\\\host\\share\\a.stl",
        "file://host/share/a.stl",
        "package://",
        "package://arm_description",
        "package://../x",
        "model:///",
        "",
        "nul\0byte.stl",
        "x" * 100_000,
        "package://" + "../" * 1000 + "a",
        ".",
        "/dev/null",
    ],
)
def test_what_is_elsewhere_or_no_file_is_missing(tree, uri):
    assert finder(tree).find(uri) is None


def test_missing_meshes_are_reported_once_per_robot(tree, caplog):
    meshes = finder(tree)
    for uri in ("a.stl", "b.stl", "a.stl", "local.stl"):
        meshes.find(uri)
    with caplog.at_level(logging.WARNING):
        meshes.report("arm")
    (record,) = caplog.records
    assert "2 of 3 meshes are missing (a.stl, b.stl)" in record.getMessage()
