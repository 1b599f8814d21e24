"""`memetik run TASK`: do what a task file says, in simulation or on a driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from memetik.cli.output import JSON_OPTION, print_json, print_table

if TYPE_CHECKING:
    from memetik.motion.task_report import StepReport, TaskReport


def run(
    task: str = typer.Argument(help="Task file (TOML)."),
    driver: str = typer.Option(
        "simulation", help='"simulation" (physics), "exact" (without), or the address of a driver: tcp://host:port.'
    ),
    real_time: float | None = typer.Option(None, help="Speed beside the wall clock; as fast as it can by default."),
    fault: list[str] = typer.Option(
        [], help="Spoil the driver: stops-early, drops-points, few-points or few-points=N; repeatable."
    ),
    recoveries: int = typer.Option(5, min=0, help="How often a move may go on after something went wrong."),
    teach: str | None = typer.Option(
        None, help="Record the arm's present posture under this name in --postures, and do nothing else."
    ),
    postures: str = typer.Option("postures.toml", help="File of taught postures, for --teach."),
    rng: int = typer.Option(0, help="Seed of the random numbers."),
    picture: str | None = typer.Option(None, help="Write a PNG of the simulation at the end."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Run a task. Exit code 0 if all of it was done and every object is where it should be, 1 if not."""
    from memetik.motion.sequencer import Sequencer
    from memetik.motion.task_file import load_task

    read = load_task(task)
    sequencer = Sequencer(
        read, driver, real_time=real_time, wrap=lambda d: _spoiled(d, fault, rng), rng=rng, recoveries=recoveries
    )
    if teach is not None:
        _teach(sequencer.driver, teach, postures, as_json)
        return
    report = sequencer.run(None if as_json else _print_step)
    if picture is not None:
        _save_picture(sequencer, picture)
    if as_json:
        print_json("memetik.run/1", _described(read.name, report))
    else:
        _print_end(report)
    raise typer.Exit(0 if report.success else 1)


def _spoiled(driver: Any, faults: list[str], rng: int) -> Any:
    from memetik.errors import InvalidInputError, suggest
    from memetik.motion.faults import DropsPoints, StopsEarly, TakesFewPoints

    for fault in faults:
        name, _, number = fault.partition("=")
        try:
            value = float(number) if number else None
        except ValueError:
            raise InvalidInputError(f"--fault {fault!r}: {number!r} is not a number.") from None
        if name == "stops-early":
            driver = StopsEarly(driver, None, chance=0.5 if value is None else value, rng=rng)
        elif name == "drops-points":
            driver = DropsPoints(driver, 0.5 if value is None else value, rng=rng)
        elif name == "few-points":
            driver = TakesFewPoints(driver, 16 if value is None else int(value))
        else:
            known = ("stops-early", "drops-points", "few-points")
            raise InvalidInputError(f"there is no fault {name!r}; {suggest(name, known)}")
    return driver


def _teach(driver: Any, name: str, path: str, as_json: bool) -> None:
    from memetik.motion.task_file import teach

    values = dict(zip(driver.joint_names, driver.state().q.tolist(), strict=True))
    teach(path, name, values)
    if as_json:
        print_json("memetik.teach/1", {"name": name, "file": path, "posture": values})
    else:
        print(f"{name} recorded in {path}")


def _print_step(step: StepReport) -> None:
    from rich.console import Console
    from rich.text import Text

    mark = Text("ok     ", style="green") if step.success else Text("failed ", style="bold red")
    line = mark + Text(f"{step.label:36}")
    if step.running:
        line += Text(f" {1e3 * step.planning:6.0f} ms to plan, {step.running:5.2f} s to run", style="dim")
    if step.recoveries:
        line += Text(f", {step.recoveries} recoveries", style="yellow")
    if step.message:
        line += Text(f"  {step.message}")
    Console(soft_wrap=True).print(line)


def _print_end(report: TaskReport) -> None:
    if report.placed:
        rows = [(name, f"{1e3 * off:.1f}") for name, off in report.placed.items()]
        print_table(("object", ">off its target (mm)"), rows)
    for note in report.notes:
        print(f"note: {note}")
    print(f"{report.message} {len(report.steps)} steps, {report.duration:.1f} s.")


def _described(name: str, report: TaskReport) -> dict[str, Any]:
    keys = ("label", "success", "planning", "running", "recoveries", "message")
    return {
        "task": name,
        "success": report.success,
        "message": report.message,
        "duration": report.duration,
        "placed": report.placed,
        "notes": list(report.notes),
        "steps": [{key: getattr(step, key) for key in keys} for step in report.steps],
    }


def _save_picture(sequencer: Any, path: str) -> None:
    from memetik.errors import InvalidInputError

    if sequencer.simulation is None:
        raise InvalidInputError("a picture is made of a simulation; run the task with --driver simulation.")
    import matplotlib.image

    matplotlib.image.imsave(path, sequencer.simulation.render(960, 720))
