"""Options of verbs: a dataclass for each verb, from whose fields typer makes the command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import typer

from memetik.cli.goal_words import GoalCommand, json_goals, option_goals
from memetik.goals.base import Goal

Options = TypeVar("Options")


def option(default: Any, text: str, *flags: str, **settings: Any) -> Any:
    """A field that is an option: its default, its help text, and what typer.Option takes besides."""
    return _field(default, typer.Option(default, *flags, help=text, **settings))


def argument(default: Any, text: str, **settings: Any) -> Any:
    """A field that is an argument; with ... as default it is required."""
    return _field(default, typer.Argument(default, help=text, **settings))


def _field(default: Any, info: Any) -> Any:
    metadata = {"typer": info}
    if default is ...:
        return field(metadata=metadata)
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def add_command(group: typer.Typer, name: str, verb: Callable[[Options], None]) -> None:
    """Adds a verb to a group: typer calls it with a parameter for each field of the verb's options."""
    (kind,) = (hint for name, hint in get_type_hints(verb).items() if name != "return")
    hints = get_type_hints(kind)

    def callback(**values: Any) -> None:
        verb(kind(**_with_arguments(values)))

    callback.__doc__ = verb.__doc__
    callback.__annotations__ = {entry.name: hints[entry.name] for entry in fields(kind)}
    callback.__signature__ = inspect.Signature([  # pyright: ignore[reportFunctionMemberAccess]
        inspect.Parameter(entry.name, inspect.Parameter.KEYWORD_ONLY, default=entry.metadata["typer"],
                          annotation=hints[entry.name])
        for entry in fields(kind)
    ])  # fmt: skip
    group.command(name, cls=GoalCommand if issubclass(kind, GoalOptions) else None)(callback)


def _with_arguments(values: dict[str, Any]) -> dict[str, Any]:
    """The values of options, with --arg put behind the robots that they are for."""
    if not values.get("arg"):
        return values
    from memetik.robot.source_words import join_arguments, parse_arguments

    arguments = parse_arguments(values["arg"])
    for name in ("robot", "file"):
        given = values.get(name)
        if isinstance(given, str):
            values[name] = join_arguments(given, arguments)
        elif isinstance(given, list):
            values[name] = [join_arguments(entry, arguments) for entry in given]
    return values


JSON_OPTION = typer.Option(False, "--json", help="Print JSON instead of text.")
"""For verbs with few options, which are parameters of their function."""


def json_option() -> Any:
    return _field(False, JSON_OPTION)


def robot_argument() -> Any:
    return argument(..., "Bundled name, or path of a URDF, xacro or MJCF file.")


def search_path_option() -> Any:
    return option([], "Folder that holds packages or meshes; repeatable.")


def arguments_option() -> Any:
    return option([], "NAME=VALUE, or ROS's NAME:=VALUE: an argument of a xacro file; repeatable.", "--arg")


def scene_option() -> Any:
    return option(None, "Scene file (TOML) with obstacles.")


def rng_option() -> Any:
    return option(0, "Seed of the random numbers.", min=0)


@dataclass(frozen=True, kw_only=True)
class GoalOptions:
    """Goals as options; the words after such an option, up to the next one, belong to it (`GoalCommand`)."""

    pose: list[str] = option(
        [],
        "LINK x y z, then roll pitch yaw (about the world's fixed x, y, z) or a quaternion x y z w; without either the "
        "link's axes are the world's. Metres, radians; repeatable.",
        metavar="LINK ...",
    )
    position: list[str] = option([], "LINK x y z; repeatable.", metavar="LINK ...")
    orientation: list[str] = option(
        [], "LINK roll pitch yaw, or LINK and a quaternion x y z w; repeatable.", metavar="LINK ..."
    )
    align: list[str] = option(
        [],
        "LINK axis direction: an axis of the link, such as z or -x, that points along one of the world's.",
        metavar="LINK ...",
    )
    goal: list[str] = option([], 'Any goal as JSON: {"type": "LookAt", "link": ..., ...}; repeatable.')

    @property
    def goals(self) -> list[Goal]:
        """The goals, in the order of the options above."""
        return [*option_goals(self.pose, self.position, self.orientation, self.align), *json_goals(self.goal)]


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Where the work is done."""

    cluster: str | None = option(None, "Address of a dask scheduler, or 'local'.")
    workers: int | None = option(None, "Processes of a local cluster.", min=1)
    tls: Path | None = option(None, "Folder with ca.pem, cert.pem and key.pem of a cluster at tls://host:port.")


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Of verbs that take nothing else."""

    as_json: bool = json_option()
