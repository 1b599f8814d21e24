"""`memetik setup ROBOT`: from a description to a file with which the arm plans."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from memetik.cli.output import JSON_OPTION, print_json

if TYPE_CHECKING:
    from memetik.motion.bring_up import SetupReport


def setup(
    robot: str = typer.Argument(help="URDF, xacro or MJCF file, or the name of a bundled robot."),
    output: str | None = typer.Option(None, "--output", "-o", help="File to write; ROBOT.setup.toml by default."),
    srdf: str | None = typer.Option(None, help="SRDF file; one beside ROBOT is found by itself."),
    search_path: list[str] = typer.Option([], help="Folder that holds packages or meshes; repeatable."),
    group: str | None = typer.Option(None, help="Group of joints that is to be moved."),
    tip: str | None = typer.Option(None, help="Link that is to be placed."),
    samples: int = typer.Option(10_000, min=100, help="Postures in which self-collision is looked for."),
    targets: int = typer.Option(200, min=1, help="Poses to solve."),
    motions: int = typer.Option(20, min=1, help="Motions to plan."),
    rng: int = typer.Option(0, help="Seed of the random numbers."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Bring up a new arm: check it, find out what planning needs, try it, write one file that load_robot reads.

    Exit code 0 if every stage went well, 1 if one did not.
    """
    from memetik.motion.bring_up import set_up

    options = {"group": group, "tip": tip, "samples": samples, "targets": targets, "motions": motions, "rng": rng}
    with _shown() as watch:
        report = set_up(robot, output, srdf=srdf, search_path=search_path, watch=watch, **options)
    if as_json:
        print_json("memetik.setup-report/1", _described(robot, report))
    else:
        _print(robot, report)
    raise typer.Exit(0 if report.ready else 1)


@contextmanager
def _shown() -> Iterator[Any]:
    """A line on a terminal that names the stage at work."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("doctor") as status:
        yield lambda stage: status.update(stage)


def _described(robot: str, report: SetupReport) -> dict[str, Any]:
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


def _print(robot: str, report: SetupReport) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=not sys.stdout.isatty())
    for stage in report.stages:
        mark = Text("ok     ", style="green") if stage.ok else Text("look   ", style="bold red")
        console.print(mark + Text(f"{stage.name:20}", style="bold") + Text(stage.summary))
        shown = stage.details if not stage.ok else stage.details[:5]
        for detail in shown:
            console.print(Text(f"           {detail}", style="dim"))
        if len(shown) < len(stage.details):
            console.print(Text(f"           and {len(stage.details) - len(shown)} more, see --json", style="dim"))
    if report.path is None:
        console.print(Text(f"{robot} cannot be loaded; nothing was written.", style="bold red"))
        return
    console.print(Text(f"written: {report.path}", style="bold"))
    ready = "ready" if report.ready else "usable; look at what is marked"
    console.print(Text(f'{ready}: mk.load_robot("{report.path}")', style="bold"))
