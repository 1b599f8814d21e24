"""What `execute` gives: a handle on an execution under way, and the report of what became of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from memetik.errors import InvalidInputError

Outcome = Literal[
    "done",
    "cancelled",
    "stopped early",
    "left the way",
    "obstacle",
    "goal blocked",
    "refused",
    "timed out",
    "failed",
]

PATIENCE = 2.0
"""Seconds after which a driver that does not move, or does not come to rest, is given up."""


@dataclass(frozen=True, slots=True)
class ExecutionEvent:
    """Something that happened: seconds since the beginning in the driver's time, and what."""

    time: float
    what: str


@dataclass(frozen=True, slots=True, eq=False)
class ExecutionReport:
    """What became of an execution. `success` only if the arm is at the last configuration, at rest."""

    success: bool
    reason: Outcome
    message: str
    q: np.ndarray
    """Where the arm is (joints of the trajectory,)."""
    goal: np.ndarray
    at_rest: bool
    deviation: float
    """The largest distance of a joint from where it should have been at that moment, radians or metres."""
    duration: float
    """Seconds of the driver's time."""
    recoveries: int
    events: tuple[ExecutionEvent, ...]
    times: np.ndarray = field(repr=False, default_factory=lambda: np.zeros(0))
    positions: np.ndarray = field(repr=False, default_factory=lambda: np.zeros((0, 0)))
    """What was measured at `times`."""
    references: np.ndarray = field(repr=False, default_factory=lambda: np.zeros((0, 0)))
    """Where the arm should have been at `times`."""

    def explain(self) -> str:
        """What happened, in sentences."""
        lines = [self.message, *(f"  {event.time:7.3f} s  {event.what}" for event in self.events)]
        lines.append(
            f"The arm {'is at rest' if self.at_rest else 'still moves'}, "
            f"{np.abs(self.q - self.goal).max(initial=0.0):.2g} rad or m from the goal at most."
        )
        return "\n".join(lines)


class Execution:
    """A trajectory on its way, in the background."""

    def __init__(self, runner: Callable[[Execution], ExecutionReport]):
        self._cancelled = threading.Event()
        self._paused, self._share = False, 1.0
        self._future: Future[ExecutionReport] = Future()
        self._progress = 0.0
        self._runner = runner

    @property
    def progress(self) -> float:
        """How much of the way is behind the arm, 0 to 1."""
        return self._progress

    @property
    def done(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._future.done()

    @property
    def cancelled(self) -> bool:
        """Whether it was told to stop."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Bring the arm to rest and end. Returns at once; `result` waits for it."""
        self._cancelled.set()

    def pause(self) -> None:
        """Let the arm come to rest on its way and stay there until `resume`, within the plan's accelerations."""
        self._paused = True

    def resume(self) -> None:
        """Go on after `pause`, at the speed that was asked for last."""
        self._paused = False

    def speed(self, share: float) -> None:
        """Go on at a share of the plan's speed, above 0 and at most 1; the change is within its accelerations."""
        if not 0.0 < share <= 1.0:
            raise InvalidInputError(f"the speed is a share of the plan's, above 0 and at most 1, not {share!r}.")
        self._share = float(share)

    @property
    def pace(self) -> float:
        """The share of the plan's speed that is asked for: 0 while it is paused."""
        return 0.0 if self._paused else self._share

    def result(self, timeout: float | None = None) -> ExecutionReport:
        """Wait for the end, `timeout` seconds at most; errors that the driver raised come through.

        Ctrl-C while waiting brings the arm to rest.
        """
        try:
            futures.wait([self._future], timeout)
        except KeyboardInterrupt:
            self.cancel()
            futures.wait([self._future], 2.0 * PATIENCE)
            raise
        if not self.done:
            raise TimeoutError(f"the execution has not ended within {timeout:g} s; it is at {self.progress:.0%}.")
        return self._future.result()

    def start(self, background: bool) -> None:
        """Begin; `execute` does so."""
        if background:
            threading.Thread(target=self._run, name="memetik execution", daemon=True).start()
        else:
            self._run()

    def advance(self, share: float) -> None:
        """Report how much of the trajectory is done; the runner does so."""
        self._progress = max(self._progress, share)

    def _run(self) -> None:
        try:
            self._future.set_result(self._runner(self))
        except BaseException as error:
            self._future.set_exception(error)
