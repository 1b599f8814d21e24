"""The errors memetik raises: one base class, full sentences, valid choices named."""

from __future__ import annotations

from collections.abc import Iterable


class MemetikError(Exception):
    """Base class of every error that memetik raises on purpose."""


class InvalidInputError(MemetikError, ValueError):
    """An argument has the wrong shape, type, range or a value that is not finite."""


class UnknownNameError(MemetikError, KeyError):
    """A link, joint, group, goal or object of that name does not exist."""

    def __init__(self, kind: str, name: object, owner: str, choices: Iterable[str]):
        self.kind, self.name, self.owner, self.choices = kind, name, owner, tuple(choices)
        super().__init__(kind, name, owner, self.choices)

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} is not in {self.owner}; {suggest(self.name, self.choices)}"


class DescriptionError(MemetikError):
    """A robot's description cannot be read or does not describe a robot.

    `code` is the kind of defect in the doctor's catalogue, `line` its line in the file, None where it has none.
    """

    def __init__(self, message: str = "", code: str = "unreadable", line: int | None = None):
        super().__init__(message)
        self.code, self.line = code, line


class GeometryError(MemetikError):
    """A shape or mesh that is needed is missing, unreadable or degenerate."""


class GoalError(InvalidInputError):
    """A goal is stated wrongly or does not fit the robot or the method."""


class MissingExtraError(MemetikError, ImportError):
    """An optional dependency is needed and not installed."""

    def __init__(self, module: str, extra: str, purpose: str):
        super().__init__(
            f"{purpose} needs {module!r}, which is not installed; install it with: pip install 'memetik[{extra}]'"
        )


class MethodNotBuiltError(MemetikError):
    """A method of the literature is asked for that this build of the core leaves out."""


def suggest(name: object, choices: Iterable[str], most: int = 12) -> str:
    """A phrase that leads from a wrong name to the right ones."""
    import difflib

    choices = list(choices)
    close = difflib.get_close_matches(str(name), choices, n=3, cutoff=0.5)
    if not close:
        close = [c for c in choices if str(name) and str(name).lower() in c.lower()][:3]
    if close:
        return "did you mean " + " or ".join(repr(c) for c in close) + "?"
    if not choices:
        return "there is none."
    listed = ", ".join(repr(c) for c in choices[:most])
    return f"choose from {listed}" + (f" and {len(choices) - most} more." if len(choices) > most else ".")


def counted(number: int, noun: str) -> str:
    """A number and its noun: 1 start, 3 starts."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
