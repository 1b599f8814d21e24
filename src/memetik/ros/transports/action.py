"""Actions, made of a transport's services and topics: a client of one, and a server."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from memetik.ros.messages import Message, message_class, service_type
from memetik.ros.transports.base import LATCHED, RELIABLE, RosTransport, TransportError

logger = logging.getLogger(__name__)

ANSWER_TIMEOUT = 5.0
"""Seconds within which a server has to accept or refuse a goal."""

EXECUTING, CANCELING, SUCCEEDED, CANCELED, ABORTED = 2, 3, 4, 5, 6
STATUS_NAMES = {SUCCEEDED: "succeeded", CANCELED: "canceled", ABORTED: "aborted"}
_MOST_RESULTS = 20


class Goal:
    """A goal that a server has accepted. `result` becomes (status, result message)."""

    def __init__(self, client: ActionClient, identifier: Any):
        self._client, self.identifier = client, identifier
        self.result: Future[tuple[int, Any]] = Future()

    @property
    def active(self) -> bool:
        return not self.result.done()

    def cancel(self) -> Future[Any]:
        """Ask the server to end it."""
        return self._client.cancel(self.identifier)


class ActionClient:
    """A client of one action server."""

    def __init__(
        self, transport: RosTransport, name: str, kind: str, feedback: Callable[[Goal, Any], None] | None = None
    ):
        self._name, self._kind, self._feedback = name, kind, feedback
        base = f"{name}/_action"
        self._send = transport.client(f"{base}/send_goal", f"{kind}_SendGoal")
        self._get = transport.client(f"{base}/get_result", f"{kind}_GetResult")
        self._cancel = transport.client(f"{base}/cancel_goal", "action_msgs/srv/CancelGoal")
        self._goals: dict[bytes, Goal] = {}
        self._lock = threading.Lock()
        transport.subscribe(f"{base}/feedback", f"{kind}_FeedbackMessage", self._take_feedback, RELIABLE)

    def wait(self, timeout: float) -> bool:
        """Whether the server is there."""
        return all(client.wait(timeout) for client in (self._send, self._get, self._cancel))

    def send(self, goal: Message) -> Goal:
        """Send a goal; returns when it is accepted, and raises TransportError where it is refused or not answered."""
        identifier = message_class("unique_identifier_msgs/msg/UUID")(uuid=uuid.uuid4().bytes)
        made = Goal(self, identifier)
        with self._lock:
            self._goals[bytes(identifier.uuid)] = made
        request = service_type(f"{self._kind}_SendGoal").Request(goal_id=identifier, goal=goal)
        try:
            answer = self._send.call(request).result(ANSWER_TIMEOUT)
        except TimeoutError:
            self._forget(made)
            raise TransportError(f"{self._name!r} has not answered within {ANSWER_TIMEOUT:g} s.") from None
        except BaseException:
            self._forget(made)
            raise
        if not answer.accepted:
            self._forget(made)
            raise TransportError(f"{self._name!r} has refused the goal.")
        asked = self._get.call(service_type(f"{self._kind}_GetResult").Request(goal_id=identifier))
        asked.add_done_callback(lambda done: self._finish(made, done))
        return made

    def cancel(self, identifier: Any) -> Future[Any]:
        request = service_type("action_msgs/srv/CancelGoal").Request()
        request.goal_info.goal_id = identifier
        return self._cancel.call(request)

    def _finish(self, goal: Goal, done: Future[Any]) -> None:
        self._forget(goal)
        try:
            answer = done.result()
            goal.result.set_result((answer.status, answer.result))
        except Exception as error:
            goal.result.set_exception(error)

    def _forget(self, goal: Goal) -> None:
        with self._lock:
            self._goals.pop(bytes(goal.identifier.uuid), None)

    def _take_feedback(self, message: Any) -> None:
        with self._lock:
            goal = self._goals.get(bytes(message.goal_id.uuid))
        if goal is not None and self._feedback is not None:
            self._feedback(goal, message.feedback)


Run = Callable[[Any, threading.Event], "tuple[int, Message]"]
"""What carries a goal out: it is given the goal's message and an event that is set when a client cancels it. It returns
the status (SUCCEEDED, CANCELED, ABORTED) and the result."""


@dataclass
class _Served:
    info: Any
    status: int = EXECUTING
    cancelled: threading.Event = field(default_factory=threading.Event)
    result: Future[Message] = field(default_factory=Future[Message])


class ActionServer:
    """Serves an action, one goal at a time; further ones are refused meanwhile."""

    def __init__(self, transport: RosTransport, name: str, kind: str, run: Run):
        self._kind, self._run, base = kind, run, f"{name}/_action"
        self._lock = threading.Lock()
        self._goals: OrderedDict[bytes, _Served] = OrderedDict()
        self._status = transport.publisher(f"{base}/status", "action_msgs/msg/GoalStatusArray", LATCHED)
        transport.publisher(f"{base}/feedback", f"{kind}_FeedbackMessage")  # clients wait for it to be there
        transport.serve(f"{base}/send_goal", f"{kind}_SendGoal", self._take)
        transport.serve(f"{base}/get_result", f"{kind}_GetResult", self._give)
        transport.serve(f"{base}/cancel_goal", "action_msgs/srv/CancelGoal", self._cancel)

    def _take(self, request: Message) -> Message:
        response = service_type(f"{self._kind}_SendGoal").Response()
        response.stamp.sec, response.stamp.nanosec = divmod(time.time_ns(), 1_000_000_000)
        with self._lock:
            if any(goal.status in (EXECUTING, CANCELING) for goal in self._goals.values()):
                return response
            info = message_class("action_msgs/msg/GoalInfo")(goal_id=request.goal_id, stamp=response.stamp)
            goal = self._goals[bytes(request.goal_id.uuid)] = _Served(info)
            while len(self._goals) > _MOST_RESULTS:
                self._goals.popitem(last=False)
        self._tell()
        threading.Thread(target=self._carry_out, args=(goal, request.goal), daemon=True).start()
        response.accepted = True
        return response

    def _carry_out(self, goal: _Served, message: Message) -> None:
        response = service_type(f"{self._kind}_GetResult").Response(status=ABORTED)
        try:
            response.status, response.result = self._run(message, goal.cancelled)
        except Exception:
            logger.exception("a goal of %s failed", self._kind)
        with self._lock:
            goal.status = response.status
        self._tell()
        goal.result.set_result(response)

    def _give(self, request: Message) -> Message | Future[Message]:
        with self._lock:
            goal = self._goals.get(bytes(request.goal_id.uuid))
        return service_type(f"{self._kind}_GetResult").Response() if goal is None else goal.result

    def _cancel(self, request: Message) -> Message:
        """As the protocol has it, a goal of zeros means all of them."""
        wanted, response = bytes(request.goal_info.goal_id.uuid), service_type("action_msgs/srv/CancelGoal").Response()
        with self._lock:
            own = [goal for identifier, goal in self._goals.items() if wanted in (identifier, bytes(16))]
            running = [goal for goal in own if goal.status in (EXECUTING, CANCELING)]
            for goal in running:
                goal.status = CANCELING
                goal.cancelled.set()
        response.goals_canceling = [goal.info for goal in running]
        if not running:
            response.return_code = response.ERROR_GOAL_TERMINATED if own else response.ERROR_UNKNOWN_GOAL_ID
        self._tell()
        return response

    def _tell(self) -> None:
        status = message_class("action_msgs/msg/GoalStatus")
        with self._lock:
            found = [status(goal_info=goal.info, status=goal.status) for goal in self._goals.values()]
        self._status.publish(message_class("action_msgs/msg/GoalStatusArray")(status_list=found))
