"""The program `memetik`: verbs put together, errors told in a line.

A verb's module imports what it needs inside its function, so that `memetik --help` stays quick.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from typing import Any

import typer

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
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _verb in VERBS.items():
    app.command(_name, cls=GoalCommand if _name in ("solve", "plan") else None)(command(_verb))
app.add_typer(bench.bench, name="bench")


@app.callback()
def _options(
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Show diagnostics of the readers and solvers."),
) -> None:
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.ERROR,
        format="%(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )


def main() -> None:
    """Run the program. Errors of memetik end in one line and exit code 2, without a traceback."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except MemetikError as error:
        print(f"memetik: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:
        _forget_output()
        raise SystemExit(1) from None
    except OSError as error:
        what = "the output" if error.filename is None else repr(error.filename)
        print(f"memetik: {what} cannot be read or written: {error.strerror or error}.", file=sys.stderr)
        _forget_output()
        raise SystemExit(2) from None


def _forget_output() -> None:
    """What is left of the output would be tried again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
