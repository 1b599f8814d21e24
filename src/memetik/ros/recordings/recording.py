"""Writing MCAP files with messages of ROS 2, as Foxglove, PlotJuggler and `ros2 bag` read them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError, MissingExtraError
from memetik.files.atomic import replacing
from memetik.motion.execution.driver import Driver, DriverState, most_points, wait
from memetik.motion.timing.trajectory import Trajectory
from memetik.ros import conversions
from memetik.ros.messages import Message, encode, message_class
from memetik.ros.messages.definitions import full_text

if TYPE_CHECKING:
    from memetik.motion.execution.handle import ExecutionReport
    from memetik.motion.planning.plan import Plan
    from memetik.robot.robot import Robot
    from memetik.solve.tracker import TrackerStep

JOINT_STATES, REFERENCES, TRAJECTORY = "/joint_states", "/joint_references", "/joint_trajectory"
PLANNED_PATH, DESCRIPTION, LOG, TRACKING = "/display_planned_path", "/robot_description", "/rosout", "/tracking"
ATTACHMENT = "trajectory.json"
"""Name of the attachment that holds a saved trajectory with all its polynomials."""


class Recording(AbstractContextManager["Recording"]):
    """An MCAP file in the making; it appears under its name when it is closed.

        with mk.Recording("run.mcap", robot) as recording:
            recording.step(t, tracker.step(T))

    Times are seconds from `begin`, nanoseconds since 1970; 0 by default, so that equal runs give equal files.
    """

    def __init__(self, path: str | PathLike[str], robot: Robot | None = None, *, begin: int = 0):
        try:
            from mcap.writer import Writer
        except ImportError:
            raise MissingExtraError("mcap", "ros", "a recording") from None
        if Path(path).suffix != ".mcap":
            raise InvalidInputError(f"a recording is saved as .mcap, not as {Path(path).name!r}.")
        self.path, self.begin = Path(path), begin
        self._stack = ExitStack()
        temporary = self._stack.enter_context(replacing(path))
        self._file = self._stack.enter_context(temporary.open("wb"))
        self._writer = Writer(self._file)
        self._writer.start(profile="ros2", library="memetik")
        self._schemas: dict[str, int] = {}
        self._channels: dict[tuple[str, str], int] = {}
        self._counts: dict[int, int] = {}
        if robot is not None:
            self.write(DESCRIPTION, message_class("std_msgs/msg/String")(data=robot.to_urdf()), 0.0)

    def write(self, topic: str, message: Message, time: float) -> None:
        """Any message, on any topic, at `time` seconds."""
        channel = self._channel(topic, message.TYPE)
        count = self._counts[channel] = self._counts.get(channel, -1) + 1
        at = self.nanoseconds(time)
        self._writer.add_message(channel, log_time=at, publish_time=at, sequence=count, data=encode(message))

    def configuration(
        self, names: Sequence[str], q: ArrayLike, time: float, *, velocity: ArrayLike | None = None,
        topic: str = JOINT_STATES,
    ) -> None:  # fmt: skip
        """A configuration as a JointState."""
        rates = None if velocity is None else np.asarray(velocity, dtype=float)
        message = conversions.joint_state(names, np.asarray(q, dtype=float), rates, self.nanoseconds(time))
        self.write(topic, message, time)

    def trajectory(self, trajectory: Trajectory, time: float = 0.0, *, rate: float = 50.0) -> None:
        """A trajectory: whole, and as JointStates at `rate` hertz, so that viewers play it."""
        self.write(TRAJECTORY, conversions.trajectory_message(trajectory, "", self.nanoseconds(time)), time)
        count = max(int(np.ceil(trajectory.duration * rate)), 1)
        for t in np.linspace(0.0, trajectory.duration, count + 1):
            q, velocity = trajectory.at(t), trajectory.velocity(t)
            self.configuration(trajectory.joint_names, q, time + float(t), velocity=velocity)

    def plan(self, plan: Plan, time: float = 0.0) -> None:
        """A plan: its trajectory, and MoveIt's DisplayTrajectory."""
        if plan.trajectory is None:
            raise InvalidInputError(f"there is no trajectory to record: {plan.reason}.")
        self.write(PLANNED_PATH, display_trajectory(plan.robot, plan.trajectory), time)
        self.trajectory(plan.trajectory, time)

    def execution(self, report: ExecutionReport, names: Sequence[str], time: float = 0.0) -> None:
        """What was measured and what was due while something was executed, and what happened."""
        for t, q, due in zip(report.times, report.positions, report.references, strict=True):
            self.configuration(names, q, time + float(t))
            self.configuration(names, due, time + float(t), topic=REFERENCES)
        for event in report.events:
            self.log(event.what, time + event.time)

    def step(self, time: float, step: TrackerStep, names: Sequence[str]) -> None:
        """A step of a tracker: the configuration, and what kept it from its target."""
        self.configuration(names, step.q, time, velocity=step.velocity)
        self.write(TRACKING, tracking_status(step, self.nanoseconds(time)), time)

    def log(self, text: str, time: float) -> None:
        """A line of the log."""
        log = message_class("rcl_interfaces/msg/Log")
        self.write(LOG, log(stamp=conversions.stamp(self.nanoseconds(time)), level=20, name="memetik", msg=text), time)

    def attach(self, name: str, data: str) -> None:
        """A text that the file carries beside its messages."""
        self._writer.add_attachment(
            create_time=self.begin, log_time=self.begin, name=name, media_type="application/json", data=data.encode()
        )

    def nanoseconds(self, time: float) -> int:
        """The time stamp of `time` seconds."""
        return self.begin + round(time * conversions.NANO)

    def close(self) -> None:
        """Finish the file."""
        if self._file.closed:
            return
        self._writer.finish()
        self._stack.close()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        # What was recorded before an error is what one wants to look at afterwards.
        self.close()

    def _channel(self, topic: str, kind: str) -> int:
        if (topic, kind) not in self._channels:
            if kind not in self._schemas:
                self._schemas[kind] = self._writer.register_schema(
                    name=kind, encoding="ros2msg", data=full_text(kind).encode()
                )
            self._channels[topic, kind] = self._writer.register_channel(
                topic=topic, message_encoding="cdr", schema_id=self._schemas[kind]
            )
        return self._channels[topic, kind]


