"""A client of an action, made of a transport's services and topics."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from memetik.ros.messages import Message, message_class, service_type
from memetik.ros.transports.base import RELIABLE, Transport, TransportError

ANSWER_TIMEOUT = 5.0
"""Seconds within which a server has to accept or refuse a goal."""

STATUS_NAMES = {4: "succeeded", 5: "canceled", 6: "aborted"}


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

    def __init__(self, transport: Transport, name: str, kind: str, feedback: Callable[[Goal, Any], None] | None = None):
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
