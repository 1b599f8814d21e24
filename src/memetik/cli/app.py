"""The program `memetik`: verbs put together, errors told in a line.

The verb NAME is the function of that name in `memetik.cli.NAME`, or a group of verbs. Its module is imported when the
verb is called, so that `memetik --help` stays quick.
"""

from __future__ import annotations

import logging
import os
import platform
import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from memetik import __version__
from memetik.cli.ros_words import argument_words
from memetik.errors import MemetikError

VERBS = {
    "robots": "List the robots that have a name: the bundled ones, and those of installed packages.",
    "doctor": "Check a robot description. Exit code 1 if it has errors.",
    "setup": "Bring up a new arm: check it, measure what planning needs, try it, and write one file for load_robot. "
    "Exit code 0 if every stage succeeded, 1 if not.",
    "fk": "Forward kinematics: poses of links, in metres and radians, in the world's frame.",
    "solve": "Find a configuration that meets the goals. Exit code 0 if one was found, 1 if none was found, 2 for "
    "bad input.",
    "reach": "Study the reach of a robot: over a surface, over base placements, or over its whole workspace.",
    "plan": "Plan a motion. Exit code 0 if one was found, 1 if none was found, 2 for bad input.",
    "tune": "Tune a method's parameters on a scenario.",
    "studio": "Open the studio in the browser and print its address. Ctrl-C ends it. It reads and writes files below "
    "the current folder only.",
    "run": "Run a task. Exit code 0 if every step was done and every object is where it should be, 1 if not.",
    "ros": "Join a ROS 2 graph: IK, FK, validity and planning services under MoveIt's names, a goal topic, streaming.",
    "demo": "Solve random reachable targets on five robots and inside a tank, print success rates and times, and make "
    "a moving picture.",
    "bench": "Compare solvers, scenes and robots.",
}
"""The verbs and what `memetik --help` says of them."""


class _Verbs(TyperGroup):
    """Lists the verbs by their help texts, and loads the one that is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed if name is None else load_verb(name), rest


def load_verb(name: str) -> Any:
    """The command that typer makes of a verb."""
    from memetik.cli.options import add_command

    verb = getattr(import_module(f"memetik.cli.{name}"), name)
    if not isinstance(verb, typer.Typer):
        alone = typer.Typer(add_completion=False)
        add_command(alone, name, verb)
        verb = alone
    command = typer.main.get_command(verb)
    command.help = VERBS[name]
    return command


app = typer.Typer(
    name="memetik",
    cls=_Verbs,
    help="Inverse kinematics and collision-free motion for any robot.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _text in VERBS.items():
    app.command(_name, help=_text)(lambda: None)


TO_TRY = """Three things to try:

  memetik demo
      solves thousands of targets on five robots, and makes a moving picture
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
        try:
            app(args=argument_words(sys.argv[1:]))
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
