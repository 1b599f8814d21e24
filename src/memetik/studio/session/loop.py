"""The studio's one thread: what is asked for is done in order, then the session is solved and shown.

Browsers call from many threads; all they do is `post`. So the model needs no locks, and of many drags that arrive while
one is being solved only the newest counts.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

from memetik.errors import MemetikError

logger = logging.getLogger(__name__)

FRAME = 1.0 / 60.0
"""Seconds between two updates that are sent: a display's rate."""

RESTS = 0.1
"""Seconds between two rounds of slower things: texts, sliders, contacts."""

Complain = Callable[[str, str], None]
"""complain(title, sentence): tells whoever asked for something why it was not done."""


@dataclass
class Pulse:
    """What the loop did: counts, seconds, and the time of the last steps."""

    solves: int = 0
    updates: int = 0
    solving: float = 0.0
    steps: collections.deque[float] = field(default_factory=lambda: collections.deque(maxlen=20_000))
    """Seconds of each step: from taking what was asked to having sent all updates on their way."""

    @contextlib.contextmanager
    def solve(self) -> Iterator[None]:
        """Counts one solve, and its time."""
        begin = time.perf_counter()
        yield
        self.solving += time.perf_counter() - begin
        self.solves += 1

    def reset(self) -> None:
        self.solves, self.updates, self.solving = 0, 0, 0.0
        self.steps.clear()


class Loop:
    """Runs actions and steps.

    step()     solves and shows; called after actions, and at each frame while it returned True.
    rest()     slower things, a few times a second and once when all is quiet.
    complain   for errors in actions that name no one to tell.
    """

    def __init__(self, step: Callable[[], bool], rest: Callable[[], None], complain: Complain):
        self.pulse = Pulse()
        self._step, self._rest, self._complain = step, rest, complain
        self._actions: dict[Hashable, tuple[Callable[[], Any], Complain | None]] = {}
        self._condition = threading.Condition()
        self._running = False
        self._idle = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memetik-studio", daemon=True)

    def start(self) -> None:
        self._running = True
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after what it is doing now."""
        with self._condition:
            self._running = False
            self._condition.notify_all()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(timeout=5.0)

    def post(self, action: Callable[[], Any], key: Hashable = None, complain: Complain | None = None) -> None:
        """Asks for an action. One that waits under the same key is forgotten."""
        with self._condition:
            self._actions[object() if key is None else key] = (action, complain)
            self._idle.clear()
            self._condition.notify_all()

    def wait_idle(self, timeout: float = 10.0) -> bool:
        """Waits until all that was asked for is done and shown; whether it is."""
        return self._idle.wait(timeout)

    def _run(self) -> None:
        again, restless, rested = False, False, 0.0
        while True:
            with self._condition:
                while self._running and not (self._actions or again or restless):
                    self._idle.set()
                    self._condition.wait()
                if not self._running:
                    return
                actions, self._actions = self._actions, {}
            if not actions and not again:  # all is quiet: the slower things once more, for what was last
                self._guard(self._rest, None)
                restless = False
                continue
            begin = time.perf_counter()
            for action, complain in actions.values():
                self._guard(action, complain)
            again = bool(self._guard(self._step, None))
            end = time.perf_counter()
            self.pulse.steps.append(end - begin)
            restless = True
            if end - rested > RESTS:
                self._guard(self._rest, None)
                rested = time.perf_counter()
            pause = FRAME - (time.perf_counter() - begin)
            if pause > 0.0:
                time.sleep(pause)

    def _guard(self, action: Callable[[], Any], complain: Complain | None) -> Any:
        """Runs something; errors become messages, never the end of the loop."""
        try:
            return action()
        except MemetikError as error:
            (complain or self._complain)("That cannot be done", str(error))
        except Exception as error:
            logger.exception("the studio met an error")
            (complain or self._complain)("Something went wrong", f"{type(error).__name__}: {error}")
        return None
