"""Runs a task step by step on a driver: plans each move from where the arm really is, and watches it.

A pick or a place is planned from its far end: the configuration at the object is found first, then the straight way up
from it, then the motion to the top of that way. So an approach is never begun that cannot be finished. Objects follow:
what is held is part of the robot for planning, what was put down is where the simulation says it lies.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from memetik.collision.exact import CollisionModel
from memetik.errors import InvalidInputError, MemetikError
from memetik.geometry.transforms import inverse, transform
from memetik.motion.execution.driver import Driver, DriverError, ExactDriver, SimulatedDriver, wait
from memetik.motion.execution.execute import execute
from memetik.motion.execution.handle import Execution
from memetik.motion.execution.simulation import Simulation
from memetik.motion.planning.moves import MovePlanner, allowed, resting_on
from memetik.motion.planning.plan import Plan
from memetik.motion.planning.tool_target import ToolTarget, grasp_targets, place_targets
from memetik.motion.tasks.report import StepReport, TaskError, TaskReport
from memetik.motion.tasks.task import SCRIPTS, Pick, Place, Task, TaskStep
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.robot import Robot
from memetik.solve.options import MethodLike

logger = logging.getLogger(__name__)

_GRIP_TRIES = 10  # how often a gripper's motion is sent again where the driver stopped early
_HELD = 0.03  # metres that an object may slip in the gripper before it counts as lost


def run_task(
    task: Task,
    driver: Driver | str | None = None,
    *,
    real_time: float | None = None,
    watch: Callable[[StepReport], None] | None = None,
    wrap: Callable[[Driver], Driver] | None = None,
    placed_tolerance: float = 0.01,
    rng: int = 0,
    method: MethodLike = "memetic",
    **options: Any,
) -> TaskReport:
    """Do all steps of a task; ends at the first that cannot be done, with the arm at rest.

    driver: a Driver; "simulation" (or None) for physics, "exact" for a run without.
    watch: called with each step's report. wrap: puts something around the driver, such as a fault.
    placed_tolerance: metres that an object may lie off its target and still count as placed.
    method: of inverse kinematics, as for mk.solve.
    options: those of `execute`.
    """
    return Sequencer(task, driver, real_time=real_time, wrap=wrap, rng=rng, method=method, **options).run(
        watch, placed_tolerance
    )


class Sequencer:
    """A task under way. `scene` is as it is now; `task.scene` stays as it was."""

    def __init__(
        self,
        task: Task,
        driver: Driver | str | None = None,
        *,
        real_time: float | None = None,
        wrap: Callable[[Driver], Driver] | None = None,
        rng: int = 0,
        method: MethodLike = "memetic",
        **options: Any,
    ):
        self.method = method
        self.task, self.scene, self.options = task, task.scene.copy(), options
        self.start = task.robot.neutral if task.start is None else np.asarray(task.start, dtype=float)
        self.simulation: Simulation | None = None
        self.notes: list[str] = []
        self.driver = self._driver(driver, real_time)
        if wrap is not None:
            self.driver = wrap(self.driver)
        self.held: str | None = None
        self.targets: dict[str, np.ndarray] = {}
        self._handle: Execution | None = None
        self._mover: MovePlanner | None = None
        self._rng = rng
        self._clock = 0.0

    def run(self, watch: Callable[[StepReport], None] | None = None, placed_tolerance: float = 0.01) -> TaskReport:
        """Do all steps."""
        reports: list[StepReport] = []
        message = "All steps were done."
        try:
            for step in self.task.steps:
                for report in self._do(step):
                    reports.append(report)
                    if watch is not None:
                        watch(report)
        except (TaskError, DriverError) as found:
            error = found if isinstance(found, TaskError) else TaskError("driver", str(found))
            message = str(error)
            reports.append(StepReport(error.label, False, message=message))
            if watch is not None:
                watch(reports[-1])
        placed = self._placed()
        missed = [name for name, off in placed.items() if off > placed_tolerance]
        if missed and all(report.success for report in reports):
            listed = ", ".join(f"{name} by {1e3 * placed[name]:.0f} mm" for name in missed)
            message = f"Not where they should be: {listed}."
        success = all(report.success for report in reports) and not missed
        return TaskReport(success, tuple(reports), placed, message, tuple(self.notes), self._clock)

    def cancel(self) -> None:
        """Bring the arm to rest; the step under way ends with an error."""
        if self._handle is not None:
            self._handle.cancel()

    # steps

    def _do(self, step: TaskStep | Pick | Place) -> Iterator[StepReport]:
        if isinstance(step, Pick):
            yield from self._pick(step)
        elif isinstance(step, Place):
            yield from self._place(step)
        elif step.verb in ("move", "line"):
            yield self._go(step)
        elif step.verb == "grip":
            yield self._grip(dict(step.target), step.label)
        else:
            target = f"{step.target:g} s" if step.verb == "wait" else step.target
            if step.verb == "wait":
                self._wait(float(step.target))
            elif step.verb == "attach":
                self._attach(str(step.target))
            else:
                self._detach()
            yield StepReport(step.label or f"{step.verb} {target}", True)

    def _go(self, step: TaskStep) -> StepReport:
        begin = time.perf_counter()
        mover, q = self._planner(), self._arm_q()
        target = np.asarray(step.target, dtype=float)
        if step.verb == "move" and target.shape != (4, 4):
            target = self._arm_part(target)
        with allowed(self.scene, step.touch):
            with _naming(step.label):
                if step.verb == "line":
                    pose = transform(target) @ mover.robot.pose(self._tool, q) if target.shape == (3,) else target
                    way = mover.line(q, self._tool, pose)
                elif target.shape == (4, 4):
                    way = mover.to_pose(q, self._tool, target)
                else:
                    way = mover.to_configuration(q, target)
            return self._follow(way, step.label, time.perf_counter() - begin)

    def _pick(self, pick: Pick) -> Iterator[StepReport]:
        gripper, script, label = self.task.gripper, SCRIPTS[pick.script], f"pick {pick.item}"
        assert gripper is not None
        if self.held is not None:
            raise TaskError(label, f"the gripper still holds {self.held!r}")
        if gripper.open:
            yield self._grip(dict(gripper.open), f"{label}: open")
        self._look()
        touch = [(pick.item, link) for link in gripper.links]
        mover = self._planner()
        grasps = grasp_targets(self.scene[pick.item].pose, pick.grasp, mover.axis, gripper.spin)
        foot = yield from self._descend(f"{label}: approach", grasps, script.pick_down, touch, self._closing(mover))
        yield self._grip(dict(gripper.closed), f"{label}: grasp")
        self._attach(pick.item)
        with allowed(self.scene, self._supports(pick.item)):
            for height in script.pick_up:
                yield self._rise(height, foot, f"{label}: lift")
                self._check_held(pick.item, label)

    def _place(self, place: Place) -> Iterator[StepReport]:
        gripper, script, label = self.task.gripper, SCRIPTS[place.script], f"place {place.item}"
        assert gripper is not None
        if self.held != place.item:
            raise TaskError(label, f"the gripper holds {self.held!r}" if self.held else "the gripper holds nothing")
        self.targets[place.item] = place.pose
        touch = self._supports(place.item, place.pose)
        spins = place_targets(place.pose, self.scene[place.item].pose, self._planner().axis, gripper.spin)
        foot = yield from self._descend(f"{label}: transfer", spins, script.place_down, touch)
        self._check_held(place.item, label)
        yield self._grip(dict(gripper.open), f"{label}: release")
        self._detach()
        self._wait(0.1)
        with allowed(self.scene, [(place.item, link) for link in gripper.links]):
            for height in script.place_up:
                yield self._rise(height, foot, f"{label}: retreat")
        self._look()

    def _descend(
        self,
        label: str,
        targets: Sequence[ToolTarget],
        heights: Sequence[float],
        touch: Sequence[tuple[str, str]],
        also: Sequence[CollisionModel] = (),
    ) -> Generator[StepReport, None, np.ndarray]:
        """To the top and down onto something; returns the tool's pose at the bottom."""
        begin, name = time.perf_counter(), label.partition(":")[0]
        with _naming(name):
            down = self._planner().descent(self._arm_q(), self._tool, targets, heights, touch, also)
        yield self._follow(down.approach, label, time.perf_counter() - begin)
        with allowed(self.scene, touch):
            for line in down.lines:
                yield self._follow(line, f"{name}: down", 0.0)
        return down.foot

    def _closing(self, mover: MovePlanner) -> list[CollisionModel]:
        """The arm with its gripper half closed, and closed: a wall may stand between finger and object."""
        gripper, group = self.task.gripper, self.task.group
        if gripper is None or group is None or not gripper.closed:
            return []
        halves = (
            {k: v + share * (gripper.closed.get(k, v) - v) for k, v in mover.fixed.items()} for share in (0.5, 1.0)
        )
        return [CollisionModel(self.task.robot.group(group, values), self.scene) for values in halves]

    def _rise(self, height: float, foot: np.ndarray, label: str) -> StepReport:
        """Straight up, to `height` above the tool's pose at the object."""
        begin = time.perf_counter()
        mover, q = self._planner(), self._arm_q()
        target = mover.robot.pose(self._tool, q)
        target[2, 3] = foot[2, 3] + height
        with _naming(label):
            way = mover.line(q, self._tool, target)
        return self._follow(way, label, time.perf_counter() - begin)

    def _grip(self, values: dict[str, float], label: str) -> StepReport:
        """Move the gripper's joints. What they meet stops them, so that where they end is not checked."""
        assert self.task.gripper is not None
        if not values:
            return StepReport(label, True, message="the gripper has no joints of its own")
        names, seconds, recoveries = tuple(values), 0.0, -1
        goal = np.array([values[name] for name in names])
        zero = np.zeros((2, len(names)))
        stopped = True
        while stopped and recoveries < _GRIP_TRIES:
            q, _ = self.driver.state().of(names, self.driver.joint_names)
            way = Trajectory.from_points(names, [0.0, self.task.gripper.seconds], [q, goal], zero, zero)
            report = execute(way, self.driver, tolerance=np.inf, goal_tolerance=np.inf, background=False).result()
            seconds, recoveries = seconds + report.duration, recoveries + 1
            stopped = self.driver.state().time < way.duration - 1e-6
        self._clock += seconds
        self._wait(0.2)
        self._mover = None  # the fingers are elsewhere now
        return StepReport(label, True, running=seconds, recoveries=recoveries)

    def _follow(self, way: Trajectory, label: str, planning: float) -> StepReport:
        mover = self._planner()
        plan = Plan(mover.robot, way.start, True, trajectory=way, conditions=mover.conditions)
        self._handle = execute(plan, self.driver, background=False, **self.options)
        report = self._handle.result()
        self._clock += report.duration
        logger.info("%s: %s", label, report.explain())
        if not report.success:
            rest = "The arm is at rest." if report.at_rest else "The arm still moves."
            raise TaskError(label, f"{report.reason}: {report.message} {rest}")
        return StepReport(label, True, planning, report.duration, report.recoveries)

    # what is held

    def _attach(self, item: str) -> None:
        gripper = self.task.gripper
        if gripper is None:
            raise InvalidInputError("to attach an object, the task needs a gripper.")
        where, tool = self._where(item), self._tool_pose()
        if self.simulation is not None and gripper.hold == "weld":
            self.simulation.hold(item, self._tool)
        self.scene.attach(item, link=self._tool, pose=inverse(tool) @ where, touch=gripper.links)
        self.held = item

    def _detach(self) -> None:
        if self.held is None:
            raise InvalidInputError("nothing is held, so nothing can be detached.")
        item = self.held
        self.scene.detach(item, self.task.robot.pose(self._tool, self._whole_q()) @ self.scene[item].pose)
        if self.simulation is not None:
            self.simulation.release(item)
        self.held = None

    def _check_held(self, item: str, label: str) -> None:
        """Whether the object is still in the gripper; its place there is taken over as it is."""
        if self.simulation is None:
            return
        now = inverse(self._tool_pose()) @ self._where(item)
        slipped = float(np.linalg.norm(now[:3, 3] - self.scene[item].pose[:3, 3]))
        if slipped > _HELD:
            raise TaskError(label, f"{item!r} has slipped by {1e3 * slipped:.0f} mm and is not held")
        self.scene.move(item, now)

    def _supports(self, item: str, pose: np.ndarray | None = None) -> list[tuple[str, str]]:
        """What the object lies on, or will: it touches that at the beginning of a lift and at the end of a descent."""
        if pose is None:
            pose = self.task.robot.pose(self._tool, self._whole_q()) @ self.scene[item].pose
        return [(item, name) for name in resting_on(self.scene, item, pose)]

    def _placed(self) -> dict[str, float]:
        """How far each placed object lies from its target, metres."""
        return {k: float(np.linalg.norm((self._where(k) - target)[:3, 3])) for k, target in self.targets.items()}

    def _where(self, item: str) -> np.ndarray:
        """The pose of an object in the world."""
        return self.simulation.pose(item) if self.simulation is not None else self.scene[item].pose

    def _tool_pose(self) -> np.ndarray:
        if self.simulation is not None:
            return self.simulation.pose(self._tool)
        return self.task.robot.pose(self._tool, self._whole_q())

    # surroundings

    @property
    def _tool(self) -> str:
        return self.task.gripper.tool if self.task.gripper is not None else self._planner().robot.tip

    def _driver(self, driver: Driver | str | None, real_time: float | None) -> Driver:
        task = self.task
        if driver is None or driver == "simulation":
            grips = () if task.gripper is None or task.gripper.hold != "weld" else (task.gripper.tool,)
            loose, masses = task.picked, task.masses
            self.simulation = Simulation(task.robot, self.scene, q=self.start, loose=loose, grips=grips, masses=masses)
            self.notes += self.simulation.notes
            if grips and task.picked:
                self.notes.append("objects are held by a weld between object and tool, not by a grasp")
            own = SimulatedDriver(self.simulation, real_time=real_time)
            own.wait(0.2)  # objects settle
            self.simulation.take_over()
            return own
        if driver == "exact":
            return ExactDriver(task.robot, self.start, real_time=real_time)
        if isinstance(driver, str):
            return _driver_at(driver, task.robot)
        return driver

    def _look(self) -> None:
        """Take over where things lie."""
        if self.simulation is not None:
            self.simulation.take_over()

    def _wait(self, seconds: float) -> None:
        wait(self.driver, seconds)
        self._clock += seconds

    def _whole_q(self) -> np.ndarray:
        """The configuration of the whole robot."""
        return self.driver.state().of(self.task.robot.joint_names, self.driver.joint_names)[0]

    def _arm_q(self) -> np.ndarray:
        robot = self._planner().robot
        return robot.clip(self.driver.state().of(robot.joint_names, self.driver.joint_names)[0])

    def _arm_part(self, q: np.ndarray) -> np.ndarray:
        """The arm's part of a configuration, which may be the whole robot's."""
        arm, whole = self._planner().robot, self.task.robot
        if q.shape == (arm.dof,):
            return q
        if q.shape != (whole.dof,):
            raise InvalidInputError(f"a configuration has {whole.dof} values, or {arm.dof} for the arm, not {q.shape}.")
        return np.array([q[whole.joint_index(name)] for name in arm.joint_names])

    def _planner(self) -> MovePlanner:
        """What plans for the arm, with the gripper as it is now."""
        robot, group = self.task.robot, self.task.group
        fixed: dict[str, float] = {}
        if group is not None:
            q = np.round(robot.clip(self._whole_q()), 3)
            arm = set(robot.group_joints(group))
            fixed = {name: float(v) for name, v in zip(robot.joint_names, q, strict=True) if name not in arm}
        if self._mover is None or not self._mover.near(fixed):
            moved = robot if group is None else robot.group(group, fixed)
            approach = self.task.gripper.approach if self.task.gripper is not None else "z"
            self._mover = MovePlanner(
                moved,
                self.scene,
                speed=self.task.speed,
                approach=approach,
                rng=self._rng,
                fixed=fixed,
                method=self.method,
            )
        return self._mover


@contextmanager
def _naming(label: str) -> Generator[None]:
    """Errors of planning as those of a step."""
    try:
        yield
    except MemetikError as error:
        raise TaskError(label, str(error)) from None


def _driver_at(address: str, robot: Robot) -> Driver:
    """The driver at an address: ur://HOST is an arm of Universal Robots, all else a server of ours."""
    if address.startswith("ur://"):
        from memetik.motion.execution.universal_robots import UniversalRobotsDriver

        return UniversalRobotsDriver(address.removeprefix("ur://"), robot=robot)
    from memetik.motion.execution.tcp import TcpDriver

    return TcpDriver(address)
