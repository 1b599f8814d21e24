"""The node: its services' answers and codes, and the node as a process in a graph on loopback, over DDS and zenoh."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fuzz_node import LocalTransport, fuzz
from test_dds import DOMAIN, until

import memetik as mk
from memetik.ros import conversions
from memetik.ros.messages import message_class, service_type
from memetik.ros.node.node import NodeOptions, RosNode
from memetik.ros.node.services import Services
from memetik.ros.node.streaming import Streamer
from memetik.ros.node.world import ErrorCodes, World
from memetik.ros.transports.base import LATCHED
from memetik.ros.transports.choice import open_transport

LINK = "panda_hand_tcp"
Constraints, Primitive = message_class("moveit_msgs/msg/Constraints"), message_class("shape_msgs/msg/SolidPrimitive")


@pytest.fixture(scope="module")
def robot() -> mk.Robot:
    return mk.load_robot("panda")


@pytest.fixture
def services(robot: mk.Robot) -> Services:
    return Services(World(robot))


def ik_request(robot: mk.Robot, q: np.ndarray, **fields: Any) -> Any:
    request = service_type("moveit_msgs/srv/GetPositionIK").Request()
    asked = request.ik_request
    asked.group_name, asked.ik_link_name = "panda_arm", LINK
    asked.pose_stamped.pose = conversions.pose_message(robot.pose(LINK, q))
    for name, value in fields.items():
        setattr(asked, name, value)
    return request


def box(name: str, size: float, pose: np.ndarray, operation: int = 0) -> Any:
    made = message_class("moveit_msgs/msg/CollisionObject")(id=name, operation=operation)
    made.primitives, made.pose = [Primitive(type=1, dimensions=[size] * 3)], conversions.pose_message(pose)
    return made


def test_ik_meets_the_pose_keeps_other_joints_and_starts_from_the_state(robot: mk.Robot, services: Services):
    import pinocchio

    model = pinocchio.buildModelFromXML(robot.to_urdf())
    data, rng = model.createData(), np.random.default_rng(0)
    for _ in range(50):
        target, state = robot.random(rng), robot.random(rng)
        request = ik_request(robot, target, robot_state=services.world.robot_state(state))
        answer = services.inverse_kinematics(request)
        assert answer.error_code.val == ErrorCodes.SUCCESS
        q = dict(zip(answer.solution.joint_state.name, answer.solution.joint_state.position, strict=True))
        assert q["panda_finger_joint1"] == pytest.approx(state[-1])
        whole = pinocchio.neutral(model)
        for name, value in q.items():
            whole[model.joints[model.getJointId(name)].idx_q] = value
        pinocchio.framesForwardKinematics(model, data, whole)
        found = data.oMf[model.getFrameId(LINK)].homogeneous
        assert np.abs(found - robot.pose(LINK, target)).max() < 5e-5


def test_ik_codes(robot: mk.Robot, services: Services):
    q = robot.state("ready")

    def code(request: Any) -> int:
        answer = services.inverse_kinematics(request)
        assert answer.error_code.val == 1 or answer.error_code.message
        return answer.error_code.val

    assert code(ik_request(robot, q)) == ErrorCodes.SUCCESS
    assert code(ik_request(robot, q, group_name="legs")) == ErrorCodes.INVALID_GROUP_NAME
    assert code(ik_request(robot, q, ik_link_name="foot")) == ErrorCodes.INVALID_LINK_NAME
    far = ik_request(robot, q)
    far.ik_request.pose_stamped.pose.position.x = 5.0
    assert code(far) == ErrorCodes.NO_IK_SOLUTION
    elsewhere = ik_request(robot, q)
    elsewhere.ik_request.pose_stamped.header.frame_id = "moon"
    assert code(elsewhere) == ErrorCodes.FRAME_TRANSFORM_FAILURE
    unknown = ik_request(robot, q)
    unknown.ik_request.robot_state.joint_state = conversions.joint_state(["elbow"], np.zeros(1))
    assert code(unknown) == ErrorCodes.INVALID_ROBOT_STATE
    broken = ik_request(robot, q)
    broken.ik_request.robot_state.joint_state = conversions.joint_state(["panda_joint1"], np.array([np.nan]))
    assert code(broken) == ErrorCodes.INVALID_ROBOT_STATE
    for value in (np.nan, np.inf):
        wild = ik_request(robot, q)
        wild.ik_request.pose_stamped.pose.position.y = value
        assert code(wild) == ErrorCodes.FAILURE
    services.world.scene.add_box("block", (0.3, 0.3, 0.3), robot.pose(LINK, q))
    assert code(ik_request(robot, q, avoid_collisions=True)) == ErrorCodes.NO_IK_SOLUTION
    assert code(ik_request(robot, q, avoid_collisions=False)) == ErrorCodes.SUCCESS


def test_constraints_narrow_ik_and_frames_are_honoured(robot: mk.Robot, services: Services):
    q = robot.state("ready")
    joint = message_class("moveit_msgs/msg/JointConstraint")
    elbow = joint(joint_name="panda_joint3", position=0.4, tolerance_above=0.05, tolerance_below=0.05)
    request = ik_request(robot, q, constraints=Constraints(joint_constraints=[elbow]))
    answer = services.inverse_kinematics(request)
    assert answer.error_code.val == ErrorCodes.SUCCESS
    values = dict(zip(answer.solution.joint_state.name, answer.solution.joint_state.position, strict=True))
    assert 0.35 - 1e-4 <= values["panda_joint3"] <= 0.45 + 1e-4
    frames = message_class("tf2_msgs/msg/TFMessage")()
    stamped = message_class("geometry_msgs/msg/TransformStamped")(child_frame_id="table")
    stamped.header.frame_id = "map"
    stamped.transform.translation.x = 0.5
    base = message_class("geometry_msgs/msg/TransformStamped")(child_frame_id="panda_link0")
    base.header.frame_id = "map"
    base.transform.translation.z = 0.7
    frames.transforms = [stamped, base]
    services.world.take_transforms(frames)
    assert np.allclose(services.world.frame("table", q)[:3, 3], [0.5, 0.0, -0.7])
    fk = service_type("moveit_msgs/srv/GetPositionFK").Request(fk_link_names=[LINK])
    fk.header.frame_id = "table"
    fk.robot_state = services.world.robot_state(q)
    answer = services.forward_kinematics(fk)
    expected = robot.pose(LINK, q)[:3, 3] - [0.5, 0.0, -0.7]
    found = answer.pose_stamped[0].pose.position
    assert np.allclose([found.x, found.y, found.z], expected)


def test_validity_names_contacts_and_constraints(robot: mk.Robot, services: Services):
    request = service_type("moveit_msgs/srv/GetStateValidity").Request()
    request.robot_state = services.world.robot_state(robot.state("ready"))
    assert services.state_validity(request).valid
    held = message_class("moveit_msgs/msg/JointConstraint")(
        joint_name="panda_joint1", position=1.0, tolerance_above=0.1
    )
    request.constraints.joint_constraints = [held]
    answer = services.state_validity(request)
    assert not answer.valid
    assert not answer.constraint_result[0].result
    request.constraints = Constraints()
    services.world.scene.add_box("block", (0.1, 0.1, 0.1), robot.pose(LINK, robot.state("ready")))
    answer = services.state_validity(request)
    assert not answer.valid
    assert {each.contact_body_2 for each in answer.contacts} == {"block"}
    assert {each.body_type_2 for each in answer.contacts} == {1}
    request.robot_state = services.world.robot_state(robot.upper + 0.1)
    services.world.scene.clear()
    assert not services.state_validity(request).valid


def test_plans_end_where_they_should_with_the_right_codes(robot: mk.Robot, services: Services):
    request = service_type("moveit_msgs/srv/GetMotionPlan").Request()
    asked, start = request.motion_plan_request, robot.state("ready")
    asked.group_name, asked.start_state = "panda_arm", services.world.robot_state(start)
    joint = message_class("moveit_msgs/msg/JointConstraint")
    asked.goal_constraints = [Constraints(joint_constraints=[joint(joint_name="panda_joint1", position=0.8)])]
    answer = services.motion_plan(request).motion_plan_response
    assert answer.error_code.val == ErrorCodes.SUCCESS
    points = answer.trajectory.joint_trajectory.points
    assert len(answer.trajectory.joint_trajectory.joint_names) == 7
    assert points[-1].positions[0] == pytest.approx(0.8)
    assert points[-1].positions[1:] == pytest.approx(start[1:7])
    asked.goal_constraints = []
    assert services.motion_plan(request).motion_plan_response.error_code.val == ErrorCodes.INVALID_GOAL_CONSTRAINTS
    asked.goal_constraints = [Constraints(joint_constraints=[joint(joint_name="panda_joint1", position=9.0)])]
    assert services.motion_plan(request).motion_plan_response.error_code.val == ErrorCodes.GOAL_STATE_INVALID
    services.world.scene.add_box("block", (0.1, 0.1, 0.1), robot.pose(LINK, start))
    assert services.motion_plan(request).motion_plan_response.error_code.val == ErrorCodes.START_STATE_IN_COLLISION


def test_constraints_along_the_way_hold_in_plans(robot: mk.Robot, services: Services):
    """The hand stays as it is turned, while the goal is for joints and the straight way between them would tilt it."""
    request = service_type("moveit_msgs/srv/GetMotionPlan").Request()
    asked, start = request.motion_plan_request, robot.state("ready")
    level = message_class("moveit_msgs/msg/OrientationConstraint")(
        link_name=LINK, orientation=conversions.pose_message(robot.pose(LINK, start)).orientation,
        absolute_x_axis_tolerance=0.05, absolute_y_axis_tolerance=0.05, absolute_z_axis_tolerance=6.3,
    )  # fmt: skip
    asked.group_name, asked.start_state = "panda_arm", services.world.robot_state(start)
    asked.path_constraints = Constraints(orientation_constraints=[level])
    target = robot.pose(LINK, start)
    target[:3, 3] += [-0.15, 0.35, 0.15]
    position = message_class("moveit_msgs/msg/PositionConstraint")(link_name=LINK)
    position.constraint_region.primitives = [Primitive(type=2, dimensions=[0.002])]
    position.constraint_region.primitive_poses = [conversions.pose_message(target)]
    asked.goal_constraints = [Constraints(position_constraints=[position])]
    answer = services.motion_plan(request).motion_plan_response
    assert answer.error_code.val == ErrorCodes.SUCCESS, answer.error_code
    trajectory = conversions.trajectory_of(answer.trajectory.joint_trajectory)
    rows = np.tile(start, (400, 1))
    rows[:, :7] = trajectory.at(np.linspace(0.0, trajectory.duration, 400))
    tilt = robot.pose(LINK, rows)[:, 2, 2]
    assert np.arccos(np.clip(-tilt, -1.0, 1.0)).max() < 0.08
    assert np.linalg.norm(robot.pose(LINK, rows[-1])[:3, 3] - target[:3, 3]) < 0.0021


def test_a_goal_region_of_position_and_orientation_is_met(robot: mk.Robot, services: Services):
    request = service_type("moveit_msgs/srv/GetMotionPlan").Request()
    asked, start = request.motion_plan_request, robot.state("ready")
    asked.group_name, asked.start_state = "panda_arm", services.world.robot_state(start)
    q = start.copy()
    q[:4] += 0.3
    target = conversions.pose_message(robot.pose(LINK, q))
    position = message_class("moveit_msgs/msg/PositionConstraint")(link_name=LINK)
    position.constraint_region.primitives = [Primitive(type=2, dimensions=[0.002])]
    position.constraint_region.primitive_poses = [target]
    turned = message_class("moveit_msgs/msg/OrientationConstraint")(
        link_name=LINK, orientation=target.orientation, absolute_x_axis_tolerance=0.01,
        absolute_y_axis_tolerance=0.01, absolute_z_axis_tolerance=6.3,
    )  # fmt: skip
    region = Constraints(position_constraints=[position], orientation_constraints=[turned])
    asked.goal_constraints = [region]
    answer = services.motion_plan(request).motion_plan_response
    assert answer.error_code.val == ErrorCodes.SUCCESS, answer.error_code
    end = np.array([*answer.trajectory.joint_trajectory.points[-1].positions, start[-1]])
    assert np.linalg.norm((robot.pose(LINK, end) - robot.pose(LINK, q))[:3, 3]) < 0.0021
    validity = service_type("moveit_msgs/srv/GetStateValidity").Request(constraints=region)
    validity.robot_state = services.world.robot_state(end)
    assert services.state_validity(validity).constraint_result[0].result


def test_straight_paths_say_where_they_end(robot: mk.Robot, services: Services):
    start = robot.state("ready")
    request = service_type("moveit_msgs/srv/GetCartesianPath").Request(
        group_name="panda_arm", link_name=LINK, max_step=0.02, avoid_collisions=True
    )
    request.start_state = services.world.robot_state(start)
    near = robot.pose(LINK, start)
    near[0, 3] += 0.1
    request.waypoints = [conversions.pose_message(near)]
    answer = services.cartesian_path(request)
    assert answer.error_code.val == ErrorCodes.SUCCESS
    assert answer.fraction == 1.0
    for point in answer.solution.joint_trajectory.points:
        at = robot.pose(LINK, np.array([*point.positions, start[-1]]))
        assert np.abs(at[1:3, 3] - near[1:3, 3]).max() < 1e-3
    far = near.copy()
    far[0, 3] += 0.8
    request.waypoints = [conversions.pose_message(far)]
    answer = services.cartesian_path(request)
    assert 0.1 < answer.fraction < 1.0
    assert "%" in answer.error_code.message


def test_planning_scenes_come_in_and_go_out(robot: mk.Robot, services: Services):
    scene, pose = services.world.scene, np.eye(4)
    pose[:3, 3] = [0.5, 0.0, 0.2]
    apply = service_type("moveit_msgs/srv/ApplyPlanningScene").Request()
    apply.scene.is_diff = True
    apply.scene.world.collision_objects = [box("crate", 0.2, pose)]
    assert services.apply_planning_scene(apply).success
    assert np.allclose(scene["crate"].pose, pose)
    held = message_class("moveit_msgs/msg/AttachedCollisionObject")(link_name="panda_hand", touch_links=["panda_hand"])
    held.object.id = "crate"
    apply.scene.world.collision_objects = []
    apply.scene.robot_state.attached_collision_objects = [held]
    assert services.apply_planning_scene(apply).success
    assert scene["crate"].link == "panda_hand"
    message = services.planning_scene(service_type("moveit_msgs/srv/GetPlanningScene").Request()).scene
    assert message.robot_state.attached_collision_objects[0].object.id == "crate"
    held.object.operation = 1
    assert services.apply_planning_scene(apply).success
    assert scene["crate"].link is None
    assert np.allclose(scene["crate"].pose, pose)
    apply.scene.robot_state.attached_collision_objects = []
    apply.scene.world.collision_objects = [box("crate", 0.2, pose, operation=1)]
    assert services.apply_planning_scene(apply).success
    assert "crate" not in scene
    apply.scene.world.collision_objects = [box("bad", float("nan"), pose)]
    assert not services.apply_planning_scene(apply).success


@pytest.fixture(params=["dds", "zenoh"])
def graph(request: pytest.FixtureRequest) -> Iterator[tuple[Any, list[str]]]:
    """A transport beside the node's, and the options by which the node finds it."""
    if request.param == "dds":
        with open_transport("tester", "dds", domain=DOMAIN) as transport:
            yield transport, ["--transport", "dds"]
        return
    pytest.importorskip("zenoh")
    from memetik.ros.transports.zenoh_transport import ZenohTransport

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        endpoint = f"tcp/127.0.0.1:{probe.getsockname()[1]}"
    with ZenohTransport("tester", domain=DOMAIN, listen=[endpoint], mode="router") as transport:
        yield transport, ["--transport", "zenoh", "--peer", endpoint]


