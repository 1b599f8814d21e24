"""Hostile packets: a participant and a node get mutated packets of real peers, and must go on serving.

python tests/ros/fuzz_packets.py 1000000
"""

from __future__ import annotations

import random
import resource
import struct
import sys

from memetik.ros.messages import encode, message_class
from memetik.ros.rtps import discovery, wire
from memetik.ros.rtps.discovery import EndpointInfo, ParticipantInfo, Qos
from memetik.ros.rtps.participant import Participant
from memetik.ros.rtps.wire import Guid, WireError

DOMAIN = 187


def packets(prefix: bytes, topic: str, kind: str) -> list[bytes]:
    """What a peer sends: its announcements, samples, fragments, heartbeats, acknowledgements, gaps."""
    writer, reader = b"\0\0\7\3", b"\0\0\7\4"
    info = ParticipantInfo(prefix, wire.FAST_DDS, 20.0, 63, (("127.0.0.1", 9),), (("127.0.0.1", 9),))
    goal = encode(message_class("geometry_msgs/msg/PoseStamped")())
    announced = [
        wire.data(wire.UNKNOWN_ENTITY, discovery.SPDP_WRITER, 1, discovery.encode_participant(info, DOMAIN, False)),
        wire.data(discovery.PUBLICATIONS_READER, discovery.PUBLICATIONS_WRITER, 1,
                  discovery.encode_endpoint(EndpointInfo(Guid(prefix, writer), topic, kind, Qos()))),
        wire.data(discovery.SUBSCRIPTIONS_READER, discovery.SUBSCRIPTIONS_WRITER, 1,
                  discovery.encode_endpoint(EndpointInfo(Guid(prefix, reader), topic, kind, Qos()))),
    ]  # fmt: skip
    inline = wire.parameters([(discovery.RELATED_SAMPLE, prefix + reader + wire.sequence_number(3))])
    further = [
        wire.data(wire.UNKNOWN_ENTITY, writer, 1, goal, inline),
        wire.data_frag(wire.UNKNOWN_ENTITY, writer, 2, goal * 20, b"", 1, 64),
        wire.data_frag(wire.UNKNOWN_ENTITY, writer, 2, goal * 20, b"", 5, 64),
        wire.heartbeat(wire.UNKNOWN_ENTITY, writer, 1, 9, 1, final=False),
        wire.gap(wire.UNKNOWN_ENTITY, writer, 3, 5, [6, 9]),
        wire.acknack(reader, b"\0\0\1\3", 1, [1, 2, 3], 1, final=False),
        wire.nack_frag(reader, b"\0\0\1\3", 1, [1, 2], 1),
        wire.heartbeat(discovery.PUBLICATIONS_READER, discovery.PUBLICATIONS_WRITER, 1, 2**60, 7, final=False),
    ]
    return [wire.header(prefix) + each for each in (*announced, *further)]


def mutated(packet: bytes, rng: random.Random) -> bytes:
    data = bytearray(packet)
    kind = rng.randrange(6)
    if kind == 0:
        return bytes(data[: rng.randint(0, len(data))])
    if kind == 1:
        at = rng.randrange(20, len(data) - 3)
        data[at : at + 4] = struct.pack("<I", rng.choice((0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 10**6, 0)))
        return bytes(data)
    if kind == 2:
        return bytes(data) + rng.randbytes(rng.randint(1, 60))
    if kind == 3:
        return bytes(data[:20]) + rng.randbytes(rng.randint(0, 200))
    for _ in range(rng.randint(0, 6)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def fuzz(count: int, seed: int) -> tuple[int, int, int]:
    """Feed `count` packets: how many were taken, how many refused, and how many samples were delivered."""
    rng = random.Random(seed)
    delivered = []
    kind = "geometry_msgs::msg::dds_::PoseStamped_"
    target = Participant(DOMAIN)
    target.close()  # its state is fed directly, so that nothing but the packets happens
    target.send = lambda *_: None  # type: ignore[method-assign]
    target.reader("rt/goal", kind, Qos(), lambda sample: delivered.append(len(sample.payload or b"")))
    writer = target.writer("rt/goal", kind, Qos())
    taken = refused = 0
    known = [packets(wire.FAST_DDS + rng.randbytes(10), "rt/goal", kind) for _ in range(4)]
    for k in range(count):
        if k % 5000 == 0:
            known[rng.randrange(4)] = packets(wire.FAST_DDS + rng.randbytes(10), "rt/goal", kind)
            target.write(writer, bytes(100))
        packet = rng.choice(rng.choice(known))
        try:
            target._receive(packet if rng.random() < 0.2 else mutated(packet, rng))
            taken += 1
        except (WireError, struct.error):
            refused += 1
    return taken, refused, len(delivered)


if __name__ == "__main__":
    accepted, dropped, samples = fuzz(int(sys.argv[1]), seed=0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{accepted} packets taken, {dropped} refused, {samples} samples delivered; peak memory {peak:.0f} MB")
