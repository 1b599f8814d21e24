"""Watches an execution: what it sends, what it measures, and what it does when something goes wrong.

The runner compares where the arm is with where it should be. Where the driver stops early, leaves the way, or something
appears on the way, it brings the arm to rest and goes on to the same last configuration (never to another branch of the
inverse kinematics): first straight back to the way and along it, where that is free; else by a new plan. Where neither
works it says so, with the arm at rest. For objects that move it slows down before it has to stop.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from memetik.motion.execution.driver import Driver, DriverError, DriverState, has_pace, most_points, set_pace, wait
from memetik.motion.execution.handle import PATIENCE, Execution, ExecutionEvent, ExecutionReport, Outcome
from memetik.motion.execution.recovery import Recovery
from memetik.motion.execution.surroundings import Surroundings, wanted_pace
from memetik.motion.timing.rest_segments import split
from memetik.motion.timing.trajectory import Trajectory

logger = logging.getLogger(__name__)

_AT_REST = 1e-3  # rad/s or m/s below which an arm stands still
_LET_PASS = 5.0  # seconds that an arm at rest waits for an object that moves to leave the way


@dataclass(frozen=True, slots=True)
class RunnerOptions:
    """Those of `execute`."""

    tolerance: float
    goal_tolerance: float
    recoveries: int
    period: float
    point_tolerance: float


class _Trouble(Exception):
    """What ends the following of a way. A change of pace is none, and does not count."""

    def __init__(self, reason: Outcome, what: str, counts: bool = True):
        super().__init__(what)
        self.reason: Outcome = reason
        self.what, self.counts = what, counts


class Runner:
    """One execution, from its first trajectory to its report."""

    def __init__(
        self, handle: Execution, driver: Driver, trajectory: Trajectory, recovery: Recovery, options: RunnerOptions
    ):
        self.handle, self.driver, self.recovery, self.options = handle, driver, recovery, options
        self.way = trajectory
        """What is still to be followed."""
        self.goal = trajectory.end
        self.names = trajectory.joint_names
        self.limits = recovery.limits(trajectory)
        self.pace = 1.0
        """The share of its speed at which the arm goes, or was told to."""
        self.surroundings: Surroundings | None = recovery.surroundings()
        self.clock, self.deviation, self.recovered = 0.0, 0.0, 0
        self.events: list[ExecutionEvent] = []
        self.log: list[tuple[float, np.ndarray, np.ndarray]] = []
        self._begin, self._sent = time.perf_counter(), False

    def run(self) -> ExecutionReport:
        """Follow the way to its end, and whatever goes wrong, do not leave the arm moving."""
        try:
            return self._run()
        except BaseException:
            with contextlib.suppress(Exception):
                self.driver.stop()
            raise
        finally:
            with contextlib.suppress(Exception):
                set_pace(self.driver, 1.0)

    def _run(self) -> ExecutionReport:
        self.note(f"begin: {self.way.duration:.3f} s, {len(self.way)} points")
        while True:
            try:
                self.follow()
                return self.report(True, "done", "The trajectory was followed to its end.")
            except _Trouble as error:
                trouble = error
            self.note(trouble.what)
            self.rest()
            if trouble.reason == "obstacle":
                self.let_pass()
            if trouble.counts and self.recovered >= self.options.recoveries:
                return self.report(False, trouble.reason, f"Given up: {trouble.what}.")
            self.recovered += trouble.counts
            self.stay_paused()
            if self.handle.cancelled:
                return self.report(False, "cancelled", "The execution was cancelled.")
            q = self.measured()[0]
            if np.abs(q - self.goal).max() <= self.options.goal_tolerance:
                return self.report(True, "done", "The arm is at the end of the trajectory.")
            share = 1.0 if has_pace(self.driver) else self.pace
            limits = (share * self.limits[0], share * self.limits[1])
            found = self.recovery.onwards(q, self.way, self._behind(q), limits)
            if found.trajectory is None:
                return self.report(False, found.reason, f"{trouble.what}; {found.message}.")
            self.note(found.message)
            self.way = found.trajectory

    def follow(self) -> None:
        """Send the way, in pieces where the driver needs that, and watch each."""
        most = most_points(self.driver)
        pieces = [self.way]
        if most is not None and len(self.way) > most:
            limits = self.recovery.limits(self.way)
            pieces = split(
                self.way, most, tolerance=self.options.point_tolerance, limits=limits, free=self.recovery.free
            )
            self.note(f"the driver takes {most} points: sent in {len(pieces)} piece{'s' * (len(pieces) > 1)}")
        total = sum(piece.duration for piece in pieces)
        behind = 0.0
        self.recovery.seen()
        self.set_pace(self.handle.pace)
        for number, piece in enumerate(pieces):
            self._left = pieces[number:]
            try:
                self.driver.send(piece)
                self._sent = True
            except DriverError as error:
                raise _Trouble("refused", f"the driver refused the trajectory: {error}") from None
            self.watch(piece, lambda t, begin=behind: self.handle.advance(min((begin + t) / max(total, 1e-9), 0.999)))
            behind += piece.duration
        self.handle.advance(1.0)

    def watch(self, piece: Trajectory, progress: Callable[[float], None]) -> None:
        still, last = 0.0, -1.0
        while True:
            state = self.driver.state()
            q, _ = state.of(self.names, self.driver.joint_names)
            due = piece.at(state.time)
            gap = np.abs(q - due)
            self.deviation = max(self.deviation, float(gap.max(initial=0.0)))
            self.log.append((self.clock, q, due))
            progress(state.time)
            if self.handle.cancelled:
                raise _Trouble("cancelled", f"cancelled after {state.time:.3f} s")
            if gap.max(initial=0.0) > self.options.tolerance:
                joint = self.names[int(gap.argmax())]
                raise _Trouble("left the way", f"joint {joint!r} is {gap.max():.3g} from where it should be")
            share = min(self.handle.pace, self.look_around(state))
            if not state.moving:
                self.check_end(q, piece, state)
                return
            self.set_pace(share)
            still = still + self.options.period if state.time <= last and self.pace > 0.0 else 0.0
            last = max(last, state.time)
            if still > PATIENCE and state.time < piece.duration:
                raise _Trouble("timed out", f"the driver has not moved on for {still:.1f} s")
            if still > PATIENCE + 3.0:
                raise _Trouble("timed out", "the driver does not end the trajectory")
            self.pause()

    def check_end(self, q: np.ndarray, piece: Trajectory, state: DriverState) -> None:
        gap = np.abs(q - piece.end)
        if gap.max(initial=0.0) <= self.options.goal_tolerance:
            return
        joint = self.names[int(gap.argmax())]
        missed = f"joint {joint!r} is {gap.max():.3g} off"
        if state.time < piece.duration - 1e-6:
            raise _Trouble(
                "stopped early", f"the driver stopped at {state.time:.3f} of {piece.duration:.3f} s; {missed}"
            )
        raise _Trouble("left the way", f"the end was not reached: {missed}")

    def look_around(self, state: DriverState) -> float:
        """What the scene has gained must not be in the way that is left. Returns the share of its speed at which the
        arm may go on, for the sake of objects that move."""
        around = self.surroundings
        if around is None or not (self.recovery.changed() or around.moving):
            return 1.0
        current, *later = self._left
        rest = [current.between(min(state.time, current.duration), current.duration), *later]
        if around.look(self.clock):
            blocked = self.recovery.first_contact(rest, without=around.moving)
            if blocked is not None:
                seconds, pair = blocked
                raise _Trouble("obstacle", f"{pair[0]!r} and {pair[1]!r} would touch in {seconds:.2f} s")
            self.note("the scene has changed; the way is still free")
        braking = self._braking_time(state) + 2.0 * self.options.period
        met = around.encounter(rest, max(self.pace, 0.05), self.clock)
        if met is not None and wanted_pace(met, braking) == 0.0:
            raise _Trouble("obstacle", f"{met.pair[1]!r} would come too near to {met.pair[0]!r} in {met.seconds:.2f} s")
        if not has_pace(self.driver):
            return 1.0
        share = wanted_pace(around.encounter(rest, self.handle.pace or 1.0, self.clock), braking)
        if share < 1.0 and self.pace == self.handle.pace:
            self.note(f"{', '.join(around.moving)} comes near: slower")
        return max(share, 0.05) * (self.handle.pace or 1.0)

    def set_pace(self, share: float) -> None:
        """Lets the driver go at a share of the trajectory's speed; one that cannot is stopped and sent on."""
        if share == self.pace:
            return
        self.pace = share
        set_pace(self.driver, share)
        if self._sent and not has_pace(self.driver):
            raise _Trouble("stopped early", f"at {share:.0%} of the speed from now on", counts=False)

    def stay_paused(self) -> None:
        """Waits while the execution is paused, where the driver cannot hold it on its way."""
        if has_pace(self.driver):
            return
        while self.handle.pace == 0.0 and not self.handle.cancelled:
            self.pause()
        self.pace = self.handle.pace

    def let_pass(self) -> None:
        """At rest, waits for objects that move to come to stand or to leave the way."""
        around, waited = self.surroundings, 0.0
        while around is not None and around.moving and waited < _LET_PASS and not self.handle.cancelled:
            self.pause()
            waited += self.options.period
            around.look(self.clock)
            behind = self._behind(self.measured()[0])
            if around.encounter([self.way.between(behind, self.way.duration)], 1.0, self.clock) is None:
                break
        self.recovery.seen()

    def _braking_time(self, state: DriverState) -> float:
        """Seconds in which the arm comes to rest within the limits of the plan."""
        speed = np.abs(state.of(self.names, self.driver.joint_names)[1])
        return float((speed / self.limits[1]).max(initial=0.0))

    def rest(self) -> None:
        """Stop, and wait until the arm stands still."""
        self.driver.stop()
        waited = 0.0
        while waited < PATIENCE and not self._still():
            self.pause()
            waited += self.options.period

    def pause(self) -> None:
        wait(self.driver, self.options.period)
        own = hasattr(self.driver, "wait")  # its time is its own, and passes only now
        self.clock = self.clock + self.options.period if own else time.perf_counter() - self._begin

    def measured(self) -> tuple[np.ndarray, np.ndarray]:
        return self.driver.state().of(self.names, self.driver.joint_names)

    def note(self, what: str) -> None:
        logger.info("%.3f s: %s", self.clock, what)
        self.events.append(ExecutionEvent(self.clock, what))

    def report(self, success: bool, reason: Outcome, message: str) -> ExecutionReport:
        self.note(reason)
        times, positions, references = zip(*self.log, strict=True) if self.log else ((), (), ())
        return ExecutionReport(
            success=success,
            reason=reason,
            message=message,
            q=self.measured()[0],
            goal=self.goal,
            at_rest=self._still(),
            deviation=self.deviation,
            duration=self.clock,
            recoveries=self.recovered,
            events=tuple(self.events),
            times=np.array(times),
            positions=np.array(positions),
            references=np.array(references),
        )

    def _still(self) -> bool:
        return bool(np.abs(self.measured()[1]).max(initial=0.0) < _AT_REST)

    def _behind(self, q: np.ndarray) -> float:
        """The time of the way at which it is nearest to where the arm is."""
        times = np.linspace(0.0, self.way.duration, max(100, int(self.way.duration / 0.01)))
        return float(times[np.abs(self.way.at(times) - q).max(axis=1).argmin()])
