"""Targets for teleoperation at 250 Hz on a closed path, some of it inside obstacles; prints one JSON object."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

import memetik as mk
from memetik.ros import conversions
from memetik.ros.transports.base import STREAM
from memetik.ros.transports.choice import open_transport

RATE = 250.0


def main() -> None:
    seconds = float(sys.argv[1])
    robot = mk.load_robot("panda")
    home = robot.pose("panda_hand_tcp", robot.state("ready"))
    commands: list[float] = []
    rows: list[list[float]] = []

    def take(message: Any) -> None:
        commands.append(time.monotonic())
        rows.append(message.data)

    held: list[Any] = []
    with open_transport("teleoperator", "dds") as transport:
        targets = transport.publisher("/memetik/target_pose", "geometry_msgs/msg/PoseStamped", STREAM)
        kind = "std_msgs/msg/Float64MultiArray"
        transport.subscribe("/arm_controller/commands", kind, take, STREAM)
        transport.subscribe(
            "/memetik/status",
            "diagnostic_msgs/msg/DiagnosticArray",
            lambda message: held.append(1) if "held back" in message.status[0].message else None,
        )
        waiting = time.monotonic() + 120.0
        while not targets.subscribers and time.monotonic() < waiting:
            time.sleep(0.05)
        begin = due = time.monotonic()
        while due < begin + seconds:
            targets.publish(conversions.PoseStamped(pose=conversions.pose_message(target(home, due - begin))))
            due = max(
                due + 1.0 / RATE, time.monotonic() - 0.1
            )  # what a busy machine kept for longer is not made up for
            time.sleep(max(due - time.monotonic(), 0.0))
    rate = len(commands) / max(commands[-1] - commands[0], 1e-9) if len(commands) > 1 else 0.0
    change = np.abs(np.diff(np.array(rows), axis=0)).max(axis=0) * RATE if len(rows) > 1 else np.zeros(1)
    speed = float((change / robot.velocity[: len(change)]).max())
    print(json.dumps({"commands": len(commands), "rate": rate, "held": len(held), "speed": speed}), flush=True)


def target(home: np.ndarray, t: float) -> np.ndarray:
    """Wide, never quite repeated, through the posts and the table."""
    pose = home.copy()
    pose[:3, 3] += [0.18 * np.sin(0.41 * t), 0.42 * np.sin(0.29 * t + 0.4), -0.15 + 0.3 * np.sin(0.53 * t)]
    angle = 0.5 * np.sin(0.37 * t)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
    pose[:3, :3] = turn @ pose[:3, :3]
    return pose


if __name__ == "__main__":
    main()
