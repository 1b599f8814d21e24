"""Generic optimisers on the sum of squared residuals: those of scipy and those of NLopt."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from memetik.errors import MissingExtraError
from memetik.solve.methods.method import PythonMethod
from memetik.solve.methods.parameters import Choice, Count, NotNegative, Range

if TYPE_CHECKING:
    from collections.abc import Callable

    from memetik.solve.methods.task import SearchTask
    from memetik.solve.problem import Problem

SCIPY = {
    "bfgs": ("BFGS", False, {"gtol": 1e-12}),
    "lbfgs": ("L-BFGS-B", False, {"gtol": 1e-12, "ftol": 1e-20}),
    "lbfgsb": ("L-BFGS-B", True, {"gtol": 1e-12, "ftol": 1e-20}),
    "cg": ("CG", False, {"gtol": 1e-12}),
    "steepest": ("steepest", False, {}),
    "newton": ("Newton-CG", False, {"xtol": 1e-12}),
    "nelder_mead": ("Nelder-Mead", True, {"fatol": 1e-20, "xatol": 1e-10}),
    "slsqp": ("SLSQP", True, {"ftol": 1e-16}),
}
"""By our name: scipy's name, whether it knows bounds, and the tolerances that let it go on to ours."""

NLOPT = {
    "slsqp": "LD_SLSQP",
    "lbfgs": "LD_LBFGS",
    "var": "LD_VAR2",
    "tnewton": "LD_TNEWTON_PRECOND_RESTART",
    "mma": "LD_MMA",
    "ccsaq": "LD_CCSAQ",
    "praxis": "LN_PRAXIS",
    "nelder_mead": "LN_NELDERMEAD",
    "bobyqa": "LN_BOBYQA",
    "sbplx": "LN_SBPLX",
    "cobyla": "LN_COBYLA",
    "stogo": "GD_STOGO",
    "direct": "GN_DIRECT_L",
    "ags": "GN_AGS",
    "isres": "GN_ISRES",
    "esch": "GN_ESCH",
    "crs": "GN_CRS2_LM",
    "mlsl": "GD_MLSL_LDS",
}
"""By our name: NLopt's. LD and LN are local, with and without gradients; GD and GN global."""


def takes_gradients(optimizer: str) -> bool:
    """Whether one of scipy's, or "nlopt_" and one of NLopt's, does."""
    if optimizer.startswith("nlopt_"):
        return NLOPT[optimizer.removeprefix("nlopt_")][1] == "D"
    return optimizer != "nelder_mead"


MOST = 2**31 - 1
OVER = -1e12
"""What an objective gives that is asked again after it was over: less than any."""

STEP = 2e-6
"""Of central differences, radians or metres."""

LOCAL_EVALUATIONS = 1000
"""Longest local search of NLopt where the user names none."""


class Converged(Exception):
    """A configuration was evaluated where the search ends: it is within all tolerances, or the gradient is short
    enough."""

    def __init__(self, x: np.ndarray):
        super().__init__()
        self.x = x


@dataclass(frozen=True)
class Scipy(PythonMethod):
    """An optimiser of scipy on f(x) = |r(x)|^2.

    The sources used the like through CppNumericalSolvers (BioIK 2, section 3.5.3). What knows no bounds gets
    f(c) + |x - c|^2 with c the configuration within the limits that is nearest to x.

    algorithm   bfgs, lbfgs, lbfgsb, cg, steepest, newton, nelder_mead or slsqp.
    iterations  longest local search; then it starts anew at random.
    gradient    "analytic", 2 J^T r, or "numeric": central differences, 2 n more evaluations each, as that library has.
    end         a search ends where the gradient is shorter than this times max(1, |x|), or where values and
                coordinates of the simplex differ by less. In that library 1e-4 for L-BFGS, L-BFGS-B and Nelder-Mead.
    """

    algorithm: Annotated[str, Choice(tuple(SCIPY))] = "slsqp"
    iterations: Count = 200
    gradient: Literal["analytic", "numeric"] = "analytic"
    end: NotNegative = 0.0

    def check(self, problem: Problem) -> None:
        load_scipy()  # its import is no part of a solve's time

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        simplex = self.algorithm == "nelder_mead"
        numeric, end = self.gradient == "numeric" and not simplex, 0.0 if simplex else self.end
        objective = Objective(task, SCIPY[self.algorithm][1], numeric, end)
        spread = {"fatol": self.end, "xatol": self.end} if simplex and self.end else {}
        found = minimise_by_scipy(self.algorithm, objective, task, start, self.iterations, **spread)
        task.submit_end(found)


