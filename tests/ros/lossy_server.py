"""A service that does nothing and a latched topic, on a participant that loses a share of its packets, both ways.

python tests/ros/lossy_server.py 0.05
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence

from memetik.ros.messages import message_class, service_type
from memetik.ros.rtps import participant
from memetik.ros.rtps.discovery import Address
from memetik.ros.transports import dds
from memetik.ros.transports.base import LATCHED

LOSS = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0


class LossyParticipant(participant.Participant):
    """Packets get lost at its sockets."""

    rng = random.Random(0)

    def send(self, submessages: bytes, prefix: bytes, addresses: Sequence[Address]) -> None:
        super().send(submessages, prefix, [each for each in addresses if self.rng.random() >= LOSS])

    def _receive(self, packet: bytes) -> None:
        if self.rng.random() >= LOSS:
            super()._receive(packet)


def main() -> None:
    dds.Participant = LossyParticipant  # type: ignore[misc]
    with dds.DdsTransport("lossy") as transport:
        response = service_type("std_srvs/srv/SetBool").Response
        transport.serve("/noop", "std_srvs/srv/SetBool", lambda request: response(success=not request.data))
        description = transport.publisher("/robot_description", "std_msgs/msg/String", LATCHED)
        description.publish(message_class("std_msgs/msg/String")(data="x" * 300_000))
        print("serving", flush=True)
        while True:
            time.sleep(1.0)


if __name__ == "__main__":
    main()
