"""Plans, Cartesian paths, timing and tasks.

Stages of planning are bounded in seconds. The problems here are so easy that no bound is ever reached: the bounds are
set to a multiple of what the slowest machine needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from cases import Case, module, robot
from cases_scenes import Halved, shelf_scene

import memetik as mk

READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
BACK, SIDE = (2.6, -1.2, 1.4, -1.7, -1.5, 0.3), (0.4, -2.2, 1.2, -0.6, -1.5, 0.0)
TURNED = np.array([1.5, 0.7, 0.2, -1.2, 0.1, 0.8, 0.3])
PATIENT = {"timing": "blends", "ik_timeout": 60.0, "path_timeout": 20.0, "timing_timeout": 120.0}


def of_plan(plan: Any) -> dict[str, Any]:
    """What is recorded of a Plan: the path, the trajectory's times and positions, and how it ended."""
    answer = {"success": bool(plan.success), "stage": plan.stage, "reason": plan.reason}
    if plan.path is not None:
        answer["q"] = np.array(plan.path)
    return answer | ({} if plan.trajectory is None else of_trajectory(plan.trajectory))


def of_trajectory(trajectory: Any) -> dict[str, Any]:
    """Times, positions at a few moments, and what velocities and accelerations never exceed."""
    moments = np.linspace(0.0, trajectory.duration, 9)
    return {
        "duration": float(trajectory.duration),
        "points": len(trajectory.times),
        "times": np.array(trajectory.times)[:40],
        "positions": trajectory.at(moments),
        "velocities": trajectory.velocity(moments),
        "peaks": np.array([trajectory.peaks(1), trajectory.peaks(2)]),
    }


def wall() -> Any:
    scene = mk.Scene()
    scene.add_box("wall", (0.4, 0.02, 0.5), mk.transform((0.5, 0.0, 0.6)))
    return scene


def plan_panda(**options: Any) -> dict[str, Any]:
    """Around a wall, to a pose of the hand."""
    arm = robot("panda")
    goal = mk.transform((0.35, 0.45, 0.5), rpy=(3.14, 0.0, 0.0))
    start = arm.q({"panda_joint1": -1.2})
    return of_plan(mk.plan(arm, [mk.Pose(arm.tip, goal)], scene=wall(), start=start, **(PATIENT | options)))


def plan_between(name: str, start: Any, goal: Any, **options: Any) -> dict[str, Any]:
    """From one configuration to another, before a shelf."""
    return of_plan(
        mk.plan(robot(name), np.array(goal), scene=shelf_scene(), start=np.array(start), **PATIENT, **options)
    )


def plan_checked() -> dict[str, Any]:
    """With a checker of one's own."""
    arm = robot("panda:panda_arm")
    start = READY + 0.3
    return of_plan(
        mk.plan(arm, start + np.array([0.8, 0.1, -0.2, 0.1, 0, 0, 0]), scene=Halved(), start=start, **PATIENT)
    )


def plan_to_two() -> dict[str, Any]:
    """To whichever of two configurations is reached sooner."""
    arm = robot("panda:panda_arm")
    return of_plan(mk.plan(arm, np.array([READY + 0.4, READY - 0.2]), start=READY, **PATIENT))


def planner() -> dict[str, Any]:
    """A Planner with an open target, used twice."""
    arm = robot("panda:panda_arm")
    made = mk.Planner(arm, [mk.Pose(arm.tip)], scene=shelf_scene())
    first = made.plan(arm.pose(arm.tip, READY + 0.2), start=READY, **PATIENT)
    return of_plan(made.plan(arm.pose(arm.tip, READY), start=first.goal, **PATIENT))


def follow(path: Callable[[np.ndarray], Any], **options: Any) -> dict[str, Any]:
    """The tip of the panda on a curve from where it is."""
    arm = robot("panda:panda_arm")
    pose = arm.pose(arm.tip, READY)
    plan = mk.follow(arm, path(pose), start=READY, timing="blends", **options)
    return {**of_plan(plan), "fraction": float(plan.fraction)}


def corners(pose: np.ndarray) -> np.ndarray:
    """Three sides of a square."""
    poses = np.array([pose] * 4)
    poses[1:, 1, 3] += (0.1, 0.1, 0.0)
    poses[1:, 2, 3] += (0.0, -0.1, -0.1)
    return poses


def spline(pose: np.ndarray) -> Any:
    return module("cartesian").spline(corners(pose))


def timed(method: str, **options: Any) -> dict[str, Any]:
    """A fixed path, timed."""
    arm = robot("panda:panda_arm")
    points = np.array([READY, READY + 0.3, READY + np.array([0.6, 0.1, 0.3, 0.0, -0.2, 0.3, 0.0]), READY - 0.1])
    limits = module("limits").MotionLimits.of(arm, velocity_scale=options.pop("scale", 1.0))
    return of_trajectory(
        module("timing").time_path(arm, points, method=method, limits=limits, timeout=120.0, **options)
    )


def changed_trajectory() -> dict[str, Any]:
    """What is made of a trajectory: stretched, cut, joined, resampled."""
    rng = np.random.default_rng(95)
    names = [f"joint{k}" for k in range(3)]
    first = mk.Trajectory.from_points(names, [0.0, 0.5, 1.2], rng.random((3, 3)), rng.random((3, 3)))
    whole = first.stretched(1.5)
    part = whole.between(0.2, 1.1)
    return {**of_trajectory(part.resampled(20.0)), "coefficients": part.coefficients}


def cases() -> Iterator[Case]:
    plans: dict[str, Callable[[], dict[str, Any]]] = {
        "plan-panda": plan_panda,
        "plan-panda-first": lambda: plan_panda(choose="first", candidates=2, rng=3),
        "plan-panda-sbl": lambda: plan_panda(planner="sbl"),
        "plan-panda-slow": lambda: plan_panda(velocity_scale=0.3, acceleration_scale=0.2),
        "plan-panda-spline": lambda: plan_panda(timing="spline"),
        "plan-panda-margin": lambda: plan_panda(margin=0.02),
        "plan-ur10-shelf": lambda: plan_between("ur10", BACK, SIDE),
        "plan-ur5-shelf": lambda: plan_between("ur5", BACK, SIDE),
        "plan-iiwa-shelf": lambda: plan_between("iiwa14", TURNED, -TURNED),
        "plan-checker": plan_checked,
        "plan-to-two": plan_to_two,
        "planner": planner,
        "follow-corners": lambda: follow(corners),
        "follow-spline": lambda: follow(spline),
        "follow-slow": lambda: follow(corners, tool_speed=0.05),
        "follow-scene": lambda: follow(corners, scene=shelf_scene()),
    }
    for label, run in plans.items():
        yield Case(f"motion/{label}", run, needs=("coal",))
    for method, needs in (("blends", ()), ("spline", ()), ("toppra", ("toppra",)), ("ruckig", ("ruckig",))):
        yield Case(f"motion/timing-{method}", lambda method=method: timed(method), blas=method == "toppra", needs=needs)
    yield Case("motion/timing-blends-slow", lambda: timed("blends", scale=0.4))
    tool = ("panda_hand_tcp", 0.2)
    yield Case("motion/timing-tool-speed", lambda: timed("blends", tool_speed=tool))
    yield Case("motion/trajectory", changed_trajectory)
