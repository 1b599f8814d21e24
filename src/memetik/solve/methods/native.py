"""What the methods of the core share: islands, restarts, defaults that stand in the core's structs, and the way their
parameters get there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from keyword import iskeyword
from typing import Any, ClassVar, TypeVar, cast

from memetik import _core
from memetik.errors import MethodNotBuiltError
from memetik.solve.methods.method import Native
from memetik.solve.methods.parameters import Count, NotNegative, check_parameters

ROUND = 8
"""Groups of eight evaluations that an island does before the bounds of a solve are looked at."""

FROM_CORE: Any = object()
"""The default of a parameter that `defaults_from` fills in."""

Owner = TypeVar("Owner", bound=type)
Struct = TypeVar("Struct")


def defaults_from(struct: type) -> Callable[[Owner], Owner]:
    """Fills in the defaults of a class whose fields are FROM_CORE, before `dataclass` reads them.

    Fails where the class lacks a field of the struct, or the struct one of the class.
    """

    def fill(owner: Owner) -> Owner:
        names = {name for name, value in vars(owner).items() if value is FROM_CORE}
        if names != set(struct.field_names):
            differing = ", ".join(sorted(names ^ set(struct.field_names)))
            raise TypeError(f"{owner.__name__} and the core's {struct.__name__} differ in {differing}.")
        given = struct()
        for name in names:
            setattr(owner, name, getattr(given, name))
        return owner

    return fill


def core_struct(struct: type[Struct], owner: object) -> Struct:
    """A struct of the core with the values of an object's attributes of the same names; words become enumerators."""
    default: Any = struct()
    values: dict[str, object] = {}
    for name in default.field_names:
        if hasattr(owner, name):
            value, known = getattr(owner, name), getattr(default, name)
            if isinstance(known, Enum):
                value = type(known)[f"{value}_" if iskeyword(value) else value]
            values[name] = value
    return struct(**values)


@dataclass(frozen=True)
class CoreMethod(Native):
    """A method of the field that runs in the core: class Mine(CoreMethod, method="its name in the core").

    Parameters that are plain whole numbers are at least one, other plain numbers not negative.

    islands     independent runs side by side, carried by the threads of the solve; their number is part of the method,
                the number of threads changes nothing but the time.
    restarts    start again from a random configuration where the method is stuck or its answer was turned away.
    keep_seed   start again from the seed instead.
    free_turns  joints whose limits are a full turn apart or more are not clipped, and answers are turned back within
                their limits, as BioIK's program has it.
    """

    islands: int = field(default=1, kw_only=True)
    restarts: bool = field(default=True, kw_only=True)
    keep_seed: bool = field(default=False, kw_only=True)
    free_turns: bool = field(default=False, kw_only=True)

    METHOD: ClassVar[str]
    """Its name in the core (native/literature/registry.h)."""

    def __init_subclass__(cls, method: str = "") -> None:
        cls.METHOD = method or cls.METHOD

    def __post_init__(self) -> None:
        check_parameters(self, self.label(), {int: Count, float: NotNegative})

    def own_options(self) -> object:
        """The parameters that are the method's own, as the core takes them."""
        return core_struct(cast("type[object]", _core.method_parameters(self.METHOD)), self)

    def fitness_options(self) -> _core.FitnessOptions:
        """How errors become a fitness."""
        return core_struct(_core.FitnessOptions, self)

    def options(self) -> _core.SolveOptions:
        if not _core.HAS_LITERATURE:
            raise MethodNotBuiltError(
                f"this build of memetik leaves out the methods of the literature, {self.label()} among them "
                "(MEMETIK_LITERATURE=OFF); use method='memetic', or a build with them."
            )
        shared = _core.MethodOptions(
            restarts=self.restarts,
            keep_seed=self.keep_seed,
            free_turns=self.free_turns,
            fitness=self.fitness_options(),
        )
        return _core.SolveOptions(
            memetic=_core.MemeticOptions(islands=self.islands, round_iterations=ROUND),
            method=_core.make_method(self.METHOD, shared, self.own_options()),
        )
