"""`memetik solve ROBOT`: a posture that meets goals, stated as options or as a JSON problem."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from memetik.cli.output import JSON_OPTION, print_json, print_table

if TYPE_CHECKING:
    from memetik.goals.base import Goal
    from memetik.solve.problem_file import ProblemFile
    from memetik.solve.solution import Solution

GOAL_OPTIONS = ("--pose", "--position", "--orientation", "--align")


class GoalCommand(TyperCommand):
    """A command whose goal options take all words up to the next option, so that they need no quotes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, joined(args))


def joined(args: Sequence[str]) -> list[str]:
    """Arguments with the words of each goal option made one: --pose hand 0.4 0 -0.5 -> --pose 'hand 0.4 0 -0.5'."""
    result: list[str] = []
    words: list[str] | None = None
    for argument in args:
        is_word = _is_number(argument) or (words is not None and argument in ("-x", "-y", "-z"))
        if argument.startswith("-") and not is_word:
            result += [] if words is None else [" ".join(words)]
            words = [] if argument in GOAL_OPTIONS else None
            result.append(argument)
        elif words is None:
            result.append(argument)
        else:
            words.append(argument)
    return result + ([] if words is None else [" ".join(words)])


def solve(
    robot: str | None = typer.Argument(None, help="Bundled name, or path of a URDF, xacro or MJCF file."),
    pose: list[str] = typer.Option(
        [],
        help="LINK x y z, then roll pitch yaw or a quaternion x y z w: metres, radians; repeatable.",
        metavar="LINK ...",
    ),
    position: list[str] = typer.Option([], help="LINK x y z; repeatable.", metavar="LINK ..."),
    orientation: list[str] = typer.Option(
        [], help="LINK roll pitch yaw, or LINK and a quaternion x y z w; repeatable.", metavar="LINK ..."
    ),
    align: list[str] = typer.Option(
        [],
        help="LINK axis direction: an axis of the link, such as z or -x, along one of the world.",
        metavar="LINK ...",
    ),
    goal: list[str] = typer.Option([], help='Any goal as JSON: {"type": "LookAt", "link": ..., ...}; repeatable.'),
    problem: str | None = typer.Option(None, help='JSON file with a problem, "-" for standard input.'),
    scene: str | None = typer.Option(None, help="Scene file (TOML) with what must not be touched."),
    self_collision: bool | None = typer.Option(None, help="Whether the robot must not touch itself."),
    margin: float | None = typer.Option(None, help="Clearance in metres."),
    seed: str | None = typer.Option(None, help="Where to start: all joint values in order, or NAME=VALUE, ..."),
    fix: list[str] = typer.Option([], help="NAME or NAME=VALUE: a joint that keeps its value; repeatable."),
    timeout: float | None = typer.Option(None, help="Seconds."),
    evaluations: int | None = typer.Option(None, help="Bound on the work; makes the result repeatable."),
    rng: int | None = typer.Option(None, help="Seed of the random numbers."),
    threads: int | None = typer.Option(None, help="Threads that carry the search."),
    method: str | None = typer.Option(None, help="How to search, by name; docs/methods.md has them all."),
    every: bool = typer.Option(False, "--all", help="All distinct solutions, the nearest to the seed first."),
    explain: bool = typer.Option(False, "--explain", help="Say why, and what would help."),
    save: str | None = typer.Option(None, help="Write the problem to this JSON file as well."),
    search_path: list[str] = typer.Option([], help="Folder that holds packages or meshes; repeatable."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Find a posture that meets the goals. Exit code 0 if there is one, 1 if none was found, 2 for bad input."""
    from dataclasses import replace

    import memetik as mk
    from memetik.solve.problem_file import save_problem

    own = [*_option_goals(pose, position, orientation, align), *_json_goals(goal)]
    options = {"timeout": timeout, "evaluations": evaluations, "rng": rng, "threads": threads, "method": method}
    stated = _problem(robot, own, problem, {k: v for k, v in options.items() if v is not None})
    model = mk.load_robot(stated.robot, search_path=search_path)
    around = {"scene": scene, "self_collision": self_collision, "margin": margin}
    stated = replace(stated, **{name: value for name, value in around.items() if value is not None})
    stated = _with_postures(stated, model, seed, fix)
    if save is not None:
        save_problem(stated, save)
    compiled = stated.compile(model)
    targets = [stated.targets] if stated.targets else []
    if every:
        allowed = {k: v for k, v in stated.options.items() if k in ("timeout", "evaluations", "rng")}
        solutions = compiled.solve_all(*targets, seed=stated.seed, **allowed)
        _print_all(model, solutions, as_json)
        raise typer.Exit(0 if solutions else 1)
    base = {} if stated.base is None else {"base": stated.base}
    solution = compiled.solve(*targets, seed=stated.seed, **base, **stated.arguments)
    if as_json:
        print_json("memetik.solution/1", _described(solution, explain))
    else:
        _print_solution(solution, explain)
    raise typer.Exit(0 if solution.success else 1)


def _problem(robot: str | None, goals: list[Goal], path: str | None, options: dict[str, Any]) -> ProblemFile:
    """The problem of a file with what the options add to it, or of the options alone."""
    from dataclasses import replace

    from memetik.errors import InvalidInputError
    from memetik.solve.problem_file import ProblemFile, load_problem, read_problem

    if path is None:
        if robot is None:
            raise InvalidInputError("name a ROBOT, or give a problem with --problem FILE.")
        if not goals:
            raise InvalidInputError(
                "state what is wanted: --pose, --position, --orientation, --align, --goal or --problem."
            )
        return ProblemFile(robot, tuple(goals), options=options)
    read = read_problem(sys.stdin.read(), "standard input") if path == "-" else load_problem(path)
    return replace(read, robot=robot or read.robot, goals=(*read.goals, *goals), options={**read.options, **options})


def _with_postures(stated: ProblemFile, model: Any, seed: str | None, fix: list[str]) -> ProblemFile:
    from dataclasses import replace

    fixed = dict(stated.fixed)
    for entry in fix:
        name, equals, value = entry.partition("=")
        fixed[name.strip()] = _number(value, f"--fix {entry!r}") if equals else None
    if seed is None:
        return replace(stated, fixed=fixed)
    if "=" in seed:
        values = {}
        for entry in seed.replace(",", " ").split():
            name, _, value = entry.partition("=")
            values[name] = _number(value, f"--seed {entry!r}")
        return replace(stated, fixed=fixed, seed=model.q(values).tolist())
    numbers = [_number(word, "--seed") for word in seed.replace(",", " ").split()]
    return replace(stated, fixed=fixed, seed=numbers)


def _option_goals(pose: list[str], position: list[str], orientation: list[str], align: list[str]) -> list[Goal]:
    """Goals in the order of their options."""
    from memetik.goals.direction import AlignAxis
    from memetik.goals.pose import Orientation, Pose, Position
    from memetik.robot.transforms import transform

    goals: list[Goal] = []
    for words in pose:
        link, numbers = _link_and_numbers(words, "--pose", (3, 6, 7), "x y z, then roll pitch yaw or a quaternion")
        goals.append(Pose(link, transform(numbers[:3], **_turn(numbers[3:]))))
    for words in position:
        link, numbers = _link_and_numbers(words, "--position", (3,), "x y z")
        goals.append(Position(link, numbers))
    for words in orientation:
        link, numbers = _link_and_numbers(words, "--orientation", (3, 4), "roll pitch yaw or a quaternion x y z w")
        goals.append(Orientation(link, transform(**_turn(numbers))[:3, :3]))
    for words in align:
        goals.append(AlignAxis(*_link_and_axes(words)))
    return goals


def _link_and_axes(words: str) -> tuple[str, Any, Any]:
    from memetik.errors import InvalidInputError

    link, *rest = words.replace(",", " ").split() or [""]
    if len(rest) == 2:
        return link, rest[0], rest[1]
    if len(rest) == 4:
        return link, rest[0], [_number(word, "--align") for word in rest[1:]]
    raise InvalidInputError(
        f"--align takes LINK axis direction, such as 'tool0 z -z' or 'tool0 z 0 0 -1', not {words!r}."
    )


def _link_and_numbers(words: str, option: str, counts: Sequence[int], form: str) -> tuple[str, list[float]]:
    from memetik.errors import InvalidInputError

    link, *rest = words.replace(",", " ").split() or [""]
    numbers = [_number(word, f"{option} {words!r}") for word in rest]
    if not link or len(numbers) not in counts:
        raise InvalidInputError(f"{option} takes LINK and {form}, not {words!r}.")
    return link, numbers


def _turn(numbers: list[float]) -> dict[str, list[float]]:
    if not numbers:
        return {}
    return {"rpy": numbers} if len(numbers) == 3 else {"quat_xyzw": numbers}


def _json_goals(texts: list[str]) -> list[Goal]:
    from memetik.errors import InvalidInputError
    from memetik.solve.problem_file import goal_from_dict

    goals = []
    for text in texts:
        try:
            data = json.loads(text)
        except ValueError as error:
            raise InvalidInputError(f"--goal {text!r:.60} is not JSON: {error}.") from None
        goals.append(goal_from_dict(data))
    return goals


def _described(solution: Solution, explain: bool) -> dict[str, Any]:
    described = {
        "robot": solution.problem.robot.name,
        "success": solution.success,
        "reason": solution.reason,
        "joint_names": list(solution.problem.robot.joint_names),
        "q": solution.q,
        "errors": solution.errors,
        "cost": solution.cost,
        "time": solution.time,
        "evaluations": solution.evaluations,
        "restarts": solution.restarts,
        "clipped": solution.clipped,
        "statistics": solution.statistics,
    }
    return described | ({"explanation": solution.explain().splitlines()} if explain else {})


def _print_solution(solution: Solution, explain: bool) -> None:
    robot = solution.problem.robot
    rows = []
    for name, value, lower, upper in zip(robot.joint_names, solution.q, robot.lower, robot.upper, strict=True):
        rows.append((name, f"{value:+.6f}", f"{lower:+.4g} ... {upper:+.4g}"))
    print_table(("joint", ">value (rad, m)", ">limits"), rows)
    rows = []
    for goal, parts in solution.errors.items():
        rows += [(goal, label, f"{error:.3g}") for label, error in parts.items()]
    print_table(("goal", "part", ">error (m, rad)"), rows)
    print(solution.explain() if explain else _summary(solution))


def _summary(solution: Solution) -> str:
    hint = "" if solution.success else " --explain says more."
    return f"{solution.reason} in {solution.time * 1e3:.3g} ms, {solution.evaluations} evaluations.{hint}"


def _print_all(model: Any, solutions: list[Solution], as_json: bool) -> None:
    if as_json:
        found = [{"q": s.q, "errors": s.errors, "cost": s.cost} for s in solutions]
        print_json(
            "memetik.solutions/1", {"robot": model.name, "joint_names": list(model.joint_names), "solutions": found}
        )
        return
    rows = [(k, *(f"{value:+.4f}" for value in s.q)) for k, s in enumerate(solutions)]
    print_table(("#", *(f">{name}" for name in model.joint_names)), rows)
    print(f"{len(solutions)} distinct solution{'s' if len(solutions) != 1 else ''}.")


def _number(word: str, what: str) -> float:
    from memetik.errors import InvalidInputError

    try:
        return float(word)
    except ValueError:
        raise InvalidInputError(f"{what}: {word!r} is not a number.") from None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
