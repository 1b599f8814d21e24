"""What participants and endpoints tell of themselves, as parameter lists, and whether two endpoints fit."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from memetik.ros.rtps.wire import VENDOR, VERSION, Guid, WireError, parameters, read_parameters

Address = tuple[str, int]
"""(IPv4 address, port)."""

PARTICIPANT = b"\x00\x00\x01\xc1"
SPDP_WRITER = b"\x00\x01\x00\xc2"
PUBLICATIONS_WRITER, PUBLICATIONS_READER = b"\x00\x00\x03\xc2", b"\x00\x00\x03\xc7"
SUBSCRIPTIONS_WRITER, SUBSCRIPTIONS_READER = b"\x00\x00\x04\xc2", b"\x00\x00\x04\xc7"

RELATED_SAMPLE, RELATED_SAMPLE_FAST_DDS = 0x0083, 0x800F
STATUS_INFO, KEY_HASH = 0x0071, 0x0070
_LEASE, _TOPIC, _TYPE, _DOMAIN, _VERSION, _VENDOR = 0x0002, 0x0005, 0x0007, 0x000F, 0x0015, 0x0016
_RELIABILITY, _DURABILITY, _USER_DATA, _HISTORY = 0x001A, 0x001D, 0x002C, 0x0040
_UNICAST, _DEFAULT_UNICAST, _META_UNICAST, _META_MULTICAST = 0x002F, 0x0031, 0x0032, 0x0033
_PARTICIPANT_GUID, _BUILTIN, _ENDPOINT_GUID, _NAME, _REPRESENTATION = 0x0050, 0x0058, 0x005A, 0x0062, 0x0073
BUILTIN_SET = 0x3F  # announcer and detector of participants, publications and subscriptions
_LITTLE_LIST = b"\x00\x03\x00\x00"
_MOST_LOCATORS = 16


@dataclass(frozen=True, slots=True)
class Qos:
    """How samples are kept and delivered."""

    reliable: bool = True
    transient_local: bool = False
    depth: int = 10


@dataclass(frozen=True, slots=True)
class ParticipantInfo:
    """A participant of the domain."""

    prefix: bytes
    vendor: bytes
    lease: float
    builtin: int
    meta: tuple[Address, ...]
    default: tuple[Address, ...]
    user_data: bytes = b""
    name: str = ""


@dataclass(frozen=True, slots=True)
class EndpointInfo:
    """A writer or a reader of the domain."""

    guid: Guid
    topic: str
    type: str
    qos: Qos
    locators: tuple[Address, ...] = ()
    user_data: bytes = b""


def ports(domain: int, participant: int) -> tuple[int, int]:
    """The ports for discovery and for data of the participant of that number."""
    base = 7400 + 250 * domain + 2 * participant
    return base + 10, base + 11


def multicast_port(domain: int) -> int:
    return 7400 + 250 * domain


MULTICAST_GROUP = "239.255.0.1"


def encode_participant(info: ParticipantInfo, domain: int, multicast: bool) -> bytes:
    entries = [
        (_VERSION, VERSION + b"\0\0"),
        (_VENDOR, VENDOR + b"\0\0"),
        (_DOMAIN, struct.pack("<I", domain)),
        (_PARTICIPANT_GUID, info.prefix + PARTICIPANT),
        (_BUILTIN, struct.pack("<I", info.builtin)),
        (_LEASE, _duration(info.lease)),
        *((_META_UNICAST, _locator(each)) for each in info.meta),
        *((_DEFAULT_UNICAST, _locator(each)) for each in info.default),
        (_NAME, _string(info.name)),
        (_USER_DATA, _octets(info.user_data)),
    ]
    if multicast:
        entries.append((_META_MULTICAST, _locator((MULTICAST_GROUP, multicast_port(domain)))))
    return _LITTLE_LIST + parameters(entries)


def encode_endpoint(info: EndpointInfo) -> bytes:
    reliability = struct.pack("<I", 2 if info.qos.reliable else 1) + struct.pack("<iI", 0, 0x19999999)
    return _LITTLE_LIST + parameters([
        (_ENDPOINT_GUID, info.guid.whole),
        (_PARTICIPANT_GUID, info.guid.prefix + PARTICIPANT),
        (_TOPIC, _string(info.topic)),
        (_TYPE, _string(info.type)),
        (KEY_HASH, info.guid.whole),
        (_VERSION, VERSION + b"\0\0"),
        (_VENDOR, VENDOR + b"\0\0"),
        (_RELIABILITY, reliability),
        (_DURABILITY, struct.pack("<I", 1 if info.qos.transient_local else 0)),
        (_HISTORY, struct.pack("<II", 0, info.qos.depth)),
        (_REPRESENTATION, struct.pack("<Ihh", 1, 0, 0)),
        *((_UNICAST, _locator(each)) for each in info.locators),
        (_USER_DATA, _octets(info.user_data)),
    ])  # fmt: skip


def encode_removed(guid: Guid) -> tuple[bytes, bytes]:
    """The payload and the inline parameters that say that a participant or an endpoint is no more."""
    number = _PARTICIPANT_GUID if guid.entity == PARTICIPANT else _ENDPOINT_GUID
    inline = parameters([(KEY_HASH, guid.whole), (STATUS_INFO, b"\0\0\0\x03")])
    return _LITTLE_LIST + parameters([(number, guid.whole)]), inline


def decode_participant(payload: bytes) -> ParticipantInfo:
    found, little = _list(payload)
    guid = _guid(found, _PARTICIPANT_GUID)
    order = "<" if little else ">"
    single = dict(found)
    lease = _seconds(single.get(_LEASE), order, 100.0)
    (builtin,) = struct.unpack_from(order + "I", single.get(_BUILTIN, bytes(4)))
    return ParticipantInfo(
        guid.prefix, single.get(_VENDOR, b"\0\0")[:2], lease, builtin, _locators(found, _META_UNICAST, order),
        _locators(found, _DEFAULT_UNICAST, order), _read_octets(single.get(_USER_DATA), order),
        _read_string(single.get(_NAME), order),
    )  # fmt: skip


def decode_endpoint(payload: bytes) -> EndpointInfo:
    found, little = _list(payload)
    order, single = "<" if little else ">", dict(found)
    guid = _guid(found, _ENDPOINT_GUID)
    (reliability,) = struct.unpack_from(order + "I", single.get(_RELIABILITY, struct.pack(order + "I", 1)))
    (durability,) = struct.unpack_from(order + "I", single.get(_DURABILITY, bytes(4)))
    return EndpointInfo(
        guid, _read_string(single.get(_TOPIC), order), _read_string(single.get(_TYPE), order),
        Qos(reliability == 2, durability >= 1), _locators(found, _UNICAST, order),
        _read_octets(single.get(_USER_DATA), order),
    )  # fmt: skip


def decode_key(payload: bytes | None, inline: dict[int, bytes]) -> Guid | None:
    """The endpoint of which a message says that it is no more."""
    if len(inline.get(KEY_HASH, b"")) >= 16:
        return Guid.of(inline[KEY_HASH])
    return _guid(_list(payload)[0], _ENDPOINT_GUID) if payload else None


def is_removal(inline: dict[int, bytes]) -> bool:
    return bool(inline.get(STATUS_INFO, b"\0\0\0\0")[3:4] not in (b"\0", b""))


def fits(writer: EndpointInfo, reader: EndpointInfo) -> bool:
    """Whether samples of a writer are for a reader."""
    return (
        writer.topic == reader.topic
        and writer.type == reader.type
        and (writer.qos.reliable or not reader.qos.reliable)
        and (writer.qos.transient_local or not reader.qos.transient_local)
    )


def _list(payload: bytes) -> tuple[list[tuple[int, bytes]], bool]:
    if len(payload) < 4 or payload[0] != 0 or payload[1] not in (2, 3):
        raise WireError("discovery data is no parameter list.")
    little = payload[1] == 3
    try:
        return read_parameters(payload, 4, little)[0], little
    except struct.error:
        raise WireError("discovery data is cut short.") from None


def _guid(found: list[tuple[int, bytes]], number: int) -> Guid:
    for own, value in found:
        if own == number and len(value) >= 16:
            return Guid.of(value)
    raise WireError("discovery data does not say whose it is.")


def _locator(address: Address) -> bytes:
    return struct.pack("<iI", 1, address[1]) + bytes(12) + ipaddress.IPv4Address(address[0]).packed


def _locators(found: Iterable[tuple[int, bytes]], number: int, order: str) -> tuple[Address, ...]:
    addresses: list[Address] = []
    for own, value in found:
        if own == number and len(value) >= 24:
            kind, port = struct.unpack_from(order + "iI", value)
            if kind == 1 and 0 < port < 65536:
                addresses.append((str(ipaddress.IPv4Address(value[20:24])), port))
    return tuple(addresses[:_MOST_LOCATORS])


def _duration(seconds: float) -> bytes:
    return struct.pack("<iI", int(seconds), 0)


def _seconds(value: bytes | None, order: str, default: float) -> float:
    if value is None or len(value) < 8:
        return default
    seconds, fraction = struct.unpack_from(order + "iI", value)
    return max(float(seconds), 0.0) + fraction / 2**32


def _string(text: str) -> bytes:
    content = text.encode() + b"\0"
    return struct.pack("<I", len(content)) + content


def _octets(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def _read_octets(value: bytes | None, order: str) -> bytes:
    if value is None or len(value) < 4:
        return b""
    (size,) = struct.unpack_from(order + "I", value)
    return value[4 : 4 + min(size, len(value) - 4)]


def _read_string(value: bytes | None, order: str) -> str:
    return _read_octets(value, order).split(b"\0", 1)[0].decode("utf-8", "replace")
