"""A node over zenoh, in the form of rmw_zenoh: keys carry the type and its hash, attachments the sequence.

Like nodes of rmw_zenoh it connects to a router at tcp/localhost:7447 by default; multicast scouting is off.
"""

from __future__ import annotations

import json
import os
import struct
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from memetik.errors import MemetikError, MissingExtraError
from memetik.ros.messages import Message, decode, encode, service_type
from memetik.ros.messages.type_hash import type_hash
from memetik.ros.transports.base import RELIABLE, Dispatcher, Handler, Qos, TransportError, checked_name
from memetik.ros.transports.dds import dds_type

ROUTER = "tcp/127.0.0.1:7447"
_REPLY_TIMEOUT = 600.0


class ZenohTransport:
    """A session of zenoh that appears as a node of rmw_zenoh."""

    name = "zenoh"

    def __init__(
        self,
        node: str,
        namespace: str = "/",
        *,
        domain: int = 0,
        peers: Iterable[str] = (),
        listen: Iterable[str] = (),
        mode: str = "peer",
    ):
        try:
            import zenoh
        except ImportError:
            raise MissingExtraError("zenoh", "ros", "the transport zenoh") from None
        self._zenoh, self.node, self._namespace, self._domain = zenoh, node, namespace, domain
        config = zenoh.Config()
        settings = {"mode": mode, "connect/endpoints": [*peers] or ([] if [*listen] else [ROUTER]),
                    "listen/endpoints": [*listen] or ["tcp/127.0.0.1:0"], "scouting/multicast/enabled": False,
                    "queries_default_timeout": int(_REPLY_TIMEOUT * 1000)}  # fmt: skip
        for key, value in settings.items():
            config.insert_json5(key, json.dumps(value))
        try:
            self._session = zenoh.open(config)
        except Exception as error:  # the library's own class is not public
            raise TransportError(f"zenoh cannot be joined: {error}.") from None
        self._dispatcher, self._closed = Dispatcher(), False
        self._entities, self._lock = 0, threading.Lock()
        self._kept: list[Any] = [self._token("NN")]

    def publisher(self, topic: str, kind: str, qos: Qos = RELIABLE) -> ZenohPublisher:
        key = self._key(topic, kind)
        made = ZenohPublisher(self._session, key, qos, self._zenoh)
        self._kept += [made, self._token("MP", topic, kind, qos)]
        return made

    def subscribe(self, topic: str, kind: str, callback: Callable[[Any], None], qos: Qos = RELIABLE) -> None:
        key = self._key(topic, kind)
        seen: set[bytes] = set()

        def deliver(sample: Any) -> None:
            self._dispatcher.message(callback, sample.payload.to_bytes(), kind)

        self._kept += [self._session.declare_subscriber(key, deliver), self._token("MS", topic, kind, qos)]
        if qos.transient_local:  # what was published before

            def late(reply: Any) -> None:
                if reply.ok is not None:
                    data = reply.ok.payload.to_bytes()
                    if data not in seen:
                        seen.add(data)
                        self._dispatcher.message(callback, data, kind)

            target = self._zenoh.QueryTarget.ALL
            self._session.get(f"{key}/@adv/**", late, target=target, timeout=2.0)

    def serve(self, name: str, kind: str, handler: Handler) -> None:
        request = service_type(kind).Request.TYPE
        gid = os.urandom(16)

        def deliver(query: Any) -> None:
            payload, attachment = query.payload, query.attachment
            if payload is None or attachment is None:
                return
            sequence = attachment.to_bytes()[:8]
            theirs = attachment.to_bytes()[17:33]

            def answer(response: Message) -> None:
                # The reply carries the request's number and its asker's identity.
                back = sequence + struct.pack("<qB", time.time_ns(), 16) + (theirs or gid)
                query.reply(str(query.key_expr), encode(response), attachment=back)
                query.drop()

            self._dispatcher.request(handler, payload.to_bytes(), request, answer)

        key = self._key(name, kind)
        self._kept += [self._session.declare_queryable(key, deliver, complete=True), self._token("SS", name, kind)]

    def client(self, name: str, kind: str) -> ZenohClient:
        self._kept.append(self._token("SC", name, kind))
        return ZenohClient(self._session, self._zenoh, self._key(name, kind), name, kind)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._session.close()
            self._dispatcher.close()

    def __enter__(self) -> ZenohTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _key(self, name: str, kind: str) -> str:
        return f"{self._domain}/{checked_name(name).strip('/')}/{dds_type(kind)}/{type_hash(kind)}"

    def _token(self, sort: str, name: str = "", kind: str = "", qos: Qos = RELIABLE) -> Any:
        """What tells the graph of the node and of its endpoints."""
        with self._lock:
            number, self._entities = self._entities, self._entities + 1
        own = "%" if self._namespace == "/" else self._namespace.replace("/", "%")
        parts = [
            "@ros2_lv",
            str(self._domain),
            str(self._session.info.zid()),
            "0",
            str(number),
            sort,
            "%",
            own,
            self.node,
        ]
        if name:
            reliable, kept = "" if qos.reliable else "2", "1" if qos.transient_local else ""
            parts += [name.replace("/", "%"), dds_type(kind), type_hash(kind), f"{reliable}:{kept}:,{qos.depth}:,:,:,,"]
        return self._session.liveliness().declare_token("/".join(parts))


