"""Why a solve ended as it did: in a few words, and in sentences."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik import _core
from memetik.collision.mesh_checker import MeshChecker
from memetik.errors import MissingExtraError, counted
from memetik.goals.base import HARD
from memetik.scene.scene import Scene
from memetik.solve.demands import shortage_of
from memetik.solve.hard_terms import HardTerms
from memetik.solve.reach_proofs import proof_of
from memetik.solve.relaxations import helpful
from memetik.solve.solution import Solution

if TYPE_CHECKING:
    from memetik.collision.context import CollisionContext
    from memetik.scene.scene_object import SceneObject

SOLVED = "solved"
APPROXIMATE = "approximate"
TOO_FEW_JOINTS = "too few joints for the demands"
IN_COLLISION = "in collision"
NOT_FOUND = "not found in time"

MOST_CONTACTS = 6
"""As many pairs in contact are named."""

MOST_BRANCHES, MOST_FOUND = 16, 4
"""As many configurations are described one by one: of all that there are, and of those that were found."""

MOST_TRIED = 200
"""In scenes of more objects only those that are found to touch first are looked at."""

_STARTS, _START_SECONDS = 24, 0.01


def reason_of(solution: Solution) -> str:
    """The solution's reason in a few words.

    'out of reach' and 'limits exclude it' are proved, and so is 'too few joints for the demands': no joint is free to
    move. 'in collision': configurations were found that meet the goals, and all of them touch something; where an arm
    of six joints has a closed form these are all that there are, and `explain()` names what blocks each. 'not found in
    time' says nothing about what is possible; where the joints meet the demands in special cases only, `explain()` says
    so, as the target may be one of these.
    """
    if solution.success:
        return SOLVED
    if solution.outcome.ending == _core.Ending.blocked:
        return IN_COLLISION
    hard = HardTerms.of_solution(solution)
    if proof := proof_of(hard):
        return proof.reason
    if (shortage := shortage_of(hard)) and shortage.joints == 0:
        return TOO_FEW_JOINTS
    return IN_COLLISION if _turned_away_by_contact(solution) else NOT_FOUND


def explain(solution: Solution) -> str:
    """The solution in plain sentences: what misses by how much, joints at limits, what was tried, what would help."""
    lines = [_heading(solution)]
    about = _joints_at_limits(solution)
    if clipped := ", ".join(map(repr, solution.clipped)):
        about.append(f"The seed was outside the limits of {clipped} and was moved to the nearest value within.")
    about += _soft_goals(solution)
    about.append(_search(solution))
    if solution.success:
        return "\n".join(lines + about)
    hard = HardTerms.of_solution(solution)
    lines += [*_causes(solution, hard), *_misses(solution, hard)]
    lines += [*_branches(solution, hard), *_contacts(solution), *about]
    found = helpful(solution.problem, hard)
    lines += [f"It would be solved {change}." for change in found]
    if not found:
        lines.append("None of the relaxations that were tried is solved in the time given to them.")
    return "\n".join(lines)


def _heading(solution: Solution) -> str:
    if solution.reason == APPROXIMATE:
        return "Not solved: this is the nearest configuration that was found."
    if not solution.success:
        pairs = _touching(solution) if solution.reason == IN_COLLISION else []
        which = f" ({pairs[0][0]!r} and {pairs[0][1]!r})" if pairs else ""
        return f"Not solved: {solution.reason}{which}."
    problem, parts = solution.problem, dict[int, list[str]]()
    for term, error in zip(problem.terms, np.asarray(solution.outcome.errors).tolist(), strict=True):
        if term.spec.priority == HARD:
            parts.setdefault(term.spec.goal, []).append(f"{term.label} {_quantity(error, term.unit)}")
    worst = [f"{problem.goal_names[goal]!r} to {' and '.join(parts[goal])}" for goal in sorted(parts)]
    return f"Solved in {solution.time * 1e3:.3g} ms: {', '.join(worst)}."


def _causes(solution: Solution, hard: HardTerms) -> list[str]:
    names, lines = solution.problem.goal_names, list[str]()
    if proof := proof_of(hard):
        lines.append(f"Proved for {names[proof.goal]!r}: {proof.sentence}.")
    if shortage := shortage_of(hard):
        lines.append(f"{shortage.sentence}.")
    return lines


def _misses(solution: Solution, hard: HardTerms) -> list[str]:
    """One sentence for each goal that misses in the best configuration found."""
    parts: dict[int, list[str]] = {}
    for term in hard.terms:
        if term.missed:
            error, allowed = (_quantity(value, term.unit) for value in (term.error, term.spec.tolerance))
            parts.setdefault(term.spec.goal, []).append(f"{term.label} by {error} ({allowed} allowed)")
    names = solution.problem.goal_names
    return [f"The best configuration found misses {names[goal]!r}: {', '.join(own)}." for goal, own in parts.items()]


def _soft_goals(solution: Solution) -> list[str]:
    """How far soft goals are from what they ask for."""
    problem, parts = solution.problem, dict[int, list[str]]()
    for term, error in zip(problem.terms, np.asarray(solution.outcome.errors).tolist(), strict=True):
        if term.spec.priority > HARD:
            parts.setdefault(term.spec.goal, []).append(f"{term.label} {_quantity(error, term.unit)}")
    left = [f"{problem.goal_names[goal]!r} at {' and '.join(own)}" for goal, own in parts.items()]
    return [f"Soft goals are left with {', '.join(left)}."] if left else []


def _contacts(solution: Solution) -> list[str]:
    """What touches what in the best configuration found."""
    found = [f"{first!r} and {second!r} ({_quantity(depth, 'm')} deep)" for first, second, depth in _touching(solution)]
    return [f"In the best configuration found these touch: {', '.join(found[:MOST_CONTACTS])}."] if found else []


def _branches(solution: Solution, hard: HardTerms) -> list[str]:
    """What blocks each of the configurations that meet the goals: all that there are, or those that were found."""
    problem, context = solution.problem, solution.problem.collision_context
    rows = np.asarray(solution.outcome.branches).reshape(-1, problem.robot.dof)
    lines: list[str] = []
    if context is None or problem.external_checker is not None:
        return lines
    if proved := len(rows) > 0:
        count = counted(len(rows), "configuration")
        lines = [f"Proved: every configuration that reaches the target is in collision ({count})."]
    elif solution.reason == IN_COLLISION:
        rows = replace(hard, collision_context=None).configurations(_STARTS, _START_SECONDS)
        lines = [f"Without regard to contacts {counted(len(rows), 'configuration')} that meet the goals were found."]
    if not len(rows):
        return []
    blocked = np.asarray(context.native.collides(rows), dtype=bool)
    if not blocked.all():
        return []  # the search missed one that is free
    for number, row in enumerate(rows[: MOST_BRANCHES if proved else MOST_FOUND], start=1):
        if (pair := context.native.first_contact(row)) is not None:
            values = ", ".join(f"{value:.3g}" for value in row[problem.core.variables])
            lines.append(f"Configuration {number} ({values}): {pair[0]!r} touches {pair[1]!r}.")
    return lines + _to_move(solution, rows)


def _to_move(solution: Solution, rows: np.ndarray) -> list[str]:
    """Which objects block how many of these configurations, and which would have to go."""
    problem, context = solution.problem, solution.problem.collision_context
    assert context is not None
    scene = context.scene
    if scene is None:
        return ["All of them are in collision with the robot itself."]
    robot, allowed, margin = problem.robot, context.allowed, context.margin
    own = Scene(scene.attached_objects, allowed=scene.allowed)
    itself = MeshChecker(robot, own, allowed=allowed, self_collision=context.self_collision, margin=margin)
    by_itself = np.asarray(itself.collides(rows), dtype=bool)
    blocks: dict[str, np.ndarray] = {}
    for item in _near(context, rows):
        alone = Scene((*scene.attached_objects, item), allowed=scene.allowed)
        with_it = MeshChecker(robot, alone, allowed=allowed, self_collision=False, margin=margin)
        blocks[item.name] = np.asarray(with_it.collides(rows), dtype=bool)
    blocks = {name: hit for name, hit in blocks.items() if hit.any()}
    counts = sorted(((int(hit.sum()), name) for name, hit in blocks.items()), key=lambda entry: (-entry[0], entry[1]))
    lines: list[str] = []
    if counts:
        named = ", ".join(f"{name!r} ({counted(count, 'configuration')})" for count, name in counts[:MOST_CONTACTS])
        lines.append(f"In the way: {named}.")
    if by_itself.any():
        lines.append(f"The robot itself is in the way in {counted(int(by_itself.sum()), 'configuration')}.")
    ways = [(sorted(name for name, hit in blocks.items() if hit[k]), k) for k in range(len(rows)) if not by_itself[k]]
    if not ways:
        return [*lines, "No object's removal is enough."]
    least, number = min(ways, key=lambda way: (len(way[0]), way[1]))
    what = " and ".join(map(repr, least[:MOST_CONTACTS]))
    return [*lines, f"To move out of the way: {what}, which frees configuration {number + 1}."]


def _near(context: CollisionContext, rows: np.ndarray) -> list[SceneObject]:
    """The objects of the world that touch anything in some configuration, nearly."""
    assert context.scene is not None
    model, names = context.conservative, set[str]()
    objects = {item.name: item for item in context.scene.world_objects}
    if len(objects) <= MOST_TRIED:
        return list(objects.values())
    for row in rows:
        _, pair = model.closest(row)
        names |= {name for name in pair or () if name in objects}
        if (found := context.native.first_contact(row)) is not None and found[1] in objects:
            names.add(found[1])
    return [objects[name] for name in names]


def _touching(solution: Solution) -> list[tuple[str, str, float]]:
    """Pairs in contact in the best configuration found, with depths, the deepest first."""
    problem = solution.problem
    try:
        model: Any = problem.external_checker if problem.collision_context is None else problem.collision_context.exact
    except MissingExtraError:
        return []
    if not hasattr(model, "contacts"):
        return []
    deepest: dict[tuple[str, str], float] = {}
    for contact in model.contacts(solution.q):
        pair = (contact.first, contact.second)
        deepest[pair] = max(contact.depth, deepest.get(pair, 0.0))
    return sorted(((*pair, depth) for pair, depth in deepest.items()), key=lambda one: -one[2])


def _turned_away_by_contact(solution: Solution) -> bool:
    counts, problem = solution.statistics, solution.problem
    if problem.external_checker is not None:
        return counts.get("rejected", 0) > 0
    return problem.collision_context is not None and counts.get("blocked", 0) > 0


def _joints_at_limits(solution: Solution) -> list[str]:
    robot, near = solution.problem.robot, list[str]()
    for entry in solution.problem.core.variables:
        value, lower, upper = float(solution.q[entry]), float(robot.lower[entry]), float(robot.upper[entry])
        room = 1e-3 * (upper - lower) if math.isfinite(upper - lower) else 1e-3
        if min(value - lower, upper - value) <= room:
            side = "lower" if value - lower < upper - value else "upper"
            near.append(f"{robot.joint_names[entry]!r} ({side}, {value:.4g})")
    return [f"At their limits: {', '.join(near)}."] if near else []


def _search(solution: Solution) -> str:
    counts, milliseconds = solution.statistics, solution.time * 1e3
    starts = counts.get("starts", 1)
    work = f"{counted(solution.evaluations, 'configuration')} from {counted(starts, 'start')}"
    line = f"The search evaluated {work} in {milliseconds:.3g} ms"
    if rejected := counts.get("rejected", 0):
        line += f"; {rejected} met the goals in the search and were turned away when checked"
    if blocked := counts.get("blocked", 0):
        line += f"; {blocked} met the goals and touched something"
    return line + "."


def _quantity(value: float, unit: str) -> str:
    """A number with its unit, in the size that reads best."""
    if unit == "m":
        for factor, name in ((1.0, "m"), (1e3, "mm"), (1e6, "um")):
            if value * factor >= 0.1 or name == "um":
                return f"{value * factor:.3g} {name}"
    if unit == "rad":
        return f"{value:.3g} rad" + (f" ({math.degrees(value):.3g} degrees)" if value >= 1e-3 else "")
    return f"{value:.3g} {unit}".strip()
