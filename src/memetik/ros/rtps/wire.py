"""The bytes of RTPS: headers, submessages, parameter lists. Nothing here keeps state.

What is read comes from strangers: every length is checked against the bytes that are there, and whatever does not fit
ends the reading of that packet (`WireError`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

MAGIC = b"RTPS"
VERSION = b"\x02\x03"
VENDOR = b"\x01\x4d"
"""None of those that the Object Management Group has assigned."""
FAST_DDS, CYCLONE_DDS = b"\x01\x0f", b"\x01\x10"

ACKNACK, HEARTBEAT, GAP, INFO_TS, INFO_SRC, INFO_DST = 0x06, 0x07, 0x08, 0x09, 0x0C, 0x0E
NACK_FRAG, DATA, DATA_FRAG = 0x12, 0x15, 0x16
_LITTLE = 0x01

UNKNOWN_ENTITY = b"\0\0\0\0"
NO_PREFIX = bytes(12)
MOST_BITS = 256


class WireError(ValueError):
    """A packet that is no RTPS."""


class Guid(NamedTuple):
    """The name of an endpoint: 12 bytes of its participant, 4 of its own."""

    prefix: bytes
    entity: bytes

    @property
    def whole(self) -> bytes:
        return self.prefix + self.entity

    @classmethod
    def of(cls, data: bytes) -> Guid:
        return cls(bytes(data[:12]), bytes(data[12:16]))


class SampleIdentity(NamedTuple):
    """A sample: its writer (or the reader of its reply) and its number."""

    guid: Guid
    number: int


@dataclass(slots=True)
class Data:
    """A sample or one or more of its fragments. `key` where the payload is only a key; `fragment` 0 for a whole one."""

    reader: bytes
    writer: bytes
    number: int
    payload: bytes | None
    inline: dict[int, bytes] = field(default_factory=dict[int, bytes])
    key: bool = False
    little: bool = True
    fragment: int = 0
    fragments: int = 0
    fragment_size: int = 0
    sample_size: int = 0


@dataclass(slots=True)
class Heartbeat:
    reader: bytes
    writer: bytes
    first: int
    last: int
    count: int
    final: bool


@dataclass(slots=True)
class AckNack:
    """`base`: all before it are acknowledged; `missing`: those that are asked for."""

    reader: bytes
    writer: bytes
    base: int
    missing: list[int]
    count: int
    final: bool


@dataclass(slots=True)
class Gap:
    """Numbers that will not come: from `start` to before `base`, and `more`."""

    reader: bytes
    writer: bytes
    start: int
    base: int
    more: list[int]


@dataclass(slots=True)
class NackFrag:
    reader: bytes
    writer: bytes
    number: int
    missing: list[int]
    count: int


Submessage = Data | Heartbeat | AckNack | Gap | NackFrag


def header(prefix: bytes) -> bytes:
    """The header of a packet."""
    return MAGIC + VERSION + VENDOR + prefix


def submessage(kind: int, flags: int, body: bytes) -> bytes:
    """A submessage in little endian, padded: the next one begins at a multiple of four bytes."""
    body += bytes(-len(body) % 4)
    return struct.pack("<BBH", kind, flags | _LITTLE, len(body)) + body


def info_dst(prefix: bytes) -> bytes:
    return submessage(INFO_DST, 0, prefix)


def info_ts(nanoseconds: int) -> bytes:
    """The source time stamp: seconds, and 2^-32 of a second."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return submessage(INFO_TS, 0, struct.pack("<II", seconds & 0xFFFFFFFF, (rest << 32) // 1_000_000_000))


def sequence_number(number: int) -> bytes:
    return struct.pack("<iI", number >> 32, number & 0xFFFFFFFF)


