"""Universal Robots' Real-Time Data Exchange (RTDE), version 2: what a controller says of itself, and its registers.

A package is a header, its whole length (uint16) and its kind (one letter), and a payload; numbers are big-endian. A
client names outputs and inputs once; then the controller sends the outputs at a rate, and takes inputs at any time.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Mapping, Sequence

from memetik.motion.execution.driver import DriverError

PORT = 30004
VERSION = 2
HEADER = struct.Struct(">HB")
REQUEST_VERSION, SETUP_OUTPUTS, SETUP_INPUTS, START, DATA, MESSAGE = (ord(letter) for letter in "VOISUM")
FORMATS = {
    "BOOL": "?", "UINT8": "B", "UINT32": "I", "UINT64": "Q", "INT32": "i", "DOUBLE": "d",
    "VECTOR3D": "3d", "VECTOR6D": "6d", "VECTOR6INT32": "6i", "VECTOR6UINT32": "6I",
}  # fmt: skip
"""How `struct` writes RTDE's types."""

Values = tuple[float, ...]
"""A number, or the numbers of a vector."""


class Recipe:
    """Fields of a data package, in order: their names, and how they are written."""

    def __init__(self, number: int, names: Sequence[str], kinds: Sequence[str]):
        self.number, self.names = number, tuple(names)
        self._counts = [int(FORMATS[kind][:-1] or 1) for kind in kinds]
        self._struct = struct.Struct(">B" + "".join(FORMATS[kind] for kind in kinds))

    def pack(self, values: Mapping[str, Values]) -> bytes:
        """The payload of a data package."""
        return self._struct.pack(self.number, *(number for name in self.names for number in values[name]))

    def unpack(self, payload: bytes) -> dict[str, Values]:
        """The fields of a data package."""
        if len(payload) != self._struct.size:
            raise DriverError(f"a package of RTDE has {len(payload)} bytes instead of {self._struct.size}.")
        numbers, fields, at = self._struct.unpack(payload), {}, 1
        for name, count in zip(self.names, self._counts, strict=True):
            fields[name] = numbers[at : at + count]
            at += count
        return fields


class RtdeConnection:
    """A connection whose outputs and inputs are agreed on.

    frequency  packages a second that the controller sends.
    timeout    seconds after which a controller that says nothing is an error.
    """

    def __init__(
        self,
        host: str,
        outputs: Sequence[str],
        inputs: Sequence[str],
        *,
        port: int = PORT,
        frequency: float = 125.0,
        timeout: float = 2.0,
    ):
        self._where = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout)
        except OSError as error:
            raise DriverError(f"no controller answers by RTDE at {self._where}: {error}.") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        self.message = ""
        """What the controller said last in words."""
        try:
            self._agree(outputs, inputs, frequency)
        except BaseException:
            self.close()
            raise

    def receive(self) -> dict[str, Values]:
        """The outputs of the next data package."""
        return self._outputs.unpack(self._answer(DATA))

    def send(self, values: Mapping[str, Values]) -> None:
        """Set all inputs."""
        self._write(DATA, self._inputs.pack(values))

    def close(self) -> None:
        """End the connection."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _agree(self, outputs: Sequence[str], inputs: Sequence[str], frequency: float) -> None:
        if self._ask(REQUEST_VERSION, struct.pack(">H", VERSION)) != b"\x01":
            raise DriverError(f"the controller at {self._where} does not speak version {VERSION} of RTDE.")
        wanted = struct.pack(">d", frequency) + ",".join(outputs).encode()
        self._outputs = self._recipe(self._ask(SETUP_OUTPUTS, wanted), outputs)
        self._inputs = self._recipe(self._ask(SETUP_INPUTS, ",".join(inputs).encode()), inputs)
        if self._ask(START, b"") != b"\x01":
            raise DriverError(f"the controller at {self._where} does not begin to send its state.")

    def _recipe(self, answer: bytes, names: Sequence[str]) -> Recipe:
        kinds = answer[1:].decode("ascii", "replace").split(",")
        if len(kinds) != len(names):
            raise DriverError(f"the controller names {len(kinds)} types for {len(names)} fields of RTDE.")
        for name, kind in zip(names, kinds, strict=True):
            if kind == "IN_USE":
                raise DriverError(f"{name} is set by another client of the controller, such as a fieldbus; end that.")
            if kind not in FORMATS:
                raise DriverError(f"the controller does not have the field {name} ({kind}); is its software older?")
        return Recipe(answer[0], names, kinds)

    def _ask(self, kind: int, payload: bytes) -> bytes:
        self._write(kind, payload)
        return self._answer(kind)

    def _write(self, kind: int, payload: bytes) -> None:
        try:
            self._socket.sendall(HEADER.pack(HEADER.size + len(payload), kind) + payload)
        except OSError as error:
            raise DriverError(f"the connection to the controller at {self._where} is lost: {error}.") from None

    def _answer(self, kind: int) -> bytes:
        """The payload of the next package of a kind; messages in between are kept."""
        while True:
            size, found = HEADER.unpack(self._read(HEADER.size))
            if size < HEADER.size:
                raise DriverError(f"{self._where} sent a package of {size} bytes: it does not speak RTDE.")
            payload = self._read(size - HEADER.size)
            if found == kind:
                return payload
            if found == MESSAGE and payload:
                self.message = payload[1 : 1 + payload[0]].decode("utf-8", "replace")
            elif found != DATA:
                raise DriverError(f"{self._where} answered {chr(kind)!r} with {chr(found)!r}: it does not speak RTDE.")

    def _read(self, count: int) -> bytes:
        while len(self._received) < count:
            try:
                more = self._socket.recv(4096)
            except TimeoutError:
                raise DriverError(f"the controller at {self._where} says nothing any more.") from None
            except OSError as error:
                raise DriverError(f"the connection to the controller at {self._where} is lost: {error}.") from None
            if not more:
                raise DriverError(f"the controller at {self._where} ended the connection.")
            self._received += more
        data, self._received = self._received[:count], self._received[count:]
        return data
