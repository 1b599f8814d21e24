"""Scenarios by name: drawn, searched for reachable targets, put together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from memetik.bench.scenarios.goal_entries import GOALS, with_goals
from memetik.bench.scenarios.reachability import Progress, Reached, establish, remark
from memetik.bench.scenarios.recipes import SCENARIOS
from memetik.bench.scenarios.scenario import REACHABLE, UNKNOWN, Scenario
from memetik.bench.scenarios.target_draft import Order, Recipe, TargetDraft, Tolerance
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.robot.robot import Robot, load_robot
from memetik.robot.source_words import split_arguments

MODES = ("only", "check", "skip")
"""What `reachability` may ask for."""

ENOUGH = 64
"""Candidates after which a scenario is given up that has next to no reachable ones."""

FEW = 0.03
"""Share of reachable candidates that is next to none."""


class NoReachableTarget(InvalidInputError):
    """A robot reaches none of a scenario's targets."""


def scenario(
    name: str,
    robot: str | Robot | None = None,
    *,
    targets: int = 200,
    seed: int = 0,
    reachability: str = "only",
    position_tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-5,
    progress: Progress | None = None,
    **options: Any,
) -> Scenario:
    """The scenario of that name for a robot.

    name          of a built-in one, with an argument where it takes one ("Shelf", "Clutter:5", "Chain:30"), or the
                  path of a scenario's file.
    robot         a Robot, or what `load_robot` takes; "pr2:left_arm" is a robot's group. Scenarios with a robot of
                  their own do not need it.
    targets       how many.
    seed          of the random numbers; the same seed gives the same scenario on any machine.
    reachability  "only" draws until so many reachable targets are found (or says with fewer that there are next to
                  none), "check" keeps all and says of each whether a long search reached it, "skip" does not look.
    position_tolerance, rotation_tolerance
                  metres and radians within which a target counts as reached.
    progress      called after each target that was searched, with whether it is reachable.
    options       of the recipe: spin="free" leaves the turn about the tool's z axis open (scenarios on surfaces),
                  link= names another link than the robot's tip, goals= asks for other goals than a pose (a list of
                  tables, as files have them), others as the surroundings have them.
    """
    if reachability not in MODES:
        raise InvalidInputError(f"reachability is 'only', 'check' or 'skip', not {reachability!r}.")
    if not isinstance(targets, int) or targets < 1:
        raise InvalidInputError(f"targets is how many are wanted, at least 1, not {targets!r}.")
    if not isinstance(seed, int) or seed < 0:
        raise InvalidInputError(f"seed is a whole number from 0 on, not {seed!r}.")
    recipe, options = find_recipe(name, options)
    given, name = name, shown_name(name)
    loaded, source = load_named(_robot_of(recipe, name, robot, options))
    origin = {
        "scenario": name if name == given else str(Path(given).resolve()), "robot": source, "targets": targets,
        "seed": seed, "reachability": reachability,
        "tolerance": [position_tolerance, rotation_tolerance], "options": _plain_options(options),
    }  # fmt: skip
    tolerance = Tolerance(position_tolerance, rotation_tolerance)
    parts: list[tuple[TargetDraft, np.ndarray, np.ndarray]] = []
    found: list[Reached] = []
    missing, searched = targets, 0
    while missing > 0:
        part = len(parts)
        # A part is a batch with random numbers of its own, so that more of them leave the earlier ones as they are.
        rng = np.random.default_rng((seed, part, *(recipe.drawn_as or name).encode()))
        count = targets if part == 0 else max(math.ceil(1.2 * missing), 16)
        if reachability == "only" and part == 0:
            count = min(count, ENOUGH)
        order = Order(loaded, count, rng, seed, part, searched, tolerance, {**recipe.preset, **options})
        draft = with_goals(recipe.make(order), order)
        count = len(draft.targets[0])
        if count == 0 and parts:
            break
        if reachability == "skip":
            known = draft.known_solutions
            reachable = np.full(count, UNKNOWN if known is None else REACHABLE, dtype=np.int8)
            known_solutions = np.full((count, loaded.dof), np.nan) if known is None else known
        else:
            found.append(establish(draft, progress))
            reachable, known_solutions = found[-1].reachable, found[-1].known_solutions
        searched += count
        parts.append((draft, reachable, known_solutions))
        if reachability != "only":
            break
        missing = targets - sum(int((part[1] == REACHABLE).sum()) for part in parts)
        if missing > 0 and searched >= ENOUGH and missing > targets - max(1, FEW * searched):
            break
        if searched > 40 * targets + ENOUGH:
            break
    made = _assembled(name, origin, parts, targets, only=reachability == "only", seed=seed)
    remarks = [*made.metadata.get("remarks", ()), *([text] if (text := remark(found)) else [])]
    return replace(made, metadata={**made.metadata, "remarks": remarks})


