"""Configurations along a path, chosen over the whole of it.

Each target along the path has several configurations. They are found by tracks: from the configurations at some anchor
targets the next target is solved with the last configuration as its seed, forwards and backwards, as long as no joint
jumps. All tracks together are the layers of a graph; the path through it that takes the least time is found by dynamic
programming, and may change from track to track where they come together. Greedy following of the first configuration
found would end where that branch ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from memetik.solve.options import MethodLike
    from memetik.solve.problem import Problem

Target: TypeAlias = "tuple[Problem, Sequence[ArrayLike]]"
"""What a configuration has to meet: a problem and its open targets."""


@dataclass(frozen=True, slots=True)
class BranchSettings:
    """How configurations along a path are looked for.

    anchors  targets at which configurations are looked for afresh, and how many at each at `most`.
    links    to how many configurations at the next anchor a path is looked for from each.
    jump     radians or metres that no joint may move by between neighbouring targets.
    timeout  seconds for each solve.
    """

    anchors: int = 4
    most: int = 8
    links: int = 2
    jump: float = 0.35
    timeout: float = 0.02


class BranchGraph:
    """The layers of configurations, and the best path through them."""

    def __init__(
        self,
        targets: Sequence[Target],
        velocity: np.ndarray,
        settings: BranchSettings,
        start: np.ndarray,
        *,
        from_start: bool,
        rng: int = 0,
        method: MethodLike = "memetic",
    ):
        self._method = method
        self._targets, self._velocity, self._settings, self._start, self._rng = targets, velocity, settings, start, rng
        self.layers: list[list[np.ndarray]] = [[] for _ in targets]
        self._blocked: set[tuple[int, int, int]] = set()
        if from_start:
            self.layers[0].append(start)
            self._track(0, start, 1)
            if self.layers[-1]:
                return
        self._grow(self._anchors())
        self._link(self._anchors(), start if from_start else None)
        if from_start:
            self.layers[0] = [start]

    def _anchors(self) -> list[int]:
        count = len(self._targets)
        return sorted({round(k) for k in np.linspace(0, count - 1, min(self._settings.anchors, count))})

    def _grow(self, anchors: list[int]) -> None:
        for anchor in anchors:
            problem, values = self._targets[anchor]
            found = problem.solve_all(
                *values,
                seed=self._start,
                most=self._settings.most,
                timeout=max(0.1, self._settings.timeout),
                rng=self._rng + anchor,
                method=self._method,
            )
            for solution in found:
                if self._add(anchor, solution.q):
                    self._track(anchor, solution.q, 1)
                    self._track(anchor, solution.q, -1)

    def _track(self, anchor: int, q: np.ndarray, direction: int) -> None:
        """Follow a configuration to the neighbouring targets until it jumps, fails or meets another track."""
        before: np.ndarray | None = None
        index = anchor + direction
        while 0 <= index < len(self._targets):
            # Where the track was going is the better seed, as long as limits allow it.
            found = self._next(index, q, q if before is None else self._targets[0][0].robot.clip(2.0 * q - before))
            if found is None or not self._add(index, found):
                return
            before, q = q, found
            index += direction

    def _link(self, anchors: list[int], start: np.ndarray | None) -> None:
        """Paths from the configurations at one anchor to those at the next: with joints to spare, tracks of the same
        branch run beside each other without meeting."""
        for first, second in pairwise(anchors):
            ends = np.array(self.layers[second][: self._settings.most]).reshape(-1, len(self._start))
            begins = self.layers[first][: self._settings.most] if first or start is None else [start]
            for q in begins:
                order = np.argsort((np.abs(ends - q) / self._velocity).max(axis=1), kind="stable")
                for goal in ends[order[: self._settings.links]]:
                    self._pull(first, q, second, goal)

    def _pull(self, first: int, q: np.ndarray, last: int, goal: np.ndarray) -> None:
        """Follow the targets from a configuration, drawn towards one at a later target."""
        for index in range(first + 1, last + 1):
            found = self._next(index, q, q + (goal - q) / (last - index + 1))
            if found is None:
                return
            q = found
            self._add(index, q)

    def _next(self, index: int, q: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        """The configuration at a target next to q; None where there is none without a jump."""
        problem, values = self._targets[index]
        solution = problem.solve(*values, seed=seed, timeout=self._settings.timeout, rng=0, method=self._method)
        return solution.q if solution.success and np.abs(solution.q - q).max() <= self._settings.jump else None

    def _add(self, layer: int, q: np.ndarray) -> bool:
        """Whether the configuration is new there."""
        if self.layers[layer] and np.abs(np.array(self.layers[layer]) - q).max(axis=1).min() < 1e-3:
            return False
        self.layers[layer].append(q)
        return True

    def block(self, layer: int, first: np.ndarray, second: np.ndarray) -> None:
        """Take out the step from one configuration of a layer to one of the next."""
        a = int(np.abs(np.array(self.layers[layer]) - first).max(axis=1).argmin())
        b = int(np.abs(np.array(self.layers[layer + 1]) - second).max(axis=1).argmin())
        self._blocked.add((layer, a, b))

    def best(self, first_cost: Callable[[np.ndarray], np.ndarray] | None = None) -> np.ndarray:
        """The configurations (M, dof) of the quickest path from the first target as far as any leads."""
        if not self.layers[0]:
            return np.empty((0, len(self._start)))
        rows = [np.array(layer).reshape(-1, len(self._start)) for layer in self.layers]
        cost = np.zeros(len(rows[0])) if first_cost is None else first_cost(rows[0])
        previous: list[np.ndarray] = []
        for layer in range(len(rows) - 1):
            if not len(rows[layer + 1]):
                break
            step = np.abs(rows[layer + 1][None] - rows[layer][:, None])
            length = (step / self._velocity).max(axis=2)
            # A little more than proportional, so that even steps are preferred to one that is wide.
            length = np.where(step.max(axis=2) > self._settings.jump, np.inf, length + 10.0 * length**2)
            for a, b in [pair[1:] for pair in self._blocked if pair[0] == layer]:
                length[a, b] = np.inf
            total = cost[:, None] + length
            if not np.isfinite(total).any():
                break
            previous.append(total.argmin(axis=0))
            cost = total.min(axis=0)
        index = int(np.argmin(cost))
        chosen = [index]
        for back in reversed(previous):
            index = int(back[index])
            chosen.append(index)
        chosen.reverse()
        return np.array([rows[layer][k] for layer, k in enumerate(chosen)])
