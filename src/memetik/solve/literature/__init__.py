"""Methods of the literature: each name of `METHODS` stands for a class here and parameters of it.

Nothing else of `memetik.solve` depends on this package; `memetik.solve.methods` looks its names up here when one is
asked for.
"""

from __future__ import annotations

from memetik.solve.methods.registry import MethodEntry

_SCIPY = ("bfgs", "lbfgs", "lbfgsb", "cg", "steepest", "newton", "nelder_mead", "slsqp")
_NLOPT = (
    "slsqp", "lbfgs", "var", "tnewton", "mma", "ccsaq", "praxis", "nelder_mead", "bobyqa", "sbplx", "cobyla",
    "stogo", "direct", "ags", "isres", "esch", "crs", "mlsl",
)  # fmt: skip

METHODS: dict[str, MethodEntry] = {
    "bio2": MethodEntry("literature.bio", "Bio2", {"local": "none"}),
    "bio2_memetic": MethodEntry("literature.bio", "Bio2"),
    "bio2_memetic_l": MethodEntry("literature.bio", "Bio2", {"local": "linear"}),
    "bio2_memetic_lbfgs": MethodEntry("literature.bio", "Bio2", {"local": "lbfgs"}),
    "bio1": MethodEntry("literature.bio", "Bio1"),
    "bio1_ros": MethodEntry("literature.bio", "Bio1Ros"),
    **{
        f"{name}{f'_{islands}' if islands > 1 else ''}": MethodEntry(module, owner, {**parameters, "islands": islands})
        for name, module, owner, parameters in (
            ("gd", "literature.newton", "GradientDescent", {"acceptance": "improving", "restarts": False}),
            ("gd_r", "literature.newton", "GradientDescent", {"acceptance": "reset"}),
            ("gd_c", "literature.newton", "GradientDescent", {"acceptance": "always"}),
            ("jac", "literature.newton", "Jac", {}),
        )
        for islands in (1, 2, 4, 8)
    },
    "jac_damped": MethodEntry("literature.newton", "Jac", {"inverse": "damped"}),
    "jac_transpose": MethodEntry("literature.newton", "Jac", {"inverse": "transpose"}),
    "kdl": MethodEntry("literature.newton", "Kdl"),
    "lma": MethodEntry("literature.newton", "Lma"),
    "pick": MethodEntry("literature.bio", "Pick"),
    "pick_local": MethodEntry("literature.bio", "Pick", {"mode": "local"}),
    "de": MethodEntry("literature.populations", "De"),
    "pso": MethodEntry("literature.populations", "Pso"),
    "ga": MethodEntry("literature.populations", "Ga"),
    "trac": MethodEntry("literature.trac", "Trac"),
    **{name: MethodEntry("literature.optimisers", "Scipy", {"algorithm": name}) for name in _SCIPY},
    **{f"nlopt_{name}": MethodEntry("literature.optimisers", "Nlopt", {"algorithm": name}) for name in _NLOPT},
    "relaxed": MethodEntry("literature.relaxed", "Relaxed"),
    "ccd": MethodEntry("literature.ccd", "Ccd"),
    "fabrik": MethodEntry("literature.fabrik", "Fabrik"),
    "pivot": MethodEntry("literature.pivot", "Pivot"),
    "pivot_memetic": MethodEntry("literature.pivot", "PivotMemetic"),
    "neural": MethodEntry("literature.neural", "Neural"),
    "neural_direct": MethodEntry("literature.neural", "Neural", {"kind": "direct", "restarts": False}),
    "cascade": MethodEntry("literature.cascade", "Cascade"),
    "seeded": MethodEntry("literature.cascade", "Seeded"),
    "cached": MethodEntry("literature.cached", "Cached"),
    "analytic": MethodEntry("literature.analytic", "Analytic"),
    "decoupled": MethodEntry("literature.decoupled", "Decoupled"),
}
"""What `method=` accepts by name, besides "memetic"."""

OTHERS = (
    MethodEntry("literature.analytic", "eaik_function"),
    MethodEntry("literature.cached", "PoseStore"),
    MethodEntry("literature.relaxed_stream", "RelaxedStream"),
)
"""What goes with methods and is public, too."""
