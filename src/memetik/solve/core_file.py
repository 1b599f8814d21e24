"""Problems as the core holds them, in plain text: what libmemetik, the library for C, loads.

    memetik.core-problem 1
    <key> <count> <numbers>          one line per field, in a fixed order; numbers round-trip
    links <count>                    then a name per line; likewise joints

`native/c/problem_file.cpp` reads it. Unlike a problem file (`save_problem`) it holds the compiled tree itself, so that
it is solved where neither Python nor the robot's description is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from memetik import _core
from memetik.errors import InvalidInputError
from memetik.files.atomic import write_whole
from memetik.goals.compiler import GoalCompiler
from memetik.solve.problem import Problem

HEADER = "memetik.core-problem 1"


def export_problem(problem: Problem, path: str | Path) -> None:
    """Writes a problem for libmemetik, which solves it without Python and gives the same answers.

    Goals on contacts, surfaces and the user's own code cannot be written, nor can a scene.
    """
    if problem.collision_context is not None or problem.external_checker is not None:
        raise InvalidInputError("a problem with a scene cannot be exported: the library for C knows no collisions.")
    if any("\n" in name for name in (*problem.robot.links, *problem.robot.joint_names)):
        raise InvalidInputError("a robot with line breaks in its names cannot be exported.")
    compiler = GoalCompiler(problem.robot)
    for goal in problem.goals:
        compiler.add(goal)
    _check_terms(problem, compiler)
    write_whole(path, "\n".join([HEADER, *_tree_lines(problem), *_problem_lines(problem, compiler)]) + "\n")


def _check_terms(problem: Problem, compiler: GoalCompiler) -> None:
    kinds = _core.TermInput
    unwritten = {kinds.geometry, kinds.compiled, kinds.callback, kinds.contacts}
    for term in compiler.terms:
        if _core.term_traits(term.spec.kind).input in unwritten:
            name = type(problem.goals[term.spec.goal]).__name__
            raise InvalidInputError(
                f"{name} cannot be exported: goals on contacts, surfaces and of your own code stay in Python."
            )
    if any(target.convert is not None for target in compiler.targets):
        raise InvalidInputError("a goal whose open target is converted in Python cannot be exported: give its target.")


def _tree_lines(problem: Problem) -> Iterable[str]:
    robot, tree = problem.robot, problem.robot.tree
    yield from _names("links", robot.links)
    yield from _names("joints", robot.joint_names)
    arrays: dict[str, ArrayLike] = {
        "lower": robot.lower, "upper": robot.upper, "neutral": problem.neutral, "parents": tree.parents,
        "prismatic": tree.prismatic, "variables": tree.variables, "multipliers": tree.multipliers,
        "offsets": tree.offsets, "placements": tree.placements, "link_axes": tree.link_axes,
        "link_placements": tree.link_placements, "masses": tree.masses, "coms": tree.coms, "inertias": tree.inertias,
    }  # fmt: skip
    for key, values in arrays.items():
        yield _numbers(key, values)


def _problem_lines(problem: Problem, compiler: GoalCompiler) -> Iterable[str]:
    yield _numbers("frames", [frame.link for frame in compiler.frames])
    yield _numbers("frame_placements", [frame.placement for frame in compiler.frames])
    yield _numbers("terms", [len(compiler.terms)])
    for term in compiler.terms:
        spec = term.spec
        form = (spec.kind, spec.goal, spec.frame, spec.reference, spec.priority, spec.rows, spec.loss.kind)
        yield _numbers("term", [int(value) for value in form])  # pyright: ignore[reportArgumentType]
        yield _numbers("loss", spec.loss.parameters)
        yield _numbers("weight", [spec.weight, spec.tolerance])
        yield _numbers("entries", spec.entries)
        yield _numbers("data", spec.data)
    held = [problem.robot.joint_index(name) for name in problem.fixed]
    values = dict(problem.held_values)
    yield _numbers("held", held)
    yield _numbers("held_values", [values.get(entry, math.nan) for entry in held])
    yield _numbers("named", sorted(compiler.named))
    specs = [target.spec for target in compiler.targets]
    yield _numbers("targets", [[spec.size, int(spec.form), spec.dimensions] for spec in specs])  # pyright: ignore[reportArgumentType]
    copies = [[copy.target, copy.source, copy.term, copy.destination] for copy in compiler.target_copies]
    yield _numbers("target_copies", copies)
    yield _numbers("seed_copies", [[copy.entry, copy.term, copy.destination] for copy in compiler.seed_copies])


def _names(key: str, names: Sequence[str]) -> list[str]:
    return [f"{key} {len(names)}", *names]


def _numbers(key: str, values: ArrayLike) -> str:
    flat = np.asarray(values).ravel()
    words = [str(int(value)) if flat.dtype.kind in "iub" else repr(float(value)) for value in flat]
    return " ".join([key, str(len(words)), *words])
