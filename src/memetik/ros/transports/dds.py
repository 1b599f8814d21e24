"""A node on DDS, by memetik's own participant: topics and services as rmw_fastrtps has them (ROS 2's default).

Clients of rmw_cyclonedds put the identity of a request into its payload instead; they are told apart by the vendor of
their participant and answered in their form.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from memetik.ros.messages import Message, decode, encode, message_class, service_type
from memetik.ros.messages.cdr import HEADER
from memetik.ros.messages.type_hash import type_hash
from memetik.ros.rtps import wire
from memetik.ros.rtps.discovery import RELATED_SAMPLE, RELATED_SAMPLE_FAST_DDS
from memetik.ros.rtps.participant import Participant
from memetik.ros.rtps.reader import Reader, Received
from memetik.ros.rtps.wire import SampleIdentity
from memetik.ros.rtps.writer import Writer
from memetik.ros.transports.base import RELIABLE, Dispatcher, Handler, Qos, TransportError, checked_name

SERVICE_QOS = Qos(depth=1000)
_DISCOVERY_TOPIC, _DISCOVERY_TYPE = "ros_discovery_info", "rmw_dds_common/msg/ParticipantEntitiesInfo"
_CYCLONE_HEADER = 16  # bytes of client and number before the body
_REPLY_READER = 2.0  # seconds until the reader of a client's replies has to be known
_VENDORS = (wire.VENDOR, wire.FAST_DDS, wire.CYCLONE_DDS)

logger = logging.getLogger(__name__)


class DdsTransport:
    """A node on DDS. Loopback only, unless interfaces are named (by name or address)."""

    name = "dds"

    def __init__(
        self,
        node: str,
        namespace: str = "/",
        *,
        domain: int = 0,
        interfaces: Iterable[str] = (),
        peers: Iterable[str] = (),
    ):
        self.node, self._namespace = node, namespace
        self.participant = Participant(domain, name=namespace, interfaces=interfaces, peers=peers)
        self._dispatcher, self._closed = Dispatcher(), False
        self._lock = threading.Lock()
        self._graph = self.participant.writer(
            _DISCOVERY_TOPIC, dds_type(_DISCOVERY_TYPE), Qos(transient_local=True, depth=1)
        )
        self._own: list[Writer | Reader] = []
        self._strangers: set[bytes] = set()
        self._tell()

    def publisher(self, topic: str, kind: str, qos: Qos = RELIABLE) -> DdsPublisher:
        writer = self.participant.writer("rt" + checked_name(topic), dds_type(kind), qos, _hash_of(kind))
        self._add(writer)
        return DdsPublisher(self.participant, writer)

    def subscribe(self, topic: str, kind: str, callback: Callable[[Any], None], qos: Qos = RELIABLE) -> None:
        def deliver(sample: Received) -> None:
            if sample.payload is not None and not sample.key:
                self._dispatcher.message(callback, sample.payload, kind)

        reader = self.participant.reader("rt" + checked_name(topic), dds_type(kind), qos, deliver, _hash_of(kind))
        self._add(reader)

    def serve(self, name: str, kind: str, handler: Handler) -> None:
        service = service_type(kind)
        request, reply = _topics(name)
        writer = self.participant.writer(reply, dds_type(service.Response.TYPE), SERVICE_QOS, _hash_of(kind))

        def deliver(sample: Received) -> None:
            if sample.payload is None:
                return
            vendor = sample.identity.guid.prefix[:2]
            if vendor not in _VENDORS and vendor not in self._strangers:
                self._strangers.add(vendor)
                logger.warning(
                    "%s is asked by a client of DDS vendor %s, which may not take the reply.", name, vendor.hex(".")
                )
            if vendor == wire.CYCLONE_DDS:
                self._serve_cyclone(sample, writer, handler, service.Request.TYPE)
                return
            asker = sample.identity.guid if sample.related is None else sample.related.guid
            inline = related(SampleIdentity(asker, sample.identity.number))
            only = frozenset([asker]) if sample.related is not None else None

            def answer(response: Message) -> None:
                self.participant.write(writer, encode(response), inline, only)

            self._dispatcher.request(handler, sample.payload, service.Request.TYPE, answer)

        reader = self.participant.reader(request, dds_type(service.Request.TYPE), SERVICE_QOS, deliver, _hash_of(kind))
        self._add(writer, reader)

    def _serve_cyclone(self, sample: Received, writer: Writer, handler: Handler, kind: str) -> None:
        payload, prefix = sample.payload or b"", sample.identity.guid.prefix
        identity = payload[4 : 4 + _CYCLONE_HEADER]

        def answer(response: Message) -> None:
            end = time.monotonic() + _REPLY_READER
            # Its request may overtake the announcement of the reader for the reply.
            while not (only := frozenset(guid for guid in [*writer.readers] if guid.prefix == prefix)):
                if time.monotonic() > end:
                    logger.warning("a client of Cyclone DDS has no reader for replies of %s.", writer.info.topic)
                    return
                time.sleep(0.01)
            self.participant.write(writer, HEADER + identity + encode(response)[4:], b"", only)

        self._dispatcher.request(handler, payload[:4] + payload[4 + _CYCLONE_HEADER :], kind, answer)

    def client(self, name: str, kind: str) -> DdsClient:
        made = DdsClient(self.participant, self._dispatcher, name, kind)
        self._add(made.writer, made.reader)
        return made

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.participant.close()
            self._dispatcher.close()

    def __enter__(self) -> DdsTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _add(self, *endpoints: Writer | Reader) -> None:
        with self._lock:
            self._own += endpoints
            self._tell()

    def _tell(self) -> None:
        """Tell the graph which endpoints are this node's."""
        gid = message_class("rmw_dds_common/msg/Gid")
        message = message_class(_DISCOVERY_TYPE)(gid=gid(data=self.participant.prefix + b"\0\0\1\xc1"))
        node = message_class("rmw_dds_common/msg/NodeEntitiesInfo")(node_namespace=self._namespace, node_name=self.node)
        node.reader_gid_seq = [gid(data=each.info.guid.whole) for each in self._own if isinstance(each, Reader)]
        node.writer_gid_seq = [gid(data=each.info.guid.whole) for each in self._own if isinstance(each, Writer)]
        message.node_entities_info_seq = [node]
        self.participant.write(self._graph, encode(message))


