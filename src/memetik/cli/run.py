"""`memetik run TASK`: do what a task file says, in simulation or on a driver."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import typer

from memetik.cli.options import argument, json_option, option, rng_option
from memetik.cli.output import print_json, print_table
from memetik.errors import InvalidInputError, counted, suggest
from memetik.files.named_values import as_number, named_words
from memetik.motion.execution.driver import Driver
from memetik.motion.execution.faults import DropsPoints, StopsEarly, TakesFewPoints
from memetik.motion.tasks.report import StepReport, TaskReport
from memetik.motion.tasks.sequencer import Sequencer
from memetik.motion.tasks.task_file import load_task, teach
from memetik.ros.recordings.recording import Recording, RecordingDriver


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    task: str = argument(..., "Task file (TOML).")
    driver: str = option(
        "simulation",
        '"simulation" (physics), "exact" (without), or the address of a driver: tcp://TOKEN@host:port, or '
        "ur://host for an arm of Universal Robots.",
    )
    real_time: float | None = option(None, "Speed relative to the wall clock; as fast as possible by default.")
    fault: list[str] = option([], "Make the driver fail: stops-early, drops-points, few-points=N; repeatable.")
    recoveries: int = option(5, "How many times a move may recover after a fault.", min=0)
    teach: str | None = option(None, "Record the arm's configuration under this name in --postures, and end.")
    postures: str = option("postures.toml", "File of taught configurations, for --teach.")
    record: str | None = option(None, "Record trajectories and states as MCAP with messages of ROS 2.")
    rng: int = rng_option()
    picture: str | None = option(None, "Write a PNG of the simulation at the end.")
    as_json: bool = json_option()


def run(options: RunOptions) -> None:
    read = load_task(options.task)
    with contextlib.ExitStack() as stack:
        recording = None if options.record is None else stack.enter_context(Recording(options.record, read.robot))
        sequencer = Sequencer(
            read, options.driver, real_time=options.real_time, wrap=lambda d: _wrapped(d, options, recording),
            rng=options.rng, recoveries=options.recoveries,
        )  # fmt: skip
        if options.teach is not None:
            _teach(sequencer.driver, options.teach, options.postures, options.as_json)
            return
        report = sequencer.run(None if options.as_json else _print_step)
    if options.picture is not None:
        _save_picture(sequencer, options.picture)
    if options.as_json:
        print_json("memetik.run/1", _described(read.name, report))
    else:
        _print_end(report)
    raise typer.Exit(0 if report.success else 1)


def _wrapped(driver: Driver, options: RunOptions, recording: Recording | None) -> Driver:
    """A driver with the faults that are asked for, and recorded."""
    spoiled = _spoiled(driver, options.fault, options.rng)
    return spoiled if recording is None else RecordingDriver(spoiled, recording)


def _spoiled(driver: Driver, faults: list[str], rng: int) -> Driver:
    for name, number in named_words(faults).items():
        value = None if number is None else as_number(number, f"--fault {name}")
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


def _teach(driver: Driver, name: str, path: str, as_json: bool) -> None:
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
    print(f"{report.message} {counted(len(report.steps), 'step')}, {report.duration:.1f} s.")


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


def _save_picture(sequencer: Sequencer, path: str) -> None:
    import matplotlib.image

    if sequencer.simulation is None:
        raise InvalidInputError("a picture is made of a simulation; run the task with --driver simulation.")
    matplotlib.image.imsave(path, sequencer.simulation.render(960, 720))
