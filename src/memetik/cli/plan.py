"""`memetik plan ROBOT`: a collision-free, timed motion to where goals are met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import typer

import memetik as mk
from memetik.cli.goal_words import configuration, json_goals, rotation_notes
from memetik.cli.options import (
    GoalOptions,
    arguments_option,
    json_option,
    option,
    rng_option,
    robot_argument,
    scene_option,
    search_path_option,
)
from memetik.cli.output import print_json, print_table
from memetik.errors import InvalidInputError
from memetik.goals.base import Goal
from memetik.motion.planning.plan import Plan
from memetik.motion.timing.limits import MotionLimits
from memetik.robot.robot import Robot


@dataclass(frozen=True, kw_only=True)
class PlanOptions(GoalOptions):
    robot: str = robot_argument()
    to: str | None = option(None, "A configuration instead of goals: all joint values, or NAME=VALUE, ...")
    start: str | None = option(None, "The current configuration: all joint values, or NAME=VALUE, ...")
    line: bool = option(False, "Move the tool on a straight line to the one --pose.", "--line")
    along: list[str] = option([], "A goal as JSON, as for --goal, that holds along the whole motion; repeatable.")
    via: list[str] = option([], "A configuration that the motion passes: all values, or NAME=VALUE, ...; repeatable.")
    scene: str | None = scene_option()
    group: str | None = option(None, "Plan for this group of the robot only.")
    self_collision: bool = option(True, "Whether the robot must not collide with itself.")
    margin: float = option(0.0, "Clearance in metres.")
    method: str = option("memetic", "The method of inverse kinematics.")
    planner: list[str] = option(["rrtconnect"], "rrtconnect, sbl, ompl:NAME; repeatable, tried in order.")
    timing: str = option("smooth", "smooth, blends, toppra, spline or ruckig.")
    path_timeout: float = option(2.0, "Seconds for the path.")
    velocity_scale: float = option(1.0, "Share of the velocity limits.")
    acceleration_scale: float = option(1.0, "Share of the acceleration limits.")
    rng: int = rng_option()
    output: str | None = option(
        None,
        "File for the trajectory: .csv, .json, .mcap, .ros.json, .ros.yaml, or .script for Universal Robots.",
        "--output",
        "-o",
    )
    rate: float | None = option(None, "Resample the trajectory at this rate, in hertz.")
    search_path: list[str] = search_path_option()
    arg: list[str] = arguments_option()
    as_json: bool = json_option()


def plan(options: PlanOptions) -> None:
    robot = mk.load_robot(options.robot, search_path=options.search_path)
    if options.group is not None:
        robot = robot.group(options.group)
    made = _planned(robot, options)
    if options.rate is not None and made.trajectory is not None:
        made.trajectory = made.resampled(options.rate)
    if options.output is not None and made.trajectory is not None:
        made.save(options.output)
    if options.as_json:
        print_json("memetik.plan/1", made.to_dict())
    else:
        print("\n".join(rotation_notes(options.pose)), end="\n\n" if options.pose else "")
        _print(made, options.output)
    raise typer.Exit(0 if made.success else 1)


def _planned(robot: Robot, options: PlanOptions) -> Plan:
    start = configuration(robot, options.start, "--start") if options.start is not None else None
    goals = options.goals
    scales = {"velocity_scale": options.velocity_scale, "acceleration_scale": options.acceleration_scale}
    asked: dict[str, Any] = {
        "scene": None if options.scene is None else mk.Scene.load(options.scene), "start": start,
        "self_collision": options.self_collision, "margin": options.margin, "timing": options.timing,
        "path_timeout": options.path_timeout, "rng": options.rng, "limits": MotionLimits.of(robot, **scales),
    }  # fmt: skip
    along = json_goals(options.along, "--along")
    if along and options.line:
        raise InvalidInputError("--along is for motions in joint space; a --line holds its pose already.")
    if along:
        asked["along"] = along
    if options.via and options.line:
        raise InvalidInputError("--via is for motions in joint space, not for a --line.")
    if options.via:
        asked["via"] = [configuration(robot, point, "--via", start) for point in options.via]
    if options.to is not None:
        if goals or options.line:
            raise InvalidInputError("give either --to or goals, not both.")
        return mk.plan(robot, configuration(robot, options.to, "--to", start), planner=options.planner, **asked)
    if not goals:
        raise InvalidInputError("say where to: --pose, --position, --orientation, --align, --goal or --to.")
    return (
        _line(robot, goals, options.method, asked)
        if options.line
        else mk.plan(robot, goals, planner=options.planner, method=options.method, **asked)
    )


def _line(robot: Robot, goals: list[Goal], method: str, asked: dict[str, Any]) -> Plan:
    if len(goals) != 1 or not isinstance(goals[0], mk.Pose):
        raise InvalidInputError("--line needs one --pose and nothing else.")
    link, target = goals[0].link, np.asarray(goals[0].target)
    start = robot.neutral if asked["start"] is None else asked["start"]
    return mk.follow(
        robot, [robot.pose(link, start), target], goals=[mk.Pose(link)], method=method, **{**asked, "start": start}
    )


def _print(made: Plan, output: str | None) -> None:
    if made.trajectory is not None:
        names, trajectory = made.robot.joint_names, made.trajectory
        ends = zip(names, trajectory.start, trajectory.end, trajectory.peaks(1), trajectory.peaks(2), strict=True)
        print_table(
            ("joint", ">start (rad, m)", ">end", ">peak velocity", ">peak acceleration"),
            [(name, f"{a:+.4f}", f"{b:+.4f}", f"{v:.3f}", f"{w:.3f}") for name, a, b, v, w in ends],
        )
    print(made.explain())
    if output is not None and made.trajectory is not None:
        print(f"written to {output}")