@dataclass(frozen=True)
class Nlopt(PythonMethod):
    """An optimiser of NLopt on f(x) = |r(x)|^2 within the limits, its gradient 2 J^T r exact.

    The thesis on endoscopic inspection compared these as back ends of RelaxedIK (section 8.11).

    algorithm    slsqp, lbfgs, var, tnewton, mma, ccsaq; without gradients praxis, nelder_mead, bobyqa, sbplx, cobyla;
                 global stogo, direct, ags, isres, esch, crs, mlsl.
    evaluations  longest search; then it starts anew at random. None: 1000 for local ones, no bound for global ones.
    """

    algorithm: Annotated[str, Choice(tuple(NLOPT))] = "slsqp"
    evaluations: Annotated[int, Range(1, MOST)] | None = None

    def check(self, problem: Problem) -> None:
        load_nlopt()

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        local = NLOPT[self.algorithm].startswith("L")
        most = self.evaluations or (LOCAL_EVALUATIONS if local else 0)
        task.submit_end(minimise_by_nlopt(self.algorithm, Objective(task, bounded=True), task, start, most))


class Objective:
    """f(x) = |r(x)|^2 and its gradient. Raises `Converged` where the search ends."""

    def __init__(self, task: SearchTask, bounded: bool, numeric: bool = False, end: float = 0.0):
        self.task, self.bounded, self.numeric, self.end = task, bounded, numeric, end

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        task = self.task
        inside = task.clip(x)
        cost, residuals, jacobian = task.linearized(inside)
        if task.is_within(residuals):
            raise Converged(inside)
        gradient = self.differences(inside) if self.numeric else 2.0 * (residuals @ jacobian)
        if not self.bounded:
            outside = x - inside
            cost += float(outside @ outside)
            gradient = np.where(outside == 0.0, gradient, 2.0 * outside)
        if np.linalg.norm(gradient) < self.end * max(1.0, float(np.linalg.norm(x))):
            raise Converged(inside)
        return cost, gradient

    def differences(self, x: np.ndarray) -> np.ndarray:
        steps = STEP * np.eye(len(x))
        ahead, behind = self.task.cost(np.concatenate([x + steps, x - steps])).reshape(2, -1)
        return (ahead - behind) / (2.0 * STEP)


def minimise_by_scipy(
    algorithm: str, objective: Callable[[np.ndarray], Any], task: SearchTask, start: np.ndarray, iterations: int,
    **tolerances: float,
) -> np.ndarray:  # fmt: skip
    """Where scipy's algorithm ends that starts at `start`; `objective` gives the value and the gradient."""
    optimize = load_scipy()
    name, bounded, tightest = SCIPY[algorithm]
    simplex = algorithm == "nelder_mead"
    # Steps of a simplex are counted one by one: each takes an evaluation or two.
    steps = iterations * len(task.low) if simplex else iterations
    try:
        with one_blas_thread():
            result = optimize.minimize(
                (lambda x: objective(x)[0]) if simplex else objective,
                start,
                jac=not simplex,
                method=_steepest if algorithm == "steepest" else name,
                bounds=np.column_stack([task.lower, task.upper]) if bounded else None,
                options={**tightest, **tolerances, "maxiter": steps},
            )
    except Converged as end:
        return end.x
    return task.clip(result.x)