def scenario_from(origin: Mapping[str, Any], progress: Progress | None = None) -> Scenario:
    """The scenario that a store remembers by its `origin`."""
    position, rotation = origin["tolerance"]
    return scenario(
        origin["scenario"],
        origin["robot"],
        targets=origin["targets"],
        seed=origin["seed"],
        reachability=origin["reachability"],
        position_tolerance=position,
        rotation_tolerance=rotation,
        progress=progress,
        **origin["options"],
    )


def find_recipe(name: str, options: Mapping[str, Any]) -> tuple[Recipe, dict[str, Any]]:
    """The recipe for "Name" or "Name:argument", and the options with that argument among them."""
    base, colon, argument = name.partition(":")
    if _is_file(name):
        from memetik.bench.scenarios.files import file_recipe

        recipe, colon = file_recipe(name), ""
    elif base not in SCENARIOS:
        raise UnknownNameError("scenario", base, "memetik's benchmark", SCENARIOS)
    else:
        recipe = SCENARIOS[base]
    takes = [*recipe.options, GOALS, *([recipe.argument] if recipe.argument else [])]
    for key in options:
        if key not in takes:
            raise InvalidInputError(
                f"scenario {shown_name(name)!r} has no option {key!r}; its options are {', '.join(takes) or 'none'}."
            )
    if not colon:
        return recipe, dict(options)
    if recipe.argument is None:
        raise InvalidInputError(f"scenario {base!r} takes no argument; {name!r} has one.")
    return recipe, {**options, recipe.argument: argument}


def shown_name(name: str) -> str:
    """A scenario's name for tables: of a file without its folder."""
    return Path(name).name if _is_file(name) else name


def _is_file(name: str) -> bool:
    return Path(name).suffix.lower() in (".toml", ".yaml", ".yml", ".csv")


def load_named(robot: str | Robot) -> tuple[Robot, str]:
    """A robot, or the group of one as "robot:group", and its name for the store."""
    if isinstance(robot, Robot):
        return robot, robot.name
    if not isinstance(robot, str):
        raise InvalidInputError(f"a robot is a Robot, a bundled name or a path, not {type(robot).__name__}.")
    source, arguments = split_arguments(robot)
    name, _, group = source.partition(":")
    if group and not Path(source).exists():
        return load_robot(name, arguments=arguments).group(group).renamed(robot), robot
    return load_robot(robot), robot


def own_robot(recipe: Recipe, options: Mapping[str, Any]) -> str | None:
    """The robot that a scenario with these options brings with it, or None."""
    argument = options.get(recipe.argument or "")
    return None if recipe.robot is None else recipe.robot(None if argument is None else str(argument))


def _robot_of(recipe: Recipe, name: str, robot: str | Robot | None, options: Mapping[str, Any]) -> str | Robot:
    own = own_robot(recipe, options)
    if own is not None:
        if robot not in (None, own):
            raise InvalidInputError(f"scenario {name!r} brings its own robot, {own!r}, and does not take {robot!r}.")
        return own
    robot = recipe.default if robot is None else robot
    if robot is None:
        raise InvalidInputError(f"scenario {name!r} needs a robot, such as 'ur10'.")
    return robot


def _assembled(
    name: str,
    origin: dict[str, Any],
    parts: list[tuple[TargetDraft, np.ndarray, np.ndarray]],
    count: int,
    only: bool,
    seed: int,
) -> Scenario:
    """One scenario of all parts; of the reachable targets only, where that was asked."""
    draft = parts[0][0]
    reachable = np.concatenate([part[1] for part in parts])
    chosen = np.flatnonzero(reachable == REACHABLE)[:count] if only else np.arange(len(reachable))[:count]
    if not len(chosen):
        raise NoReachableTarget(
            f"robot {draft.robot.name!r} reaches none of {len(reachable)} targets of scenario {name!r}, which is not "
            "made for it; reachability='check' keeps them."
        )
    targets = tuple(
        np.ascontiguousarray(np.concatenate([part[0].targets[k] for part in parts])[chosen])
        for k in range(len(draft.targets))
    )
    if draft.seeds is not None:
        seeds = np.concatenate([part[0].seeds for part in parts if part[0].seeds is not None])[chosen]
    else:
        seeds = draft.robot.random(np.random.default_rng((seed, 1, *name.encode())), len(chosen))
    return Scenario(
        name, draft.robot, draft.goals, targets, draft.scene, draft.self_collision, np.ascontiguousarray(seeds),
        reachable[chosen], np.concatenate([part[2] for part in parts])[chosen], origin,
        {**draft.metadata, "searched": len(reachable), "found": int((reachable == REACHABLE).sum())},
    )  # fmt: skip


def _plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in options.items()}