def test_the_node_serves_plans_and_streams_in_a_graph(graph: tuple[Any, list[str]], robot: mk.Robot):
    transport, options = graph
    description = transport.publisher("/robot_description", "std_msgs/msg/String", LATCHED)
    description.publish(message_class("std_msgs/msg/String")(data=robot.to_urdf()))
    states = transport.publisher("/joint_states", "sensor_msgs/msg/JointState")
    goals = transport.publisher("/memetik/goal", "geometry_msgs/msg/PoseStamped")
    twists = transport.publisher("/memetik/target_twist", "geometry_msgs/msg/TwistStamped")
    objects = transport.publisher("/collision_object", "moveit_msgs/msg/CollisionObject")
    sent: list[Any] = []
    notes: list[str] = []
    kind = "trajectory_msgs/msg/JointTrajectory"
    transport.subscribe("/memetik/joint_trajectory", kind, sent.append)
    transport.subscribe(
        "/memetik/status",
        "diagnostic_msgs/msg/DiagnosticArray",
        lambda message: notes.append(message.status[0].message),
    )
    words = [sys.executable, "-m", "memetik.cli", "ros", "--link", "panda_hand_tcp", "--json", "--domain", str(DOMAIN)]
    process = subprocess.Popen([*words, *options], stdout=subprocess.PIPE, text=True)
    try:
        client = transport.client("/compute_ik", "moveit_msgs/srv/GetPositionIK")
        assert client.wait(120.0)
        q = robot.state("ready")
        request = ik_request(robot, q, group_name="")
        assert client.call(request).result(120.0).error_code.val == ErrorCodes.SUCCESS
        assert until(lambda: states.subscribers and goals.subscribers and twists.subscribers and objects.subscribers)
        states.publish(conversions.joint_state(robot.joint_names, q))
        time.sleep(0.3)
        target = q.copy()
        target[0] += 0.5
        pose = conversions.pose_message(robot.pose("panda_hand_tcp", target))
        goals.publish(conversions.PoseStamped(pose=pose))
        assert until(lambda: sent)
        assert sent[0].points[0].positions == pytest.approx(q)
        end = np.array(sent[0].points[-1].positions)
        assert np.allclose(robot.pose("panda_hand_tcp", end), robot.pose("panda_hand_tcp", target), atol=1e-4)
        below = robot.pose("panda_hand_tcp", q)
        below[2, 3] -= 0.2
        objects.publish(box("floor", 0.1, below))
        time.sleep(0.3)
        sent.clear()
        down = message_class("geometry_msgs/msg/TwistStamped")()
        down.twist.linear.z = -0.2
        for _ in range(150):
            twists.publish(down)
            time.sleep(0.02)
        rows = np.array([message.points[0].positions for message in sent])
        heights = robot.pose("panda_hand_tcp", rows)[:, 2, 3]
        assert heights[0] - heights.min() > 0.03
        scene = mk.Scene()
        scene.add_box("floor", (0.1, 0.1, 0.1), below)
        assert not mk.CollisionModel(robot, scene).collides(rows).any()
        assert any("held back" in note and "floor" in note for note in notes)
        steps = np.abs(np.diff(rows, axis=0)).max(axis=0) * 100.0
        assert (steps <= 1.001 * robot.velocity).all()
    finally:
        process.terminate()
        shown = process.communicate(timeout=120.0)[0]
    assert process.returncode == 0
    assert "/compute_ik" in json.loads(shown)["services"]


