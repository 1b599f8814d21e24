"""Configurations carried to MuJoCo, Pinocchio and ROS mean the same there, and come back."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio
import pytest
from pinocchio_truth import FILES

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.robot.description import Description, Joint, Link
from memetik.robot.robot import Robot

MJCF = """<mujoco model="m"><compiler angle="radian"/><worldbody>
<body name="trunk" pos="0 0 1" quat="0.9 0.1 0.3 0.2"><freejoint name="free"/><geom size="0.1"/>
  <body name="upper" pos="0.1 0 0"><joint name="ball" type="ball"/><geom size="0.1"/>
    <body name="lower" pos="0.2 0 0" euler="0.3 0.1 0"><joint name="hinge" axis="0 1 0" range="-1 1"/><geom size="0.1"/>
    </body></body>
  <body name="tail" pos="-0.1 0 0"><joint name="slide" type="slide" axis="1 0 0"/><joint name="turn" axis="0 0 1"/>
    <geom size="0.1"/></body>
</body></worldbody></mujoco>"""


def poses_of(robot: Robot, q: np.ndarray) -> np.ndarray:
    return np.asarray(robot.pose(robot.links, q))


def random_q(robot: Robot, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    lower, upper = np.maximum(robot.lower, -1.4), np.minimum(robot.upper, 1.4)
    return lower + rng.random(robot.dof) * (upper - lower)


@pytest.mark.parametrize("name", [*FILES])
@pytest.mark.parametrize("given", [True, False])
def test_pinocchio_has_every_link_at_the_same_place(name: str, given: bool) -> None:
    robot = mk.load_robot(FILES[name], srdf=False)
    model = pinocchio.buildModelFromUrdf(str(FILES[name]))
    data = model.createData()
    for seed in range(3):
        q = random_q(robot, seed)
        theirs = robot.to_pinocchio(q, model if given else None)
        assert theirs.shape == (model.nq,)
        pinocchio.framesForwardKinematics(model, data, theirs)
        for link, pose in zip(robot.links, poses_of(robot, q), strict=True):
            frame = model.getFrameId(link, pinocchio.FrameType.BODY)
            assert np.abs(data.oMf[frame].homogeneous - pose).max() < 1e-9
        back = robot.from_pinocchio(theirs, model if given else None)
        assert np.abs(poses_of(robot, back) - poses_of(robot, q)).max() < 1e-9


def test_a_free_base_of_pinocchio_is_ours_or_where_the_robot_stands() -> None:
    path = FILES["solo12"]
    model = pinocchio.buildModelFromUrdf(str(path), pinocchio.JointModelFreeFlyer())
    data = model.createData()
    standing = mk.load_robot(path, srdf=False).at(mk.transform((1, 2, 3), rpy=(0.1, 0.2, 0.3)))
    floating = mk.load_robot(path, srdf=False).with_floating_base()
    for robot in (standing, floating):
        q = random_q(robot, 1)
        theirs = robot.to_pinocchio(q, model)
        pinocchio.framesForwardKinematics(model, data, theirs)
        frame = model.getFrameId("FL_FOOT", pinocchio.FrameType.BODY)
        assert np.abs(data.oMf[frame].homogeneous - robot.pose("FL_FOOT", q)).max() < 1e-12
        assert np.abs(robot.from_pinocchio(theirs, model) - q).max() < 1e-9
    moved = floating.to_pinocchio(random_q(floating, 2), model)
    with pytest.raises(InvalidInputError, match="with_floating_base"):
        standing.from_pinocchio(moved, model)


@pytest.mark.parametrize("given", [True, False])
def test_mujoco_has_every_body_at_the_same_place(given: bool) -> None:
    robot = mk.load_robot(MJCF)
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    for seed in range(5):
        q = random_q(robot, seed)
        data.qpos[:] = robot.to_mujoco(q, model if given else None)
        mujoco.mj_kinematics(model, data)
        for body in ("trunk", "upper", "lower", "tail"):
            pose = robot.pose(body, q)
            assert np.abs(data.body(body).xpos - pose[:3, 3]).max() < 1e-9
            assert np.abs(data.body(body).xmat - pose[:3, :3].ravel()).max() < 1e-9
        back = robot.from_mujoco(data.qpos, model if given else None)
        assert np.abs(poses_of(robot, back) - poses_of(robot, q)).max() < 1e-9


def test_mimic_joints_have_entries_in_mujoco_and_are_passed_over_on_the_way_back() -> None:
    robot = mk.load_robot(FILES["panda"], srdf=False)
    q = random_q(robot, 0)
    qpos = robot.to_mujoco(q)
    assert qpos.shape == (9,)
    assert qpos[-1] == qpos[-2]
    assert np.array_equal(robot.from_mujoco(qpos), q)


def test_a_model_of_another_robot_is_refused() -> None:
    model = pinocchio.buildModelFromUrdf(str(FILES["ur10"]))
    with pytest.raises(mk.MemetikError, match="joint 'shoulder_pan_joint' is not in robot"):
        mk.load_robot("panda").to_pinocchio(mk.load_robot("panda").neutral, model)


@pytest.mark.parametrize("name", ["tiago_dual", "talos", "pr2"])
def test_joint_states_of_ros_come_back_in_any_order(name: str) -> None:
    robot = mk.load_robot(FILES[name], srdf=False)
    q = random_q(robot, 3)
    state = robot.to_ros(q)
    order = np.random.default_rng(0).permutation(len(state.name))
    names, positions = [state.name[k] for k in order], [state.position[k] for k in order]
    assert np.array_equal(robot.from_ros([*names, "of_another_robot"], [*positions, 1.0], state.poses), q)
    mimics = {joint.name for joint in robot.description.joints if joint.mimic is not None}
    assert mimics <= set(state.name)
    assert not mimics & set(robot.to_ros(q, mimic=False).name)
    with pytest.raises(InvalidInputError, match="lacks"):
        robot.from_ros(names[:1], positions[:1])
    assert robot.from_ros([], [], state.poses, default=q) == pytest.approx(q)


KINDS = ["planar", "floating", "spherical", "swing"]


@pytest.mark.parametrize("kind", KINDS)
def test_joints_with_several_axes_come_back_from_ros(kind: str) -> None:
    options = {"swing_twist": True} if kind == "swing" else {}
    axis = (0.0, 0.6, 0.8) if kind == "planar" else (0.0, 0.0, 1.0)
    joint = Joint("j", "spherical" if kind == "swing" else kind, "a", "b", axis=axis, **options)
    robot = Robot(Description("r", (Link("a"), Link("b")), (joint,)))
    for seed in range(5):
        q = random_q(robot, seed)
        state = robot.to_ros(q)
        back = robot.from_ros(state.name, state.position, state.poses)
        assert np.abs(np.asarray(robot.pose("b", back)) - robot.pose("b", q)).max() < 1e-9
