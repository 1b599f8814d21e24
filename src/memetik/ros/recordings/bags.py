"""Reading recordings: MCAP files, bags of ROS 2 (SQLite) and bags of ROS 1, message by message.

Only messages of types that memetik knows are decoded. What cannot be read raises; sizes are bounded by the file's.
"""

from __future__ import annotations

import bz2
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from memetik.errors import InvalidInputError, MissingExtraError
from memetik.ros.messages import decode, type_names
from memetik.ros.messages.cdr import decode_ros1

_LARGEST_CHUNK = 1 << 28  # bytes that a compressed chunk may grow to


class Sample(NamedTuple):
    """A recorded message: its topic, the full name of its type, nanoseconds, and its bytes with what decodes them."""

    topic: str
    type: str
    time: int
    data: bytes
    decoder: Callable[[bytes, str], Any]

    @property
    def message(self) -> Any:
        """The message itself."""
        if self.type not in type_names():
            raise InvalidInputError(f"memetik does not know messages of type {self.type} on topic {self.topic!r}.")
        return self.decoder(self.data, self.type)


def read_samples(path: str | PathLike[str]) -> Iterator[Sample]:
    """All messages of a recording in the order of the file: .mcap, .db3 or its folder, .bag."""
    source = Path(path)
    if source.is_dir():
        parts = sorted([*source.glob("*.mcap"), *source.glob("*.db3")])
        if not parts:
            raise InvalidInputError(f"the folder {str(source)!r} holds no .mcap and no .db3 file.")
        for part in parts:
            yield from read_samples(part)
        return
    readers = {".mcap": _read_mcap, ".db3": _read_sqlite, ".bag": _read_ros1}
    if source.suffix not in readers:
        raise InvalidInputError(f"a recording is read from {', '.join(readers)}, not from {source.name!r}.")
    if not source.is_file():
        raise InvalidInputError(f"there is no recording {str(source)!r}.")
    try:
        yield from readers[source.suffix](source)
    except (OSError, sqlite3.Error, struct.error, EOFError, KeyError, UnicodeError) as error:
        raise InvalidInputError(f"the recording {str(source)!r} cannot be read: {error}.") from None


def read_attachment(path: str | PathLike[str], name: str) -> bytes | None:
    """An attachment of an MCAP file; None where there is none."""
    with open(path, "rb") as file:
        for attachment in _mcap_records(file, path, "iter_attachments"):
            if attachment.name == name:
                return attachment.data
    return None


def _read_mcap(path: Path) -> Iterator[Sample]:
    with path.open("rb") as file:
        for schema, channel, message in _mcap_records(file, path, "iter_messages"):
            if schema is not None and channel.message_encoding in ("cdr", "ros1"):
                decoder = decode if channel.message_encoding == "cdr" else decode_ros1
                yield Sample(channel.topic, _full_name(schema.name), message.log_time, message.data, decoder)


def _mcap_records(file: BinaryIO, path: str | PathLike[str], kind: str) -> Iterator[Any]:
    try:
        from mcap.reader import SeekingReader
    except ImportError:
        raise MissingExtraError("mcap", "ros", "reading an MCAP file") from None
    records = None
    while True:
        try:
            if records is None:
                records = getattr(SeekingReader(file, record_size_limit=_LARGEST_CHUNK), kind)()
            record = next(records)
        except StopIteration:
            return
        except Exception as error:  # whatever the library or its decompressors make of damaged bytes
            raise InvalidInputError(f"the recording {str(path)!r} cannot be read: {error}.") from None
        yield record


def _read_sqlite(path: Path) -> Iterator[Sample]:
    with closing(sqlite3.connect(f"file:{path.resolve()}?mode=ro", uri=True)) as database:
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        topics = {
            number: (name, _full_name(kind))
            for number, name, kind, form in database.execute("SELECT id, name, type, serialization_format FROM topics")
            if form == "cdr"
        }
        for number, time, data in database.execute("SELECT topic_id, timestamp, data FROM messages ORDER BY timestamp"):
            if number in topics and isinstance(time, int) and isinstance(data, bytes):
                yield Sample(*topics[number], time, data, decode)


