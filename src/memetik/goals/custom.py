"""Goals of the user's own: in Python by subclassing Goal, or as compiled functions by CompiledGoal."""

# numba has no types for functions on pointers.
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from memetik._core import TermKind
from memetik.errors import GoalError, MissingExtraError
from memetik.geometry.transforms import inverse, rotation_exp
from memetik.goals.arguments import as_positive
from memetik.goals.base import FieldChecks, Goal, set_fields
from memetik.goals.compiler import GoalCompiler
from memetik.goals.joints import joint_entries
from memetik.goals.pose import DEFAULT_TOLERANCE
from memetik.robot.robot import Robot

_STEP = 1e-6  # of central differences, metres and radians
_AXES = np.arange(3)
_NOTHING = np.empty((0, 0))
_ROTATIONS = rotation_exp(_STEP * np.eye(3))  # about x, y, z by a step; their transposes go back


class UserTerm:
    """Evaluates a user's goal at q (dof,): residual and its derivative by the entries of q it depends on."""

    def __init__(self, robot: Robot, goal: Goal):
        self.robot, self.goal = robot, goal
        self.links = tuple(goal.links)
        self.joints = _entries_in_order(robot, goal.joints)
        for link in self.links:
            robot.link_index(link)
        depends = np.zeros(robot.dof, dtype=bool)
        depends[self.joints] = True
        for link in self.links:
            depends |= robot.moves(link)
        self.entries: list[int] = np.flatnonzero(depends).tolist()
        if not self.entries:
            raise GoalError(
                f"{type(goal).__name__} depends on nothing that moves: let it name its `links` or its `joints`."
            )
        self.rows = len(self._residual(*self._arguments(robot.neutral)[:2]))

    def __call__(
        self, q: np.ndarray, base: np.ndarray | None = None, derive: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Residual (rows,) and Jacobian (rows, len(entries)), empty where it is not wanted.

        `base` moves the robot's base elsewhere.
        """
        values, poses, motions = self._arguments(q, base)
        residual = self._residual(values, poses)
        if residual.shape != (self.rows,):
            raise GoalError(
                f"{type(self.goal).__name__}.residual returned {len(residual)} numbers, and {self.rows} at first: "
                "their number must not change."
            )
        if not derive:
            return residual, _NOTHING
        by_joints, by_links = self._derivative(values, poses)
        jacobian = np.zeros((self.rows, self.robot.dof))
        if by_joints is not None:
            jacobian[:, self.joints] = by_joints
        if by_links is not None:
            jacobian += np.tensordot(by_links, motions, 2)
        return residual, np.ascontiguousarray(jacobian[:, self.entries])

    def _arguments(self, q: np.ndarray, base: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the goal's functions take, and the Jacobians (k, 6, dof) of its links."""
        count = len(self.links)
        poses, motions = np.empty((count, 4, 4)), np.empty((count, 6, self.robot.dof))
        for k, link in enumerate(self.links):
            self.robot.pose_and_jacobian(link, q, out=(poses[k], motions[k]))
        if base is not None:
            shift = base @ inverse(self.robot.base_pose)
            poses = shift @ poses
            motions = np.concatenate([shift[:3, :3] @ motions[:, :3], shift[:3, :3] @ motions[:, 3:]], axis=1)
        return q[self.joints], poses, motions

    def _residual(self, values: np.ndarray, poses: np.ndarray) -> np.ndarray:
        given = self.goal.residual(values, poses)
        residual = np.atleast_1d(np.asarray(given, dtype=float)).ravel()
        if len(residual) == 0 or not np.isfinite(residual).all():
            raise GoalError(f"{type(self.goal).__name__}.residual must return finite numbers, not {given!r}.")
        return residual

    def _derivative(self, values: np.ndarray, poses: np.ndarray) -> tuple[Any, Any]:
        given = self.goal.jacobian(values, poses)
        if given is None:
            return self._differences(values, poses)
        by_joints, by_links = (None if part is None else np.asarray(part, dtype=float) for part in given)
        for name, part, shape in (
            ("by_joints", by_joints, (self.rows, len(values))),
            ("by_links", by_links, (self.rows, len(poses), 6)),
        ):
            if part is not None and part.shape != shape:
                owner = type(self.goal).__name__
                raise GoalError(f"{name} of {owner}.jacobian must have shape {shape}, not {part.shape}.")
        return by_joints, by_links

    def _differences(self, values: np.ndarray, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Central differences by each value and by each motion of each link, all in one call of `residuals`."""
        n, k = len(values), len(poses)
        count = n + 6 * k
        all_values = np.repeat(values[None], 2 * count, axis=0)
        all_poses = np.repeat(poses[None], 2 * count, axis=0)
        for half, step, rotations in ((0, _STEP, _ROTATIONS), (count, -_STEP, np.swapaxes(_ROTATIONS, 1, 2))):
            all_values[half + np.arange(n), np.arange(n)] += step
            for link in range(k):
                first = half + n + 6 * link
                all_poses[first + _AXES, link, _AXES, 3] += step
                all_poses[first + 3 + _AXES, link, :3, :3] = rotations @ poses[link, :3, :3]
        results = np.asarray(self.goal.residuals(all_values, all_poses), dtype=float)
        if results.shape != (2 * count, self.rows):
            raise GoalError(
                f"{type(self.goal).__name__}.residuals must return an array {(2 * count, self.rows)} for {2 * count} "
                f"configurations, not {results.shape}."
            )
        slopes = ((results[:count] - results[count:]) / (2.0 * _STEP)).T
        return slopes[:, :n], slopes[:, n:].reshape(self.rows, k, 6)


def add_user_term(compiler: GoalCompiler, goal: Goal) -> None:
    """A term that the goal's own `residual` evaluates."""
    user = UserTerm(compiler.robot, goal)
    term = compiler.term(
        TermKind.callback, (), measure=("residual", ""), rows=user.rows, entries=user.entries,
        tolerance=_tolerance(goal),
    )  # fmt: skip
    compiler.callbacks[term] = user


def make_callback(
    terms: Mapping[int, UserTerm], variables: Sequence[int], base: np.ndarray | None = None
) -> Callable[[int, np.ndarray, bool], tuple[np.ndarray, np.ndarray]]:
    """What the core calls for terms of the user's own, by the core's numbers: (term, q, derive) -> residual, Jacobian.

    The Jacobian has a column for each entry of q that the term depends on and that is a variable of the problem; it is
    empty where it is not wanted.
    """
    active = set(variables)
    columns = {number: [k for k, entry in enumerate(term.entries) if entry in active] for number, term in terms.items()}

    def evaluate(number: int, q: np.ndarray, derive: bool) -> tuple[np.ndarray, np.ndarray]:
        residual, jacobian = terms[number](q, base, derive)
        return residual, np.ascontiguousarray(jacobian[:, columns[number]]) if derive else jacobian

    return evaluate


@dataclass(frozen=True, eq=False, repr=False)
class CompiledGoal(Goal):
    """A goal of the user's own as a function that numba compiles: it runs inside the search, without Python's lock.

    r is what function(q, poses, residual) writes into `residual`:

        q         float64 (n,): values of the joints `joint_names`
        poses     float64 (k, 4, 4): poses of the links `link_names` in the world
        residual  float64 (rows,): to be filled

    function    a Python function that numba can compile, or one compiled by numba.njit. Its signature is checked.
    rows        how many numbers it writes, at most 32.
    derivative  derivative(q, poses, by_joints, by_links) fills float64 (rows, n) and (rows, k, 6): see Goal.jacobian.
                By central differences where it is not given.
    tolerance   bound on the norm of r.

    A residual that is not finite, or a function that raises, counts as far from the goal and is never a success.
    """

    function: Callable[..., None]
    rows: int = 1
    link_names: Sequence[str] = field(default=(), kw_only=True)
    joint_names: Sequence[str] = field(default=(), kw_only=True)
    derivative: Callable[..., None] | None = field(default=None, kw_only=True)
    tolerance: float = field(default=DEFAULT_TOLERANCE, kw_only=True)
    field_checks: ClassVar[FieldChecks] = {"tolerance": as_positive}

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("link_names", "joint_names"):
            given = getattr(self, name)
            set_fields(self, **{name: (given,) if isinstance(given, str) else tuple(given)})
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or not 1 <= self.rows <= 32:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GoalError(f"the rows of CompiledGoal are a whole number from 1 to 32, not {self.rows!r}.")
        if len(self.link_names) > 8:
            raise GoalError(f"CompiledGoal looks at no more than 8 links, not at {len(self.link_names)}.")
        _check_parameters(self.function, ("q", "poses", "residual"))
        if self.derivative is not None:
            _check_parameters(self.derivative, ("q", "poses", "by_joints", "by_links"))

    @property
    def links(self) -> Sequence[str]:
        return self.link_names

    @property
    def joints(self) -> Sequence[str]:
        return self.joint_names

    def default_name(self) -> str:
        return getattr(self.function, "__name__", "compiled")

    def compile(self, compiler: GoalCompiler) -> None:
        entries = _entries_in_order(compiler.robot, self.joint_names)
        if not entries and not self.link_names:
            raise GoalError("CompiledGoal depends on nothing that moves: let it name links or joints.")
        frames = [compiler.frame(link) for link in self.link_names]
        n, k, m = len(entries), len(frames), self.rows
        functions = [_native(self.function, ((n,), (k, 4, 4), (m,)))]
        if self.derivative is not None:
            functions.append(_native(self.derivative, ((n,), (k, 4, 4), (m, n), (m, k, 6))))
        set_fields(self, _functions=functions)  # the core has only their addresses: they live as long as this goal
        addresses = [*(float(function.address) for function in functions), 0.0][:2]
        compiler.term(
            TermKind.compiled, [*addresses, k, n, *frames, *entries, *[-1] * n], measure=("residual", ""), rows=m,
            entries=entries, tolerance=self.tolerance,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_functions"}


def _native(function: Callable[..., None], shapes: Sequence[tuple[int, ...]]) -> Any:
    """The C function of a user's function on float64 arrays of these shapes; `address` is where it is."""
    try:
        numba: Any = import_module("numba")
    except ImportError:
        raise MissingExtraError("numba", "numba", "CompiledGoal") from None
    types, view = numba.types, numba.carray
    inner: Any = function if hasattr(function, "py_func") else numba.njit(function)
    name = getattr(function, "__name__", "the function")
    arguments = tuple(types.Array(types.float64, len(shape), "C") for shape in shapes)
    try:
        inner.compile(arguments)
    except numba.core.errors.NumbaError as error:
        raise GoalError(f"numba cannot compile {name!r} of CompiledGoal for float64 arrays: {error}") from None
    returns = inner.overloads[arguments].signature.return_type
    if returns != types.none:
        raise GoalError(f"{name!r} of CompiledGoal must write into its arguments and return nothing, not {returns}.")
    pointer = types.CPointer(types.float64)
    signature = types.void(*[pointer] * len(shapes))
    if len(shapes) == 3:
        first, second, third = shapes
        return numba.cfunc(signature)(lambda a, b, c: inner(view(a, first), view(b, second), view(c, third)))
    first, second, third, fourth = shapes
    return numba.cfunc(signature)(
        lambda a, b, c, d: inner(view(a, first), view(b, second), view(c, third), view(d, fourth))
    )


def _check_parameters(function: Callable[..., None], names: Sequence[str]) -> None:
    if not callable(function):
        raise GoalError(f"CompiledGoal needs a function of ({', '.join(names)}), not {function!r}.")
    parameters = inspect.signature(getattr(function, "py_func", function)).parameters
    if len(parameters) != len(names):
        raise GoalError(
            f"{getattr(function, '__name__', 'the function')!r} of CompiledGoal must take ({', '.join(names)}), not "
            f"({', '.join(parameters)})."
        )


def _entries_in_order(robot: Robot, joints: Sequence[str] | None) -> list[int]:
    """Entries of q in the order in which the joints are named, the axes of a joint together."""
    if joints is None:
        return list(range(robot.dof))
    entries = [entry for name in joints for entry in joint_entries(robot, (name,))]
    if len(set(entries)) < len(entries):
        raise GoalError(f"a goal names a joint twice: {', '.join(joints)}.")
    return entries


def _tolerance(goal: Goal) -> float:
    return as_positive(getattr(goal, "tolerance", DEFAULT_TOLERANCE), f"the tolerance of {type(goal).__name__}")
