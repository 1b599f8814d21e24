"""What both ends of a connection to a driver share: the form of messages, bounded reading, and whose turn it is."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from memetik.errors import InvalidInputError
from memetik.files.schema import Table, Value, parse_table
from memetik.motion.execution.driver import DriverError

SCHEMA = "memetik.driver/2"
MAX_BYTES = 8_000_000
FIRST_BYTES = 4_096
"""Bytes that the first line of a connection may have: there is a token in it, and no trajectory."""
LONGEST_WAIT = 0.1
"""Seconds that one "wait" may last: a stop is served between two of them."""
STOP_SECONDS = 0.5
"""Seconds after which a stop no longer waits for a call of the driver that does not return."""
COMMANDS = ("hello", "send", "state", "stop", "wait")


def encoded(content: Mapping[str, Value]) -> bytes:
    """A message as a line."""
    try:
        data = json.dumps({"schema": SCHEMA, **content}, allow_nan=False).encode() + b"\n"
    except ValueError:
        raise DriverError("a message holds a number that is not finite.") from None
    if len(data) > MAX_BYTES:
        raise DriverError(f"a message of {len(data)} bytes is longer than the {MAX_BYTES} that are allowed.")
    return data


def decoded(line: bytes) -> Table:
    """The message in a line."""
    if not line:
        raise DriverError("the connection was closed.")
    if not line.endswith(b"\n"):
        raise DriverError(f"a message is longer than {MAX_BYTES} bytes or was cut short.")
    what = f"a message of schema {SCHEMA}"
    return parse_table(line, "json", what, error=DriverError, located=False).schema(SCHEMA)


def checked_token(token: str) -> str:
    """A token that can stand in an address."""
    if not 8 <= len(token) <= 256 or not all(
        letter.isascii() and (letter.isalnum() or letter in "-_.~") for letter in token
    ):
        raise InvalidInputError("a token has 8 to 256 letters and digits; '-', '_', '.' and '~' may be among them.")
    return token


class LineReader:
    """Reads lines off a socket. Neither a line without end nor one that comes letter by letter holds it up for long."""

    def __init__(self, connection: socket.socket):
        self._connection, self._rest = connection, bytearray()

    def line(self, most: int, seconds: float) -> bytes:
        """The next line, with its end. Without one: `most` bytes have come, or the other side ended the connection.

        Raises TimeoutError where the whole line is not there after so many seconds.
        """
        deadline, searched = time.monotonic() + seconds, 0
        while (end := self._rest.find(b"\n", searched)) < 0 and len(self._rest) < most:
            searched = len(self._rest)
            left = deadline - time.monotonic()
            if left <= 0.0:
                raise TimeoutError
            self._connection.settimeout(left)
            data = self._connection.recv(65_536)
            if not data:
                break
            self._rest += data
        count = min(most, len(self._rest) if end < 0 else end + 1)
        line = bytes(self._rest[:count])
        del self._rest[:count]
        return line


class Turns:
    """A lock under which the urgent goes first: Python's own lets one thread take it again and again."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._taken, self._urgent = False, 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits until nobody else has the turn and nothing urgent waits."""
        with self._condition:
            self._condition.wait_for(lambda: not self._taken and not self._urgent)
            self._taken = True
        try:
            yield
        finally:
            self._give_back()

    @contextmanager
    def urgent_turn(self, seconds: float) -> Iterator[bool]:
        """Waits so long at most, ahead of all others. Whether the turn came; where not, the block runs all the same."""
        with self._condition:
            self._urgent += 1
            try:
                came = self._condition.wait_for(lambda: not self._taken, seconds)
                self._taken = self._taken or came
            finally:
                self._urgent -= 1
                self._condition.notify_all()
        try:
            yield came
        finally:
            if came:
                self._give_back()

    def _give_back(self) -> None:
        with self._condition:
            self._taken = False
            self._condition.notify_all()