def test_hostile_messages_are_dropped_or_answered_with_a_code():
    found = fuzz(600, seed=1)
    assert found["answered"] > 50
    assert found["taken"] > 50
    assert found["dropped"] > 30
    assert found["refused"] > 30


def test_an_arm_is_moved_from_where_it_is_and_by_one_at_a_time(robot: mk.Robot, caplog: pytest.LogCaptureFixture):
    transport, q = LocalTransport(), robot.state("ready")
    with RosNode(transport, robot, options=NodeOptions(group="panda_arm")) as node:  # type: ignore[arg-type]

        def send(topic: str, by: float) -> None:
            pose = robot.pose(LINK, q)
            pose[2, 3] += by
            transport.topics[topic][1](conversions.PoseStamped(pose=conversions.pose_message(pose)))

        send("/memetik/goal", 0.05)
        send("/memetik/target_pose", 0.05)
        assert until(lambda: caplog.text.count("/joint_states has not told of panda_joint1") == 2)
        assert until(lambda: not node.streamer.active)
        assert transport.published["/memetik/joint_trajectory"] == 0
        node.world.take_joint_state(conversions.joint_state(robot.joint_names, q))
        send("/memetik/target_pose", 0.05)
        assert until(lambda: transport.published["/memetik/joint_trajectory"] > 0)
        send("/memetik/goal", 0.1)
        assert until(lambda: "when it is at rest" in caplog.text)
        assert until(lambda: not node.streamer.active)  # the target is reached, and no other has come
        sent = transport.published["/memetik/joint_trajectory"]
        send("/memetik/goal", 0.1)
        assert until(lambda: transport.published["/memetik/joint_trajectory"] == sent + 1)


