"""MoveIt's joint_limits.yaml and the default rule for accelerations."""

import logging
import math

import pytest

from memetik.errors import DescriptionError, InvalidInputError
from memetik.robot.load import load_description
from memetik.robot.readers import limits_file
from memetik.robot.readers.limits_file import apply_joint_limits, with_default_accelerations
from memetik.robot.readers.urdf import read_urdf

ROBOT = """<robot name="arm"><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
  <joint name="one" type="revolute"><parent link="a"/><child link="b"/>
    <limit lower="-1" upper="1" velocity="2" effort="3"/></joint>
  <joint name="two" type="continuous"><parent link="b"/><child link="c"/></joint>
  <joint name="three" type="planar"><parent link="c"/><child link="d"/></joint></robot>"""

LIMITS = """
default_velocity_scaling_factor: 0.5
default_acceleration_scaling_factor: 0.1
joint_limits:
  one:
    has_velocity_limits: true
    max_velocity: 4.0
    has_acceleration_limits: true
    max_acceleration: 5
    has_position_limits: true
    min_position: -0.5
    max_position: 0.25
    has_jerk_limits: false
  two:
    has_velocity_limits: true
    max_velocity: 1e1
    has_acceleration_limits: false
    max_acceleration: 0.0
  three: {has_velocity_limits: true, max_velocity: [1, 2, 3]}
"""


def test_limits_are_read_as_moveit_reads_them():
    one, two, three = load_description(ROBOT, joint_limits=LIMITS).joints
    assert (one.lower, one.upper) == ((-0.5,), (0.25,))
    assert one.velocity == (2.0,)
    assert one.acceleration == (0.5,)
    assert one.effort == (3.0,)
    assert two.velocity == (5.0,)
    assert two.acceleration == (10.0,)  # stated as unlimited, so the default rule holds
    assert three.velocity == (0.5, 1.0, 1.5)


def test_limits_come_from_files_texts_and_mappings(tmp_path):
    path = tmp_path / "joint_limits.yaml"
    path.write_text(LIMITS)
    import yaml

    for given in (path, str(path), LIMITS, yaml.safe_load(LIMITS)):
        assert load_description(ROBOT, joint_limits=given).joints[0].velocity == (2.0,)


def test_a_limit_can_be_taken_away():
    entry = {"joint_limits": {"one": {"has_position_limits": False, "has_velocity_limits": False}}}
    one = apply_joint_limits(read_urdf(ROBOT), entry).joints[0]
    assert (one.lower, one.upper, one.velocity) == ((-math.inf,), (math.inf,), (math.inf,))


def test_joints_that_the_robot_lacks_are_warned_of(caplog):
    with caplog.at_level(logging.WARNING):
        apply_joint_limits(read_urdf(ROBOT), {"joint_limits": {"elbow": {"max_velocity": 1}}})
    assert "elbow" in caplog.text


@pytest.mark.parametrize(
    ("limits", "word"),
    [
        ("joint_limits: [1, 2]\n", "mapping"),
        ("joint_limits:\n  one: 3\n", "mapping"),
        ("joint_limits:\n  one: {max_velocity: fast}\n", "line 2, joint 'one': max_velocity"),
        ("joint_limits:\n  one: {max_velocity: .nan}\n", "max_velocity"),
        ("joint_limits:\n  one: {max_velocity: true}\n", "max_velocity"),
        ("joint_limits:\n  one: {max_velocity: -1}\n", "velocity limit of -1"),
        ("joint_limits:\n  one: {min_position: 2, max_position: 1}\n", "lower limit 2"),
        ("joint_limits:\n  three: {max_velocity: [1, 2]}\n", "3 axes"),
        ("default_velocity_scaling_factor: 0\na:\n", "above 0"),
        ("a: &a [1]\nb: *a\njoint_limits:\n", "aliases"),
        ("joint_limits:\n\t- x\n", "not YAML"),
        ("a: !!python/object/apply:os.system [true]\nb:\n", "not YAML"),
        ("a:\n" + "[" * 5000, "not YAML"),
    ],
)
def test_wrong_limits_are_told_what_is_wrong(limits, word):
    with pytest.raises(DescriptionError, match=word):
        load_description(ROBOT, joint_limits=limits)


def test_a_missing_file_or_a_wrong_type_is_an_error():
    with pytest.raises(DescriptionError, match="no file"):
        load_description(ROBOT, joint_limits="nowhere.yaml")
    with pytest.raises(InvalidInputError, match="int"):
        load_description(ROBOT, joint_limits=3)


def test_missing_accelerations_reach_the_velocity_limit_in_the_stated_time(caplog, monkeypatch):
    monkeypatch.setattr(limits_file, "_said", False)
    with caplog.at_level(logging.INFO):
        one, two, three = with_default_accelerations(read_urdf(ROBOT)).joints
        with_default_accelerations(read_urdf(ROBOT))
    assert one.acceleration == (2.0 / limits_file.TIME_TO_FULL_SPEED,)
    assert two.acceleration == (math.inf,)
    assert three.acceleration == (math.inf,) * 3
    assert [record.levelno for record in caplog.records] == [logging.INFO]


def test_stated_accelerations_stay():
    stated = read_urdf(ROBOT.replace('velocity="2"', 'velocity="2" acceleration="7"'))
    assert with_default_accelerations(stated) is stated
