"""The program `memetik`: verbs put together, errors told in a line.

A verb's module imports what it needs inside its function, so that `memetik --help` stays quick.
"""

from __future__ import annotations

import logging
import platform
import sys
from collections.abc import Callable
from typing import Any

import typer

from memetik import __version__
from memetik.cli import bench, demo, doctor, fk, plan, reach, robots, run, setup, solve, studio, tune
from memetik.cli.goal_words import GoalCommand
from memetik.cli.options import command
from memetik.errors import MemetikError

VERBS: dict[str, Callable[..., Any]] = {
    "robots": robots.robots,
    "doctor": doctor.doctor,
    "setup": setup.setup,
    "fk": fk.fk,
    "solve": solve.solve,
    "reach": reach.reach,
    "plan": plan.plan,
    "tune": tune.tune,
    "studio": studio.studio,
    "run": run.run,
    "demo": demo.demo,
}

app = typer.Typer(
    name="memetik",
    help="Robot configurations from goals: inverse kinematics for any kinematic tree.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _verb in VERBS.items():
    app.command(_name, cls=GoalCommand if _name in ("solve", "plan") else None)(command(_verb))
app.add_typer(bench.bench, name="bench")


TO_TRY = """Three things to try:

  memetik demo
      solves thousands of targets on five robots, and draws a picture
  memetik solve panda --pose panda_hand 0.4 0.1 0.5 3.14 0 0
      finds joint values for a pose of the hand
  memetik studio panda
      drag the hand in a browser (needs the extra memetik[studio])

memetik --help lists every verb; memetik VERB --help says what it takes."""


@app.callback()
def _options(
    context: typer.Context,
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Show diagnostics of the readers and solvers."),
    version: bool = typer.Option(False, "--version", help="Print the versions of memetik, Python and numpy, and end."),
) -> None:
    if version:
        print(_versions())
        raise typer.Exit()
    if context.invoked_subcommand is None:
        print(TO_TRY)
        raise typer.Exit()
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.ERROR,
        format="%(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )


def _versions() -> str:
    import numpy

    from memetik import _core

    sets = ", ".join(_core.architectures())
    return f"""memetik {__version__}
Python {platform.python_version()}, numpy {numpy.__version__}, {platform.system()} {platform.machine()}
instruction sets: {sets}"""


def main() -> None:
    """Run the program. Errors of memetik end in one line and exit code 2, without a traceback."""
    try:
        app()
    except MemetikError as error:
        print(f"memetik: {error}", file=sys.stderr)
        raise SystemExit(2) from None
