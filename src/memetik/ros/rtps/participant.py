"""A participant: sockets, one thread that receives, discovery of others, writers and readers.

By default it stays on the loopback interface: it listens on 127.0.0.1 only and sends there only, and finds others by
asking the ports that participants of the domain have. With interfaces named it uses these, and multicast on them.
"""

from __future__ import annotations

import logging
import os
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from memetik.errors import InvalidInputError
from memetik.ros.rtps import discovery, wire
from memetik.ros.rtps.discovery import Address, EndpointInfo, ParticipantInfo, Qos
from memetik.ros.rtps.reader import Deliver, Reader, Received
from memetik.ros.rtps.wire import AckNack, Data, Gap, Guid, Heartbeat, NackFrag, WireError
from memetik.ros.rtps.writer import Audience, Writer

logger = logging.getLogger(__name__)

LEASE = 20.0
"""Seconds after which others take this participant for dead when they hear nothing."""
ANNOUNCE_PERIOD, FIRST_PERIOD, FIRST_ANNOUNCEMENTS = 3.0, 0.2, 10
MOST_PARTICIPANTS, MOST_ENDPOINTS = 256, 4096
LARGEST_DOMAIN = 232
_TRIED = 32  # participants of a machine that are asked one by one
_LOOPBACK = "127.0.0.1"
_DISCOVERY_QOS = Qos(reliable=True, transient_local=True, depth=1_000_000)


