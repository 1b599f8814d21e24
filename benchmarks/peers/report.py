"""Tables, and bars that hold or do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass
class Report:
    """What a benchmark prints; `status()` is what its script returns to the shell."""

    console: Console = field(default_factory=lambda: Console(width=118, highlight=False))
    bars: list[tuple[str, str, bool | None]] = field(default_factory=list)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        table = Table(title=title, title_justify="left", title_style="bold")
        for k, column in enumerate(columns):
            table.add_column(column, justify="left" if k == 0 else "right")
        for row in rows:
            table.add_row(*(str(cell) for cell in row))
        self.console.print(table)

    def say(self, text: str) -> None:
        self.console.print(text)

    def bar(self, what: str, figure: str, holds: bool | None) -> None:
        """A bar and the figure reached; None where it could not be measured."""
        self.bars.append((what, figure, holds))

    def missing(self, what: str, package: str) -> None:
        """A bar that wants a peer that is not there."""
        self.bar(what, f"{package} is not installed", None)

    def status(self) -> int:
        """Prints the bars; 1 where one of them does not hold."""
        table = Table(title="Bars", title_justify="left", title_style="bold")
        table.add_column("bar")
        table.add_column("figure", justify="right")
        table.add_column("")
        for what, figure, holds in self.bars:
            word = {True: Text("PASS", "green"), False: Text("FAIL", "red"), None: Text("not run", "yellow")}[holds]
            table.add_row(what, figure, word)
        self.console.print(table)
        return int(any(holds is False for _, _, holds in self.bars))
