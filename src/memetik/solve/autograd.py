"""Inverse kinematics as a differentiable function in torch and JAX.

Answers come from `Problem.solve`, their gradients from `sensitivity`: the search itself is not differentiated, so that
the cost of a backward pass does not depend on how hard the search was.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from memetik.errors import GoalError, MissingExtraError
from memetik.solve.inputs import Array, as_numpy
from memetik.solve.options import SolveKeywords
from memetik.solve.sensitivity import pull_back, sensitivity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from memetik.solve.problem import Problem

Tensor = Any
"""A tensor of torch or an array of JAX; neither is installed with memetik."""
Solver = Callable[..., tuple[Tensor, Tensor]]


def torch_solver(problem: Problem, **options: Unpack[SolveKeywords]) -> Solver:
    """A function of torch tensors that solves a problem and has gradients by its targets.

        solver = mk.torch_solver(problem)
        q, success = solver(T)              # T (4, 4) or (N, 4, 4): q (dof,) or (N, dof), success () or (N,)
        loss(q).backward()                  # T.grad

    The function takes the problem's open targets in their order, and `seed`. Gradients by a rotation matrix are those
    of its rotations alone; elements that are not solved have none. Tensors are on the CPU and are read without
    conversion where they are float64; q has the type of the first target.
    """
    torch = _required("torch")
    solve = _Rows(problem, options)

    class Solve(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, seed: Tensor, *targets: Tensor) -> tuple[Tensor, Tensor]:
            values = [as_numpy(target.detach()) for target in targets]
            start = None if seed is None else as_numpy(seed.detach() if hasattr(seed, "detach") else seed)
            q, success = solve.answers(values, start)
            context.kept = (values, q.copy(), success.copy(), start)  # what is returned may be written to
            context.likeness = targets[0]
            found = torch.from_dlpack(q).to(targets[0].dtype), torch.from_dlpack(success)
            context.mark_non_differentiable(found[1])
            return found

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(context: Any, by_q: Tensor, _: Any) -> tuple[Tensor, ...]:
            values, q, success, start = context.kept
            gradients = solve.gradients(values, q, success, start, as_numpy(by_q.to(torch.float64)))
            like = context.likeness
            return None, *(torch.from_dlpack(gradient).to(like.dtype) for gradient in gradients)

    def solver(*targets: Tensor, seed: Tensor = None) -> tuple[Tensor, Tensor]:
        solve.check(len(targets))
        return Solve.apply(seed, *targets)

    return solver


def jax_solver(problem: Problem, **options: Unpack[SolveKeywords]) -> Solver:
    """A function of JAX arrays that solves a problem and has gradients by its targets; it may be jitted.

        solver = mk.jax_solver(problem)
        q, success = solver(T)              # T (4, 4) or (N, 4, 4): q (dof,) or (N, dof), success () or (N,)
        jax.grad(lambda T: loss(solver(T)[0]))(T)

    As `torch_solver`, without seeds: each solve starts from the middle of the limits. JAX computes in float32 unless
    `jax_enable_x64` is set; answers are then rounded to it.
    """
    jax, solve = _required("jax"), _Rows(problem, options)
    numpy, dof = jax.numpy, problem.robot.dof

    def ask(*targets: Tensor) -> tuple[Tensor, Tensor]:
        kind, lead = targets[0].dtype, solve.lead(targets)
        shapes = (jax.ShapeDtypeStruct((*lead, dof), kind), jax.ShapeDtypeStruct(lead, numpy.bool_))

        def call(*given: ArrayLike) -> tuple[Tensor, Tensor]:
            q, success = solve.answers([np.asarray(value, dtype=float) for value in given], None)
            return q.astype(kind), success

        return jax.pure_callback(call, shapes, *targets, vmap_method="broadcast_all")

    def forward(*targets: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, ...]]:
        q, success = ask(*targets)
        return (q, success), (targets, q, success)

    def backward(kept: Any, by_answer: Tensor) -> tuple[Tensor, ...]:
        targets, q, success = kept
        shapes = tuple(jax.ShapeDtypeStruct(target.shape, target.dtype) for target in targets)

        def call(q: ArrayLike, success: ArrayLike, by_q: ArrayLike, *given: ArrayLike) -> tuple[Tensor, ...]:
            values = [np.asarray(value, dtype=float) for value in given]
            own = solve.gradients(values, np.asarray(q, float), np.asarray(success), None, np.asarray(by_q, float))
            return tuple(gradient.astype(kept[0][0].dtype) for gradient in own)

        return jax.pure_callback(call, shapes, q, success, by_answer[0], *targets, vmap_method="broadcast_all")

    differentiable = jax.custom_vjp(ask)
    differentiable.defvjp(forward, backward)

    def solver(*targets: Tensor) -> tuple[Tensor, Tensor]:
        solve.check(len(targets))
        return differentiable(*(numpy.asarray(target) for target in targets))

    return solver


class _Rows:
    """Answers and gradients of a problem for targets with any dimensions (..., *shape) in front."""

    def __init__(self, problem: Problem, options: SolveKeywords):
        if not problem.open_targets:
            raise GoalError("a differentiable solver needs a goal whose target is left open, such as mk.Pose('hand').")
        self.problem, self.options = problem, options
        self.threads = options.get("threads", 1)
        self.shapes = [t.shape if t.given is None else t.given for t in problem.open_targets]

    def check(self, count: int) -> None:
        """Raises where the number of targets is wrong."""
        if count != len(self.shapes):
            raise GoalError(f"this problem has {len(self.shapes)} open targets; {count} were given.")

    def lead(self, values: Any) -> tuple[int, ...]:
        """The dimensions in front of the targets' own, of the one that has the most."""
        own = [tuple(v.shape[: len(v.shape) - len(shape)]) for v, shape in zip(values, self.shapes, strict=True)]
        return max(own, key=len)

    def answers(self, values: list[Array], seed: Array | None) -> tuple[Array, Array]:
        """q (..., dof) and success (...)."""
        lead, dof = self.lead(values), self.problem.robot.dof
        starts = seed if seed is None or seed.ndim == 1 else seed.reshape(-1, dof)
        batch = self.problem.solve_batch(*self._flat(values), seed=starts, **self.options)
        return batch.q.reshape(*lead, dof), batch.success.reshape(lead)

    def gradients(self, values: list[Array], q: Array, success: Array, seed: Array | None, by_q: Array) -> list[Array]:
        """Of each target, the gradient by its numbers, from the gradient by q."""
        problem, dof = self.problem, self.problem.robot.dof
        flat, lead = self._flat(values), self.lead(values)
        seeds = problem.neutral[None] if seed is None else seed.reshape(-1, dof)
        checked = [
            value if target.convert is None else target.convert(value)
            for target, value in zip(problem.open_targets, flat, strict=True)
        ]
        own = sensitivity(problem, checked, np.ascontiguousarray(q.reshape(-1, dof)), seeds, None, self.threads)
        weights = by_q.reshape(-1, 1, dof) * success.reshape(-1, 1, 1)
        found: list[Array] = []
        for target, value, shape, given in zip(problem.open_targets, flat, self.shapes, values, strict=True):
            change = (weights @ own[problem.goal_names[target.goal]])[:, 0]
            gradient = pull_back(target, value, change).reshape(*lead, *shape)
            missing = len(lead) + len(shape) - given.ndim  # a target that is the same for all elements
            found.append(np.ascontiguousarray(gradient.sum(axis=tuple(range(missing)))))
        return found

    def _flat(self, values: list[Array]) -> list[Array]:
        """(N, *shape)"""
        lead = self.lead(values)
        whole = [np.broadcast_to(v, (*lead, *shape)) for v, shape in zip(values, self.shapes, strict=True)]
        return [np.ascontiguousarray(v.reshape(-1, *shape)) for v, shape in zip(whole, self.shapes, strict=True)]


def _required(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(name, name, f"a differentiable solver for {name}") from None
