"""A node by rclpy, where ROS 2 is installed: any middleware that the installation has.

Messages cross as bytes, so that the classes on both sides stay their own.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from importlib import import_module
from typing import Any

from memetik.errors import MemetikError
from memetik.ros.messages import Message, decode, encode, service_type
from memetik.ros.transports.base import RELIABLE, Dispatcher, Handler, Qos, TransportError


class RclpyTransport:
    """A node of rclpy, spun in a thread of its own."""

    name = "rclpy"

    def __init__(self, node: str, namespace: str = "/", *, domain: int = 0):
        try:
            import rclpy
            from rclpy.executors import MultiThreadedExecutor
            from rclpy.serialization import deserialize_message, serialize_message
        except ImportError as error:
            raise TransportError(
                f"rclpy cannot be imported ({error}); source an installation of ROS 2 for this Python, "
                "or use transport='dds'."
            ) from None
        self._serialize, self._deserialize = serialize_message, deserialize_message
        self._rclpy = rclpy
        self._context = rclpy.Context()
        # As it was typed: names may be remapped, also where a launch file or memetik's own verbs have taken words away.
        rclpy.init(args=sys.orig_argv, context=self._context, domain_id=domain)
        self._own = rclpy.create_node(node, namespace=namespace, context=self._context)
        self.node: str = self._own.get_name()
        self._executor = MultiThreadedExecutor(4, context=self._context)
        self._executor.add_node(self._own)
        self._dispatcher, self._closed = Dispatcher(), False
        self._thread = threading.Thread(target=self._spin, name="memetik rclpy", daemon=True)
        self._thread.start()

    def publisher(self, topic: str, kind: str, qos: Qos = RELIABLE) -> RclpyPublisher:
        return RclpyPublisher(self._own.create_publisher(_class_of(kind), topic, _profile(qos)))

    def subscribe(self, topic: str, kind: str, callback: Callable[[Any], None], qos: Qos = RELIABLE) -> None:
        def deliver(data: bytes) -> None:
            self._dispatcher.message(callback, data, kind)

        self._own.create_subscription(_class_of(kind), topic, deliver, _profile(qos), raw=True)

    def serve(self, name: str, kind: str, handler: Handler) -> None:
        theirs, ours = _class_of(kind), service_type(kind)

        def serve(request: Any, _: Any) -> Any:
            answer = handler(decode(self._serialize(request), ours.Request.TYPE))
            return self._deserialize(encode(answer.result() if isinstance(answer, Future) else answer), theirs.Response)

        from rclpy.callback_groups import ReentrantCallbackGroup

        self._own.create_service(theirs, name, serve, callback_group=ReentrantCallbackGroup())

    def client(self, name: str, kind: str) -> RclpyClient:
        return RclpyClient(self, self._own.create_client(_class_of(kind), name), kind)

    def to_theirs(self, message: Message, kind: type) -> Any:
        return self._deserialize(encode(message), kind)

    def from_theirs(self, message: Any, kind: str) -> Any:
        return decode(self._serialize(message), kind)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._executor.shutdown(timeout_sec=2.0)
        self._rclpy.shutdown(context=self._context)
        self._thread.join(timeout=5.0)
        self._dispatcher.close()

    def __enter__(self) -> RclpyTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _spin(self) -> None:
        while not self._closed:
            try:
                self._executor.spin()
            except Exception:  # at shutdown, by its kind
                return


class RclpyPublisher:
    """A publisher of rclpy."""

    def __init__(self, publisher: Any):
        self._publisher = publisher

    def publish(self, message: Message) -> None:
        self._publisher.publish(encode(message))

    @property
    def subscribers(self) -> int:
        return self._publisher.get_subscription_count()


class RclpyClient:
    """A client of rclpy."""

    def __init__(self, transport: RclpyTransport, client: Any, kind: str):
        self._transport, self._client, self._service = transport, client, service_type(kind)
        self._theirs = _class_of(kind)

    def wait(self, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while not self._client.service_is_ready():
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def call(self, request: Message) -> Future[Any]:
        future: Future[Any] = Future()

        def done(theirs: Any) -> None:
            try:
                future.set_result(self._transport.from_theirs(theirs.result(), self._service.Response.TYPE))
            except MemetikError as error:
                future.set_exception(error)

        asked = self._client.call_async(self._transport.to_theirs(request, self._theirs.Request))
        asked.add_done_callback(done)
        return future


@cache
def _class_of(kind: str) -> Any:
    """rclpy's class of a message or service; those of an action's parts are inside the action's class."""
    package, sort, name = kind.split("/")
    try:
        module = import_module(f"{package}.{sort}")
        if sort != "action":
            return getattr(module, name)
        action, _, part = name.partition("_")
        own = getattr(module, action)
        return getattr(own.Impl, part if part == "FeedbackMessage" else f"{part}Service")
    except (ImportError, AttributeError):
        raise TransportError(f"the installation of ROS has no {kind}; install the package ros-...-{package}.") from None


def _profile(qos: Qos) -> Any:
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    return QoSProfile(
        depth=qos.depth,
        reliability=ReliabilityPolicy.RELIABLE if qos.reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if qos.transient_local else DurabilityPolicy.VOLATILE,
    )
