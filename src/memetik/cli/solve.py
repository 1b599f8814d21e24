"""`memetik solve ROBOT`: a configuration that meets goals, stated as options or as a JSON problem."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

import typer

import memetik as mk
from memetik.cli.goal_words import configuration, rotation_notes
from memetik.cli.options import (
    GoalOptions,
    argument,
    arguments_option,
    json_option,
    option,
    scene_option,
    search_path_option,
)
from memetik.cli.output import print_json, print_table
from memetik.errors import InvalidInputError, counted
from memetik.files.named_values import as_number, named_words
from memetik.robot.robot import Robot
from memetik.solve.problem_file import ProblemFile, load_problem, read_problem, save_problem
from memetik.solve.solution import Solution


@dataclass(frozen=True, kw_only=True)
class SolveOptions(GoalOptions):
    robot: str | None = argument(None, "Bundled name, or path of a URDF, xacro or MJCF file.")
    problem: str | None = option(None, 'JSON file with a problem, "-" for standard input.')
    scene: str | None = scene_option()
    self_collision: bool | None = option(None, "Whether the robot must not collide with itself.")
    margin: float | None = option(None, "Clearance in metres.")
    seed: str | None = option(None, "Where to start: all joint values in order, or NAME=VALUE, ...")
    fix: list[str] = option([], "NAME or NAME=VALUE: a joint that keeps its value; repeatable.")
    timeout: float | None = option(None, "Seconds.")
    evaluations: int | None = option(None, "Bound on the work; makes the result repeatable.")
    rng: int | None = option(None, "Seed of the random numbers.")
    threads: int | None = option(None, "Threads of the search.")
    method: str | None = option(None, "Search method, by name; docs/methods.md lists them.")
    every: bool = option(False, "All distinct solutions, the nearest to the seed first.", "--all")
    explain: bool = option(False, "Explain the result, and what would help.", "--explain")
    save: str | None = option(None, "Write the problem to this JSON file as well.")
    search_path: list[str] = search_path_option()
    arg: list[str] = arguments_option()
    as_json: bool = json_option()

    def given(self, *names: str) -> dict[str, Any]:
        """Those of the options that the user gave."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


def solve(options: SolveOptions) -> None:
    stated = _problem(options)
    robot = mk.load_robot(stated.robot, search_path=options.search_path)
    stated = _with_configurations(stated, robot, options)
    if options.save is not None:
        save_problem(stated, options.save)
    compiled = stated.compile(robot)
    targets = [stated.targets] if stated.targets else []
    if options.every:
        allowed = {k: v for k, v in stated.options.items() if k in ("timeout", "evaluations", "rng")}
        solutions = compiled.solve_all(*targets, seed=stated.seed, **allowed)
        _print_all(robot, solutions, options.as_json)
        raise typer.Exit(0 if solutions else 1)
    base = {} if stated.base is None else {"base": stated.base}
    solution = compiled.solve(*targets, seed=stated.seed, **base, **stated.arguments)
    if options.as_json:
        print_json("memetik.solution/1", _described(solution, options.explain))
    else:
        print("\n".join(rotation_notes(options.pose)), end="\n\n" if options.pose else "")
        _print_solution(solution, options.explain)
    raise typer.Exit(0 if solution.success else 1)


def _problem(options: SolveOptions) -> ProblemFile:
    """The problem of a file with what the options add to it, or of the options alone."""
    goals, path = options.goals, options.problem
    asked = options.given("timeout", "evaluations", "rng", "threads", "method")
    around = options.given("scene", "self_collision", "margin")
    if path is not None:
        read = read_problem(sys.stdin.read(), "standard input") if path == "-" else load_problem(path)
        robot = options.robot or read.robot
        return replace(read, robot=robot, goals=(*read.goals, *goals), options={**read.options, **asked}, **around)
    if options.robot is None:
        raise InvalidInputError("name a ROBOT, or give a problem with --problem FILE.")
    if not goals:
        raise InvalidInputError("state a goal: --pose, --position, --orientation, --align, --goal or --problem.")
    return ProblemFile(options.robot, tuple(goals), options=asked, **around)


def _with_configurations(stated: ProblemFile, robot: Robot, options: SolveOptions) -> ProblemFile:
    fixed = {
        name: None if value is None else as_number(value, f"--fix {name}")
        for name, value in named_words(options.fix).items()
    }
    stated = replace(stated, fixed={**stated.fixed, **fixed})
    if options.seed is None:
        return stated
    return replace(stated, seed=configuration(robot, options.seed, "--seed").tolist())


def _described(solution: Solution, explain: bool) -> dict[str, Any]:
    names = ("q", "errors", "cost", "time", "evaluations", "restarts", "clipped", "statistics")
    described = {
        "robot": solution.problem.robot.name,
        "success": solution.success,
        "reason": solution.reason,
        "joint_names": list(solution.problem.robot.joint_names),
        **{name: getattr(solution, name) for name in names},
    }
    return described | ({"explanation": solution.explain().splitlines()} if explain else {})


def _print_solution(solution: Solution, explain: bool) -> None:
    robot = solution.problem.robot
    limits = zip(robot.joint_names, solution.q, robot.lower, robot.upper, strict=True)
    rows = [(name, f"{value:+.6f}", f"{lower:+.4g} ... {upper:+.4g}") for name, value, lower, upper in limits]
    print_table(("joint", ">value (rad, m)", ">limits"), rows)
    rows = [(goal, label, f"{error:.3g}") for goal, parts in solution.errors.items() for label, error in parts.items()]
    print_table(("goal", "part", ">error (m, rad)"), rows)
    print(solution.explain() if explain else _summary(solution))


def _summary(solution: Solution) -> str:
    hint = "" if solution.success else " --explain says more."
    return f"{solution.reason} in {solution.time * 1e3:.3g} ms, {counted(solution.evaluations, 'evaluation')}.{hint}"


def _print_all(robot: Robot, solutions: list[Solution], as_json: bool) -> None:
    if as_json:
        found = [{"q": s.q, "errors": s.errors, "cost": s.cost} for s in solutions]
        print_json(
            "memetik.solutions/1", {"robot": robot.name, "joint_names": list(robot.joint_names), "solutions": found}
        )
        return
    rows = [(k, *(f"{value:+.4f}" for value in s.q)) for k, s in enumerate(solutions)]
    print_table(("#", *(f">{name}" for name in robot.joint_names)), rows)
    print(f"{len(solutions)} distinct solution{'s' if len(solutions) != 1 else ''}.")