def test_an_arm_within_the_margin_is_streamed_away(robot: mk.Robot, caplog: pytest.LogCaptureFixture):
    q, scene = robot.state("ready"), mk.Scene()
    target = robot.pose(LINK, q)
    scene.add_box("floor", (0.2, 0.2, 0.1), mk.transform(target[:3, 3] - (0.0, 0.0, 0.064)))
    assert 0.0 < mk.CollisionModel(robot, scene).distance(q) < 0.01
    target[2, 3] += 0.05
    sent: list[np.ndarray] = []
    streamer = Streamer(World(robot, scene), LINK, lambda step: sent.append(step.q))
    streamer.world.take_joint_state(conversions.joint_state(robot.joint_names, q))
    streamer.take_pose(conversions.PoseStamped(pose=conversions.pose_message(target)))
    assert until(lambda: sent and robot.pose(LINK, sent[-1])[2, 3] > target[2, 3] - 1e-3)
    streamer.close()
    assert "within the margin" in caplog.text
    assert not mk.CollisionModel(robot, scene).collides(np.array(sent)).any()


def test_the_target_of_a_twist_does_not_run_away_from_an_arm_that_is_held(robot: mk.Robot):
    streamer = Streamer(World(robot), LINK, lambda _: None)
    streamer._begin = lambda: None  # type: ignore[method-assign]
    twist = message_class("geometry_msgs/msg/TwistStamped")()
    twist.twist.linear.x, twist.twist.angular.z = 0.5, 1.0
    reached = robot.pose(LINK, robot.state("ready"))
    followed = reached
    for _ in range(200):
        streamer.take_twist(twist)
        followed = streamer._wanted(followed, reached, 0.01)
    np.testing.assert_allclose(followed[:3, 3] - reached[:3, 3], [0.05, 0.0, 0.0], atol=1e-12)
    c, s = np.cos(0.2), np.sin(0.2)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(followed[:3, :3], turn @ reached[:3, :3], atol=1e-9)


def test_unknown_transports_and_missing_descriptions_are_named(robot: mk.Robot):
    with pytest.raises(mk.errors.InvalidInputError, match="zenoh"):
        open_transport("x", "zeno")
    from memetik.ros.node.node import wait_for_description

    with (
        open_transport("alone", "dds", domain=DOMAIN) as transport,
        pytest.raises(mk.errors.InvalidInputError, match="/robot_description"),
    ):
        wait_for_description(transport, 0.2)


def test_a_change_that_fails_leaves_the_scene_as_it_was(services: Services):
    apply = service_type("moveit_msgs/srv/ApplyPlanningScene").Request()
    apply.scene.is_diff = True
    pose = np.eye(4)
    apply.scene.world.collision_objects = [box("good", 0.2, pose), box("bad", -1.0, pose)]
    assert not services.apply_planning_scene(apply).success
    assert len(services.world.scene) == 0