def number_set(base: int, members: Iterable[int], *, short: bool = False) -> bytes:
    """A set of sequence numbers (or, short, of fragment numbers), 256 at most, from `base` on."""
    offsets = [member - base for member in members if 0 <= member - base < MOST_BITS]
    bits = max(offsets, default=-1) + 1
    words = [0] * ((bits + 31) // 32)
    for offset in offsets:
        words[offset // 32] |= 1 << (31 - offset % 32)
    begin = struct.pack("<I", base) if short else sequence_number(base)
    return begin + struct.pack(f"<I{len(words)}I", bits, *words)


def data(reader: bytes, writer: bytes, number: int, payload: bytes, inline: bytes = b"", *, key: bool = False) -> bytes:
    """A DATA submessage; `inline` is a parameter list with its end."""
    flags = (0x02 if inline else 0) | ((0x08 if key else 0x04) if payload else 0)
    body = struct.pack("<HH", 0, 16) + reader + writer + sequence_number(number) + inline + payload
    if len(body) > 0xFFFF:
        raise WireError(f"a sample of {len(body)} bytes does not fit into one submessage.")
    return submessage(DATA, flags, body)


def data_frag(
    reader: bytes, writer: bytes, number: int, payload: bytes, inline: bytes, fragment: int, size: int
) -> bytes:
    """The submessage of one fragment, counted from 1, of `payload` cut into parts of `size` bytes."""
    part = payload[(fragment - 1) * size : fragment * size]
    body = struct.pack("<HH", 0, 28) + reader + writer + sequence_number(number)
    body += struct.pack("<IHHI", fragment, 1, size, len(payload)) + inline + part
    return submessage(DATA_FRAG, 0x02 if inline else 0, body)


def heartbeat(reader: bytes, writer: bytes, first: int, last: int, count: int, *, final: bool) -> bytes:
    body = reader + writer + sequence_number(first) + sequence_number(last) + struct.pack("<I", count & 0xFFFFFFFF)
    return submessage(HEARTBEAT, 0x02 if final else 0, body)


def acknack(reader: bytes, writer: bytes, base: int, missing: Sequence[int], count: int, *, final: bool) -> bytes:
    body = reader + writer + number_set(base, missing) + struct.pack("<I", count & 0xFFFFFFFF)
    return submessage(ACKNACK, 0x02 if final else 0, body)


def gap(reader: bytes, writer: bytes, start: int, base: int, more: Sequence[int] = ()) -> bytes:
    return submessage(GAP, 0, reader + writer + sequence_number(start) + number_set(base, more))


def nack_frag(reader: bytes, writer: bytes, number: int, missing: Sequence[int], count: int) -> bytes:
    body = reader + writer + sequence_number(number) + number_set(missing[0], missing, short=True)
    return submessage(NACK_FRAG, 0, body + struct.pack("<I", count & 0xFFFFFFFF))


def parameters(entries: Iterable[tuple[int, bytes]]) -> bytes:
    """A parameter list with its end; values are padded to four bytes."""
    out = bytearray()
    for number, value in entries:
        padded = value + bytes(-len(value) % 4)
        out += struct.pack("<HH", number, len(padded)) + padded
    return bytes(out) + b"\x01\0\0\0"


def read_parameters(content: bytes, at: int, little: bool) -> tuple[list[tuple[int, bytes]], int]:
    """The parameters from `at` on, and where their list ends."""
    order, found = "<" if little else ">", list[tuple[int, bytes]]()
    while True:
        if at + 4 > len(content):
            raise WireError("a parameter list has no end.")
        number, size = struct.unpack_from(order + "HH", content, at)
        at += 4
        if number == 1:
            return found, at
        if at + size > len(content):
            raise WireError("a parameter is longer than its list.")
        found.append((number, content[at : at + size]))
        at += size


def read_packet(packet: bytes) -> tuple[bytes, bytes]:
    """The prefix of the sender's participant, and its vendor."""
    if len(packet) < 20 or packet[:4] != MAGIC or packet[4] != 2:
        raise WireError("this is no packet of RTPS 2.")
    return packet[8:20], packet[6:8]


def read_submessages(packet: bytes, own_prefix: bytes) -> Iterator[Submessage]:
    """The submessages that are meant for the participant `own_prefix`."""
    at, meant = 20, True
    while at + 4 <= len(packet):
        kind, flags, size = packet[at], packet[at + 1], 0
        order = "<" if flags & _LITTLE else ">"
        (size,) = struct.unpack_from(order + "H", packet, at + 2)
        at += 4
        # A length of zero in the last submessage means: up to the end.
        end = len(packet) if size == 0 and kind not in (INFO_TS, 0x01) else at + size
        if end > len(packet):
            raise WireError("a submessage is longer than its packet.")
        body, at = packet[at:end], end
        if kind == INFO_DST:
            meant = body[:12] in (own_prefix, NO_PREFIX)
        elif kind == INFO_SRC:
            return  # relayed packets: their sender is another one
        elif meant and kind in _READERS:
            try:
                yield _READERS[kind](body, flags, order)
            except struct.error:
                raise WireError("a submessage is cut short.") from None


def _entities(body: bytes, at: int = 0) -> tuple[bytes, bytes]:
    if at + 8 > len(body):
        raise WireError("a submessage is cut short.")
    return body[at : at + 4], body[at + 4 : at + 8]


def _number(body: bytes, at: int, order: str) -> int:
    high, low = struct.unpack_from(order + "iI", body, at)
    return (high << 32) | low


def _set(body: bytes, at: int, order: str, *, short: bool = False) -> tuple[int, list[int], int]:
    base = struct.unpack_from(order + "I", body, at)[0] if short else _number(body, at, order)
    at += 4 if short else 8
    (bits,) = struct.unpack_from(order + "I", body, at)
    if bits > MOST_BITS:
        raise WireError(f"a set of {bits} numbers is longer than {MOST_BITS}.")
    count = (bits + 31) // 32
    words = struct.unpack_from(f"{order}{count}I", body, at + 4)
    members = [base + k for k in range(bits) if words[k // 32] >> (31 - k % 32) & 1]
    return base, members, at + 4 + 4 * count


def _read_data(body: bytes, flags: int, order: str) -> Data:
    _, skip = struct.unpack_from(order + "HH", body, 0)
    reader, writer = _entities(body, 4)
    number = _number(body, 12, order)
    inline, at = _inline(body, 4 + skip, flags, order)
    payload = body[at:] if flags & 0x0C else None
    return Data(reader, writer, number, payload, inline, bool(flags & 0x08), order == "<")


def _read_data_frag(body: bytes, flags: int, order: str) -> Data:
    _, skip = struct.unpack_from(order + "HH", body, 0)
    reader, writer = _entities(body, 4)
    number = _number(body, 12, order)
    fragment, fragments, size, whole = struct.unpack_from(order + "IHHI", body, 20)
    inline, at = _inline(body, 4 + skip, flags, order)
    if not fragment or not fragments or not size or not whole:
        raise WireError("a fragment has no number, no size or no sample.")
    return Data(
        reader, writer, number, body[at:], inline, bool(flags & 0x04), order == "<", fragment, fragments, size, whole
    )


def _inline(body: bytes, at: int, flags: int, order: str) -> tuple[dict[int, bytes], int]:
    if not flags & 0x02:
        return {}, at
    found, at = read_parameters(body, at, order == "<")
    return dict(found), at


def _read_heartbeat(body: bytes, flags: int, order: str) -> Heartbeat:
    reader, writer = _entities(body)
    (count,) = struct.unpack_from(order + "I", body, 24)
    return Heartbeat(reader, writer, _number(body, 8, order), _number(body, 16, order), count, bool(flags & 0x02))


def _read_acknack(body: bytes, flags: int, order: str) -> AckNack:
    reader, writer = _entities(body)
    base, missing, at = _set(body, 8, order)
    (count,) = struct.unpack_from(order + "I", body, at)
    return AckNack(reader, writer, base, missing, count, bool(flags & 0x02))


def _read_gap(body: bytes, flags: int, order: str) -> Gap:
    reader, writer = _entities(body)
    base, more, _ = _set(body, 16, order)
    return Gap(reader, writer, _number(body, 8, order), base, more)


def _read_nack_frag(body: bytes, flags: int, order: str) -> NackFrag:
    reader, writer = _entities(body)
    _, missing, at = _set(body, 16, order, short=True)
    (count,) = struct.unpack_from(order + "I", body, at)
    return NackFrag(reader, writer, _number(body, 8, order), missing, count)


_READERS = {
    DATA: _read_data,
    DATA_FRAG: _read_data_frag,
    HEARTBEAT: _read_heartbeat,
    ACKNACK: _read_acknack,
    GAP: _read_gap,
    NACK_FRAG: _read_nack_frag,
}
