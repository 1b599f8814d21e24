"""A stand-in for joint_trajectory_controller: an action server and a topic, over any transport of memetik, that drives
a robot under physics in real time. A process of its own:

    python tests/ros/controller.py panda --domain 7 [--abort-at SECONDS] [--transport dds]

Trajectories are followed as splines; a new goal replaces the one before; a cancelled one stands still.
"""

from __future__ import annotations

import argparse
import threading
import time
from typing import Any

import numpy as np

import memetik as mk
from memetik.motion.execution.driver import SimulatedDriver
from memetik.ros import conversions
from memetik.ros.driver import ACTION
from memetik.ros.messages import message_class, service_type
from memetik.ros.transports.choice import open_transport


class Controller:
    """The controller and its robot."""

    def __init__(self, robot: mk.Robot, transport: Any, q: np.ndarray, abort_at: float | None = None):
        self.robot, self.transport, self.abort_at = robot, transport, abort_at
        self.driver = SimulatedDriver(mk.Simulation(robot, q=q))
        self.lock = threading.Lock()
        self.goal: bytes | None = None
        self.ends: dict[bytes, tuple[int, int, str]] = {}
        self.begun = 0.0
        base, name = "/arm_controller/follow_joint_trajectory/_action", "/arm_controller/joint_trajectory"
        self.states = transport.publisher("/joint_states", "sensor_msgs/msg/JointState")
        self.feedback = transport.publisher(f"{base}/feedback", f"{ACTION}_FeedbackMessage")
        transport.subscribe(name, "trajectory_msgs/msg/JointTrajectory", lambda message: self.follow(message))
        transport.serve(f"{base}/send_goal", f"{ACTION}_SendGoal", self.send_goal)
        transport.serve(f"{base}/get_result", f"{ACTION}_GetResult", self.get_result)
        transport.serve(f"{base}/cancel_goal", "action_msgs/srv/CancelGoal", self.cancel)

    def follow(self, message: Any, goal: bytes | None = None) -> None:
        """Follow a message's trajectory from where the reference is now."""
        start = conversions.JointTrajectoryPoint(time_from_start=conversions.duration(0.0))
        state = self.driver.state()
        q, velocity = state.of(message.joint_names, self.driver.joint_names)
        start.positions, start.velocities, start.accelerations = q.tolist(), velocity.tolist(), [0.0] * len(q)
        message.points = [start, *(p for p in message.points if conversions.seconds_of(p.time_from_start) > 0.0)]
        trajectory = conversions.trajectory_of(message)
        with self.lock:
            if self.goal is not None:
                self.ends[self.goal] = (6, 0, "replaced by a newer trajectory")
            self.driver.send(trajectory)
            self.trajectory, self.goal, self.begun = trajectory, goal, time.monotonic()

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
            due += period
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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("robot")
    parser.add_argument("--domain", type=int, default=0)
    parser.add_argument("--transport", default="dds")
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--abort-at", type=float)
    given = parser.parse_args()
    robot = mk.load_robot(given.robot)
    transport = open_transport("controller", given.transport, domain=given.domain, peers=given.peer)
    start = robot.state("ready") if "ready" in robot.named_states else robot.neutral
    controller = Controller(robot, transport, start, given.abort_at)
    print("controlling", flush=True)
    controller.run()


if __name__ == "__main__":
    main()
