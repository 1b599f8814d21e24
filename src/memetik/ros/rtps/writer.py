"""A writer: keeps its last samples, and sends them until every reliable reader has acknowledged them.

Each matched reader has its own view: where its samples begin, what it has acknowledged. A sample may be addressed to
some readers (the reply of a service); the others are told of a gap. A sample for a reader that is not discovered yet
waits for it: a client's request may overtake the announcement of the reader for its reply.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from memetik.ros.rtps import wire
from memetik.ros.rtps.discovery import Address, EndpointInfo
from memetik.ros.rtps.wire import AckNack, Guid, NackFrag

HEARTBEAT_PERIOD = 0.05
"""Seconds between heartbeats to readers that have not acknowledged everything."""
SLOWEST_HEARTBEAT = 2.0
"""Seconds that the period grows to for a reader that does not answer."""
KEPT_ADDRESSED = 30.0
"""Seconds that a sample for one reader is kept where that reader does not acknowledge it."""
MOST_KEPT = 4096
"""Samples that a writer keeps at most, whatever its depth."""


Audience = frozenset[Guid] | None
"""The readers that a sample is for; None for all."""


class Sender(Protocol):
    """What a writer needs of its participant."""

    prefix: bytes
    fragment_size: int

    def send(self, submessages: bytes, prefix: bytes, addresses: Sequence[Address]) -> None: ...


@dataclass(slots=True)
class Sample:
    payload: bytes
    inline: bytes
    only: Audience
    key: bool
    time: float


@dataclass(slots=True)
class MatchedReader:
    info: EndpointInfo
    addresses: Sequence[Address]
    begin: int
    """The first number that is meant for it."""
    acknowledged: int
    """It has all up to this."""
    next_heartbeat: float = 0.0
    period: float = HEARTBEAT_PERIOD
    last_count: int = -1
    fragment_counts: dict[int, int] = field(default_factory=dict[int, int])


class Writer:
    """One writer. The participant's lock is held around every call."""

    def __init__(self, sender: Sender, info: EndpointInfo):
        self.info, self._sender = info, sender
        self.readers: dict[Guid, MatchedReader] = {}
        self._samples: OrderedDict[int, Sample] = OrderedDict()
        self._last = 0
        self._heartbeats = 0

    @property
    def last(self) -> int:
        """The number of the last sample."""
        return self._last

    def write(self, payload: bytes, inline: bytes = b"", only: Audience = None, *, key: bool = False) -> int:
        """Send a sample; returns its number."""
        self._last += 1
        number, now = self._last, time.monotonic()
        sample = self._samples[number] = Sample(payload, inline, only, key, now)
        self._forget(now)
        for reader in self.readers.values():
            if self._is_for(sample, reader):
                self._send(reader, [number], final=True)
            elif reader.info.qos.reliable:
                gap = wire.gap(reader.info.guid.entity, self.info.guid.entity, number, number + 1)
                self._sender.send(gap, reader.info.guid.prefix, reader.addresses)
            # What follows at once is acknowledged together.
            reader.next_heartbeat = min(reader.next_heartbeat, now + HEARTBEAT_PERIOD)
            reader.period = HEARTBEAT_PERIOD
        return number

    def match(self, info: EndpointInfo, addresses: Sequence[Address]) -> None:
        """A reader has appeared, or its addresses have changed."""
        known = self.readers.get(info.guid)
        if known is not None:
            known.addresses = addresses
            return
        waiting = [n for n, sample in self._samples.items() if sample.only is not None and info.guid in sample.only]
        begin = self._last + 1
        if info.qos.transient_local and self.info.qos.transient_local:
            begin = next(iter(self._samples), begin)
        elif waiting:
            begin = waiting[0]
        reader = self.readers[info.guid] = MatchedReader(info, addresses, begin, begin - 1)
        if info.qos.reliable:
            self._beat(reader, time.monotonic())
        else:
            self._send(reader, [n for n in self._samples if n >= begin], final=True)

    def unmatch(self, guid: Guid) -> None:
        self.readers.pop(guid, None)

    def acknowledge(self, prefix: bytes, message: AckNack) -> None:
        """A reader says what it has and what it lacks."""
        reader = self.readers.get(Guid(prefix, message.reader))
        if reader is None or not reader.info.qos.reliable:
            return
        if message.base - 1 > self._last:
            return  # of an earlier life of this writer's number space
        if 0 <= reader.last_count - message.count < 1000:
            return  # an old or repeated one
        reader.last_count = message.count
        reader.acknowledged = max(reader.acknowledged, message.base - 1)
        reader.period = HEARTBEAT_PERIOD
        if message.missing:
            self._send(reader, message.missing, final=True)
        elif not message.final:
            self._beat(reader, time.monotonic(), final=reader.acknowledged >= self._last)

    def resend_fragments(self, prefix: bytes, message: NackFrag) -> None:
        """A reader lacks some fragments of a sample."""
        reader = self.readers.get(Guid(prefix, message.reader))
        sample = self._samples.get(message.number)
        if reader is None or sample is None or reader.fragment_counts.get(message.number) == message.count:
            return
        reader.fragment_counts = {message.number: message.count}
        size = self._sender.fragment_size
        most = -(-len(sample.payload) // size)
        for fragment in message.missing:
            if 1 <= fragment <= most:
                self._send_fragment(reader, message.number, sample, fragment)

    def tick(self, now: float) -> float:
        """Heartbeats that are due. Returns when the next ones are."""
        due = now + 3600.0
        for reader in self.readers.values():
            if not reader.info.qos.reliable or reader.acknowledged >= self._last:
                continue
            if now >= reader.next_heartbeat:
                self._beat(reader, now)
                reader.period = min(2.0 * reader.period, SLOWEST_HEARTBEAT)
            due = min(due, reader.next_heartbeat)
        return due

    def _is_for(self, sample: Sample, reader: MatchedReader) -> bool:
        return sample.only is None or reader.info.guid in sample.only

    def _send(self, reader: MatchedReader, numbers: Sequence[int], *, final: bool) -> None:
        """Samples to one reader, as far as they are kept and meant for it; else gaps; then a heartbeat."""
        own, entity, parts = self.info.guid.entity, reader.info.guid.entity, bytearray()
        for number in numbers:
            sample = self._samples.get(number)
            if number < reader.begin or sample is None or not self._is_for(sample, reader):
                if number <= self._last:
                    parts += wire.gap(entity, own, number, number + 1)
            elif len(sample.payload) > self._sender.fragment_size:
                for fragment in range(1, -(-len(sample.payload) // self._sender.fragment_size) + 1):
                    self._send_fragment(reader, number, sample, fragment)
            else:
                part = wire.data(entity, own, number, sample.payload, sample.inline, key=sample.key)
                if len(parts) + len(part) > self._sender.fragment_size:
                    self._sender.send(bytes(parts), reader.info.guid.prefix, reader.addresses)
                    parts.clear()
                parts += part
        if reader.info.qos.reliable:
            parts += self._heartbeat(reader, final)
        if parts:
            self._sender.send(bytes(parts), reader.info.guid.prefix, reader.addresses)

    def _send_fragment(self, reader: MatchedReader, number: int, sample: Sample, fragment: int) -> None:
        part = wire.data_frag(
            reader.info.guid.entity, self.info.guid.entity, number, sample.payload, sample.inline, fragment,
            self._sender.fragment_size,
        )  # fmt: skip
        self._sender.send(part, reader.info.guid.prefix, reader.addresses)

    def _beat(self, reader: MatchedReader, now: float, *, final: bool = False) -> None:
        reader.next_heartbeat = now + reader.period
        self._sender.send(self._heartbeat(reader, final), reader.info.guid.prefix, reader.addresses)

    def _heartbeat(self, reader: MatchedReader, final: bool) -> bytes:
        first = max(reader.begin, next(iter(self._samples), self._last + 1))
        self._heartbeats += 1
        return wire.heartbeat(
            reader.info.guid.entity, self.info.guid.entity, first, self._last, self._heartbeats, final=final
        )

    def _forget(self, now: float) -> None:
        """Drop what the depth does not hold; addressed samples go when acknowledged, or when nobody wants them."""
        kept = [number for number, sample in self._samples.items() if sample.only is None]
        for number in kept[: max(len(kept) - self.info.qos.depth, 0)]:
            del self._samples[number]
        for number, sample in [(n, each) for n, each in self._samples.items() if each.only is not None]:
            readers = [self.readers.get(guid) for guid in sample.only or ()]
            done = all(reader is not None and reader.acknowledged >= number for reader in readers)
            if done or now - sample.time > KEPT_ADDRESSED:
                del self._samples[number]
        while len(self._samples) > MOST_KEPT:
            self._samples.popitem(last=False)
