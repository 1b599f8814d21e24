"""How plots look: which solvers, with which labels, colours and lines, on which scenarios. From a file, if wanted.

A plot-configuration file is TOML:

    schema = "memetik.plots/1"
    robots = ["elise"]
    scenarios = ["Barrel", "Shelf"]          # in this order; all where left out
    zooms = [0.005, 0.05]                    # seconds
    [[solver]]
    name = "memetic"
    label = "ours"                           # optional, as are the next two
    color = "#1f77b4"                        # a colour, or a number: the same number, the same colour
    style = "solid"                          # solid, dashed, dotted, dashdot

or text of lines, as the benchmark EBIKE had it: the robot; the solvers, separated by commas; then optional lines
`labels:`, `colors:` (numbers) and `styles:` in the order of the solvers; then one scenario per line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memetik.errors import InvalidInputError, suggest
from memetik.files.schema import Table, read_table

SCHEMA = "memetik.plots/1"
LINES = ("solid", "dashed", "dotted", "dashdot")
_LOOK = ("name", "label", "color", "style")
PALETTE = (
    "#1f77b4", "#d95f02", "#1b9e77", "#c2185b", "#7570b3", "#8d6e0f", "#0aa2c0", "#6d6d6d", "#e6ab02", "#a6761d",
    "#66a61e", "#5c3b8c",
)  # fmt: skip
"""Colours that stay apart on white, also for most who do not see all of them."""


@dataclass(frozen=True)
class Look:
    """How one solver is drawn."""

    label: str
    color: str
    style: str = "solid"


@dataclass(frozen=True)
class PlotStyle:
    """What is drawn: solvers by name with their look, robots and scenarios; None for all of them."""

    looks: Mapping[str, Look] = field(default_factory=dict)
    robots: tuple[str, ...] | None = None
    scenarios: tuple[str, ...] | None = None
    zooms: tuple[float, ...] = (0.005, 0.05)

    @property
    def solvers(self) -> tuple[str, ...] | None:
        return tuple(self.looks) or None

    def narrowed(self, robots: Sequence[str], scenarios: Sequence[str], solvers: Sequence[str]) -> PlotStyle:
        """The same for some robots, scenarios and solvers only, where any are named."""
        looks: Mapping[str, Look] = self.looks
        if solvers:
            complete = self.completed([(name, (name,)) for name in solvers]).looks
            looks = {name: self.looks.get(name) or complete[name] for name in solvers}
        return PlotStyle(looks, tuple(robots) or self.robots, tuple(scenarios) or self.scenarios, self.zooms)

    def completed(self, labels: Sequence[tuple[str, Sequence[str]]]) -> PlotStyle:
        """The same with a look for each label, by that label. Each comes with the names it may have in this style."""
        looks: dict[str, Look] = {}
        for label, names in labels:
            if label in looks:
                continue
            known = next((self.looks[name] for name in names if name in self.looks), None)
            if known is None:
                number = len(looks)
                line = LINES[(number // len(PALETTE)) % len(LINES)]
                looks[label] = Look(label, PALETTE[number % len(PALETTE)], line)
            else:
                # Several runs of one solver share its colour and have lines of their own.
                used = [look.style for look in looks.values() if look.color == known.color]
                free = [style for style in LINES if style not in used]
                looks[label] = replace(
                    known, label=label, style=known.style if label == known.label else (*free, known.style)[0]
                )
        return PlotStyle(looks, self.robots, self.scenarios, self.zooms)


def read_style(path: str | os.PathLike[str]) -> PlotStyle:
    """A plot-configuration file."""
    if str(path).lower().endswith(".toml"):
        return _from_toml(read_table(path, "the plot configuration", "toml"))
    what = f"the plot configuration {str(path)!r}"
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"{what} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidInputError(f"{what} is not text.") from None
    return _from_lines(text, what)


def _from_toml(table: Table) -> PlotStyle:
    table.schema(SCHEMA).known("schema", "robots", "scenarios", "zooms", "solver")
    looks = {}
    for number, entry in enumerate(table.tables("solver")):
        name = entry.known(*_LOOK).text("name")
        color, style = entry.data.get("color", number), entry.data.get("style", "solid")
        looks[name] = _look(str(entry.data.get("label", name)), color, style, table.source.what)
    zooms = tuple(table.numbers("zooms", default=())) or PlotStyle.zooms
    if not all(0.0 < value < 1e6 for value in zooms):
        raise table.error(f"zooms are seconds above zero, not {zooms}.", "zooms")
    return PlotStyle(looks, table.texts("robots", ()) or None, table.texts("scenarios", ()) or None, zooms)


def _from_lines(text: str, what: str) -> PlotStyle:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if len(lines) < 2:
        raise InvalidInputError(f"{what} needs a line with the robot and a line with the solvers.")
    robot, solvers = lines[0], [name.strip() for name in lines[1].split(",")]
    columns: dict[str, list[str]] = {}
    scenarios = []
    for line in lines[2:]:
        name, colon, values = line.partition(":")
        if colon and name in ("labels", "colors", "styles"):
            columns[name] = [value.strip() for value in values.split(",")]
            if len(columns[name]) != len(solvers):
                raise InvalidInputError(f"{what} has {len(solvers)} solvers, but {len(columns[name])} {name}.")
        else:
            scenarios.append(line)
    labels = columns.get("labels", solvers)
    colors: list[Any] = columns.get("colors", [str(k) for k in range(len(solvers))])
    styles = columns.get("styles", ["solid"] * len(solvers))
    looks = {
        name: _look(label, int(color) if color.isdigit() else color, style, what)
        for name, label, color, style in zip(solvers, labels, colors, styles, strict=True)
    }
    return PlotStyle(looks, (robot,), tuple(scenarios) or None)


def _look(label: str, color: Any, style: Any, what: str) -> Look:
    if style not in LINES:
        raise InvalidInputError(f"{what} has a line style {style!r}; {suggest(style, LINES)}")
    if type(color) is int and color >= 0:
        return Look(label, PALETTE[color % len(PALETTE)], style)
    try:
        from matplotlib.colors import to_hex

        return Look(label, to_hex(str(color)), style)
    except ValueError:
        raise InvalidInputError(f"{what} has a colour {color!r}; give a name, #rrggbb or a number.") from None
