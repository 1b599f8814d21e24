"""As-built kinematics: offsets mean what they say, a maker's file is read, and a fit finds what Pinocchio was given."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
import yaml
from pinocchio_truth import FILES

import memetik as mk
from memetik.errors import DescriptionError, InvalidInputError, UnknownNameError
from memetik.robot.calibration import UNIVERSAL_ROBOTS
from memetik.robot.description import Description, Joint, Link
from memetik.robot.robot import Robot

UR_FILE = """kinematics:
  shoulder: {x: 0.0001, y: -0.0002, z: 0.1627, roll: 0.0001, pitch: 0.0002, yaw: 0.003}
  upper_arm: {x: 0.0002, y: 0, z: 0, roll: 1.570796327, pitch: 0.001, yaw: 0}
  forearm: {x: -0.4251, y: 0, z: 0, roll: 0.0003, pitch: 0, yaw: 0.0002}
  wrist_1: {x: -0.3921, y: 0.0001, z: 0.1333, roll: 0, pitch: 0.0002, yaw: 0}
  wrist_2: {x: 0.0001, y: -0.0997, z: -2.04e-11, roll: 1.570796327, pitch: 0, yaw: 0}
  wrist_3: {x: 0, y: 0.0996, z: -2.04e-11, roll: 1.570796327, pitch: 3.141592654, yaw: 3.141592654}
  hash: calib_1234
"""


def joint_at(kind: str, **options) -> Robot:
    origin = mk.transform((0.1, 0.2, 0.3), rpy=(0.4, 0.5, 0.6))
    joint = Joint("j", kind, "a", "b", origin=origin, axis=(0.6, 0.0, 0.8), lower=(-1.0,), upper=(2.0,), **options)
    return Robot(Description("r", (Link("a"), Link("b")), (joint,)))


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("options", [{}, {"anchor": (0.3, -0.1, 0.2)}, {"reversed": True}])
def test_a_joint_with_an_offset_stands_where_the_value_plus_offset_is(kind: str, options: dict) -> None:
    robot = joint_at(kind, **options)
    built = robot.with_joint_offsets({"j": 0.25})
    for value in (-0.5, 0.0, 0.7):
        assert np.abs(np.asarray(built.pose("b", [value])) - robot.pose("b", [value + 0.25])).max() < 1e-12
    assert (built.lower, built.upper) == (robot.lower, robot.upper)


def test_offsets_of_a_public_arm_are_those_of_pinocchio() -> None:
    robot = mk.load_robot(FILES["ur10"], srdf=False)
    model = pinocchio.buildModelFromUrdf(str(FILES["ur10"]))
    data = model.createData()
    offsets = dict(zip(robot.joint_names, (0.01, -0.02, 0.03, -0.04, 0.05, -0.06), strict=True))
    built = robot.with_joint_offsets(offsets)
    q = np.array([0.3, -0.8, 0.9, 0.2, -0.4, 0.6])
    pinocchio.framesForwardKinematics(model, data, robot.to_pinocchio(q + list(offsets.values()), model))
    frame = data.oMf[model.getFrameId("tool0")].homogeneous
    assert np.abs(frame - built.pose("tool0", q)).max() < 1e-12


UR_ORIGINS = {
    "shoulder": "0 0 0.1625|0 0 0",
    "upper_arm": "0 0 0|1.570796327 0 0",
    "forearm": "-0.425 0 0|0 0 0",
    "wrist_1": "-0.3922 0 0.1333|0 0 0",
    "wrist_2": "0 -0.0997 0|1.570796327 0 0",
    "wrist_3": "0 0.0996 0|1.570796326589793 3.141592653589793 3.141592653589793",
}
"""A UR5e with the frames of Universal Robots' own description: joint i about the z axis of its frame."""


def ur_urdf(origins: dict[str, str]) -> str:
    links = ["base_link", *(f"{name}_link" for name in origins)]
    joints = [
        f'<joint name="{UNIVERSAL_ROBOTS[name]}" type="revolute"><parent link="{parent}"/><child link="{name}_link"/>'
        f'<origin xyz="{at.partition("|")[0]}" rpy="{at.partition("|")[2]}"/><axis xyz="0 0 1"/>'
        '<limit lower="-6" upper="6" velocity="1" effort="1"/></joint>'
        for parent, (name, at) in zip(links, origins.items(), strict=False)
    ]
    return f'<robot name="ur5e">{"".join(f"""<link name="{link}"/>""" for link in links)}{"".join(joints)}</robot>'


def test_the_kinematics_file_of_universal_robots_is_what_pinocchio_makes_of_the_same_origins(tmp_path) -> None:
    path = tmp_path / "my_robot_calibration.yaml"
    path.write_text(UR_FILE)
    built = mk.load_robot(ur_urdf(UR_ORIGINS)).with_calibration(path)
    stated = yaml.safe_load(UR_FILE)["kinematics"]
    origins = {
        name: f"{stated[name]['x']} {stated[name]['y']} {stated[name]['z']}|"
        f"{stated[name]['roll']} {stated[name]['pitch']} {stated[name]['yaw']}"
        for name in UR_ORIGINS
    }
    model = pinocchio.buildModelFromXML(ur_urdf(origins))
    data = model.createData()
    q = np.array([0.3, -0.8, 0.9, 0.2, -0.4, 0.6])
    pinocchio.framesForwardKinematics(model, data, q)
    assert np.abs(data.oMf[model.getFrameId("wrist_3_link")].homogeneous - built.pose("wrist_3_link", q)).max() < 1e-12


