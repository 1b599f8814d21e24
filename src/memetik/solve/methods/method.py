"""What a method is: an object with parameters that `Problem.solve` takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import Field, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from memetik._moved import serve_old_names
from memetik.solve.methods.parameters import check_parameters

if TYPE_CHECKING:
    import numpy as np

    from memetik import _core
    from memetik.solve.methods.task import SearchTask
    from memetik.solve.problem import Problem


class Method(ABC):
    """A way to search for a configuration. Methods are frozen dataclasses: their fields are their parameters, and what
    these are annotated with is checked (memetik.solve.methods.parameters)."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __post_init__(self) -> None:
        check_parameters(self, self.label())

    @classmethod
    def label(cls) -> str:
        """Its name in error messages."""
        return cls.__name__

    def check(self, problem: Problem) -> None:  # noqa: B027
        """Raises a GoalError that says so where the method cannot serve a problem's goals."""


class Native(Method):
    """A method that runs in the core."""

    @cached_property
    def core(self) -> _core.SolveOptions:
        """The method and its parameters as the core takes them, with no bound on the work."""
        return self.options()

    @abstractmethod
    def options(self) -> _core.SolveOptions:
        """Makes `core`."""


@dataclass(frozen=True)
class PythonMethod(Method):
    """A method written in Python.

    `search` is called with a start: the seed at first. Where it comes back without an accepted answer, because it is
    stuck or because the answer was turned away (`valid=`, the scene), it is called again from a random configuration
    until time, evaluations or attempts are used up: rejection sampling with random restart, the same for every method.

    restarts   whether it is called again; False gives the bare algorithm, one run from the seed.
    """

    restarts: bool = field(default=True, kw_only=True)

    @abstractmethod
    def search(self, task: SearchTask, start: np.ndarray) -> Any:
        """One run from the variables `start`, (n,).

        It evaluates configurations through `task`, and calls `task.submit(q)` where it thinks it has an answer; that
        returns True when the answer is accepted, and the run may then return. Out of time or evaluations, `task` raises
        BudgetExceeded, which the caller of `search` catches.
        """


serve_old_names(__name__)
