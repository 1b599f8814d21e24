"""A reader: delivers the samples of its matched writers, reliable ones complete and in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memetik.ros.rtps import wire
from memetik.ros.rtps.discovery import RELATED_SAMPLE, RELATED_SAMPLE_FAST_DDS, Address, EndpointInfo
from memetik.ros.rtps.wire import Data, Gap, Guid, Heartbeat, SampleIdentity
from memetik.ros.rtps.writer import Sender

MOST_WAITING = 1024
"""Samples that wait for an earlier one, at most."""
MOST_BYTES = 64_000_000
"""Bytes of a sample, and of all that wait for one writer, at most."""
MOST_FRAGMENTS = 200_000
MOST_ASSEMBLIES = 8
"""Samples of one writer that are put together of fragments at a time."""


@dataclass(frozen=True, slots=True)
class Received:
    """A sample as it is delivered: bytes, its identity, and the identity that it answers or asks to answer."""

    payload: bytes | None
    identity: SampleIdentity
    related: SampleIdentity | None
    inline: dict[int, bytes]
    key: bool


Deliver = Callable[[Received], None]


@dataclass(slots=True)
class _Assembly:
    data: bytearray
    fragment_size: int
    missing: set[int]
    first: Data


@dataclass(slots=True)
class MatchedWriter:
    info: EndpointInfo
    addresses: Sequence[Address]
    expected: int = 1
    """The number of the next sample to deliver."""
    waiting: dict[int, Received | None] = field(default_factory=dict[int, "Received | None"])
    """What came early; None for a number that will not come."""
    waiting_bytes: int = 0
    assemblies: dict[int, _Assembly] = field(default_factory=dict[int, _Assembly])
    acknowledgements: int = 0
    last_heartbeat: int = -1


class Reader:
    """One reader. The participant's lock is held around every call."""

    def __init__(self, sender: Sender, info: EndpointInfo, deliver: Deliver):
        self.info, self._sender, self._deliver = info, sender, deliver
        self.writers: dict[Guid, MatchedWriter] = {}

    def match(self, info: EndpointInfo, addresses: Sequence[Address]) -> None:
        """A writer has appeared, or its addresses have changed."""
        known = self.writers.get(info.guid)
        if known is not None:
            known.addresses = addresses
            return
        writer = self.writers[info.guid] = MatchedWriter(info, addresses)
        if self.info.qos.reliable:
            self._acknowledge(writer, [], final=False)  # asks for a heartbeat

    def unmatch(self, guid: Guid) -> None:
        self.writers.pop(guid, None)

    def receive(self, prefix: bytes, message: Data) -> None:
        """A sample, or a part of one."""
        writer = self.writers.get(Guid(prefix, message.writer))
        if writer is None or message.number < writer.expected or message.number in writer.waiting:
            return
        if message.fragment:
            whole = self._assemble(writer, message)
            if whole is None:
                return
            message = whole
        guid = writer.info.guid
        sample = Received(
            message.payload, SampleIdentity(guid, message.number), _related(message), message.inline, message.key
        )
        if not self.info.qos.reliable or not writer.info.qos.reliable:
            writer.expected = message.number + 1
            writer.assemblies.clear()
            self._deliver(sample)
            return
        size = len(message.payload or b"")
        if message.number == writer.expected:
            writer.expected += 1
            self._deliver(sample)
            self._advance(writer)
        elif len(writer.waiting) < MOST_WAITING and writer.waiting_bytes + size <= MOST_BYTES:
            writer.waiting[message.number] = sample
            writer.waiting_bytes += size

    def heartbeat(self, prefix: bytes, message: Heartbeat) -> None:
        """A writer says which samples it has."""
        writer = self.writers.get(Guid(prefix, message.writer))
        if writer is None or not self.info.qos.reliable or not writer.info.qos.reliable:
            return
        if 0 <= writer.last_heartbeat - message.count < 1000 or message.first < 1 or message.last < message.first - 1:
            return
        writer.last_heartbeat = message.count
        if message.first > writer.expected:
            self._skip(writer, message.first)
        end = min(message.last, writer.expected + wire.MOST_BITS - 1)
        missing = [n for n in range(writer.expected, end + 1) if n not in writer.waiting]
        partial = [n for n in missing if n in writer.assemblies]
        for number in partial:
            self._ask_fragments(writer, number)
        if missing or not message.final:
            self._acknowledge(writer, [n for n in missing if n not in partial])

    def gap(self, prefix: bytes, message: Gap) -> None:
        """A writer says which samples will not come."""
        writer = self.writers.get(Guid(prefix, message.writer))
        if writer is None or message.start < 1 or message.base < message.start:
            return
        if message.start <= writer.expected:
            self._skip(writer, max(message.base, writer.expected))
        else:
            for number in range(message.start, min(message.base, message.start + MOST_WAITING)):
                if len(writer.waiting) < MOST_WAITING:
                    writer.waiting.setdefault(number, None)
        for number in message.more:
            if number >= writer.expected and len(writer.waiting) < MOST_WAITING:
                writer.waiting.setdefault(number, None)
        self._advance(writer)

    def _skip(self, writer: MatchedWriter, expected: int) -> None:
        """Samples before `expected` will not come: those that wait are delivered, the others are lost."""
        for number in sorted(n for n in writer.waiting if n < expected):
            self._deliver_waiting(writer, number)
        for number in [n for n in writer.assemblies if n < expected]:
            del writer.assemblies[number]
        writer.expected = expected
        self._advance(writer)

    def _advance(self, writer: MatchedWriter) -> None:
        while writer.expected in writer.waiting:
            number = writer.expected
            writer.expected += 1
            self._deliver_waiting(writer, number)

    def _deliver_waiting(self, writer: MatchedWriter, number: int) -> None:
        sample = writer.waiting.pop(number)
        if sample is not None:
            writer.waiting_bytes -= len(sample.payload or b"")
            self._deliver(sample)

    def _acknowledge(self, writer: MatchedWriter, missing: Sequence[int], *, final: bool = True) -> None:
        writer.acknowledgements += 1
        message = wire.acknack(
            self.info.guid.entity,
            writer.info.guid.entity,
            writer.expected,
            missing,
            writer.acknowledgements,
            final=final,
        )
        self._sender.send(message, writer.info.guid.prefix, writer.addresses)

    def _ask_fragments(self, writer: MatchedWriter, number: int) -> None:
        missing = sorted(writer.assemblies[number].missing)[: wire.MOST_BITS]
        writer.acknowledgements += 1
        message = wire.nack_frag(
            self.info.guid.entity, writer.info.guid.entity, number, missing, writer.acknowledgements
        )
        self._sender.send(message, writer.info.guid.prefix, writer.addresses)

    def _assemble(self, writer: MatchedWriter, message: Data) -> Data | None:
        """The whole sample, when this fragment was its last one."""
        assembly = writer.assemblies.get(message.number)
        if assembly is None:
            open_bytes = sum(len(each.data) for each in writer.assemblies.values())
            count = -(-message.sample_size // message.fragment_size)
            if open_bytes + message.sample_size > MOST_BYTES or count > MOST_FRAGMENTS:
                return None
            if len(writer.assemblies) >= MOST_ASSEMBLIES:
                writer.assemblies.pop(min(writer.assemblies))
            assembly = _Assembly(
                bytearray(message.sample_size), message.fragment_size, set(range(1, count + 1)), message
            )
            writer.assemblies[message.number] = assembly
        if message.sample_size != len(assembly.data) or message.fragment_size != assembly.fragment_size:
            return None
        payload = message.payload or b""
        for k in range(message.fragments):
            fragment = message.fragment + k
            begin = (fragment - 1) * assembly.fragment_size
            part = payload[k * assembly.fragment_size : (k + 1) * assembly.fragment_size]
            wanted = min(assembly.fragment_size, len(assembly.data) - begin)
            if fragment in assembly.missing and len(part) >= wanted:
                assembly.data[begin : begin + wanted] = part[:wanted]
                assembly.missing.discard(fragment)
        if assembly.missing:
            return None
        del writer.assemblies[message.number]
        first = assembly.first
        inline = message.inline or first.inline
        return Data(
            message.reader, message.writer, message.number, bytes(assembly.data), inline, first.key, first.little
        )


def _related(message: Data) -> SampleIdentity | None:
    value = message.inline.get(RELATED_SAMPLE) or message.inline.get(RELATED_SAMPLE_FAST_DDS)
    if value is None or len(value) < 24:
        return None
    order = "little" if message.little else "big"
    high, low = int.from_bytes(value[16:20], order, signed=True), int.from_bytes(value[20:24], order)
    return SampleIdentity(Guid.of(value), (high << 32) | low)