def _full_name(kind: str) -> str:
    parts = kind.split("/")
    return f"{parts[0]}/msg/{parts[1]}" if len(parts) == 2 else kind


# Bags of ROS 1, version 2.0: records of a header (fields name=value) and data; messages are in chunks or on their own.

_MAGIC = b"#ROSBAG V2.0\n"
_MESSAGE, _CHUNK, _CONNECTION = 2, 5, 7


def _read_ros1(path: Path) -> Iterator[Sample]:
    data = path.read_bytes()
    if not data.startswith(_MAGIC):
        raise InvalidInputError(f"{str(path)!r} is no bag of ROS 1 in version 2.0.")
    connections: dict[int, tuple[str, str]] = {}
    for fields, body in _records(data[len(_MAGIC) :]):
        if fields["op"][0] == _CHUNK:
            inner = _unpacked(body, fields.get("compression", b"none"), struct.unpack("<I", fields["size"])[0])
            for chunk_fields, chunk_body in _records(inner):
                yield from _ros1_message(chunk_fields, chunk_body, connections)
        else:
            yield from _ros1_message(fields, body, connections)


def _ros1_message(fields: dict[str, bytes], body: bytes, connections: dict[int, tuple[str, str]]) -> Iterator[Sample]:
    operation = fields["op"][0]
    if operation == _CONNECTION:
        (number,) = struct.unpack("<I", fields["conn"])
        kind = _fields(body).get("type", b"").decode("utf-8", "replace")
        connections[number] = fields["topic"].decode("utf-8", "replace"), _full_name(kind)
    elif operation == _MESSAGE:
        (number,) = struct.unpack("<I", fields["conn"])
        seconds, rest = struct.unpack("<II", fields["time"])
        if number in connections:
            yield Sample(*connections[number], seconds * 1_000_000_000 + rest, body, decode_ros1)


def _records(data: bytes) -> Iterator[tuple[dict[str, bytes], bytes]]:
    at = 0
    while at < len(data):
        head, at = _block(data, at)
        body, at = _block(data, at)
        fields = _fields(head)
        if not fields.get("op"):
            raise InvalidInputError("the bag has a record without its kind.")
        yield fields, body


def _fields(data: bytes) -> dict[str, bytes]:
    fields: dict[str, bytes] = {}
    at = 0
    while at < len(data):
        entry, at = _block(data, at)
        name, _, value = entry.partition(b"=")
        fields[name.decode("latin-1")] = value
    return fields


def _block(data: bytes, at: int) -> tuple[bytes, int]:
    (size,) = struct.unpack_from("<I", data, at)
    if size > len(data) - at - 4:
        raise InvalidInputError(f"the bag is cut short: {size} bytes are promised, {len(data) - at - 4} are there.")
    return data[at + 4 : at + 4 + size], at + 4 + size


def _unpacked(data: bytes, compression: bytes, size: int) -> bytes:
    if size > _LARGEST_CHUNK:
        raise InvalidInputError(f"the bag has a chunk of {size} bytes; {_LARGEST_CHUNK} are read at most.")
    if compression == b"none":
        return data
    if compression == b"bz2":
        return bz2.BZ2Decompressor().decompress(data, max_length=size)
    if compression == b"lz4":
        try:
            import lz4.frame
        except ImportError:
            raise MissingExtraError("lz4", "ros", "a bag compressed by lz4") from None
        try:
            return lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size)
        except RuntimeError as error:
            raise InvalidInputError(f"the bag has a chunk that is no lz4 data: {error}.") from None
    raise InvalidInputError(f"the bag is compressed by {compression.decode('latin-1')!r}; none, bz2 and lz4 are read.")
