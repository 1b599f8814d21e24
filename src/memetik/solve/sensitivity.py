"""How an answer changes with its targets: dq/dt by the implicit function theorem, computed in the core.

Targets change by small motions t:

    pose       (6,) translation in metres, then a rotation vector in radians; both in the axes of the frame that the
               target is stated in (the world, or the link `relative_to`), about the target's origin
    rotation   (3,) a rotation vector, likewise
    direction  (3,) added to the unit vector, which is made a unit vector again
    point and numbers   added to them
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from memetik import _core
from memetik.errors import GoalError
from memetik.goals.base import Goal, set_fields
from memetik.goals.compiler import OpenTarget
from memetik.solve.inputs import Array, checked_targets

if TYPE_CHECKING:
    from memetik.solve.problem import Problem

_STEP = 1e-6
"""Over which conversions of targets, smooth and cheap, are differentiated."""


def sensitivity(
    problem: Problem, targets: Sequence[Array], q: Array, seeds: Array, bases: Array | None, threads: int = 1
) -> dict[str, Array]:
    """{goal: dq/dt (N, dof, numbers of the target's change)} at answers q (N, dof)."""
    if problem.callbacks or any(term.spec.kind == _core.TermKind.contacts for term in problem.terms):
        raise GoalError("sensitivity needs goals that the core differentiates: none in Python, none on contacts.")
    given = tuple(targets)
    if not problem.open_targets:
        problem, given = _opened(problem)
    placed = None if bases is None else np.ascontiguousarray(problem.base_transform(bases))
    whole = _core.sensitivity(problem.core, given, q, np.ascontiguousarray(seeds), placed, threads)
    sizes = [tangent_size(target) for target in problem.open_targets]
    parts = np.split(whole, np.cumsum(sizes)[:-1], axis=2)
    return {problem.goal_names[target.goal]: part for target, part in zip(problem.open_targets, parts, strict=True)}


def tangent_size(target: OpenTarget) -> int:
    """How many numbers a small change of a target has."""
    return {"pose": 6, "rotation": 3}.get(target.form, int(np.prod(target.shape)))


def _opened(problem: Problem) -> tuple[Problem, tuple[Array, ...]]:
    """The same problem with the targets of its goals left open, and these targets."""
    from memetik.solve.problem import Problem

    loops = {f"loop {loop.name}" for loop in problem.robot.description.loops}
    goals: list[Goal] = []
    targets: dict[str, Array] = {}
    for goal, name in zip(problem.goals, problem.goal_names, strict=True):
        opened = copy.copy(goal)
        if goal.open_target is not None and goal.name not in loops:
            value = getattr(goal, goal.open_target)
            set_fields(opened, **{goal.open_target: None})
            targets[name] = value
        goals.append(opened)
    if not targets:
        raise GoalError("sensitivity needs a goal with a target, such as mk.Pose.")
    twin = Problem(problem.robot, goals, fixed=problem.fixed)
    return twin, checked_targets(twin, (targets,))


def pull_back(target: OpenTarget, value: Array, gradient: Array) -> Array:
    """The gradient of a loss by the numbers of a target (N, ...), from that by its small changes (N, size).

    A pose's rotation R changes by [w] R, so that a gradient g by w is <[g] R / 2, dR> by the entries of R.
    """
    count = len(gradient)
    if target.form in ("pose", "rotation"):
        whole = np.zeros(value.shape)
        by_rotation = gradient[:, -3:]
        skew = np.zeros((count, 3, 3))
        skew[:, (2, 0, 1), (1, 2, 0)] = by_rotation
        skew[:, (1, 2, 0), (2, 0, 1)] = -by_rotation
        whole[:, :3, :3] = 0.5 * skew @ value[:, :3, :3]
        if target.form == "pose":
            whole[:, :3, 3] = gradient[:, :3]
        return whole
    if target.form == "direction":
        return gradient / np.linalg.norm(value, axis=-1, keepdims=True)
    if target.convert is None:
        return gradient.reshape(value.shape)
    flat = value.reshape(count, -1)
    columns: list[Array] = []
    for k in range(flat.shape[1]):
        step = np.zeros(flat.shape[1])
        step[k] = _STEP
        ends = [target.convert((flat + sign * step).reshape(value.shape)).reshape(count, -1) for sign in (1, -1)]
        columns.append(((ends[0] - ends[1]) * gradient).sum(axis=1) / (2.0 * _STEP))
    return np.stack(columns, axis=1).reshape(value.shape)
