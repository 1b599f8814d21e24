"""A stand-in for joint_trajectory_controller: an action server and a topic, over any transport of memetik, that drives
a robot under physics in real time. A process of its own:

    python tests/ros/controller.py panda --domain 7 [--abort-at SECONDS] [--transport dds] [--plant SOCKET]

With --plant it drives the arm of plant.py, which outlives it. Positions on ~/commands are followed as they come.
Trajectories are followed as splines; a new goal replaces the one before; a cancelled one stands still.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import threading
import time
from collections import deque
from typing import Any

import numpy as np

import memetik as mk
from memetik.motion.execution.driver import DriverState, Follower, SimulatedDriver
from memetik.ros import conversions
from memetik.ros.driver import ACTION
from memetik.ros.messages import message_class, service_type
from memetik.ros.transports.base import STREAM
from memetik.ros.transports.choice import open_transport


class Controller:
    """The controller and its robot."""

    def __init__(self, robot: mk.Robot, transport: Any, driver: Any, abort_at: float | None = None):
        self.robot, self.transport, self.abort_at = robot, transport, abort_at
        self.driver, self.behind = driver, 0.2
        self.lock = threading.Lock()
        self.goal: bytes | None = None
        self.ends: dict[bytes, tuple[int, int, str]] = {}
        self.begun = 0.0
        base, name = "/arm_controller/follow_joint_trajectory/_action", "/arm_controller/joint_trajectory"
        self.states = transport.publisher("/joint_states", "sensor_msgs/msg/JointState")
        self.feedback = transport.publisher(f"{base}/feedback", f"{ACTION}_FeedbackMessage")
        transport.subscribe(name, "trajectory_msgs/msg/JointTrajectory", lambda message: self.follow(message))
        transport.subscribe("/arm_controller/commands", "std_msgs/msg/Float64MultiArray", self.obey, STREAM)
        transport.serve(f"{base}/send_goal", f"{ACTION}_SendGoal", self.send_goal)
        transport.serve(f"{base}/get_result", f"{ACTION}_GetResult", self.get_result)
        transport.serve(f"{base}/cancel_goal", "action_msgs/srv/CancelGoal", self.cancel)

    def follow(self, message: Any, goal: bytes | None = None) -> None:
        """Follow a message's trajectory from where the reference is now. Where its header says when it began, points
        of the past are left out, and one that has ended already is refused, as joint_trajectory_controller does."""
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        if stamp:
            for point in message.points:
                begun = conversions.seconds_of(point.time_from_start) - (time.time() - stamp)
                point.time_from_start = conversions.duration(max(begun, 0.0))
            if not any(conversions.seconds_of(point.time_from_start) > 0.0 for point in message.points):
                return
        start = conversions.JointTrajectoryPoint(time_from_start=conversions.duration(0.0))
        q, velocity = self.reference(message.joint_names)
        start.positions, start.velocities, start.accelerations = q.tolist(), velocity.tolist(), [0.0] * len(q)
        message.points = [start, *(p for p in message.points if conversions.seconds_of(p.time_from_start) > 0.0)]
        trajectory = conversions.trajectory_of(message)
        with self.lock:
            if self.goal is not None:
                self.ends[self.goal] = (6, 0, "replaced by a newer trajectory")
            self.driver.send(trajectory)
            self.trajectory, self.goal, self.begun = trajectory, goal, time.monotonic()

    def reference(self, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Where the reference is, which a new trajectory continues; what is measured where that is all there is."""
        if isinstance(self.driver, PlantDriver):
            index = [self.driver.joint_names.index(name) for name in names]
            return self.driver.follower.q[index].copy(), self.driver.follower.velocity[index].copy()
        return self.driver.state().of(names, self.driver.joint_names)

    def obey(self, message: Any) -> None:
        """Positions of the first joints, to be taken at once."""
        if isinstance(self.driver, PlantDriver):
            self.driver.obey(np.array(message.data))
            self.behind = 0.0  # one command in each period, also after a pause

    def send_goal(self, request: Any) -> Any:
        response = service_type(f"{ACTION}_SendGoal").Response
        trajectory = request.goal.trajectory
        known = set(trajectory.joint_names) <= set(self.robot.joint_names)
        if not known or not trajectory.points:
            return response(accepted=False)
        self.follow(trajectory, bytes(request.goal_id.uuid))
        return response(accepted=True)

    def get_result(self, request: Any) -> Any:
        goal = bytes(request.goal_id.uuid)
        while goal not in self.ends:
            time.sleep(0.005)
        status, code, text = self.ends[goal]
        response = service_type(f"{ACTION}_GetResult").Response(status=status)
        response.result.error_code, response.result.error_string = code, text
        return response

    def cancel(self, request: Any) -> Any:
        with self.lock:
            if self.goal is not None:
                self.ends[self.goal], self.goal = (5, 0, "cancelled"), None
                self.driver.stop()
        return service_type("action_msgs/srv/CancelGoal").Response()

    def run(self, period: float = 0.01) -> None:
        """Let time pass, as fast as the wall's."""
        due = time.monotonic()
        while True:
            with self.lock:
                self.driver.wait(period)
                state = self.driver.state()
                self.report(state)
            due = max(due + period, time.monotonic() - self.behind)  # what was missed for longer is lost
            time.sleep(max(due - time.monotonic(), 0.0))

    def report(self, state: Any) -> None:
        names = self.driver.joint_names
        self.states.publish(conversions.joint_state(names, state.q, state.velocity, time.time_ns()))
        if self.goal is None:
            return
        feedback = message_class(f"{ACTION}_FeedbackMessage")()
        feedback.goal_id.uuid = self.goal
        feedback.feedback.joint_names = list(names)
        feedback.feedback.actual.positions = state.q.tolist()
        feedback.feedback.desired.time_from_start = conversions.duration(state.time)
        self.feedback.publish(feedback)
        if self.abort_at is not None and state.time > self.abort_at:
            self.driver.stop()
            self.ends[self.goal], self.goal = (6, -4, "told to"), None
            self.abort_at = None
        elif not state.moving:
            self.ends[self.goal], self.goal = (4, 0, ""), None


