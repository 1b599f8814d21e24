"""How a posture is searched for: the product's own search and those of the field, by name or with parameters.

Each name of `METHODS` stands for a class of this package and parameters of it; the class is loaded when it is first
used. `Native` methods run in the core, `Search` methods are written in Python on a `Task`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike
from typing import Any

from memetik.errors import InvalidInputError, suggest
from memetik.solve.methods.memetic import Memetic as Memetic
from memetik.solve.methods.method import Method as Method
from memetik.solve.methods.method import Native as Native
from memetik.solve.methods.method import Search as Search


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a method is: a class in a module of this package, and the parameters that the name stands for."""

    module: str
    owner: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def load(self) -> type[Method]:
        return getattr(import_module(f"{__name__}.{self.module}"), self.owner)

    def make(self) -> Method:
        return self.load()(**self.parameters)


_SCIPY = ("bfgs", "lbfgs", "lbfgsb", "cg", "steepest", "newton", "nelder_mead", "slsqp")
_NLOPT = (
    "slsqp", "lbfgs", "var", "tnewton", "mma", "ccsaq", "praxis", "nelder_mead", "bobyqa", "sbplx", "cobyla",
    "stogo", "direct", "ags", "isres", "esch", "crs", "mlsl",
)  # fmt: skip

METHODS: dict[str, Entry] = {
    "memetic": Entry("memetic", "Memetic"),
    "bio2": Entry("bio", "Bio2", {"local": "none"}),
    "bio2_memetic": Entry("bio", "Bio2"),
    "bio2_memetic_l": Entry("bio", "Bio2", {"local": "linear"}),
    "bio2_memetic_lbfgs": Entry("bio", "Bio2", {"local": "lbfgs"}),
    "bio1": Entry("bio", "Bio1"),
    "bio1_ros": Entry("bio", "Bio1Ros"),
    **{
        f"{name}{f'_{islands}' if islands > 1 else ''}": Entry(module, owner, {**parameters, "islands": islands})
        for name, module, owner, parameters in (
            ("gd", "descent", "GradientDescent", {"acceptance": "improving"}),
            ("gd_r", "descent", "GradientDescent", {"acceptance": "reset"}),
            ("gd_c", "descent", "GradientDescent", {"acceptance": "always"}),
            ("jac", "newton", "Jac", {}),
        )
        for islands in (1, 2, 4, 8)
    },
    "jac_damped": Entry("newton", "Jac", {"inverse": "damped"}),
    "jac_transpose": Entry("newton", "Jac", {"inverse": "transpose"}),
    "kdl": Entry("newton", "Kdl"),
    "lma": Entry("newton", "Lma"),
    "pick": Entry("pick", "Pick"),
    "pick_local": Entry("pick", "Pick", {"mode": "local"}),
    "de": Entry("populations", "De"),
    "pso": Entry("populations", "Pso"),
    "ga": Entry("populations", "Ga"),
    "trac": Entry("trac", "Trac"),
    **{name: Entry("optimisers", "Scipy", {"algorithm": name}) for name in _SCIPY},
    **{f"nlopt_{name}": Entry("optimisers", "Nlopt", {"algorithm": name}) for name in _NLOPT},
    "relaxed": Entry("relaxed", "Relaxed"),
    "ccd": Entry("ccd", "Ccd"),
    "fabrik": Entry("fabrik", "Fabrik"),
    "pivot": Entry("pivot", "Pivot"),
    "pivot_memetic": Entry("pivot", "PivotMemetic"),
    "neural": Entry("neural", "Neural"),
    "neural_direct": Entry("neural", "Neural", {"kind": "direct", "restarts": False}),
    "cascade": Entry("cascade", "Cascade"),
    "seeded": Entry("cascade", "Seeded"),
    "cached": Entry("cached", "Cached"),
    "analytic": Entry("analytic", "Analytic"),
    "decoupled": Entry("decoupled", "Decoupled"),
}
"""What `method=` accepts by name."""


_OTHERS = (
    Entry("analytic", "eaik_function"),
    Entry("cached", "PoseStore"),
    Entry("presets", "Preset"),
    Entry("presets", "load_preset"),
    Entry("presets", "preset_from_moveit"),
    Entry("relaxed_stream", "RelaxedStream"),
)
"""What goes with methods and is public, too."""


def method_named(method: Any) -> Method:
    """A method object from its name, its class, a preset or the path of one, or itself."""
    if isinstance(method, Method):
        return method
    if isinstance(method, type) and issubclass(method, Method) and method not in (Method, Native, Search):
        return method()
    if isinstance(method, str) and method in METHODS:
        return METHODS[method].make()
    from memetik.solve.methods.presets import Preset, load_preset

    if isinstance(method, Preset):
        return method.method
    if isinstance(method, str | PathLike) and str(method).endswith(".json"):
        return load_preset(method).method
    raise InvalidInputError(f"method {method!r} is unknown; {suggest(method, METHODS)}")


def __getattr__(name: str) -> Any:
    for entry in (*METHODS.values(), *_OTHERS):
        if entry.owner == name:
            return entry.load()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *(entry.owner for entry in (*METHODS.values(), *_OTHERS))})
