"""Running a trajectory on a driver, with an eye on it: `execute` gives a handle with progress, cancel and a report.

The runner compares where the arm is with where it should be. Where the driver stops early, leaves the way, or something
appears on the way, it brings the arm to rest and goes on to the same last configuration (never to another branch of the
inverse kinematics): first straight back to the way and along it, where that is free; else by a new plan. Where neither
works it says so, with the arm at rest.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from memetik.errors import InvalidInputError
from memetik.motion.execution.driver import Driver, DriverError, DriverState, most_points, wait
from memetik.motion.execution.recovery import Recovery
from memetik.motion.planning.free_space import SceneLike
from memetik.motion.planning.plan import Plan
from memetik.motion.timing.rest_segments import split
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.robot import Robot

logger = logging.getLogger(__name__)

Outcome = Literal[
    "done", "cancelled", "stopped early", "left the way", "obstacle", "goal blocked", "refused", "timed out", "failed"
]

_AT_REST = 1e-3  # rad/s or m/s below which an arm stands still
_PATIENCE = 2.0  # seconds after which a driver that does not move, or does not come to rest, is given up


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

    def result(self, timeout: float | None = None) -> ExecutionReport:
        """Wait for the end, `timeout` seconds at most; errors that the driver raised come through.

        Ctrl-C while waiting brings the arm to rest.
        """
        try:
            futures.wait([self._future], timeout)
        except KeyboardInterrupt:
            self.cancel()
            futures.wait([self._future], 2.0 * _PATIENCE)
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


def execute(
    plan: Plan | Trajectory,
    driver: Driver,
    *,
    robot: Robot | None = None,
    scene: SceneLike = None,
    tolerance: float = 0.05,
    goal_tolerance: float = 2e-3,
    recoveries: int = 5,
    period: float = 0.02,
    point_tolerance: float = 2e-3,
    background: bool = True,
) -> Execution:
    """Send a plan or a trajectory to a driver and watch it. Returns a handle at once, or at the end if not background.

    robot, scene: what is needed to recover and to notice obstacles; a plan brings its own, with its margin, limits and
        seed, and recovery keeps to them. `scene` is watched: what is added to it while the arm moves is seen.
    tolerance: how far a joint may be from where it should be at that moment, radians or metres.
    goal_tolerance: how far at the end. recoveries: how often to go on after something went wrong.
    period: how often to look, seconds.
    point_tolerance: how far what is sent to a driver that takes few points may be from the way.
    """
    conditions = None
    if isinstance(plan, Plan):
        if plan.trajectory is None:
            raise InvalidInputError(f"this plan failed and has nothing to run: {plan.reason}.")
        conditions, robot = plan.conditions, robot or plan.robot
        scene = plan.conditions.scene if scene is None and plan.conditions is not None else scene
        plan = plan.trajectory
    if not isinstance(plan, Trajectory):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"a Plan or a Trajectory can be executed, not {type(plan).__name__}.")
    for name, value in (("tolerance", tolerance), ("goal_tolerance", goal_tolerance), ("period", period)):
        if not value > 0.0:
            raise InvalidInputError(f"{name}= must be positive, not {value!r}.")
    recovery = Recovery(robot, scene, plan.joint_names, conditions)
    options = _Options(tolerance, goal_tolerance, recoveries, period, point_tolerance)
    handle = Execution(lambda own: _Runner(own, driver, plan, recovery, options).run())
    handle.start(background)
    return handle


@dataclass(frozen=True, slots=True)
class _Options:
    tolerance: float
    goal_tolerance: float
    recoveries: int
    period: float
    point_tolerance: float


class _Trouble(Exception):
    def __init__(self, reason: Outcome, what: str):
        super().__init__(what)
        self.reason: Outcome = reason
        self.what = what


class _Runner:
    def __init__(
        self, handle: Execution, driver: Driver, trajectory: Trajectory, recovery: Recovery, options: _Options
    ):
        self.handle, self.driver, self.recovery, self.options = handle, driver, recovery, options
        self.way = trajectory
        """What is still to be followed."""
        self.goal = trajectory.end
        self.names = trajectory.joint_names
        self.clock, self.deviation, self.recovered = 0.0, 0.0, 0
        self.events: list[ExecutionEvent] = []
        self.log: list[tuple[float, np.ndarray, np.ndarray]] = []
        self._begin = time.perf_counter()

    def run(self) -> ExecutionReport:
        """Follow the way to its end, and whatever goes wrong, do not leave the arm moving."""
        try:
            return self._run()
        except BaseException:
            with contextlib.suppress(Exception):
                self.driver.stop()
            raise

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
            if trouble.reason == "cancelled":
                return self.report(False, "cancelled", "The execution was cancelled.")
            if self.recovered >= self.options.recoveries:
                return self.report(False, trouble.reason, f"Given up: {trouble.what}.")
            self.recovered += 1
            q = self.measured()[0]
            if np.abs(q - self.goal).max() <= self.options.goal_tolerance:
                return self.report(True, "done", "The arm is at the end of the trajectory.")
            found = self.recovery.onwards(q, self.way, self._behind(q))
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
        for number, piece in enumerate(pieces):
            self._left = pieces[number:]
            try:
                self.driver.send(piece)
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
            self.look_around(state)
            if not state.moving:
                self.check_end(q, piece, state)
                return
            still = still + self.options.period if state.time <= last else 0.0
            last = max(last, state.time)
            if still > _PATIENCE and state.time < piece.duration:
                raise _Trouble("timed out", f"the driver has not moved on for {still:.1f} s")
            if still > _PATIENCE + 3.0:
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

    def look_around(self, state: DriverState) -> None:
        """What the scene has gained must not be in the way that is left."""
        if not self.recovery.changed():
            return
        current, *later = self._left
        rest = [current.between(min(state.time, current.duration), current.duration), *later]
        blocked = self.recovery.first_contact(rest)
        if blocked is not None:
            seconds, pair = blocked
            raise _Trouble("obstacle", f"{pair[0]!r} and {pair[1]!r} would touch in {seconds:.2f} s")
        self.note("the scene has changed; the way is still free")

    def rest(self) -> None:
        """Stop, and wait until the arm stands still."""
        self.driver.stop()
        waited = 0.0
        while waited < _PATIENCE and not self._still():
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