class RecordingDriver:
    """A driver that records what passes through it: trajectories that are sent, and the states that are asked for."""

    def __init__(self, driver: Driver, recording: Recording):
        self.driver, self.recording = driver, recording
        self._time, self._last = 0.0, -1.0

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.driver.joint_names

    @property
    def most_points(self) -> int | None:
        return most_points(self.driver)

    def send(self, trajectory: Trajectory) -> None:
        at = self.recording.nanoseconds(self._time)
        self.recording.write(TRAJECTORY, conversions.trajectory_message(trajectory, "", at), self._time)
        self.driver.send(trajectory)

    def state(self) -> DriverState:
        state = self.driver.state()
        if self._time > self._last:
            self.recording.configuration(self.joint_names, state.q, self._time, velocity=state.velocity)
            self._last = self._time
        return state

    def stop(self) -> None:
        self.recording.log("stop", self._time)
        self.driver.stop()

    def wait(self, seconds: float) -> None:
        wait(self.driver, seconds)
        self._time += seconds


def save_trajectory(trajectory: Trajectory, path: str | PathLike[str]) -> None:
    """Write a trajectory as MCAP: for viewers as messages, and with all its polynomials as an attachment."""
    with Recording(path) as recording:
        recording.trajectory(trajectory)
        recording.attach(ATTACHMENT, json.dumps(trajectory.to_dict(), allow_nan=False))


def save_plan(plan: Plan, path: str | PathLike[str]) -> None:
    """Write a plan as MCAP, with the robot's description."""
    if plan.trajectory is None:
        raise InvalidInputError(f"there is no trajectory to save: {plan.reason}.")
    with Recording(path, plan.robot) as recording:
        recording.plan(plan)
        recording.attach(ATTACHMENT, json.dumps(plan.trajectory.to_dict(), allow_nan=False))


def display_trajectory(robot: Robot, trajectory: Trajectory) -> Any:
    """A moveit_msgs/DisplayTrajectory."""
    message = message_class("moveit_msgs/msg/DisplayTrajectory")(model_id=robot.name)
    path = message_class("moveit_msgs/msg/RobotTrajectory")()
    path.joint_trajectory = conversions.trajectory_message(trajectory, robot.base)
    message.trajectory = [path]
    message.trajectory_start.joint_state = conversions.joint_state(trajectory.joint_names, trajectory.start)
    return message


def tracking_status(step: TrackerStep, nanoseconds: int) -> Any:
    """A diagnostic_msgs/DiagnosticStatus: how far a tracker is from its target, and why."""
    status, pair = message_class("diagnostic_msgs/msg/DiagnosticStatus"), message_class("diagnostic_msgs/msg/KeyValue")
    array = message_class("diagnostic_msgs/msg/DiagnosticArray")(header=conversions.header("", nanoseconds))
    if step.obstacle is not None:
        level, text = 1, f"held back: {step.obstacle[0]} would come too near to {step.obstacle[1]}"
    elif step.recovering:
        level, text = 1, "leaves this configuration, in which it was stuck"
    elif not step.within:
        level, text = 1, "behind its target" + (f": {', '.join(step.saturated)} at a bound" if step.saturated else "")
    else:
        level, text = 0, "on its target"
    values = [pair(key="error", value=f"{step.error:.6g}")]
    values += [pair(key=name, value=", ".join(kinds)) for name, kinds in step.bounds.items()]
    array.status = [status(level=level, name="memetik tracker", message=text, values=values)]
    return array
