"""Batches: in free space and in scenes, with seeds, bases and predicates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from cases import Case, named, of_batch, of_solutions, robot
from cases_options import Level
from cases_scenes import shelf_scene

import memetik as mk

COUNT = 20
EVALUATIONS = 1200


def targets_of(name: str, seed: int, count: int = COUNT) -> tuple[Any, np.ndarray, np.ndarray]:
    """A robot, poses of its tip (N, 4, 4) and starts (N, dof)."""
    arm = robot(name)
    rng = np.random.default_rng(seed)
    return arm, arm.pose(arm.tip, arm.random(rng, count)), arm.random(rng, count)


def poses(name: str, *, seeded: bool = True, goals: Any = (), **options: Any) -> dict[str, Any]:
    """A batch of poses in free space."""
    arm, targets, starts = targets_of(name, 41)
    problem = mk.Problem(arm, [mk.Pose(arm.tip), *goals])
    seed = starts if seeded else None
    return of_batch(problem.solve(targets, seed=seed, **{"evaluations": EVALUATIONS, **options}))


def positions(**options: Any) -> dict[str, Any]:
    """Positions only, all from one start."""
    arm, targets, starts = targets_of("panda:panda_arm", 42)
    problem = mk.Problem(arm, [mk.Position(arm.tip)])
    batch = problem.solve(targets[:, :3, 3], seed=starts[0], **{"evaluations": EVALUATIONS, **options})
    return of_batch(batch)


def bases() -> dict[str, Any]:
    """One target, many places of the robot."""
    arm, targets, starts = targets_of("ur5", 43)
    places = np.array([mk.transform((0.02 * k, -0.01 * k, 0.0), rpy=(0.0, 0.0, 0.1 * k)) for k in range(COUNT)])
    problem = mk.Problem(arm, [mk.Pose(arm.tip)])
    return of_batch(problem.solve(targets[0], seed=starts, base=places, evaluations=EVALUATIONS))


def every_answer() -> dict[str, Any]:
    """keep="all": the distinct solutions of each element."""
    arm, targets, starts = targets_of("ur10", 44, 4)
    found = mk.Problem(arm, [mk.Pose(arm.tip)]).solve(targets, seed=starts, evaluations=EVALUATIONS, keep="all")
    joined = of_solutions([solution for element in found for solution in element])
    return {**joined, "counts": [len(element) for element in found]}


def own_goal() -> dict[str, Any]:
    """Goals in Python are solved one after the other."""
    arm, targets, starts = targets_of("panda:panda_arm", 45, 4)
    problem = mk.Problem(arm, [mk.AlignAxis("panda_hand", "z"), Level()])
    return of_batch(problem.solve(targets[:, :3, 2], seed=starts, evaluations=300))


def two_open() -> dict[str, Any]:
    """Two open targets of a robot with two arms, one of them the same for all."""
    body = robot("pr2")
    left, right = body.tips[:2]
    q = body.random(np.random.default_rng(46), COUNT)
    problem = mk.Problem(body, [mk.Position(left), mk.Pose(right)])
    batch = problem.solve(body.pose(left, q)[:, :3, 3], body.pose(right, q)[0], evaluations=EVALUATIONS)
    return of_batch(batch)


def in_scene(*, seeded: bool, margin: float = 0.0, **options: Any) -> dict[str, Any]:
    """Poses before the boards of a shelf."""
    arm, scene = robot("ur10"), shelf_scene()
    rng = np.random.default_rng(47)
    places = [mk.transform((0.55, x, z), rpy=(0.0, 1.57, 0.0)) for x, z in rng.uniform((-0.4, 0.2), (0.4, 0.8), (8, 2))]
    starts = arm.random(rng, len(places)) if seeded else None
    problem = mk.Problem(arm, [mk.Pose(arm.tip)], scene=scene, margin=margin)
    return of_batch(problem.solve(np.array(places), seed=starts, evaluations=EVALUATIONS, **options))


def _batches() -> dict[str, Callable[[], dict[str, Any]]]:
    soft = (mk.AvoidLimits(), named("Displacement")(priority=2))
    return {
        "panda": lambda: poses("panda:panda_arm"),
        "panda-unseeded": lambda: poses("panda:panda_arm", seeded=False),
        "panda-threads-2": lambda: poses("panda:panda_arm", threads=2),
        "ur5-closed-form": lambda: poses("ur5"),
        "iiwa": lambda: poses("iiwa14", rng=(4, 7)),
        "elise": lambda: poses("elise"),
        "youbot-few-joints": lambda: poses("youbot_arm", evaluations=600),
        "soft": lambda: poses("panda:panda_arm", goals=soft, refine_evaluations=400),
        "positions": positions,
        "positions-valid": lambda: positions(valid=lambda q: q[:, 0] > 0.0),
        "jac": lambda: poses("panda:panda_arm", method="jac", evaluations=400),
        "bases": bases,
        "keep-all": every_answer,
        "own-goal": own_goal,
        "two-open": two_open,
    }


def cases() -> Iterator[Case]:
    for label, run in _batches().items():
        yield Case(f"batches/{label}", run, core=True)
    scenes = {
        "scene": lambda: in_scene(seeded=True),
        "scene-unseeded": lambda: in_scene(seeded=False),
        "scene-threads-2": lambda: in_scene(seeded=True, threads=2),
        "scene-margin": lambda: in_scene(seeded=True, margin=0.02),
        "scene-valid": lambda: in_scene(seeded=True, valid=lambda q: q[:, 2] > 0.0),
    }
    for label, run in scenes.items():
        yield Case(f"batches/{label}", run, needs=("coal",))