class DdsPublisher:
    """A publisher of a topic."""

    def __init__(self, participant: Participant, writer: Writer):
        self._participant, self._writer = participant, writer

    def publish(self, message: Message) -> None:
        self._participant.write(self._writer, encode(message))

    @property
    def subscribers(self) -> int:
        return len(self._writer.readers)


class DdsClient:
    """A client of a service, in the form of rmw_fastrtps."""

    def __init__(self, participant: Participant, dispatcher: Dispatcher, name: str, kind: str):
        self._participant, self._dispatcher = participant, dispatcher
        self._name, self._service = name, service_type(kind)
        request, reply = _topics(name)
        self._waiting: dict[int, Future[Any]] = {}
        self.reader = participant.reader(
            reply, dds_type(self._service.Response.TYPE), SERVICE_QOS, self._deliver, _hash_of(kind)
        )
        self.writer = participant.writer(request, dds_type(self._service.Request.TYPE), SERVICE_QOS, _hash_of(kind))

    def wait(self, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while not self._both_known():
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def call(self, request: Message) -> Future[Any]:
        if not self.writer.readers:
            raise TransportError(f"the service {self._name!r} is not there.")
        inline = related(SampleIdentity(self.reader.info.guid, -(1 << 32)))
        future: Future[Any] = Future()
        with self._participant.lock:  # no reply is delivered before its number is known
            self._waiting[self._participant.write(self.writer, encode(request), inline)] = future
        return future

    def _both_known(self) -> bool:
        servers = {guid.prefix for guid in self.writer.readers}
        return any(guid.prefix in servers for guid in self.reader.writers)

    def _deliver(self, sample: Received) -> None:
        own = (self.reader.info.guid, self.writer.info.guid)
        if sample.related is None or sample.related.guid not in own or sample.payload is None:
            return
        future, payload = self._waiting.pop(sample.related.number, None), sample.payload
        if future is not None:
            self._dispatcher.later(lambda: self._finish(future, payload))

    def _finish(self, future: Future[Any], payload: bytes) -> None:
        try:
            future.set_result(decode(payload, self._service.Response.TYPE))
        except Exception as error:
            future.set_exception(error)


def related(identity: SampleIdentity) -> bytes:
    """Inline parameters that say which sample is answered, or by which reader the answer is awaited."""
    value = identity.guid.whole + wire.sequence_number(identity.number)
    return wire.parameters([(RELATED_SAMPLE, value), (RELATED_SAMPLE_FAST_DDS, value)])


def dds_type(kind: str) -> str:
    """The name of a type on DDS."""
    package, sort, name = kind.split("/")
    return f"{package}::{sort}::dds_::{name}_"


def _topics(name: str) -> tuple[str, str]:
    return f"rq{checked_name(name)}Request", f"rr{name}Reply"


def _hash_of(kind: str) -> bytes:
    return f"typehash={type_hash(kind)};".encode()
