"""Messages as bytes: CDR as ROS 2 uses it (XCDR1, plain, four bytes of header, little endian when written).

Numbers are aligned to their own size, counted from behind the header. What is read is bounded by the bytes that are
there: a length that promises more is an error before anything is allocated. Bytes behind the end are ignored, since
other encoders leave some.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from memetik.errors import InvalidInputError, MemetikError
from memetik.ros.messages.definitions import PRIMITIVES, Field
from memetik.ros.messages.types import OCTETS, Message, definition_of, message_class

HEADER = b"\x00\x01\x00\x00"
"""Plain CDR, little endian."""

_BIG, _LITTLE = 0, 1
_PADDING = tuple(bytes(n) for n in range(8))

_Write = Callable[[bytearray, Any], None]
_Read = Callable[["_Input"], Any]


class CodecError(MemetikError, ValueError):
    """Bytes that are no message of the expected type."""


def encode(message: Message) -> bytes:
    """A message as CDR with its header."""
    out = bytearray(HEADER)
    _writer(message.TYPE)(out, message)
    return bytes(out)


def decode(data: bytes | bytearray | memoryview, name: str) -> Any:
    """The message of type `name` that CDR bytes with a header hold."""
    if len(data) < 4:
        raise CodecError(f"{len(data)} bytes are no message: the header alone has four.")
    if data[0] != 0 or data[1] not in (_BIG, _LITTLE):
        raise CodecError(f"a message in representation {data[0]:02x}{data[1]:02x} cannot be read, only plain CDR.")
    return _decoded(_Input(bytes(data), "<" if data[1] == _LITTLE else ">"), name)


def decode_ros1(data: bytes | bytearray | memoryview, name: str) -> Any:
    """The message of type `name` from bytes as ROS 1 wrote them: no header of four bytes, nothing aligned."""
    return _decoded(_PackedInput(bytes(4) + bytes(data), "<"), name)


def _decoded(source: _Input, name: str) -> Any:
    try:
        return _reader(name)(source)
    except struct.error:
        raise CodecError(f"the bytes end before the {name} they should hold.") from None


class _Input:
    """Bytes that are read from the front."""

    __slots__ = ("at", "data", "order", "size")

    def __init__(self, data: bytes, order: str):
        self.data, self.order, self.at, self.size = data, order, 4, len(data)

    def align(self, size: int) -> int:
        """Moves on to the next multiple of `size` behind the header."""
        self.at += -(self.at - 4) % size
        return self.at

    def begin(self, name: str) -> None:
        """Called before a message is read."""

    def count(self, smallest: int, bound: int | None) -> int:
        """The length of a sequence whose elements take `smallest` bytes at least."""
        at = self.align(4)
        (number,) = struct.unpack_from(self.order + "I", self.data, at)
        self.at = at + 4
        if number * smallest > self.size - self.at:
            raise CodecError(f"a sequence of {number} elements does not fit into {self.size - self.at} bytes.")
        if bound is not None and number > bound:
            raise CodecError(f"a sequence of {number} elements is longer than its bound {bound}.")
        return number


class _PackedInput(_Input):
    """Bytes of ROS 1."""

    __slots__ = ()

    def align(self, size: int) -> int:
        return self.at

    def begin(self, name: str) -> None:
        if name == "std_msgs/msg/Header":
            self.at += 4  # a sequence number, which ROS 2 has no more


@cache
def smallest_size(name: str) -> int:
    """The fewest bytes that a message may take."""
    return sum(_smallest(each) for each in definition_of(name).fields)


def _smallest(each: Field) -> int:
    if each.array == "sequence":
        return 4
    one = 4 if each.base == "string" else smallest_size(each.base) if "/" in each.base else _size(each.base)
    return one * (each.bound or 1) if each.array else one


def _size(base: str) -> int:
    return struct.calcsize(PRIMITIVES[base])


@cache
def _writer(name: str) -> _Write:
    steps = [(each.name, _field_writer(each)) for each in definition_of(name).fields]

    def write(out: bytearray, message: Any) -> None:
        for field_name, step in steps:
            try:
                step(out, getattr(message, field_name))
            except (struct.error, TypeError, AttributeError, ValueError) as error:
                if isinstance(error, MemetikError):
                    raise
                raise InvalidInputError(f"field {field_name!r} of {name} cannot be written: {error}.") from None

    return write


def _field_writer(each: Field) -> _Write:
    if not each.array:
        return _one_writer(each)
    if each.base in PRIMITIVES:
        return _numbers_writer(each)
    one = _one_writer(each)

    def write(out: bytearray, values: Any) -> None:
        _put_count(out, values, each)
        for value in values:
            one(out, value)

    return write


def _put_count(out: bytearray, values: Any, each: Field) -> None:
    count = len(values)
    if each.array == "fixed":
        if count != each.bound:
            raise InvalidInputError(f"field {each.name!r} has exactly {each.bound} values, not {count}.")
        return
    if each.bound is not None and count > each.bound:
        raise InvalidInputError(f"field {each.name!r} has at most {each.bound} values, not {count}.")
    out += _PADDING[-len(out) % 4] + struct.pack("<I", count)


def _one_writer(each: Field) -> _Write:
    if "/" in each.base:
        nested = each.base
        expected = message_class(nested)

        def write_nested(out: bytearray, value: Any) -> None:
            if type(value) is not expected:
                raise InvalidInputError(f"field {each.name!r} takes a {nested}, not {type(value).__name__}.")
            _writer(nested)(out, value)

        return write_nested
    if each.base == "string":
        bound = each.string_bound

        def write_string(out: bytearray, value: Any) -> None:
            data = value.encode("utf-8", "surrogateescape")
            if bound is not None and len(data) > bound:
                raise InvalidInputError(f"field {each.name!r} has at most {bound} characters, not {len(data)}.")
            out += _PADDING[-len(out) % 4] + struct.pack("<I", len(data) + 1) + data + b"\0"

        return write_string
    packed, size = struct.Struct("<" + PRIMITIVES[each.base]).pack, _size(each.base)

    def write_number(out: bytearray, value: Any) -> None:
        out += _PADDING[-(len(out) - 4) % size] + packed(value)

    return write_number


def _numbers_writer(each: Field) -> _Write:
    code, size, octets = PRIMITIVES[each.base], _size(each.base), each.base in OCTETS

    def write(out: bytearray, values: Any) -> None:
        _put_count(out, values, each)
        count = len(values)
        if octets:
            out += bytes(values)
        elif count:
            out += _PADDING[-(len(out) - 4) % size] + struct.pack(f"<{count}{code}", *values)

    return write


@cache
def _reader(name: str) -> _Read:
    steps = [_field_reader(each) for each in definition_of(name).fields]
    make = message_class(name)

    def read(source: _Input) -> Any:
        source.begin(name)
        return make(*[step(source) for step in steps])

    return read


def _field_reader(each: Field) -> _Read:
    if not each.array:
        return _one_reader(each)
    smallest = smallest_size(each.base) if "/" in each.base else 4 if each.base == "string" else _size(each.base)
    fixed = each.bound if each.array == "fixed" else None
    if each.base in PRIMITIVES:
        return _numbers_reader(each, smallest, fixed)
    one = _one_reader(each)

    def read(source: _Input) -> list[Any]:
        count = source.count(smallest, each.bound) if fixed is None else fixed
        return [one(source) for _ in range(count)]

    return read


def _one_reader(each: Field) -> _Read:
    if "/" in each.base:
        nested = each.base
        return lambda source: _reader(nested)(source)
    if each.base == "string":
        return _read_string
    code, size, truth = PRIMITIVES[each.base], _size(each.base), each.base == "bool"

    def read(source: _Input) -> Any:
        at = source.align(size)
        (value,) = struct.unpack_from(source.order + ("B" if truth else code), source.data, at)
        source.at = at + size
        return value != 0 if truth else value

    return read


def _read_string(source: _Input) -> str:
    count = source.count(1, None)
    begin, source.at = source.at, source.at + count
    return source.data[begin : source.at].removesuffix(b"\0").decode("utf-8", "replace")


def _numbers_reader(each: Field, size: int, fixed: int | None) -> _Read:
    code, octets, truth = PRIMITIVES[each.base], each.base in OCTETS, each.base == "bool"

    def read(source: _Input) -> Any:
        count = source.count(size, each.bound) if fixed is None else fixed
        if not count:
            return b"" if octets else []
        at = source.align(size)
        source.at = end = at + count * size
        if end > source.size:
            raise CodecError(f"{count} values of {each.base} do not fit into {source.size - at} bytes.")
        if octets:
            return source.data[at:end]
        values = struct.unpack_from(f"{source.order}{count}{'B' if truth else code}", source.data, at)
        return [value != 0 for value in values] if truth else list(values)

    return read
