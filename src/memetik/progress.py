"""Progress on standard error: bars and status lines on a terminal, now and then a line where it is a file or a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")

LINE_SECONDS = 10.0
"""Between two lines of progress where nobody watches."""

Advance = Callable[[float], None]
"""Moves a bar on by an amount."""


def is_shown() -> bool:
    """Whether somebody watches standard error."""
    return sys.stderr.isatty()


@contextmanager
def progress_bar(what: str, total: float, *, shown: bool = True) -> Iterator[Advance]:
    """A bar for the length of a `with` block; more than the total moves the total."""
    if not shown:
        yield lambda amount: None
        return
    if not is_shown():
        yield _Lines(what, total).advance
        return
    with bars() as progress:
        task = progress.add_task(what, total=total)

        def advance(amount: float) -> None:
            progress.advance(task, amount)
            if progress.tasks[0].completed > (progress.tasks[0].total or 0.0):
                progress.update(task, total=2.0 * progress.tasks[0].completed)

        yield advance


class _Lines:
    """Progress for a log: a line every LINE_SECONDS, so that what is quickly done says nothing."""

    def __init__(self, what: str, total: float):
        self._what, self._total, self._done = what, total, 0.0
        self._said = time.monotonic()

    def advance(self, amount: float) -> None:
        self._done += amount
        now = time.monotonic()
        if now - self._said >= LINE_SECONDS:
            self._said = now
            print(f"{self._what}: {self._done:g} of {max(self._total, self._done):g}", file=sys.stderr, flush=True)


def track(items: Sequence[Item], what: str, *, shown: bool = True) -> Iterator[Item]:
    """Goes through items with a bar."""
    with progress_bar(what, len(items), shown=shown) as advance:
        for item in items:
            yield item
            advance(1)


@contextmanager
def status(what: str) -> Iterator[Callable[[str], None]]:
    """A line that names what is being done, which the function it gives changes."""
    if not is_shown():
        yield lambda text: None
        return
    from rich.console import Console

    with Console(stderr=True).status(what) as line:
        yield line.update


def bars(*columns: str) -> Progress:
    """Bars on standard error that go away at their end; by default a description, the bar, a share and the time left.

    columns: further ones after these, as rich formats them.
    """
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*Progress.get_default_columns(), *columns, console=Console(stderr=True), transient=True)


class RunProgress:
    """What a benchmark's run tells while it goes on; this one says nothing."""

    def searching(self, what: str, done: int, total: int) -> None:
        """So many targets of a scenario are found, of those wanted."""

    def begin(self, total: int) -> None:
        """So many results are to come."""

    def advance(self, label: str) -> None:
        """One more result."""

    def say(self, text: str) -> None:
        """Something that the user should know."""


class TerminalRunProgress(RunProgress):
    """Bars with the time left on a terminal, and remarks."""

    def __init__(self) -> None:
        self._bars = bars("{task.completed}/{task.total}") if is_shown() else None
        self._search = self._solving = None
        self._lines: _Lines | None = None

    def __enter__(self) -> TerminalRunProgress:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def searching(self, what: str, done: int, total: int) -> None:
        if self._bars is not None:
            if self._search is None:
                self._search = self._bars.add_task("", total=total)
            text = f"reachable targets: {what}"
            self._bars.update(self._search, description=text, completed=done, total=max(total, done))

    def begin(self, total: int) -> None:
        if self._bars is not None:
            if self._search is not None:
                self._bars.remove_task(self._search)
            self._solving = self._bars.add_task("solving", total=total)
        else:
            self._lines = _Lines("solving", total)

    def advance(self, label: str) -> None:
        if self._bars is not None and self._solving is not None:
            self._bars.update(self._solving, advance=1, description=f"solving: {label:20.20}")
        elif self._lines is not None:
            self._lines.advance(1)

    def say(self, text: str) -> None:
        if self._bars is not None:
            self._bars.console.print(text, highlight=False, markup=False)
        else:
            print(text, file=sys.stderr)
