"""What a node needs of a transport: publish, subscribe, serve, call. Actions are made of these."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, Protocol

from memetik.errors import InvalidInputError, MemetikError
from memetik.ros.messages import CodecError, Message, decode
from memetik.ros.rtps.discovery import Qos as Qos

logger = logging.getLogger(__name__)

RELIABLE = Qos()
LATCHED = Qos(transient_local=True, depth=1)
SENSOR = Qos(reliable=False, depth=5)
STREAM = Qos(depth=200)

MOST_MESSAGES, MOST_REQUESTS = 10_000, 1000
"""That wait to be handled; further ones are dropped, so that memory is bounded."""

Handler = Callable[[Any], "Message | Future[Message]"]
"""What answers a request: it is given the request and returns the response, or what will become it."""


class TransportError(MemetikError):
    """A transport is not there, or a peer does not answer."""


class RosPublisher(Protocol):
    def publish(self, message: Message) -> None:
        """Send a message to all subscribers."""

    @property
    def subscribers(self) -> int:
        """How many listen."""
        ...


class RosClient(Protocol):
    def call(self, request: Message) -> Future[Any]:
        """Ask a service; the future is its response."""
        ...

    def wait(self, timeout: float) -> bool:
        """Whether the service is there, within `timeout` seconds."""
        ...


class RosTransport(AbstractContextManager["RosTransport"], Protocol):
    """A node in the graph. Names of topics and services are absolute, types in full ("sensor_msgs/msg/JointState")."""

    name: str
    node: str

    def publisher(self, topic: str, kind: str, qos: Qos = RELIABLE) -> RosPublisher: ...

    def subscribe(self, topic: str, kind: str, callback: Callable[[Any], None], qos: Qos = RELIABLE) -> None: ...

    def serve(self, name: str, kind: str, handler: Handler) -> None: ...

    def client(self, name: str, kind: str) -> RosClient: ...

    def close(self) -> None: ...


class Dispatcher:
    """Carries what arrives from a transport's own thread to callbacks: messages in their order in one thread, requests
    in a few others. What callbacks raise is logged and never ends the transport."""

    def __init__(self, workers: int = 4):
        self._room = threading.Semaphore(MOST_REQUESTS)
        self._queue: queue.Queue[tuple[Callable[[Any], None], bytes, str] | None] = queue.Queue(maxsize=MOST_MESSAGES)
        self._pool = ThreadPoolExecutor(workers, "memetik service")
        self._thread = threading.Thread(target=self._run, name="memetik messages", daemon=True)
        self._thread.start()
        self.dropped = 0
        """Messages that were no messages, or for which there was no room."""

    def message(self, callback: Callable[[Any], None], data: bytes, kind: str) -> None:
        """A message for a callback."""
        try:
            self._queue.put_nowait((callback, data, kind))
        except queue.Full:
            self._drop(f"a {kind} was dropped: {MOST_MESSAGES} messages wait already.")

    def request(self, handler: Handler, data: bytes, kind: str, answer: Callable[[Message], None]) -> None:
        """A request for a handler, whose response goes to `answer`."""
        if self._room.acquire(blocking=False):
            self._pool.submit(self._respond, handler, data, kind, answer)
        else:
            self._drop(f"a {kind} was dropped: {MOST_REQUESTS} requests wait already.")

    def later(self, call: Callable[[], None]) -> None:
        """Something that must not keep the receiving thread."""
        self._pool.submit(call)

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join(timeout=5.0)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            callback, data, kind = item
            try:
                callback(decode(data, kind))
            except MemetikError as error:
                self._drop(f"a {kind} was dropped: {error}")
            except Exception:
                logger.exception("a callback for %s failed", kind)

    def _respond(self, handler: Handler, data: bytes, kind: str, answer: Callable[[Message], None]) -> None:
        try:
            response = handler(decode(data, kind))
            if isinstance(response, Future):
                response.add_done_callback(lambda done: self._pool.submit(answer, done.result()))
            else:
                answer(response)
        except CodecError as error:
            self._drop(f"a {kind} was dropped: {error}")
        except Exception:
            logger.exception("a service failed at a %s", kind)
        finally:
            self._room.release()

    def _drop(self, text: str) -> None:
        self.dropped += 1
        logger.warning("%s", text)


def checked_name(name: str) -> str:
    """An absolute name of the graph."""
    parts = name.split("/")
    if not name.startswith("/") or any(not part.replace("_", "").isalnum() or part[0].isdigit() for part in parts[1:]):
        raise InvalidInputError(f"a name of the graph is like /arm/joint_states, not {name!r}.")
    return name
