"""A peer on real rclpy, in an environment of its own: asks and reports one JSON object on its last line.

python peer.py ik CALLS | graph | latched | stream SECONDS | loop SECONDS | decode | noop CALLS | controller
| pymoveit2 | pymoveit2_moves
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import MultiThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile


def main() -> None:
    what, rest = sys.argv[1], sys.argv[2:]
    rclpy.init()
    node = rclpy.create_node(f"peer_{what}")
    parts = {"ik": ask_ik, "graph": look_at_graph, "latched": hear_description, "stream": hear_stream,
             "decode": decode_all, "noop": ask_noop, "serve": serve_noop, "loop": loop, "controller": control,
             "pymoveit2": ask_pymoveit2, "pymoveit2_moves": move_by_pymoveit2}  # fmt: skip
    print(json.dumps(parts[what](node, *rest)), flush=True)
    os._exit(0)  # as a client that dies: no goodbye


def asked(node: Any, client: Any, request: Any, timeout: float = 20.0) -> Any:
    # One thread spins for good: rclpy.spin_until_future_complete gets slower from call to call on Jazzy.
    if not hasattr(node, "spinning"):
        node.spinning = threading.Thread(target=rclpy.spin, args=(node,), daemon=True)
        node.spinning.start()
    done = threading.Event()
    future = client.call_async(request)
    future.add_done_callback(lambda _: done.set())
    done.wait(timeout)
    return future.result() if future.done() else None


def quantiles(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {"p50": ordered[len(ordered) // 2], "p99": ordered[int(0.99 * len(ordered))]}


def ask_ik(node: Any, calls: str, poses: str, group: str, link: str) -> dict[str, Any]:
    """Ask for the poses of a file, round and round; gives back all answers."""
    from moveit_msgs.srv import GetPositionIK

    client = node.create_client(GetPositionIK, "/compute_ik")
    if not client.wait_for_service(timeout_sec=20.0):
        return {"error": "the service is not there"}
    rows = json.loads(Path(poses).read_text())
    answers, seconds = [], []
    for k in range(int(calls)):
        index = k % len(rows)
        request = GetPositionIK.Request()
        request.ik_request.group_name, request.ik_request.ik_link_name = group, link
        pose = request.ik_request.pose_stamped.pose
        p, o = pose.position, pose.orientation
        p.x, p.y, p.z, o.x, o.y, o.z, o.w = rows[index]
        begin = time.perf_counter()
        answer = asked(node, client, request)
        if answer is None:
            return {"stalled": k, "answers": answers}
        seconds.append(time.perf_counter() - begin)
        answers.append([index, answer.error_code.val, list(answer.solution.joint_state.position)])
    return {"answers": answers, **quantiles(seconds)}


def ask_pymoveit2(node: Any, poses: str, group: str, link: str, base: str, joints: str, start: str) -> dict[str, Any]:
    """What users of pymoveit2 ask MoveIt for: IK, FK, a plan to a pose and one to joint positions, an object."""
    from pymoveit2 import MoveIt2

    names, q = joints.split(","), [float(value) for value in start.split(",")]
    threading.Thread(target=rclpy.spin, args=(node,), daemon=True).start()
    arm = MoveIt2(node, names, base, link, group)
    rows = json.loads(Path(poses).read_text())
    answers = []
    for index, row in enumerate(rows):
        found = arm.compute_ik(row[:3], row[3:], start_joint_state=q, timeout_sec=20.0)
        position = dict(zip(found.name, found.position, strict=True)) if found is not None else {}
        answers.append([index, 1 if position else -31, position])
    fk = arm.compute_fk(q, timeout_sec=20.0)
    to_pose = arm.plan(position=rows[0][:3], quat_xyzw=rows[0][3:], start_joint_state=q, timeout_sec=30.0)
    to_joints = arm.plan(joint_positions=[value + 0.2 for value in q], start_joint_state=q, timeout_sec=30.0)
    arm.add_collision_box("crate", size=(0.1, 0.1, 0.1), position=(0.9, 0.0, 0.1), quat_xyzw=(0.0, 0.0, 0.0, 1.0))

    def points(trajectory: Any) -> list[Any]:
        return [] if trajectory is None else [trajectory.joint_names, *(list(p.positions) for p in trajectory.points)]

    pose = fk.pose if fk is not None and not isinstance(fk, list) else None
    where = [pose.position.x, pose.position.y, pose.position.z] if pose is not None else []
    return {"answers": answers, "fk": where, "to pose": points(to_pose), "to joints": points(to_joints)}


def move_by_pymoveit2(node: Any, group: str, link: str, base: str, joints: str, goal: str) -> dict[str, Any]:
    """Plan and execute as users of pymoveit2 do: there and wait, and on a way that is cancelled."""
    from pymoveit2 import MoveIt2

    names, q = joints.split(","), [float(value) for value in goal.split(",")]
    executor = MultiThreadedExecutor(3)
    executor.add_node(node)
    threading.Thread(target=executor.spin, daemon=True).start()
    arm = MoveIt2(node, names, base, link, group)
    end = time.monotonic() + 30.0
    while arm.joint_state is None and time.monotonic() < end:
        time.sleep(0.05)

    def positions() -> list[float]:
        found = dict(zip(arm.joint_state.name, arm.joint_state.position, strict=True))
        return [found[name] for name in names]

    pose = arm.compute_fk(q, timeout_sec=20.0).pose
    moved = arm.move_to_pose(pose=pose, timeout_sec=40.0) and arm.wait_until_executed(timeout_sec=60.0)
    reached = arm.compute_fk(positions(), timeout_sec=20.0).pose.position
    off = max(abs(reached.x - pose.position.x), abs(reached.y - pose.position.y), abs(reached.z - pose.position.z))
    joints_moved = arm.move_to_configuration(q, timeout_sec=40.0) and arm.wait_until_executed(timeout_sec=60.0)
    at = positions()
    far = [value - 0.6 for value in q]
    arm.max_velocity = 0.2
    arm.move_to_configuration(far, timeout_sec=40.0)
    time.sleep(1.0)
    arm.cancel_execution()
    cancelled = arm.wait_until_executed(timeout_sec=60.0)
    time.sleep(0.5)
    stood = positions()
    time.sleep(0.5)
    return {"moved": moved, "off": off, "joints moved": joints_moved, "at": at, "cancelled": not cancelled,
            "from far": max(abs(a - b) for a, b in zip(stood, far, strict=True)),
            "drift": max(abs(a - b) for a, b in zip(stood, positions(), strict=True))}  # fmt: skip


def ask_noop(node: Any, calls: str) -> dict[str, Any]:
    from std_srvs.srv import SetBool

    client = node.create_client(SetBool, "/noop")
    if not client.wait_for_service(timeout_sec=20.0):
        return {"error": "the service is not there"}
    seconds = []
    for k in range(int(calls)):
        begin = time.perf_counter()
        answer = asked(node, client, SetBool.Request(data=k % 2 == 0))
        if answer is None or answer.success == (k % 2 == 0):
            return {"stalled": k}
        seconds.append(time.perf_counter() - begin)
    return {"calls": int(calls), **quantiles(seconds)}


def serve_noop(node: Any) -> dict[str, Any]:
    from std_srvs.srv import SetBool

    def serve(request: Any, response: Any) -> Any:
        response.success = not request.data
        return response

    node.create_service(SetBool, "/noop", serve)
    print("serving", flush=True)
    rclpy.spin(node)
    return {}


def look_at_graph(node: Any) -> dict[str, Any]:
    end = time.monotonic() + 10.0
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
        names = node.get_node_names()
        services = dict(node.get_service_names_and_types())
        if "memetik" in names and "/compute_ik" in services and "/get_planning_scene" in services:
            break
    info = node.get_publishers_info_by_topic("/display_planned_path")
    return {
        "nodes": names,
        "services": services,
        "topics": dict(node.get_topic_names_and_types()),
        "publisher": [each.node_name for each in info],
        "hash": [str(each.topic_type_hash) for each in info],
    }


def hear_description(node: Any) -> dict[str, Any]:
    from std_msgs.msg import String

    heard: list[int] = []
    profile = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(String, "/robot_description", lambda m: heard.append(len(m.data)), profile)
    end = time.monotonic() + 10.0
    while not heard and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    return {"heard": heard}


def hear_stream(node: Any, seconds: str) -> dict[str, Any]:
    """Count JointStates and how old they are when they arrive."""
    from sensor_msgs.msg import JointState

    heard: list[tuple[float, float]] = []

    def take(message: Any) -> None:
        age = time.time() - (message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)
        heard.append((message.position[0], age))

    node.create_subscription(JointState, "/joint_states", take, QoSProfile(depth=200))
    print("listening", flush=True)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    numbers = [int(number) for number, _ in heard]
    missing = 0 if not numbers else numbers[-1] - numbers[0] + 1 - len(numbers)
    return {"count": len(heard), "missing": missing, "in order": numbers == sorted(numbers),
            **(quantiles([age for _, age in heard]) if heard else {})}  # fmt: skip


def loop(node: Any, seconds: str) -> dict[str, Any]:
    """JointStates out at 1 kHz; the commands that come back, and how long after their state."""
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    profile = QoSProfile(depth=200)
    sent: list[float] = []
    back: list[tuple[int, float]] = []
    publisher = node.create_publisher(JointState, "/joint_states", profile)

    def take(message: Any) -> None:
        number = int(message.data[0])
        back.append((number, time.perf_counter() - sent[number]))

    node.create_subscription(Float64MultiArray, "/commands", take, profile)
    threading.Thread(target=rclpy.spin, args=(node,), daemon=True).start()
    while not (publisher.get_subscription_count() and node.count_publishers("/commands")):
        time.sleep(0.1)
    time.sleep(1.0)
    message = JointState(name=[f"joint{k}" for k in range(7)], position=[0.1] * 7)
    begin = due = time.perf_counter()
    while due < begin + float(seconds):
        message.position[0] = float(len(sent))
        message.header.stamp = node.get_clock().now().to_msg()
        sent.append(time.perf_counter())
        publisher.publish(message)
        due += 0.001
        time.sleep(max(due - time.perf_counter(), 0.0))
    cpu = time.process_time() / (time.perf_counter() - begin)
    time.sleep(2.0)
    numbers = {number for number, _ in back}
    lost = sorted(set(range(len(sent))) - numbers)
    return {"sent": len(sent), "back": len(back), "missing": len(lost), "lost": lost[:1] + lost[-1:], "cpu": cpu,
            **(quantiles([each for _, each in back]) if back else {})}  # fmt: skip


def decode_all(node: Any, folder: str) -> dict[str, Any]:
    """Read the messages that memetik wrote, and write them again: bytes of both, by the fields that were read."""
    from importlib import import_module

    from rclpy.serialization import deserialize_message, serialize_message

    counts, wrong = 0, []
    for file in sorted(Path(folder).glob("*.cdr")):
        package, kind, name = file.stem.split("-")[0].split("+")
        try:
            if kind == "msg":
                made = getattr(import_module(f"{package}.{kind}"), name)
            elif kind == "srv":
                service, _, part = name.rpartition("_")
                made = getattr(getattr(import_module(f"{package}.{kind}"), service), part)
            else:
                continue
        except (ImportError, AttributeError):
            continue
        read = deserialize_message(file.read_bytes(), made)
        file.with_suffix(".back").write_bytes(serialize_message(read))
        counts += 1
        if deserialize_message(serialize_message(read), made) != read:
            wrong.append(file.name)
    return {"read": counts, "wrong": wrong}


def control(node: Any, joints: str, start: str) -> dict[str, Any]:
    """A joint_trajectory_controller stand-in: rclpy's own action server, splines, preemption, exact motion."""
    from control_msgs.action import FollowJointTrajectory
    from rclpy.action import ActionServer, CancelResponse, GoalResponse
    from rclpy.callback_groups import ReentrantCallbackGroup
    from sensor_msgs.msg import JointState

    names = joints.split(",")
    q = [float(value) for value in start.split(",")]
    velocity = [0.0] * len(q)
    lock = threading.Lock()
    current: list[Any] = [None]
    states = node.create_publisher(JointState, "/joint_states", 10)

    def tick() -> None:
        message = JointState(name=names)
        message.header.stamp = node.get_clock().now().to_msg()
        with lock:
            message.position, message.velocity = list(q), list(velocity)
        states.publish(message)

    node.create_timer(0.01, tick)

    def run(goal: Any) -> Any:
        current[0] = goal
        trajectory = goal.request.trajectory
        index = [names.index(name) for name in trajectory.joint_names]
        with lock:
            points = [(0.0, [q[k] for k in index], [velocity[k] for k in index])]
        points += [(p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec, list(p.positions), list(p.velocities))
                   for p in trajectory.points]  # fmt: skip
        begin, result, feedback = time.monotonic(), FollowJointTrajectory.Result(), FollowJointTrajectory.Feedback()
        while True:
            now = time.monotonic() - begin
            place = sum(1 for point in points[1:-1] if point[0] <= now)
            (t0, a, va), (t1, b, vb) = points[place], points[place + 1]
            s, h = min(max((now - t0) / (t1 - t0), 0.0), 1.0), t1 - t0
            with lock:
                if current[0] is not goal:
                    goal.abort()
                    result.error_string = "replaced"
                    return result
                for j, k in enumerate(index):
                    q[k] = ((2 * s**3 - 3 * s**2 + 1) * a[j] + (s**3 - 2 * s**2 + s) * h * va[j]
                            + (-2 * s**3 + 3 * s**2) * b[j] + (s**3 - s**2) * h * vb[j])  # fmt: skip
                    velocity[k] = (1 - s) * va[j] + s * vb[j]
            feedback.joint_names = names
            feedback.desired.time_from_start.sec = int(now)
            feedback.desired.time_from_start.nanosec = int((now % 1.0) * 1e9)
            goal.publish_feedback(feedback)
            if goal.is_cancel_requested:
                goal.canceled()
                return result
            if now >= points[-1][0]:
                goal.succeed()
                return result
            time.sleep(0.005)

    ActionServer(node, FollowJointTrajectory, "/arm_controller/follow_joint_trajectory", run,
                 goal_callback=lambda _: GoalResponse.ACCEPT, cancel_callback=lambda _: CancelResponse.ACCEPT,
                 callback_group=ReentrantCallbackGroup())  # fmt: skip
    print("controlling", flush=True)
    executor = MultiThreadedExecutor(4)
    executor.add_node(node)
    executor.spin()
    return {}


if __name__ == "__main__":
    main()
