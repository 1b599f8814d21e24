"""Running a trajectory on a driver, with an eye on it: `execute` gives a handle with progress, cancel and a report."""

from __future__ import annotations

from memetik.errors import InvalidInputError
from memetik.motion.execution.driver import Driver
from memetik.motion.execution.handle import Execution
from memetik.motion.execution.recovery import Recovery
from memetik.motion.execution.runner import Runner, RunnerOptions
from memetik.motion.planning.free_space import SceneLike
from memetik.motion.planning.plan import Plan
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.robot import Robot


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
    options = RunnerOptions(tolerance, goal_tolerance, recoveries, period, point_tolerance)
    handle = Execution(lambda own: Runner(own, driver, plan, recovery, options).run())
    handle.start(background)
    return handle
