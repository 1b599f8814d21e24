"""What one solve is given, checked: targets, seed and base, of one element or of many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.geometry.transforms import PoseLike, RotationLike, as_pose
from memetik.goals.compiler import OpenTarget
from memetik.goals.pose import as_rotation
from memetik.solve.solution import Solution

if TYPE_CHECKING:
    from memetik.solve.problem import Problem

Array: TypeAlias = NDArray[np.float64]


Target: TypeAlias = PoseLike | Mapping[str, PoseLike]
"""One open target, a pose in a form that `as_pose` takes, a rotation, a point, a direction or numbers; or
{goal name: target} of all."""

Seed: TypeAlias = ArrayLike | Mapping[str, float] | Solution | None
"""A configuration (dof,) or {joint: value}; for a batch (N, dof)."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Checked inputs.

    targets    open targets in the order of their goals; of a batch those that differ have one dimension more, (N, ...).
    seed       (dof,), or (N, dof) for a batch.
    base       the robot's base pose (4, 4), or (N, 4, 4) for a batch; None: where the robot stands.
    count      elements of the batch; None: one solve.
    is_seeded  whether the user gave the seed.
    """

    problem: Problem
    targets: tuple[Array, ...]
    seed: Array
    base: Array | None = None
    count: int | None = None
    is_seeded: bool = True

    @classmethod
    def checked(
        cls, problem: Problem, targets: tuple[Target, ...], seed: Seed, base: ArrayLike | None = None
    ) -> Inputs:
        """The inputs that a user gave, or an error that says what is wrong with one."""
        own = checked_targets(problem, targets)
        start = checked_seed(problem, seed)
        placed = None if base is None else as_pose(base, "the base")
        batched = [
            (target, len(open_target.shape)) for target, open_target in zip(own, problem.open_targets, strict=True)
        ]
        batched += [(start, 1)] if placed is None else [(start, 1), (placed, 2)]
        counts = {len(array) for array, rank in batched if array.ndim > rank}
        if len(counts) > 1:
            raise InvalidInputError(f"targets, seeds and bases of a batch must have one length, not {sorted(counts)}.")
        if placed is not None and problem.collision_context is not None:
            raise InvalidInputError("a scene and another base do not go together: place the robot with robot.at(base).")
        return cls(problem, own, start, placed, counts.pop() if counts else None, seed is not None)

    def element(self, k: int) -> Inputs:
        """The inputs of one element of a batch."""
        seed, base = self.seed, self.base
        return Inputs(
            self.problem,
            tuple(t[k] if many else t for t, many in zip(self.targets, self.batched_targets, strict=True)),
            seed[k if len(seed) > 1 else 0] if seed.ndim == 2 else seed,
            base[k] if base is not None and base.ndim == 3 else base,
            is_seeded=self.is_seeded,
        )

    @property
    def batched_targets(self) -> list[bool]:
        """Which open targets differ from element to element."""
        return [t.ndim > len(d.shape) for t, d in zip(self.targets, self.problem.open_targets, strict=True)]


def as_numpy(value: object) -> Array:
    """An array or tensor as a numpy array that shares its memory, through DLPack where it is no numpy array."""
    if isinstance(value, np.ndarray):
        return cast("Array", value)
    if getattr(value, "requires_grad", False):
        raise InvalidInputError("the tensor requires a gradient; give tensor.detach(), or solve with mk.torch_solver.")
    try:
        return cast("Array", np.from_dlpack(cast("Any", value)))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"the tensor cannot be read in the CPU's memory: {error}; move it there first."
        ) from None


def checked_seed(problem: Problem, seed: Seed) -> Array:
    """A seed as an array (dof,) or (N, dof), with the joints that the problem holds in place."""
    if seed is None:
        return problem.neutral
    if isinstance(seed, int | np.integer):
        raise InvalidInputError(f"seed={seed} is a configuration, (dof,) or {{joint: value}}; did you mean rng={seed}?")
    robot = problem.robot
    if type(seed) is np.ndarray and seed.dtype == float and seed.flags.c_contiguous and not problem.held_values:
        array = seed.copy()  # copied before it is checked: the caller's array may change at any time
    else:
        given = seed.q if isinstance(seed, Solution) else as_numpy(seed) if hasattr(seed, "__dlpack__") else seed
        try:
            array = robot.q(given) if isinstance(given, Mapping) else np.array(given, dtype=float, order="C")
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(f"the seed must be made of numbers, not {seed!r:.60}.") from None
    if array.ndim not in (1, 2) or array.shape[-1] != robot.dof:
        raise InvalidInputError(
            f"the seed of robot {robot.name!r} has {robot.dof} entries, or shape (N, {robot.dof}) for a batch, "
            f"not {array.shape}."
        )
    if not np.isfinite(array).all():
        where = int(np.argwhere(~np.isfinite(array))[0][-1])
        raise InvalidInputError(f"the seed's value for joint {robot.joint_names[where]!r} is not finite.")
    for entry, value in problem.held_values:
        array[..., entry] = value
    return array


def checked_targets(problem: Problem, targets: tuple[Target, ...]) -> tuple[Array, ...]:
    """Open targets as arrays that the core takes."""
    names = [problem.goal_names[t.goal] for t in problem.open_targets]
    if len(targets) == 1 and isinstance(targets[0], Mapping):
        given = targets[0]
        for name in given:
            if name not in names:
                raise UnknownNameError("open target", name, "this problem", names)
        missing = [name for name in names if name not in given]
        if missing:
            raise InvalidInputError(f"the targets of {', '.join(map(repr, missing))} are missing.")
        targets = tuple(given[name] for name in names)
    if len(targets) != len(names):
        listed = ", ".join(map(repr, names)) or "none"
        raise InvalidInputError(f"this problem's open targets are {listed}; {len(targets)} were given.")
    return tuple(_checked_target(problem, k, target) for k, target in enumerate(cast("tuple[PoseLike, ...]", targets)))


def _checked_target(problem: Problem, k: int, value: PoseLike) -> Array:
    declared = problem.open_targets[k]
    what = f"the target of {problem.goal_names[declared.goal]!r}"
    value = as_numpy(value) if hasattr(value, "__dlpack__") else value
    if declared.convert is None and type(value) is np.ndarray and value.dtype == float and value.flags.c_contiguous:
        # The core checks poses many times as fast. The copy is what is checked: the caller's array may change.
        rank, value = len(declared.shape), value.copy()
        if value.ndim == rank and problem.core.is_normalized(k, value[None]):
            return value
        if value.ndim == rank + 1 and problem.core.is_normalized(k, value):
            return value
    if declared.form == "pose":
        return np.ascontiguousarray(as_pose(value, what))
    given = value.as_matrix() if declared.form == "rotation" and isinstance(value, RotationLike) else value
    try:
        array = np.array(given, dtype=float, order="C")
    except (TypeError, ValueError):
        raise InvalidInputError(f"{what} must be made of numbers, not {value!r:.60}.") from None
    if declared.form == "rotation":
        if array.ndim == 3:
            return np.ascontiguousarray([as_rotation(element) for element in array]).reshape(-1, 3, 3)
        return np.ascontiguousarray(as_rotation(array))
    return _converted(array, declared, what)


def _converted(array: Array, declared: OpenTarget, what: str) -> Array:
    shape = declared.shape if declared.given is None else declared.given
    if array.shape[-len(shape) :] != shape if shape else array.ndim > 1:
        raise InvalidInputError(f"{what} must have shape {shape} or (N, ...), not {array.shape}.")
    if not np.isfinite(array).all():
        raise InvalidInputError(f"{what} must be finite, not {array!r}.")
    if declared.form == "direction":
        length = np.linalg.norm(array, axis=-1, keepdims=True)
        if (length < 1e-9).any():
            raise InvalidInputError(f"{what} is a direction and must not be zero.")
        array = array / length
    return array if declared.convert is None else np.ascontiguousarray(declared.convert(array))
