"""memetik's own DDS participant on loopback: against itself, under loss, and against Cyclone DDS."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from fuzz_packets import fuzz

from memetik.errors import InvalidInputError
from memetik.ros.messages import message_class, service_type
from memetik.ros.rtps import wire
from memetik.ros.rtps.discovery import Address, Qos
from memetik.ros.rtps.participant import Participant
from memetik.ros.transports import action, dds
from memetik.ros.transports.base import LATCHED, STREAM, TransportError
from memetik.ros.transports.dds import DdsTransport

String = message_class("std_msgs/msg/String")
DOMAIN = 20 + (os.getppid() + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])) % 180
"""One for each worker of each run, so that tests do not meet, nor those of two checkouts."""


def until(condition: Callable[[], Any], seconds: float = 120.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture
def pair() -> Iterator[tuple[DdsTransport, DdsTransport]]:
    with DdsTransport("first", domain=DOMAIN) as first, DdsTransport("second", domain=DOMAIN) as second:
        yield first, second


def test_reliable_samples_arrive_whole_and_in_order(pair: tuple[DdsTransport, DdsTransport]):
    first, second = pair
    heard: list[str] = []
    second.subscribe("/talk", "std_msgs/msg/String", lambda message: heard.append(message.data), STREAM)
    publisher = first.publisher("/talk", "std_msgs/msg/String", Qos(depth=2000))
    assert until(lambda: publisher.subscribers)
    sent = [f"{k} " + "x" * (200_000 if k % 100 == 50 else 10) for k in range(400)]
    for text in sent:
        publisher.publish(String(data=text))
    assert until(lambda: len(heard) == len(sent))
    assert heard == sent


def test_a_late_subscriber_gets_what_is_latched(pair: tuple[DdsTransport, DdsTransport]):
    first, second = pair
    publisher = first.publisher("/latched", "std_msgs/msg/String", LATCHED)
    for text in ("old", "new" * 50_000):
        publisher.publish(String(data=text))
    heard: list[str] = []
    second.subscribe("/latched", "std_msgs/msg/String", lambda message: heard.append(message.data), LATCHED)
    assert until(lambda: heard)
    assert heard == ["new" * 50_000]


def test_what_does_not_fit_is_not_matched(pair: tuple[DdsTransport, DdsTransport]):
    first, second = pair
    publisher = first.publisher("/mixed", "std_msgs/msg/String", Qos(reliable=False))
    second.subscribe("/mixed", "std_msgs/msg/String", print, Qos(reliable=True))
    second.subscribe("/mixed", "std_msgs/msg/Float64", print, Qos(reliable=False))
    time.sleep(0.5)
    assert publisher.subscribers == 0


def test_services_answer_many_callers_at_once(pair: tuple[DdsTransport, DdsTransport]):
    first, second = pair
    service = service_type("std_srvs/srv/SetBool")

    def slow(request: Any) -> Any:
        time.sleep(0.01 if request.data else 0.0)
        return service.Response(success=request.data)

    first.serve("/slow", "std_srvs/srv/SetBool", slow)
    clients = [second.client("/slow", "std_srvs/srv/SetBool") for _ in range(4)]
    assert all(client.wait(120.0) for client in clients)
    asked = [(k % 3 == 0, clients[k % 4].call(service.Request(data=k % 3 == 0))) for k in range(200)]
    assert all(future.result(120.0).success == data for data, future in asked)


def test_a_client_that_dies_is_forgotten(pair: tuple[DdsTransport, DdsTransport]):
    first, second = pair
    service = service_type("std_srvs/srv/Trigger")
    first.serve("/hello", "std_srvs/srv/Trigger", lambda _: service.Response(success=True))
    for _ in range(3):
        with DdsTransport("third", domain=DOMAIN) as third:
            client = third.client("/hello", "std_srvs/srv/Trigger")
            assert client.wait(120.0)
            assert client.call(service.Request()).result(120.0).success
    assert until(lambda: len(first.participant.participants) == 1)
    assert second.participant.prefix in first.participant.participants


def test_a_participant_that_is_silent_is_forgotten_after_its_lease(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memetik.ros.rtps.participant.LEASE", 1.0)
    with DdsTransport("stays", domain=DOMAIN) as stays:
        gone = Participant(DOMAIN)
        assert until(lambda: gone.prefix in stays.participant.participants)
        gone._closing.set()  # as a process that is killed: no goodbye
        gone._thread.join()
        assert until(lambda: gone.prefix not in stays.participant.participants)


def test_an_action_is_served_one_goal_at_a_time(pair: tuple[DdsTransport, DdsTransport]):
    first, second = pair
    kind, go_on = "moveit_msgs/action/ExecuteTrajectory", threading.Event()
    result = message_class(f"{kind}_Result")

    def run(goal: Any, cancelled: threading.Event) -> tuple[int, Any]:
        if goal.controller_names == ["broken"]:
            raise RuntimeError("it broke")
        while not go_on.is_set():
            if cancelled.wait(0.01):
                return action.CANCELED, result()
        return action.SUCCEEDED, result(error_code=message_class("moveit_msgs/msg/MoveItErrorCodes")(val=1))

    action.ActionServer(first, "/execute", kind, run)
    statuses: list[list[int]] = []
    second.subscribe(
        "/execute/_action/status", "action_msgs/msg/GoalStatusArray",
        lambda message: statuses.append([each.status for each in message.status_list]), LATCHED,
    )  # fmt: skip
    client = action.ActionClient(second, "/execute", kind)
    assert client.wait(120.0)
    goal = message_class(f"{kind}_Goal")
    held = client.send(goal())
    with pytest.raises(TransportError, match="refused"):
        client.send(goal())
    assert held.cancel().result(120.0).goals_canceling[0].goal_id == held.identifier
    assert held.result.result(120.0)[0] == action.CANCELED
    assert held.cancel().result(120.0).return_code == 3
    broken = client.send(goal(controller_names=["broken"]))
    assert broken.result.result(120.0)[0] == action.ABORTED
    go_on.set()
    status, answer = client.send(goal()).result.result(120.0)
    assert (status, answer.error_code.val) == (action.SUCCEEDED, 1)
    assert until(lambda: statuses[-1] == [action.CANCELED, action.ABORTED, action.SUCCEEDED])


class Lossy(Participant):
    """Loses a share of the packets that it sends and gets."""

    def __init__(self, *words: Any, **options: Any):
        self.rng = random.Random(1)
        super().__init__(*words, **options)

    def send(self, submessages: bytes, prefix: bytes, addresses: Sequence[Address]) -> None:
        super().send(submessages, prefix, [each for each in addresses if self.rng.random() >= 0.1])

    def _receive(self, packet: bytes) -> None:
        if self.rng.random() >= 0.1:
            super()._receive(packet)


def test_nothing_is_lost_or_stalls_where_packets_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dds, "Participant", Lossy)
    service = service_type("std_srvs/srv/SetBool")
    with DdsTransport("first", domain=DOMAIN) as first, DdsTransport("second", domain=DOMAIN) as second:
        first.serve("/flip", "std_srvs/srv/SetBool", lambda request: service.Response(success=not request.data))
        heard: list[str] = []
        second.subscribe("/talk", "std_msgs/msg/String", lambda message: heard.append(message.data), STREAM)
        publisher = first.publisher("/talk", "std_msgs/msg/String", Qos(depth=1000))
        client = second.client("/flip", "std_srvs/srv/SetBool")
        assert client.wait(120.0)
        assert until(lambda: publisher.subscribers)
        for k in range(60):
            assert client.call(service.Request(data=k % 2 == 0)).result(120.0).success == (k % 2 == 1)
            publisher.publish(String(data=f"{k}" + "y" * (150_000 if k % 20 == 7 else 0)))
        assert until(lambda: len(heard) == 60)
        assert [int(text.rstrip("y")) for text in heard] == list(range(60))


def test_a_reply_waits_for_a_reader_that_is_discovered_later():
    """A request may overtake the announcement of the reader for its reply."""
    with DdsTransport("server", domain=DOMAIN) as server:
        writer = server.participant.writer("rr/lateReply", "x", Qos(depth=10))
        peer = Participant(DOMAIN)
        try:
            assert until(lambda: peer.prefix in server.participant.participants)
            guid = wire.Guid(peer.prefix, (1).to_bytes(3, "big") + b"\x04")  # the reader that it will make
            server.participant.write(writer, b"\0\1\0\0late", b"", frozenset([guid]))
            heard: list[bytes | None] = []
            peer.reader("rr/lateReply", "x", Qos(), lambda sample: heard.append(sample.payload))
            assert until(lambda: heard)
            assert heard == [b"\0\1\0\0late"]
        finally:
            peer.close()


def test_wrong_domains_and_interfaces_are_named():
    with pytest.raises(InvalidInputError, match="from 0 to 232"):
        Participant(999)
    with pytest.raises(InvalidInputError, match="there are"):
        Participant(DOMAIN, interfaces=["nothere0"])


def test_everything_stays_on_loopback_by_default(pair: tuple[DdsTransport, DdsTransport]):
    first, _ = pair
    sockets = (first.participant._meta, first.participant._data)
    assert all(sock.getsockname()[0] == "127.0.0.1" for sock in sockets)
    assert {address for address, _ in (*first.participant.info.meta, *first.participant.info.default)} == {"127.0.0.1"}
    assert first.participant._reachable([("10.1.2.3", 7411)]) == (("127.0.0.1", 7411),)


def test_hostile_packets_are_taken_or_refused():
    taken, refused, delivered = fuzz(15_000, seed=2)
    assert taken > 1000
    assert refused > 1000
    assert delivered > 0


def test_cyclone_dds_and_memetik_hear_each_other(monkeypatch: pytest.MonkeyPatch):
    cyclonedds = pytest.importorskip("cyclonedds")
    assert cyclonedds
    monkeypatch.setenv("CYCLONEDDS_URI", _CYCLONE)
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.idl import make_idl_struct
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic

    text = make_idl_struct("String_", "std_msgs.msg.dds_.String_", {"data": str})
    participant = DomainParticipant(DOMAIN)
    topics = [Topic(participant, f"rt/{name}", text) for name in ("to_cyclone", "from_cyclone")]
    reader = DataReader(participant, topics[0], reliable_cyclone())
    writer = DataWriter(participant, topics[1], reliable_cyclone())
    # Of all sizes, with what has to be padded among them, and in fragments.
    sent = [f"hello {k} " + "x" * (k + (150_000 if k % 20 == 7 else 0)) for k in range(60)]
    heard: list[str] = []
    got: list[str] = []
    with DdsTransport("memetik", domain=DOMAIN) as transport:
        publisher = transport.publisher("/to_cyclone", "std_msgs/msg/String", STREAM)
        transport.subscribe("/from_cyclone", "std_msgs/msg/String", lambda message: heard.append(message.data), STREAM)
        assert until(lambda: publisher.subscribers)
        assert until(lambda: len(writer.get_matched_subscriptions()) > 0)
        for each in sent:
            publisher.publish(String(data=each))
            writer.write(text(data=each))
        assert until(lambda: got.extend(each.data for each in reader.take(N=100)) or len(got) == len(sent))
        assert until(lambda: len(heard) == len(sent))
    assert heard == sent
    assert got == sent


def test_clients_in_the_form_of_rmw_cyclonedds_get_their_replies(monkeypatch: pytest.MonkeyPatch):
    """The client's identity and the request's number stand before the body, in requests and in replies."""
    pytest.importorskip("cyclonedds")
    monkeypatch.setenv("CYCLONEDDS_URI", _CYCLONE)
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.idl import make_idl_struct, types
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic

    head = {"client": types.uint64, "number": types.int64}
    asked = make_idl_struct("SetBool_Request_", "std_srvs.srv.dds_.SetBool_Request_", {**head, "data": bool})
    answered = make_idl_struct(
        "SetBool_Response_", "std_srvs.srv.dds_.SetBool_Response_", {**head, "success": bool, "message": str}
    )
    service = service_type("std_srvs/srv/SetBool")
    participant = DomainParticipant(DOMAIN)
    writer = DataWriter(participant, Topic(participant, "rq/flipRequest", asked), reliable_cyclone())
    reader = DataReader(participant, Topic(participant, "rr/flipReply", answered), reliable_cyclone())
    with DdsTransport("memetik", domain=DOMAIN) as transport:
        transport.serve(
            "/flip", "std_srvs/srv/SetBool", lambda r: service.Response(success=not r.data, message=f"was {r.data}")
        )
        assert until(lambda: len(writer.get_matched_subscriptions()) and len(reader.get_matched_publications()))
        got: list[Any] = []
        for k in range(40):
            writer.write(asked(client=77, number=k, data=k % 3 == 0))
            assert until(lambda k=k: got.extend(reader.take(N=100)) or len(got) == k + 1)
        assert [(each.client, each.number) for each in got] == [(77, k) for k in range(40)]
        assert all(each.success == (k % 3 != 0) for k, each in enumerate(got))
        assert got[3].message == "was True"


def reliable_cyclone() -> Any:
    from cyclonedds.core import Policy, Qos
    from cyclonedds.util import duration

    return Qos(Policy.Reliability.Reliable(duration(seconds=5)), Policy.History.KeepLast(100))


_CYCLONE = """<CycloneDDS><Domain><General><Interfaces><NetworkInterface name="lo"/></Interfaces>
<AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>auto</ParticipantIndex>
<MaxAutoParticipantIndex>32</MaxAutoParticipantIndex><Peers><Peer Address="127.0.0.1"/></Peers></Discovery>
</Domain></CycloneDDS>"""
