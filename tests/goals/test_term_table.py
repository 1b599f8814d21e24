"""Every kind of term in native/goals/term.h: a goal makes it, its rows and its check agree, a page describes it."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from goal_cases import REACHABLE, SOFT_GOALS, Maker, core_errors, core_problem
from test_terms import assert_derivative_is_exact, generator, tree_for

from memetik import goals
from memetik._core import TargetPart, TermInput, TermKind, TermSpec, term_traits
from memetik.goals.compiler import GoalCompiler, Term
from memetik.robot.robot import Robot

HERE = Path(__file__).parent
CASES = {**REACHABLE, **SOFT_GOALS}

ELSEWHERE = {
    TermKind.compiled: ("test_custom.py", goals.CompiledGoal),
    TermKind.callback: ("test_custom.py", goals.JointFunction),
    TermKind.point_distance: ("test_point_distance.py", goals.PointDistance),
    TermKind.touch: ("test_touch.py", goals.Touch),
    TermKind.project_point: ("test_project_onto_surface.py", goals.ProjectOntoSurface),
    TermKind.project_axis: ("test_project_onto_surface.py", goals.ProjectOntoSurface),
    TermKind.contacts: ("test_clearance.py", goals.Clearance),
}
"""Kinds that need meshes, scenes or code: the file that tests values and derivatives, and a goal that makes them."""

NUMBERS = """point rotation rotation_range swing_range align twist cone side look_at line plane distance repulsion
roll_pitch_yaw pivot pivot_chain view incidence balance support joints manipulability effort compiled callback
point_distance touch project_point project_axis contacts"""
"""The kinds of release 0.1 in the order of their numbers, which stores hold."""


def chord_to_angle(rows: np.ndarray) -> float:
    return 2.0 * math.asin(min(1.0, 0.5 * float(np.linalg.norm(rows))))


ERRORS: dict[TermKind, Callable[[np.ndarray], float]] = {
    TermKind.rotation: chord_to_angle,
    TermKind.align: chord_to_angle,
    TermKind.look_at: chord_to_angle,
    TermKind.side: lambda rows: math.asin(min(1.0, float(rows[0]))),
    TermKind.support: lambda rows: float(rows.max()),
    # 1 / (distance - radius) tells nothing of how far inside the radius a point is.
    TermKind.repulsion: lambda rows: 0.0,
}
"""The error that `verify` tells, from the rows that `evaluate` gives; of other kinds it is the norm of the rows."""


def compiled_case(name: str, number: int) -> tuple[Robot, goals.Goal, list[Term], np.random.Generator]:
    rng = generator(name, number)
    robot = tree_for(rng)
    goal = CASES[name](Maker(robot, rng, robot.random(rng))).goal
    compiler = GoalCompiler(robot)
    compiler.add(goal)
    return robot, goal, compiler.terms, rng


def cases_of(kind: TermKind) -> list[tuple[Robot, goals.Goal, list[Term], np.random.Generator]]:
    made = (compiled_case(name, number) for name in CASES for number in range(2))
    return [case for case in made if any(term.spec.kind == kind for term in case[2])]


@pytest.mark.parametrize("kind", [kind for kind in TermKind if kind not in ELSEWHERE], ids=lambda kind: kind.name)
def test_a_kind_is_made_by_a_goal_differentiated_and_checked_alike(kind: TermKind) -> None:
    cases = cases_of(kind)
    assert cases, f"no case in goal_cases.py makes a term of kind {kind.name}"
    for robot, goal, terms, rng in cases:
        core = core_problem(robot, goal)
        for q in robot.random(rng, 2):
            assert_derivative_is_exact(robot, goal, q)
            rows = core.evaluate((), q, np.ascontiguousarray(q[None, core.variables]))[0][0]
            assert len(rows) == core.rows
            errors = core_errors(robot, goal, q)
            first = 0
            for term, error in zip(terms, errors, strict=True):
                own = rows[first : first + row_count(term.spec, core.variables)] / term.spec.weight
                first += len(own)
                expected = ERRORS.get(term.spec.kind, lambda r: float(np.linalg.norm(r)))(own)
                if term.spec.kind != TermKind.repulsion:
                    assert error == pytest.approx(expected, rel=1e-6, abs=1e-9)
            assert first == len(rows)


def row_count(spec: TermSpec, variables: list[int]) -> int:
    """Rows of a term in a problem: those of joints and efforts are the problem's variables."""
    if spec.kind == TermKind.effort:
        return len(variables)
    return sum(k in variables for k in spec.entries) if spec.kind == TermKind.joints else spec.rows


@pytest.mark.parametrize("kind", ELSEWHERE, ids=lambda kind: kind.name)
def test_a_kind_with_tests_of_its_own_has_them(kind: TermKind) -> None:
    file, goal = ELSEWHERE[kind]
    text = (HERE / file).read_text(encoding="utf-8")
    assert goal.__name__ in text
    assert "evaluate" in text or "core_rows" in text


def test_every_goal_has_a_page() -> None:
    pages = tomllib.loads((HERE / "../../docs/goals/goals.toml").read_text(encoding="utf-8"))
    public = {name for name, kind in vars(goals).items() if isinstance(kind, type) and issubclass(kind, goals.Goal)}
    assert public - set(pages) == {"Goal", "CompiledGoal"}
    for page in pages:
        assert (HERE / f"../../docs/goals/{page.lower()}.md").exists()


def test_kinds_keep_their_numbers() -> None:
    assert " ".join(kind.name for kind in TermKind).startswith(" ".join(NUMBERS.split()))
    assert [int(kind) for kind in TermKind] == list(range(len(TermKind)))


@pytest.mark.parametrize("kind", TermKind, ids=lambda kind: kind.name)
def test_a_line_of_the_table_is_complete(kind: TermKind) -> None:
    traits = term_traits(kind)
    on_frame = traits.input in (TermInput.frame, TermInput.geometry)
    assert not on_frame or (traits.rows in (1, 2, 3) and traits.data > 0)
    assert (traits.target == TargetPart.none) == (traits.target_at < 0)
    assert traits.data < 0 or traits.target_at < traits.data
