"""What the methods of the core share: islands, restarts, and the way their parameters get there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, get_args

from memetik import _core
from memetik.solve.methods.checks import Natural, NotNegative, check_parameters, check_value, whole_from
from memetik.solve.methods.method import Native

KINDS = (
    "memetic", "bio2", "bio1", "bio1_ros", "gradient_descent", "jacobian", "kdl", "levenberg", "pick", "differential",
    "swarm", "genetic",
)  # fmt: skip
"""In the order of MethodKind in native/methods/options.h."""

ROUND = 8
"""Groups of eight evaluations that an island does before the bounds of a solve are looked at."""


@dataclass(frozen=True)
class CoreMethod(Native):
    """A method of the field that runs in the core.

    islands     independent runs side by side, carried by the threads of the solve; their number is part of the method,
                the number of threads changes nothing but the time.
    restarts    start again from a random posture where the method is stuck or its answer was turned away.
    keep_seed   start again from the seed instead.
    free_turns  joints whose limits are a full turn apart or more are not clipped, and answers are turned back within
                their limits, as BioIK's program has it.
    """

    islands: int = field(default=1, kw_only=True)
    restarts: bool = field(default=True, kw_only=True)
    keep_seed: bool = field(default=False, kw_only=True)
    free_turns: bool = field(default=False, kw_only=True)

    KIND: ClassVar[str]
    BLOCK: ClassVar[str]
    """The block of the core's options that holds the parameters; those of a fitness go to `fitness`."""
    CHOICES: ClassVar[Mapping[str, Any]] = {}
    """Parameters that are words: the Literal of each, in the order of the core's enumeration."""
    FITNESS: ClassVar[tuple[str, ...]] = ("rotation", "rotation_scale", "combination", "normalized")

    def __post_init__(self) -> None:
        check_parameters(self, self.label(), {int: Natural, float: NotNegative})
        for name, least in self.least().items():
            if getattr(self, name) < least:
                check_value(f"{name} of {self.label()}", getattr(self, name), whole_from(least))

    def least(self) -> dict[str, int]:
        """Lower bounds of the parameters that are whole numbers."""
        return {f.name: 1 for f in fields(self) if type(f.default) is int}

    def options(self) -> _core.SearchOptions:
        options = _core.SearchOptions()
        options.islands, options.round_iterations = self.islands, ROUND
        method: Any = options.method
        method.kind = KINDS.index(self.KIND)
        method.restarts, method.keep_seed, method.free_turns = self.restarts, self.keep_seed, self.free_turns
        for f in fields(self):
            if f.name in ("islands", "restarts", "keep_seed", "free_turns"):
                continue
            value = getattr(self, f.name)
            if f.name in self.CHOICES:
                value = get_args(self.CHOICES[f.name]).index(value)
            setattr(method.fitness if f.name in self.FITNESS else getattr(method, self.BLOCK), f.name, value)
        return options
