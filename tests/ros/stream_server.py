"""JointStates at a rate, numbered in the first joint's position: python tests/ros/stream_server.py HERTZ SECONDS"""

from __future__ import annotations

import sys
import time

from memetik.ros.conversions import joint_state
from memetik.ros.transports.base import STREAM
from memetik.ros.transports.dds import DdsTransport


def main() -> None:
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
