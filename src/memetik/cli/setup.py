"""`memetik setup ROBOT`: from a description to a file with which the arm plans."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from memetik.cli.options import argument, arguments_option, json_option, option, rng_option, search_path_option
from memetik.cli.output import print_json
from memetik.motion.execution.bring_up import BringUpReport, Stage, bring_up
from memetik.progress import status


@dataclass(frozen=True, kw_only=True)
class SetupOptions:
    robot: str = argument(..., "URDF, xacro or MJCF file, or the name of a bundled robot.")
    output: str | None = option(None, "File to write; ROBOT.setup.toml by default.", "--output", "-o")
    srdf: str | None = option(None, "SRDF file; one beside ROBOT is found automatically.")
    search_path: list[str] = search_path_option()
    arg: list[str] = arguments_option()
    group: str | None = option(None, "Group of joints to move.")
    tip: str | None = option(None, "Link to place.")
    samples: int = option(10_000, "Configurations that are checked for self-collision.", min=100)
    targets: int = option(200, "Poses to solve.", min=1)
    motions: int = option(20, "Motions to plan.", min=1)
    rng: int = rng_option()
    as_json: bool = json_option()


def setup(options: SetupOptions) -> None:
    names = ("group", "tip", "samples", "targets", "motions", "rng")
    asked = {name: getattr(options, name) for name in names}
    with status("doctor") as watch:
        report = bring_up(
            options.robot,
            options.output,
            srdf=options.srdf,
            search_path=options.search_path,
            watch=watch,
            told=None if options.as_json else _print_stage,
            **asked,
        )
    if options.as_json:
        print_json("memetik.setup-report/1", _described(options.robot, report))
    else:
        _print_end(options.robot, report)
    raise typer.Exit(0 if report.ready else 1)


def _described(robot: str, report: BringUpReport) -> dict[str, Any]:
    stages = [
        {"name": stage.name, "ok": stage.ok, "summary": stage.summary, "details": list(stage.details), **stage.figures}
        for stage in report.stages
    ]
    return {
        "robot": robot,
        "ready": report.ready,
        "file": None if report.path is None else str(report.path),
        "stages": stages,
    }


def _print_stage(stage: Stage) -> None:
    """One stage, as soon as it has ended."""
    console = _console()
    mark = Text("ok     ", style="green") if stage.ok else Text("look   ", style="bold red")
    console.print(mark + Text(f"{stage.name:20}", style="bold") + Text(stage.summary))
    shown = stage.details if not stage.ok else stage.details[:5]
    for detail in shown:
        console.print(Text(f"           {detail}", style="dim"))
    if len(shown) < len(stage.details):
        console.print(Text(f"           and {len(stage.details) - len(shown)} more, see --json", style="dim"))
    sys.stdout.flush()


def _print_end(robot: str, report: BringUpReport) -> None:
    console = _console()
    if report.path is None:
        console.print(Text(f"{robot} cannot be loaded; nothing was written.", style="bold red"))
        return
    console.print(Text(f"written: {report.path}", style="bold"))
    ready = "ready" if report.ready else "usable; look at what is marked"
    console.print(Text(f'{ready}: mk.load_robot("{report.path}")', style="bold"))


def _console() -> Console:
    return Console(soft_wrap=not sys.stdout.isatty())