class PlantDriver:
    """The arm of plant.py: a reference here, sent as setpoints, and what is measured there."""

    def __init__(self, robot: mk.Robot, where: str):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(where)
        self.rest = b""
        self.commands: deque[np.ndarray] = deque()
        self.joint_names = robot.joint_names
        self.measured = json.loads(self.socket.makefile().readline())
        self.socket.setblocking(False)
        self.follower = Follower(robot.joint_names, np.array(self.measured[0]), robot.acceleration)

    def send(self, trajectory: mk.Trajectory) -> None:
        self.follower.follow(trajectory)

    def obey(self, positions: np.ndarray) -> None:
        """A position that is commanded directly. Those that come in a bunch are followed one in each period."""
        self.commands.append(positions)

    def state(self) -> DriverState:
        q, velocity = (np.array(row) for row in self.measured)
        return DriverState(q, velocity, self.follower.time, self.follower.moving)

    def stop(self) -> None:
        self.follower.brake()

    def wait(self, seconds: float) -> None:
        """One period: the reference moves on, the arm is told, its state is taken."""
        if self.commands:
            positions = self.commands.popleft()
            count = len(positions)
            self.follower.velocity[:count] = (positions - self.follower.q[:count]) / seconds
            self.follower.q[:count] = positions
        else:
            self.follower.velocity[:] = 0.0
            self.follower.advance(seconds)
        self.tell()
        try:
            lines = (self.rest + self.socket.recv(1 << 20)).split(b"\n")
        except BlockingIOError:
            return
        self.rest = lines[-1]
        if len(lines) > 1:
            self.measured = json.loads(lines[-2])

    def tell(self) -> None:
        follower = self.follower
        row = [follower.q.tolist(), follower.velocity.tolist(), follower.acceleration.tolist()]
        with contextlib.suppress(BlockingIOError):
            self.socket.send(json.dumps(row).encode() + b"\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("robot")
    parser.add_argument("--domain", type=int, default=0)
    parser.add_argument("--transport", default="dds")
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--abort-at", type=float)
    parser.add_argument("--plant")
    given = parser.parse_args()
    with contextlib.suppress(OSError):
        os.nice(-5)  # as what drives an arm has to be, on a machine that does other things too
    robot = mk.load_robot(given.robot)
    transport = open_transport("controller", given.transport, domain=given.domain, peers=given.peer)
    start = robot.state("ready") if "ready" in robot.named_states else robot.neutral
    driver = PlantDriver(robot, given.plant) if given.plant else SimulatedDriver(mk.Simulation(robot, q=start))
    controller = Controller(robot, transport, driver, given.abort_at)
    print("controlling", flush=True)
    controller.run(0.004 if given.plant else 0.01)


if __name__ == "__main__":
    main()