class ZenohPublisher:
    """A publisher; one of a latched topic answers late subscribers with its last message."""

    def __init__(self, session: Any, key: str, qos: Qos, zenoh: Any):
        self._publisher, self._gid, self._sequence = session.declare_publisher(key), os.urandom(16), 0
        self._last: bytes | None = None
        self._lock = threading.Lock()
        self._cache = None
        if qos.transient_local:

            def deliver(query: Any) -> None:
                if self._last is not None:
                    query.reply(key, self._last)
                query.drop()

            self._cache = session.declare_queryable(f"{key}/@adv/pub/{session.info.zid()}/{self._gid.hex()}", deliver)

    def publish(self, message: Message) -> None:
        with self._lock:
            self._sequence += 1
            attachment = struct.pack("<qqB", self._sequence, time.time_ns(), 16) + self._gid
            self._last = encode(message)
            self._publisher.put(self._last, attachment=attachment)

    @property
    def subscribers(self) -> int:
        return 1 if self._publisher.matching_status.matching else 0


class ZenohClient:
    """A client of a service."""

    def __init__(self, session: Any, zenoh: Any, key: str, name: str, kind: str):
        self._session, self._zenoh, self._key, self._name = session, zenoh, key, name
        self._service, self._gid, self._sequence = service_type(kind), os.urandom(16), 0
        self._lock = threading.Lock()

    def wait(self, timeout: float) -> bool:
        """Whether a node says that it serves this."""
        end = time.monotonic() + timeout
        wanted = f"@ros2_lv/*/*/*/*/SS/*/*/*/{self._name.replace('/', '%')}/**"
        while True:
            for reply in self._session.liveliness().get(wanted, timeout=1.0):
                if reply.ok is not None:
                    return True
            if time.monotonic() > end:
                return False
            time.sleep(0.05)

    def call(self, request: Message) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            self._sequence += 1
            attachment = struct.pack("<qqB", self._sequence, time.time_ns(), 16) + self._gid

        def deliver(reply: Any) -> None:
            if future.done():
                return
            try:
                if reply.ok is None:
                    raise TransportError(f"the service {self._name!r} failed.")
                future.set_result(decode(reply.ok.payload.to_bytes(), self._service.Response.TYPE))
            except MemetikError as error:
                future.set_exception(error)

        self._session.get(
            self._key, deliver, payload=encode(request), attachment=attachment,
            target=self._zenoh.QueryTarget.ALL_COMPLETE, consolidation=self._zenoh.ConsolidationMode.NONE,
        )  # fmt: skip
        return future
