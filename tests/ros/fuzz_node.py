"""Hostile messages for a node: each is dropped with a typed error, or answered with a code; the node goes on.

python tests/ros/fuzz_node.py 100000

Messages that make sense get some of their fields replaced (not finite, huge, empty, unknown names, sequences that are
too long or too short), and half of them some of their bytes too; then a topic's callback or a service takes them.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any
from unittest import mock

import numpy as np
from fuzz_messages import mutated

import memetik as mk
from memetik.errors import MemetikError
from memetik.ros import conversions
from memetik.ros.messages import CodecError, Message, decode, encode, message_class, service_type
from memetik.ros.node import services
from memetik.ros.node.node import NodeOptions, RosNode

HOSTILE: dict[type, tuple[Any, ...]] = {
    float: (float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, -1.0, 0.0, 1e9),
    int: (0, 1, 2, 3, 4, 5, 127, 255, 65535, 2**31 - 1),
    bool: (True, False),
    str: ("", "panda_link0", "panda_hand", "panda_joint1", "panda_arm", "crate", "nobody", "/", "a" * 300, "\0", "ö/1"),
}
SLOW = ("/plan_kinematic_path", "/compute_cartesian_path", "/memetik/goal")
SEARCH = 0.003
"""Seconds of a search, so that what is measured is the handling of messages."""


class LocalTransport:
    """Keeps what a node subscribes to and serves, to be called from here; counts what it publishes."""

    name, node = "local", "memetik"

    def __init__(self) -> None:
        self.topics: dict[str, tuple[str, Callable[[Any], None]]] = {}
        self.services: dict[str, tuple[str, Callable[[Any], Message]]] = {}
        self.published = Counter[str]()

    def publisher(self, topic: str, kind: str, qos: Any = None) -> LocalPublisher:
        return LocalPublisher(topic, self.published)

    def subscribe(self, topic: str, kind: str, callback: Callable[[Any], None], qos: Any = None) -> None:
        self.topics[topic] = kind, callback

    def serve(self, name: str, kind: str, handler: Callable[[Any], Message]) -> None:
        self.services[name] = kind, handler

    def close(self) -> None:
        pass


@dataclass
class LocalPublisher:
    """Encodes messages, as any publisher does, and counts them."""

    topic: str
    counts: Counter[str]
    subscribers: int = 1

    def publish(self, message: Message) -> None:
        encode(message)
        self.counts[self.topic] += 1


def sensible(kind: str, robot: mk.Robot, rng: random.Random) -> Any:
    """A message for a topic or a request for a service, as a good client would send it."""
    q = robot.random(np.random.default_rng(rng.randrange(1 << 30)))
    pose = conversions.pose_message(robot.pose(robot.tip, q))
    if kind == "sensor_msgs/msg/JointState":
        return conversions.joint_state(robot.joint_names, q, 0.1 * q)
    if kind == "tf2_msgs/msg/TFMessage":
        stamped = message_class("geometry_msgs/msg/TransformStamped")(
            child_frame_id=rng.choice(("table", "map", "panda_link0"))
        )
        stamped.header.frame_id = rng.choice(("map", "table", "world"))
        return message_class(kind)(transforms=[stamped])
    if kind == "geometry_msgs/msg/TwistStamped":
        return message_class(kind)()
    if kind == "geometry_msgs/msg/PoseStamped":
        return conversions.PoseStamped(pose=pose)
    if kind == "sensor_msgs/msg/PointCloud2":
        field = message_class("sensor_msgs/msg/PointField")
        return message_class(kind)(
            width=20, height=1, point_step=12, row_step=240, data=rng.randbytes(240),
            fields=[field(name=axis, offset=4 * k, datatype=7, count=1) for k, axis in enumerate("xyz")],
        )  # fmt: skip
    made = message_class(kind)() if "/msg/" in kind else service_type(kind).Request()
    if kind.endswith("/CollisionObject"):
        return some_object(rng, pose)
    if kind.endswith("AttachedCollisionObject"):
        made.link_name, made.object, made.touch_links = "panda_hand", some_object(rng, pose), ["panda_hand"]
    elif kind.endswith("PlanningScene"):
        scene = made.scene if "/srv/" in kind and hasattr(made, "scene") else made
        if hasattr(scene, "world"):
            scene.is_diff = rng.random() < 0.7
            scene.world.collision_objects = [some_object(rng, pose) for _ in range(rng.randint(0, 2))]
            scene.allowed_collision_matrix.entry_names = ["crate", "panda_hand"]
            entry = message_class("moveit_msgs/msg/AllowedCollisionEntry")
            scene.allowed_collision_matrix.entry_values = [entry(enabled=[True, False]), entry(enabled=[False, True])]
    elif kind.endswith(("GetPositionIK", "GetAllPositionIK")):
        made.ik_request.group_name, made.ik_request.pose_stamped.pose = "panda_arm", pose
        made.ik_request.robot_state.joint_state = conversions.joint_state(robot.joint_names, q)
        made.ik_request.avoid_collisions = rng.random() < 0.5
        made.ik_request.constraints = some_constraints(rng, pose)
    elif kind.endswith("GetPositionFK"):
        made.fk_link_names = ["panda_hand", "panda_link3"]
        made.robot_state.joint_state = conversions.joint_state(robot.joint_names, q)
    elif kind.endswith("GetStateValidity"):
        made.robot_state.joint_state = conversions.joint_state(robot.joint_names, q)
        made.constraints = some_constraints(rng, pose)
    elif kind.endswith("GetCartesianPath"):
        made.group_name, made.waypoints, made.max_step = "panda_arm", [pose, pose], 0.05
        made.start_state.joint_state = conversions.joint_state(robot.joint_names, q)
    elif kind.endswith("GetMotionPlan"):
        made.motion_plan_request.group_name = "panda_arm"
        made.motion_plan_request.goal_constraints = [some_constraints(rng, pose)]
        made.motion_plan_request.path_constraints = some_constraints(rng, pose)
    return made


def some_object(rng: random.Random, pose: Any) -> Any:
    made = message_class("moveit_msgs/msg/CollisionObject")(id=rng.choice(("crate", "ball", "part")), pose=pose)
    made.operation = rng.choice((0, 0, 0, 1, 2, 3))
    primitive = message_class("shape_msgs/msg/SolidPrimitive")
    made.primitives = [primitive(type=rng.randint(1, 4), dimensions=[0.1, 0.1, 0.1])]
    if rng.random() < 0.3:
        point, triangle = message_class("geometry_msgs/msg/Point"), message_class("shape_msgs/msg/MeshTriangle")
        mesh = message_class("shape_msgs/msg/Mesh")(triangles=[triangle(vertex_indices=[0, 1, 2])])
        mesh.vertices = [point(x=rng.random(), y=rng.random(), z=rng.random()) for _ in range(3)]
        made.meshes = [mesh]
        made.primitive_poses, made.mesh_poses = [pose], [pose]
    return made


def some_constraints(rng: random.Random, pose: Any) -> Any:
    made = message_class("moveit_msgs/msg/Constraints")()
    if rng.random() < 0.4:
        joint = message_class("moveit_msgs/msg/JointConstraint")
        made.joint_constraints = [joint(joint_name="panda_joint2", position=rng.uniform(-1, 1), tolerance_above=0.1)]
    if rng.random() < 0.3:
        turned = message_class("moveit_msgs/msg/OrientationConstraint")
        made.orientation_constraints = [turned(link_name="panda_hand", orientation=pose.orientation)]
    if rng.random() < 0.3:
        position = message_class("moveit_msgs/msg/PositionConstraint")(link_name="panda_hand")
        primitive = message_class("shape_msgs/msg/SolidPrimitive")
        position.constraint_region.primitives = [primitive(type=rng.randint(1, 2), dimensions=[0.1, 0.1, 0.1])]
        position.constraint_region.primitive_poses = [pose]
        made.position_constraints = [position]
    return made


def spoil(message: Any, rng: random.Random) -> None:
    """Replace a field somewhere in a message."""
    name = rng.choice([field.name for field in fields(message)])
    value = getattr(message, name)
    if isinstance(value, Message):
        spoil(value, rng)
    elif isinstance(value, list) and value:
        kind = rng.randrange(4)
        if kind == 0:
            setattr(message, name, value[: rng.randint(0, len(value))])
        elif kind == 1 and len(value) < 100:
            setattr(message, name, value * rng.choice((2, 20)))
        elif isinstance(value[0], Message):
            spoil(rng.choice(value), rng)
        else:
            value[rng.randrange(len(value))] = rng.choice(HOSTILE[type(value[0])])
    elif isinstance(value, bytes):
        setattr(message, name, value[: rng.randint(0, len(value))])
    elif type(value) in HOSTILE:
        setattr(message, name, rng.choice(HOSTILE[type(value)]))


def fuzz(count: int, seed: int) -> Counter[str]:
    """Give a node `count` messages: how many it took, answered with success or with a code, dropped or refused."""
    rng, robot = random.Random(seed), mk.load_robot("panda")
    transport, found = LocalTransport(), Counter[str]()
    node = RosNode(transport, robot, options=NodeOptions(group="panda_arm"))  # type: ignore[arg-type]
    node.streamer._begin = lambda: None  # type: ignore[method-assign]  # targets are taken, nothing moves
    with mock.patch.object(services, "_timeout", return_value=SEARCH), node:
        while found.total() < count:
            handle(node, transport, rng, found)
    return found


def handle(node: RosNode, transport: LocalTransport, rng: random.Random, found: Counter[str]) -> None:
    """One message, of any topic or service; plans, which take long, are rare."""
    name = rng.choice(list(transport.topics if rng.random() < 0.6 else transport.services))
    if name in SLOW and rng.random() < 0.95:
        return
    kind, take = (transport.topics if name in transport.topics else transport.services)[name]
    message = sensible(kind, node.world.robot, rng)
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        spoil(message, rng)
    try:
        data = encode(message)
    except MemetikError:
        return  # what cannot be written is no message
    begin = time.process_time()
    try:
        request = decode(mutated(data, rng) if rng.random() < 0.5 else data, message.TYPE)
    except CodecError:
        found["refused"] += 1
        return
    try:
        answer = take(request)
    except MemetikError as error:
        found["dropped" if str(error) and name in transport.topics else f"not explained by {name}"] += 1
    else:
        if answer is not None:
            encode(answer)
        found["taken" if answer is None else "answered"] += 1
    if time.process_time() - begin > 1.0:
        print(f"{name} took {time.process_time() - begin:.1f} s of processor time: {repr(request)[:300]}")
    if len(node.world.scene) > 20:
        node.world.scene.clear()


if __name__ == "__main__":
    import logging

    logging.getLogger("memetik").setLevel(logging.ERROR)
    counts = fuzz(int(sys.argv[1]), seed=0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(", ".join(f"{number} {what}" for what, number in sorted(counts.items())) + f"; peak memory {peak:.0f} MB")