def test_a_calibration_for_other_frames_is_refused() -> None:
    with pytest.raises(DescriptionError, match="other link frames"):
        mk.load_robot("ur5e").with_calibration(yaml.safe_load(UR_FILE))


def test_bad_calibrations_are_told(tmp_path) -> None:
    robot = mk.load_robot("panda")
    with pytest.raises(DescriptionError, match="shoulder_pan_joint"):
        robot.with_calibration(yaml.safe_load(UR_FILE))
    with pytest.raises(DescriptionError, match="lacks pitch, yaw"):
        robot.with_calibration({"kinematics": {"shoulder": dict.fromkeys(("x", "y", "z", "roll"), 0.0)}})
    with pytest.raises(DescriptionError, match="'kinematics'"):
        robot.with_calibration({"other": 1})
    with pytest.raises(UnknownNameError, match="panda_joint0"):
        robot.with_calibration({"joints": {"panda_joint0": {"offset": 0.1}}})
    with pytest.raises(DescriptionError, match="cannot be read"):
        robot.with_calibration(tmp_path / "none.yaml")
    with pytest.raises(InvalidInputError, match="finite"):
        robot.with_joint_offsets({"panda_joint1": float("nan")})


def test_joints_of_any_robot_may_have_offsets_and_origins() -> None:
    robot = mk.load_robot("panda")
    built = robot.with_calibration({"joints": {"panda_joint2": {"offset": 0.1}, "panda_joint4": {"xyz": [0.1, 0, 0]}}})
    assert built.joint("panda_joint4").origin[:3, 3].tolist() == [0.1, 0.0, 0.0]
    assert np.array_equal(built.joint("panda_joint4").origin[:3, :3], robot.joint("panda_joint4").origin[:3, :3])
    assert not np.array_equal(built.joint("panda_joint2").origin, robot.joint("panda_joint2").origin)


TRUE = (0.012, -0.007, 0.009, 0.015, -0.011, 0.006)


def measured(count: int, noise: float = 0.0) -> tuple[Robot, np.ndarray, np.ndarray]:
    """A UR10, configurations that it reports, and where Pinocchio has its tool with the true offsets."""
    robot = mk.load_robot(FILES["ur10"], srdf=False)
    model = pinocchio.buildModelFromUrdf(str(FILES["ur10"]))
    data = model.createData()
    rng = np.random.default_rng(0)
    q = rng.uniform(-1.5, 1.5, (count, 6))
    poses = []
    for row in q:
        pinocchio.framesForwardKinematics(model, data, robot.to_pinocchio(row + TRUE, model))
        poses.append(data.oMf[model.getFrameId("tool0")].homogeneous)
    result = np.array(poses)
    result[:, :3, 3] += noise * rng.standard_normal((count, 3))
    return robot, q, result


def test_a_fit_finds_the_offsets_from_poses_and_from_positions() -> None:
    robot, q, poses = measured(20)
    fit = mk.fit_joint_offsets(robot, q, poses)
    assert list(fit.offsets.values()) == pytest.approx(TRUE, abs=1e-9)
    assert fit.before > 0.005
    assert fit.after < 1e-9
    assert fit.unobservable == ()
    positions = mk.fit_joint_offsets(robot, q, poses[:, :3, 3])
    # tool0 lies on the last axis: turning it does not move the point.
    assert positions.unobservable == ("wrist_3_joint",)
    assert list(positions.offsets.values())[:5] == pytest.approx(TRUE[:5], abs=1e-8)


def test_with_unknown_base_and_tool_the_ends_are_named_as_unobservable_and_poses_still_fit() -> None:
    robot, q, poses = measured(40)
    base, tool = mk.transform((1, 2, 0.5), rpy=(0.1, 0.2, 0.3)), mk.transform((0, 0.05, 0.1), rpy=(0.2, 0, 0.1))
    fit = mk.fit_joint_offsets(robot, q, base @ poses @ tool, base=True, tool=True)
    assert fit.unobservable == ("shoulder_pan_joint", "wrist_3_joint")
    assert list(fit.offsets.values())[1:5] == pytest.approx(TRUE[1:5], abs=1e-8)
    assert fit.after < 1e-8
    built = robot.with_joint_offsets(fit.offsets)
    again = fit.base @ np.asarray(built.pose("tool0", q)) @ fit.tool
    assert np.abs(again - base @ poses @ tool).max() < 1e-7


def test_noise_is_averaged() -> None:
    robot, q, poses = measured(200, noise=1e-4)
    fit = mk.fit_joint_offsets(robot, q, poses)
    assert np.abs(np.array(list(fit.offsets.values())) - TRUE).max() < 1e-4
    assert fit.after == pytest.approx(1e-4 * np.sqrt(3), rel=0.2)


def test_bad_measurements_are_told() -> None:
    robot, q, poses = measured(3)
    with pytest.raises(InvalidInputError, match="one for each"):
        mk.fit_joint_offsets(robot, q, poses[:2])
    with pytest.raises(InvalidInputError, match="too few"):
        mk.fit_joint_offsets(robot, q[:1], poses[:1, :3, 3])
    with pytest.raises(UnknownNameError):
        mk.fit_joint_offsets(robot, q, poses, joints=["none"])