def _steepest(
    fun: Callable[[np.ndarray], float], x0: np.ndarray, args: tuple[()] = (), *,
    jac: Callable[[np.ndarray], np.ndarray], maxiter: int, **_: float,
) -> Any:  # fmt: skip
    """Steepest descent as a method of scipy's. The step doubles each time and is halved until Armijo's rule holds."""
    x, rate = x0, 1.0
    for _step in range(maxiter):
        value, slope = fun(x), jac(x)
        square = slope @ slope
        while fun(x - rate * slope) > value - 1e-4 * rate * square and rate > 1e-12:
            rate *= 0.5
        x, rate = x - rate * slope, 2.0 * rate
    return load_scipy().OptimizeResult(x=x)


def minimise_by_nlopt(
    algorithm: str, objective: Callable[[np.ndarray], Any], task: SearchTask, start: np.ndarray, evaluations: int,
    ftol: float = 1e-20, xtol: float = 1e-12,
) -> np.ndarray:  # fmt: skip
    """Where NLopt's algorithm ends that starts at `start`; `objective` gives the value and the gradient. With zero
    evaluations nothing bounds it but the exceptions that `objective` raises."""
    nlopt = load_nlopt()
    name = NLOPT[algorithm]
    search = nlopt.opt(getattr(nlopt, name), len(task.low))
    search.set_lower_bounds(task.low)
    search.set_upper_bounds(task.high)

    best = (np.inf, np.clip(start, task.low, task.high))
    end: BaseException | None = None

    def call(x: np.ndarray, gradient: np.ndarray) -> float:
        nonlocal best, end
        if gradient.size:
            gradient[:] = 0.0
        if end is not None:
            return OVER
        try:
            cost, slope = objective(np.array(x))
        except BaseException as raised:
            # NLopt's global searches do not mind exceptions: they are asked to stop, and this one is raised below.
            end = raised
            search.force_stop()
            return OVER
        if cost < best[0]:
            best = (cost, np.array(x))
        if gradient.size:
            gradient[:] = slope
        return cost

    search.set_min_objective(call)
    search.set_stopval(0.5 * OVER)  # StoGO heeds this and the following bounds alone
    search.set_maxeval(int(min(evaluations or MOST, task.evaluations_left + 1, MOST)))
    if task.time_left < np.inf:
        search.set_maxtime(max(task.time_left, 1e-6))
    search.set_ftol_abs(ftol)
    search.set_xtol_abs(xtol)
    if algorithm == "mlsl":
        local = nlopt.opt(nlopt.LD_LBFGS, len(task.low))
        local.set_ftol_abs(ftol)
        search.set_local_optimizer(local)
    # NLopt's stochastic searches draw from one generator of the process.
    nlopt.srand(int(task.rng.integers(2**31)))
    with contextlib.suppress(nlopt.RoundoffLimited, nlopt.ForcedStop, nlopt.exception, RuntimeError, ValueError):
        search.optimize(best[1])  # some of its algorithms give up near a minimum: the best they saw counts
    search.set_min_objective(_nothing)  # NLopt's objects are unknown to the collector of cycles
    if isinstance(end, Converged):
        return end.x
    if end is not None:
        raise end
    return task.clip(best[1])


def _nothing(x: np.ndarray, gradient: np.ndarray) -> float:
    return 0.0


def load_scipy() -> Any:
    """scipy.optimize, and what keeps its linear algebra on one thread."""
    from scipy import optimize

    _blas()
    return optimize


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keeps the linear algebra of scipy on this thread: matrices of a few rows are slower on several."""
    return _blas().limit(limits=1)


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingImports]

    return ThreadpoolController()


def load_nlopt() -> Any:
    """The module, or an error that says how to get it."""
    try:
        import nlopt  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtraError("nlopt", "methods", "a method of NLopt") from None
    return nlopt