class Participant:
    """One participant of a DDS domain."""

    def __init__(
        self,
        domain: int = 0,
        *,
        name: str = "memetik",
        interfaces: Iterable[str] = (),
        peers: Iterable[str] = (),
        user_data: bytes = b"enclave=/;",
    ):
        if not 0 <= domain <= LARGEST_DOMAIN:
            raise InvalidInputError(f"a domain is from 0 to {LARGEST_DOMAIN}, not {domain!r}.")
        self.domain, self.prefix = domain, wire.VENDOR + os.urandom(10)
        self._own = [_address_of(each) for each in interfaces] or [_LOOPBACK]
        self.loopback_only = self._own == [_LOOPBACK]
        self._peers = [socket.gethostbyname(peer) for peer in peers]
        self.fragment_size = 60_000 if self.loopback_only else 1_400
        self.lock = threading.RLock()
        """Held while a packet is taken in, a sample is sent, or an endpoint comes or goes."""
        self._open_sockets()
        meta, default = ([(ip, sock.getsockname()[1]) for ip in self._own] for sock in (self._meta, self._data))
        self.info = ParticipantInfo(
            self.prefix, wire.VENDOR, LEASE, discovery.BUILTIN_SET, tuple(meta), tuple(default), user_data, name
        )
        self.participants: dict[bytes, ParticipantInfo] = {}
        self._heard: dict[bytes, float] = {}
        self.remote_writers: dict[Guid, EndpointInfo] = {}
        self.remote_readers: dict[Guid, EndpointInfo] = {}
        self.writers: dict[bytes, Writer] = {}
        self.readers: dict[bytes, Reader] = {}
        self._listening: dict[Guid, list[Reader]] = {}
        self.dropped = 0
        """Packets that were no RTPS."""
        self._next_entity = 0
        self._announcements, self._next_announcement = 0, 0.0
        self._make_builtin()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memetik rtps", daemon=True)
        self._thread.start()

    # endpoints

    def writer(self, topic: str, kind: str, qos: Qos, user_data: bytes = b"") -> Writer:
        """A writer of a topic; others are told of it."""
        with self.lock:
            info = EndpointInfo(Guid(self.prefix, self._entity(0x03)), topic, kind, qos, (), user_data)
            made = self.writers[info.guid.entity] = Writer(self, info)
            self.writers[discovery.PUBLICATIONS_WRITER].write(discovery.encode_endpoint(info))
            for remote in self.remote_readers.values():
                self._match_writer(made, remote)
            return made

    def reader(self, topic: str, kind: str, qos: Qos, deliver: Deliver, user_data: bytes = b"") -> Reader:
        """A reader of a topic; others are told of it. `deliver` is called in the receiving thread and must be quick."""
        with self.lock:
            info = EndpointInfo(Guid(self.prefix, self._entity(0x04)), topic, kind, qos, (), user_data)
            made = self.readers[info.guid.entity] = Reader(self, info, deliver)
            self.writers[discovery.SUBSCRIPTIONS_WRITER].write(discovery.encode_endpoint(info))
            for remote in self.remote_writers.values():
                self._match_reader(made, remote)
            return made

    def write(self, writer: Writer, payload: bytes, inline: bytes = b"", only: Audience = None) -> int:
        """Send a sample, to some readers or to all; returns its number."""
        with self.lock:
            return writer.write(payload, inline, only)

    def remove(self, endpoint: Writer | Reader) -> None:
        """Take an endpoint back."""
        with self.lock:
            guid = endpoint.info.guid
            payload, inline = discovery.encode_removed(guid)
            if isinstance(endpoint, Writer):
                self.writers.pop(guid.entity, None)
                self.writers[discovery.PUBLICATIONS_WRITER].write(payload, inline, key=True)
            else:
                self.readers.pop(guid.entity, None)
                self.writers[discovery.SUBSCRIPTIONS_WRITER].write(payload, inline, key=True)
                for readers in self._listening.values():
                    if endpoint in readers:
                        readers.remove(endpoint)

    def close(self) -> None:
        """Say goodbye and end."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._thread.join(timeout=5.0)  # nothing is announced after the goodbye
        payload, inline = discovery.encode_removed(Guid(self.prefix, discovery.PARTICIPANT))
        part = wire.data(wire.UNKNOWN_ENTITY, discovery.SPDP_WRITER, 2, payload, inline, key=True)
        with self.lock:
            for info in self.participants.values():
                self.send(part, wire.NO_PREFIX, info.meta)
        for sock in {self._meta, self._data, *self._extra}:
            sock.close()

    # sending

    def send(self, submessages: bytes, prefix: bytes, addresses: Sequence[Address]) -> None:
        """A packet to the participant `prefix`, to every address."""
        packet = wire.header(self.prefix) + wire.info_dst(prefix) + wire.info_ts(time.time_ns()) + submessages
        for address in addresses:
            try:
                self._data.sendto(packet, address)
            except OSError as error:  # an address that cannot be reached must not end the others
                logger.debug("cannot send to %s:%d: %s", *address, error)

    def _announce(self, addresses: Sequence[Address]) -> None:
        payload = discovery.encode_participant(self.info, self.domain, not self.loopback_only)
        part = wire.data(wire.UNKNOWN_ENTITY, discovery.SPDP_WRITER, 1, payload)
        self.send(part, wire.NO_PREFIX, addresses)

    def _announce_to_all(self) -> None:
        hosts = [_LOOPBACK, *self._peers] if self.loopback_only else self._peers
        asked = [(host, discovery.ports(self.domain, k)[0]) for host in hosts for k in range(_TRIED)]
        known = [address for info in self.participants.values() for address in info.meta]
        self._announce([*dict.fromkeys([*known, *asked])])
        if not self.loopback_only:
            target = (discovery.MULTICAST_GROUP, discovery.multicast_port(self.domain))
            for ip in self._own:
                self._data.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(ip))
                self._announce([target])

    # receiving

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            for sock in {self._meta, self._data, *self._extra}:
                selector.register(sock, selectors.EVENT_READ)
            while not self._closing.is_set():
                for key, _ in selector.select(0.05):
                    self._drain(key.fileobj)  # pyright: ignore[reportArgumentType]
                with self.lock:
                    self._tick(time.monotonic())

    def _drain(self, sock: socket.socket) -> None:
        for _ in range(200):
            try:
                packet = sock.recv(65536)
            except OSError:  # nothing is there any more
                return
            try:
                with self.lock:
                    self._receive(packet)
            except (WireError, struct.error) as error:
                self.dropped += 1
                logger.debug("a packet was dropped: %s", error)
            except Exception:  # whatever a callback makes of a sample, the thread goes on
                self.dropped += 1
                logger.exception("a packet could not be taken in")

    def _receive(self, packet: bytes) -> None:
        prefix, _ = wire.read_packet(packet)
        if prefix == self.prefix:
            return
        if prefix in self._heard:
            self._heard[prefix] = time.monotonic()
        for message in wire.read_submessages(packet, self.prefix):
            if isinstance(message, Data):
                if message.writer == discovery.SPDP_WRITER:
                    self._meet(prefix, message)
                else:
                    for reader in self._listeners(prefix, message):
                        reader.receive(prefix, message)
            elif isinstance(message, Heartbeat):
                for reader in self._listeners(prefix, message):
                    reader.heartbeat(prefix, message)
            elif isinstance(message, Gap):
                for reader in self._listeners(prefix, message):
                    reader.gap(prefix, message)
            else:
                writer = self.writers.get(message.writer)
                if writer is not None and isinstance(message, AckNack):
                    writer.acknowledge(prefix, message)
                elif writer is not None and isinstance(message, NackFrag):
                    writer.resend_fragments(prefix, message)

    def _listeners(self, prefix: bytes, message: Data | Heartbeat | Gap) -> list[Reader]:
        """The readers that a message of a writer is for: one, or all that listen to it."""
        if message.reader != wire.UNKNOWN_ENTITY:
            own = self.readers.get(message.reader)
            return [] if own is None else [own]
        return list(self._listening.get(Guid(prefix, message.writer), ()))

    def _tick(self, now: float) -> None:
        for writer in self.writers.values():
            writer.tick(now)
        if now >= self._next_announcement:
            self._announcements += 1
            first = self._announcements < FIRST_ANNOUNCEMENTS
            self._next_announcement = now + (FIRST_PERIOD if first else ANNOUNCE_PERIOD)
            self._announce_to_all()
            for prefix, heard in list(self._heard.items()):
                if now - heard > self.participants[prefix].lease:
                    logger.info("participant %s has not been heard for its lease", prefix.hex())
                    self._lose(prefix)

    # discovery

    def _meet(self, prefix: bytes, message: Data) -> None:
        if discovery.is_removal(message.inline):
            self._lose(prefix)
            return
        if message.payload is None:
            return
        info = discovery.decode_participant(message.payload)
        if info.prefix != prefix or (prefix not in self.participants and len(self.participants) >= MOST_PARTICIPANTS):
            return
        reached = ParticipantInfo(
            info.prefix, info.vendor, max(info.lease, 1.0), info.builtin, self._reachable(info.meta),
            self._reachable(info.default), info.user_data, info.name,
        )  # fmt: skip
        known = prefix in self.participants
        self.participants[prefix], self._heard[prefix] = reached, time.monotonic()
        for pair in _BUILTIN_PAIRS:
            for local, remote, kind in pair:
                guid = Guid(prefix, remote)
                endpoint = EndpointInfo(guid, kind, kind, _DISCOVERY_QOS)
                if local in self.writers:
                    self.writers[local].match(endpoint, reached.meta)
                else:
                    self._listen(self.readers[local], endpoint, reached.meta)
        if not known:
            self._announce(reached.meta)

    def _lose(self, prefix: bytes) -> None:
        self.participants.pop(prefix, None)
        self._heard.pop(prefix, None)
        for table in (self.remote_writers, self.remote_readers):
            for guid in [guid for guid in table if guid.prefix == prefix]:
                del table[guid]
        for writer in self.writers.values():
            for guid in [guid for guid in writer.readers if guid.prefix == prefix]:
                writer.unmatch(guid)
        for guid in [guid for guid in self._listening if guid.prefix == prefix]:
            for reader in self._listening.pop(guid):
                reader.unmatch(guid)

    def _reachable(self, addresses: Sequence[Address]) -> tuple[Address, ...]:
        if not self.loopback_only:
            return tuple(addresses)
        return tuple(dict.fromkeys((_LOOPBACK, port) for _, port in addresses))

    def _on_publication(self, sample: Received) -> None:
        self._on_endpoint(sample, self.remote_writers)

    def _on_subscription(self, sample: Received) -> None:
        self._on_endpoint(sample, self.remote_readers)

    def _on_endpoint(self, sample: Received, table: dict[Guid, EndpointInfo]) -> None:
        try:
            if discovery.is_removal(sample.inline):
                self._forget_endpoint(discovery.decode_key(sample.payload, sample.inline))
                return
            if sample.payload is None:
                return
            info = discovery.decode_endpoint(sample.payload)
        except (WireError, struct.error) as error:
            logger.debug("an endpoint's announcement was dropped: %s", error)
            return
        if info.guid.prefix != sample.identity.guid.prefix or len(table) >= MOST_ENDPOINTS:
            return
        table[info.guid] = info
        if table is self.remote_readers:
            for writer in self.writers.values():
                self._match_writer(writer, info)
        else:
            for reader in self.readers.values():
                self._match_reader(reader, info)

    def _forget_endpoint(self, guid: Guid | None) -> None:
        if guid is None:
            return
        self.remote_readers.pop(guid, None)
        self.remote_writers.pop(guid, None)
        for writer in self.writers.values():
            writer.unmatch(guid)
        for reader in self._listening.pop(guid, ()):
            reader.unmatch(guid)

    def _match_writer(self, writer: Writer, remote: EndpointInfo) -> None:
        if discovery.fits(writer.info, remote):
            writer.match(remote, self._addresses(remote))

    def _match_reader(self, reader: Reader, remote: EndpointInfo) -> None:
        if discovery.fits(remote, reader.info):
            self._listen(reader, remote, self._addresses(remote))

    def _listen(self, reader: Reader, remote: EndpointInfo, addresses: Sequence[Address]) -> None:
        readers = self._listening.setdefault(remote.guid, [])
        if reader not in readers:
            readers.append(reader)
        reader.match(remote, addresses)

    def _addresses(self, remote: EndpointInfo) -> tuple[Address, ...]:
        own = self.participants.get(remote.guid.prefix)
        return self._reachable(remote.locators) or (() if own is None else own.default)

    def _make_builtin(self) -> None:
        for entity in (discovery.PUBLICATIONS_WRITER, discovery.SUBSCRIPTIONS_WRITER):
            self.writers[entity] = Writer(self, EndpointInfo(Guid(self.prefix, entity), "", "", _DISCOVERY_QOS))
        handlers: dict[bytes, Callable[[Received], None]] = {
            discovery.PUBLICATIONS_READER: self._on_publication,
            discovery.SUBSCRIPTIONS_READER: self._on_subscription,
        }
        for entity, handler in handlers.items():
            info = EndpointInfo(Guid(self.prefix, entity), "", "", _DISCOVERY_QOS)
            self.readers[entity] = Reader(self, info, handler)

    def _entity(self, kind: int) -> bytes:
        self._next_entity += 1
        return self._next_entity.to_bytes(3, "big") + bytes([kind])

    # sockets

    def _open_sockets(self) -> None:
        where = _LOOPBACK if self.loopback_only else "0.0.0.0"
        for number in range(120):
            meta, data = discovery.ports(self.domain, number)
            first = _bound(where, meta)
            if first is None:
                continue
            second = _bound(where, data)
            if second is not None:
                self._meta, self._data = first, second
                break
            first.close()
        else:
            raise InvalidInputError(f"no port of domain {self.domain} is free on {where}.")
        self._extra: list[socket.socket] = []
        if not self.loopback_only:
            group = _bound("", discovery.multicast_port(self.domain), share=True)
            if group is not None:
                for ip in self._own:
                    member = socket.inet_aton(discovery.MULTICAST_GROUP) + socket.inet_aton(ip)
                    group.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
                self._extra.append(group)


_PUBLICATIONS, _SUBSCRIPTIONS = "publications", "subscriptions"
_BUILTIN_PAIRS = (
    (
        (discovery.PUBLICATIONS_WRITER, discovery.PUBLICATIONS_READER, _PUBLICATIONS),
        (discovery.PUBLICATIONS_READER, discovery.PUBLICATIONS_WRITER, _PUBLICATIONS),
    ),
    (
        (discovery.SUBSCRIPTIONS_WRITER, discovery.SUBSCRIPTIONS_READER, _SUBSCRIPTIONS),
        (discovery.SUBSCRIPTIONS_READER, discovery.SUBSCRIPTIONS_WRITER, _SUBSCRIPTIONS),
    ),
)


def _bound(where: str, port: int, *, share: bool = False) -> socket.socket | None:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        if share:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if hasattr(socket, "SO_REUSEPORT"):
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_000_000)
        made.bind((where, port))
        made.setblocking(False)
    except OSError:
        made.close()
        return None
    return made


def _address_of(interface: str) -> str:
    """The IPv4 address of an interface, by its name or given as it is."""
    if interface in ("lo", "loopback", "localhost"):
        return _LOOPBACK
    try:
        return socket.inet_ntoa(socket.inet_aton(interface)) if interface.count(".") == 3 else _by_name(interface)
    except OSError as error:
        names = ", ".join(name for _, name in socket.if_nameindex())
        raise InvalidInputError(f"interface {interface!r} has no IPv4 address ({error}); there are {names}.") from None


def _by_name(interface: str) -> str:
    import fcntl

    query = struct.pack("256s", interface.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return socket.inet_ntoa(fcntl.ioctl(probe.fileno(), 0x8915, query)[20:24])  # SIOCGIFADDR
