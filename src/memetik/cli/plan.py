"""`memetik plan ROBOT`: a collision-free, timed motion to where goals are met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from memetik.cli.output import JSON_OPTION, print_json, print_table

if TYPE_CHECKING:
    from memetik.motion.plan import Plan


def plan(
    robot: str = typer.Argument(..., help="Bundled name, or path of a URDF, xacro or MJCF file."),
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
        [], help="LINK axis direction: an axis of the link along one of the world.", metavar="LINK ..."
    ),
    goal: list[str] = typer.Option([], help='Any goal as JSON: {"type": "LookAt", "link": ..., ...}; repeatable.'),
    to: str | None = typer.Option(None, help="A posture instead of goals: all joint values, or NAME=VALUE, ..."),
    start: str | None = typer.Option(None, help="Where the arm is: all joint values, or NAME=VALUE, ..."),
    line: bool = typer.Option(False, "--line", help="Move the tool on a straight line to the one --pose."),
    scene: str | None = typer.Option(None, help="Scene file (TOML) with what must not be touched."),
    group: str | None = typer.Option(None, help="Plan for this group of the robot only."),
    self_collision: bool = typer.Option(True, help="Whether the robot must not touch itself."),
    margin: float = typer.Option(0.0, help="Clearance in metres."),
    planner: list[str] = typer.Option(["rrtconnect"], help="rrtconnect, sbl, ompl:NAME; repeatable, tried in order."),
    timing: str = typer.Option("blends", help="blends, toppra, spline or ruckig."),
    path_timeout: float = typer.Option(2.0, help="Seconds for the path."),
    velocity_scale: float = typer.Option(1.0, help="Share of the velocity limits."),
    acceleration_scale: float = typer.Option(1.0, help="Share of the acceleration limits."),
    rng: int = typer.Option(0, help="Seed of the random numbers."),
    output: str | None = typer.Option(None, "--output", "-o", help="Write the trajectory to this .json or .csv file."),
    rate: float | None = typer.Option(None, help="Resample the trajectory at this rate, in hertz."),
    search_path: list[str] = typer.Option([], help="Folder that holds packages or meshes; repeatable."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Plan a motion. Exit code 0 if there is one, 1 if none was found, 2 for bad input."""
    import memetik as mk
    from memetik.cli.solve import _json_goals, _option_goals
    from memetik.errors import InvalidInputError
    from memetik.scene.scene_file import load_scene

    model = mk.load_robot(robot, search_path=search_path)
    if group is not None:
        model = model.group(group)
    around = None if scene is None else load_scene(scene)
    begin = _posture(model, start, "--start") if start is not None else None
    goals: Any = [*_option_goals(pose, position, orientation, align), *_json_goals(goal)]
    options: dict[str, Any] = {"scene": around, "start": begin, "self_collision": self_collision, "margin": margin}
    options |= {"timing": timing, "path_timeout": path_timeout, "rng": rng}
    from memetik.motion.limits import MotionLimits

    options["limits"] = MotionLimits.of(model, velocity_scale=velocity_scale, acceleration_scale=acceleration_scale)
    if to is not None:
        if goals or line:
            raise InvalidInputError("give either --to or goals, not both.")
        goals = _posture(model, to, "--to", begin)
    elif not goals:
        raise InvalidInputError("say where to: --pose, --position, --orientation, --align, --goal or --to.")
    made = _line(model, goals, options) if line else mk.plan(model, goals, planner=planner, **options)
    if rate is not None and made.trajectory is not None:
        made.trajectory = made.trajectory.resampled(rate)
    if output is not None and made.trajectory is not None:
        made.save(output)
    if as_json:
        print_json("memetik.plan/1", made.to_dict())
    else:
        _print(made, output)
    raise typer.Exit(0 if made.success else 1)


def _line(model: Any, goals: list[Any], options: dict[str, Any]) -> Plan:
    import memetik as mk
    from memetik.errors import InvalidInputError

    if len(goals) != 1 or not isinstance(goals[0], mk.Pose):
        raise InvalidInputError("--line needs one --pose and nothing else.")
    link, target = goals[0].link, goals[0].target
    start = model.neutral if options["start"] is None else options["start"]
    return mk.follow(model, [model.pose(link, start), target], goals=[mk.Pose(link)], **{**options, "start": start})


def _posture(model: Any, text: str, option: str, default: Any = None) -> Any:
    from memetik.cli.solve import _number

    words = text.replace(",", " ").split()
    if "=" in text:
        pairs = (word.partition("=") for word in words)
        return model.q({name: _number(value, option) for name, _, value in pairs}, default)
    return model.check_q([_number(word, option) for word in words], option)


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
