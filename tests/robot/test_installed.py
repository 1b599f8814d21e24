"""Robots of other packages load by name, with meshes and SRDF, and show their licences."""

import importlib.util

import numpy as np
import pytest

import memetik as mk
from memetik.errors import DescriptionError
from memetik.robot.installed import example_robots, find_installed, installed_robots

pytestmark = pytest.mark.skipif(not example_robots(), reason="example-robot-data is not installed")


def test_talos_loads_by_name_as_pinocchio_reads_its_file():
    pinocchio = pytest.importorskip("pinocchio")
    robot = mk.load_robot("talos")
    model = pinocchio.buildModelFromUrdf(find_installed("talos").path)
    assert robot.mass == pytest.approx(sum(inertia.mass for inertia in model.inertias))
    assert not [note for note in robot.notes if note.code == "missing-mesh"]
    assert any(geometry.shape for link in robot.description.links for geometry in link.visuals)


def test_a_robot_brings_its_srdf():
    robot = mk.load_robot("talos_reduced")
    assert robot.description.semantics.states or robot.description.semantics.disabled_pairs


def test_bundled_robots_come_before_those_of_packages():
    assert "panda" in example_robots()
    assert "published DH table" in mk.load_robot("panda").description.source


def test_robots_of_example_robot_data_load_by_name():
    loaded = 0
    for name in ("go2", "tiago", "anymal_b_simple", "solo", "ur5_robot", "z1", "g1", "hyq", "icub", "romeo"):
        if name in example_robots():
            robot = mk.load_robot(name)
            assert np.isfinite(robot.pose(robot.links[-1], robot.neutral)).all()
            loaded += 1
    assert loaded >= 7


def test_licences_are_listed():
    assert all(robot.licence for robot in installed_robots())
    assert find_installed("panda").licence == "Apache-2.0"
    assert find_installed("talos").licence == "BSD-3-Clause"


@pytest.mark.skipif(
    importlib.util.find_spec("robot_descriptions") is None, reason="robot_descriptions is not installed"
)
def test_what_is_not_downloaded_is_named_and_never_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path))
    with pytest.raises(DescriptionError, match=r"not downloaded.*pull fr3_description"):
        mk.load_robot("fr3")
    assert not list(tmp_path.iterdir())


def test_an_unknown_name_gets_suggestions_from_packages():
    with pytest.raises(DescriptionError, match="talos"):
        mk.load_robot("taloss")
