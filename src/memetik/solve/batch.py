"""Many elements in one call: in waves, each of them one call of the core.

Reaching into a narrow place is hard; reaching a place next to it, from there, is not. In a scene the elements are put
in a fixed random order; the first few are solved on their own, then twice as many in each wave, every element starting
from the solutions whose targets are nearest to its own. What an element starts from depends on earlier waves alone, so
that the number of threads changes nothing. Without a scene all elements are one wave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memetik import _core
from memetik.errors import InvalidInputError
from memetik.progress import is_shown, progress_bar
from memetik.solve.inputs import Array, Inputs
from memetik.solve.instance import ProblemInstance, gather_solutions, solve_one
from memetik.solve.methods import Native
from memetik.solve.options import Predicate, Rng, SolveOptions, split_rng
from memetik.solve.solution import BatchSolution, Solution

if TYPE_CHECKING:
    from memetik.solve.problem import Problem

FIRST_WAVE = 8
"""Elements that are solved on their own."""

NEIGHBOURS = 7
"""Solutions of neighbours that an element starts from: with the seed, as many as advance side by side."""

METRES_PER_RADIAN = 0.1
"""Weight of rotation relative to translation, when targets are compared."""

CHUNK, SCENE_CHUNK = 4096, 128
"""Elements between two steps of the progress bar, without and with a scene."""

Numbers: TypeAlias = "NDArray[np.intp] | slice"
"""Some elements of a batch."""


def solve_batch(inputs: Inputs, options: SolveOptions, rng: Rng, valid: Predicate | None) -> BatchSolution:
    """Solves all elements, element k with stream + k; with a progress bar on a terminal where there are many."""
    elements, problem = _Elements(inputs, options, split_rng(rng), valid), inputs.problem
    if isinstance(options.method, Native) and not problem.callbacks and options.select == "first":
        outcome = elements.in_waves()
        elements.one_by_one(elements.rejected(outcome), outcome)
    else:  # Python code has one thread
        outcome = elements.empty()
        elements.one_by_one(range(elements.count), outcome)
    return BatchSolution(problem, inputs.targets, outcome, np.atleast_2d(inputs.seed), elements.bases)


def gather_batch(inputs: Inputs, options: SolveOptions, rng: Rng, valid: Predicate | None) -> list[list[Solution]]:
    """The distinct solutions of each element."""
    elements = _Elements(inputs, options, split_rng(rng), valid)
    return [gather_solutions(elements.bind(k)) for k in range(elements.count)]


@dataclass(frozen=True, slots=True)
class _Elements:
    """The elements of a batch."""

    inputs: Inputs
    options: SolveOptions
    rng: tuple[int, int]
    valid: Predicate | None

    @property
    def problem(self) -> Problem:
        return self.inputs.problem

    @property
    def count(self) -> int:
        return self.inputs.count or 0

    @property
    def bases(self) -> Array | None:
        """(N, 4, 4)"""
        base = self.inputs.base
        return None if base is None else np.ascontiguousarray(np.broadcast_to(base, (self.count, 4, 4)))

    def bind(self, k: int) -> ProblemInstance:
        """One element, with `valid` inside the search."""
        valid, (seed, stream) = self.valid, self.rng

        def valid_one(q: Array) -> bool:
            return valid is None or bool(np.asarray(valid(q[None]))[0])

        rng, element = (seed, stream + k), self.inputs.element(k)
        return self.problem.bind(element, self.options, rng, None if valid is None else valid_one)

    def empty(self) -> _core.BatchOutcome:
        """Nothing is solved yet."""
        return _core.BatchOutcome(self.count, self.problem.robot.dof, len(self.problem.terms))

    def one_by_one(self, numbers: Sequence[int] | NDArray[np.intp], outcome: _core.BatchOutcome) -> None:
        """Solves some elements."""
        for k in numbers:
            outcome[int(k)] = solve_one(self.bind(int(k))).outcome

    def rejected(self, outcome: _core.BatchOutcome) -> NDArray[np.intp]:
        """Which solved elements the external checker or `valid` turns away."""
        solved, checker = np.flatnonzero(outcome.success), self.problem.external_checker
        q, accepted = outcome.q[solved], np.ones(len(solved), dtype=bool)
        if checker is not None:
            accepted &= np.array([not checker.collides(row) for row in q], dtype=bool)
        if self.valid is not None:
            verdict = np.asarray(self.valid(q))
            if verdict.shape != solved.shape:
                raise InvalidInputError(
                    f"for a batch, `valid` gets configurations (M, dof) and returns (M,) booleans; for {len(solved)} "
                    f"it returned {verdict.shape}."
                )
            accepted &= verdict.astype(bool)
        return solved[~accepted]

    def in_waves(self) -> _core.BatchOutcome:
        """The outcomes of all elements by the core, before `valid` is asked."""
        inputs, in_scene = self.inputs, self.problem.collision_context is not None
        with_neighbours = in_scene and not inputs.is_seeded and self.options.memetic.neighbours
        chunk = SCENE_CHUNK if in_scene else CHUNK
        shown = self.count > 4 * chunk and is_shown()
        if not (with_neighbours or shown):
            return self._solve(slice(None), None)
        outcome = self.empty()
        features = _features(inputs) if with_neighbours and self.count else None
        with progress_bar("solving", self.count, shown=shown) as advance:
            for numbers, warm_starts in _waves(outcome, features, chunk):
                outcome.put(numbers, self._solve(numbers, warm_starts))
                advance(len(numbers))
        return outcome

    def _solve(self, numbers: Numbers, warm_starts: Array | None) -> _core.BatchOutcome:
        """One call of the core."""
        problem, bases, seeds = self.problem, self.bases, np.atleast_2d(self.inputs.seed)
        (rng, stream), context, targets = self.rng, problem.collision_context, self._targets(numbers)
        own_seeds = np.ascontiguousarray(seeds[numbers]) if len(seeds) > 1 else seeds
        streams = np.uint64(stream) + np.arange(self.count, dtype=np.uint64)[numbers]
        batch = _core.Batch(problem.core, self.options.core, targets, own_seeds, rng, streams)
        batch.set_seeded(self.inputs.is_seeded)
        if bases is not None:
            batch.set_bases(np.ascontiguousarray(problem.base_transform(bases[numbers])))
        if context is not None:
            batch.set_collision(context.snapshot())
            batch.set_warm_starts(warm_starts)
            if warm_starts is None:
                batch.set_guides(*self._guides(targets, len(streams)))
        return batch.solve()

    def _guides(self, targets: tuple[Array, ...], count: int) -> tuple[list[_core.Problem | None], Array]:
        """Of each element the problem that leads through an opening, and the point in it."""
        guides: list[_core.Problem | None] = []
        points, openings = np.zeros((count, 3)), self.problem.opening_guides
        context = self.problem.collision_context
        if openings is not None and self.options.memetic.openings and context is not None and context.has_openings:
            for k in range(count):
                own = [t[k] if many else t for t, many in zip(targets, self.inputs.batched_targets, strict=True)]
                guide, points[k] = openings.find(own) or (None, 0.0)
                guides.append(guide)
        return guides, points

    def _targets(self, numbers: Numbers) -> tuple[Array, ...]:
        batched = zip(self.inputs.targets, self.inputs.batched_targets, strict=True)
        return tuple(np.ascontiguousarray(target[numbers]) if many else target for target, many in batched)


def _features(inputs: Inputs) -> Array | None:
    """Numbers (N, d) whose distances tell how near targets are to each other, in about metres."""
    columns: list[Array] = []
    targets = zip(inputs.targets, inputs.problem.open_targets, inputs.batched_targets, strict=True)
    for target, open_target, many in targets:
        if not many:
            continue  # the same for all
        flat = target.reshape(len(target), -1)
        if open_target.form == "pose":
            rotations = METRES_PER_RADIAN * target[:, :3, :3].reshape(len(target), 9)
            flat = np.concatenate([target[:, :3, 3], rotations], axis=1)
        elif open_target.form in ("rotation", "direction"):
            flat = METRES_PER_RADIAN * flat
        columns.append(flat)
    return np.concatenate(columns, axis=1) if columns else None


def _waves(
    outcome: _core.BatchOutcome, features: Array | None, chunk: int
) -> Iterator[tuple[NDArray[np.intp], Array | None]]:
    """Elements to solve next, and configurations (M, k, dof) that they start from beside their seeds.

    Reads what was solved from `outcome`. Without `features` each element is on its own.
    """
    count = len(outcome)
    if features is None:
        yield from ((np.arange(first, min(first + chunk, count)), None) for first in range(0, count, chunk))
        return
    from scipy.spatial import KDTree  # pyright: ignore[reportMissingTypeStubs]

    order = np.random.default_rng(0).permutation(count)
    begin, tree, solved = 0, None, order[:0]
    while begin < count:
        end = min(count, max(FIRST_WAVE, 2 * begin))
        if begin:
            solved = order[:begin][outcome.success[order[:begin]]]
            tree = KDTree(features[solved]) if len(solved) else None
        for first in range(begin, end, chunk):
            numbers = order[first : min(first + chunk, end)]
            starts = None
            if tree is not None:
                near = np.asarray(tree.query(features[numbers], k=min(NEIGHBOURS, len(solved)))[1])  # pyright: ignore
                starts = np.ascontiguousarray(outcome.q[solved[near.reshape(len(numbers), -1)]])
            yield numbers, starts
        begin = end
