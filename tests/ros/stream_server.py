"""JointStates at a rate, numbered in the first joint's position, or a command for each JointState that comes.

python tests/ros/stream_server.py HERTZ|echo SECONDS
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from memetik.ros.conversions import joint_state
from memetik.ros.messages import message_class
from memetik.ros.transports.base import STREAM
from memetik.ros.transports.dds import DdsTransport


def main() -> None:
    if sys.argv[1] == "echo":
        answer(float(sys.argv[2]))
    else:
        stream()


def answer(seconds: float) -> None:
    """A command of positions for each JointState; reports what came."""
    numbers: list[int] = []
    with DdsTransport("echo") as transport:
        kind = "std_msgs/msg/Float64MultiArray"
        publisher, command = transport.publisher("/commands", kind, STREAM), message_class(kind)

        def take(state: Any) -> None:
            numbers.append(int(state.position[0]))
            publisher.publish(command(data=state.position))

        transport.subscribe("/joint_states", "sensor_msgs/msg/JointState", take, STREAM)
        time.sleep(seconds)
    span = numbers[-1] - numbers[0] + 1 if numbers else 0
    report = {"received": len(numbers), "missing": span - len(numbers), "cpu": time.process_time() / seconds}
    print(json.dumps(report), flush=True)


def stream() -> None:
    period, seconds = 1.0 / float(sys.argv[1]), float(sys.argv[2])
    with DdsTransport("stream") as transport:
        publisher = transport.publisher("/joint_states", "sensor_msgs/msg/JointState", STREAM)
        end = time.monotonic() + seconds
        due, number = time.monotonic(), 0
        while time.monotonic() < end:
            number += 1
            q = [float(number)] + [0.1] * 6
            publisher.publish(joint_state([f"joint{k}" for k in range(7)], q, None, time.time_ns()))  # type: ignore[arg-type]
            due += period
            time.sleep(max(due - time.monotonic(), 0.0))
        print({"sent": number, "cpu": time.process_time() / seconds}, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
