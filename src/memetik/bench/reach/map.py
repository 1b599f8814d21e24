"""Maps of a workspace: for every cell of a grid, from how many directions a link can get there.

The directions are spread evenly over the sphere; the turn about each is free. Cells whose middle the link's origin does
not reach at all are sorted out first. All of it is solved in batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from memetik.bench.run.worker_pool import WorkerPool
from memetik.collision.fast import FastModel
from memetik.errors import InvalidInputError
from memetik.goals import AlignAxis, Position
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene
from memetik.solve.options import SolveKeywords
from memetik.solve.problem import Problem

MOST_CELLS = 4_000_000
BATCH = 2048
"""Cells, or cells times directions, that are solved at once."""

PLANES = (("XY", 2), ("XZ", 1), ("YZ", 0))
"""The projections, each with the axis along which one looks."""

_SAMPLES = 20_000  # random configurations that tell how far the link gets


@dataclass(frozen=True)
class ReachMap:
    """Cells of edge `size`; that of index (0, 0, 0) has its lowest corner at `origin`, metres in the world.

    index (nx, ny, nz): NaN where not even the position is reached, else the share of directions that are.
    """

    origin: np.ndarray
    size: float
    index: np.ndarray
    directions: np.ndarray
    link: str
    solves: int

    @property
    def reached(self) -> np.ndarray:
        """(nx, ny, nz): whether the middle of a cell is reached from any direction at all."""
        return np.isfinite(self.index)

    @property
    def volume(self) -> float:
        """Cubic metres of the cells that are reached."""
        return float(self.reached.sum()) * self.size**3

    @property
    def centres(self) -> np.ndarray:
        """(M, 3): the middles of reached cells, in the order of `values`."""
        return self.origin + (np.argwhere(self.reached) + 0.5) * self.size

    @property
    def values(self) -> np.ndarray:
        """(M,): their share of directions."""
        return self.index[self.reached]

    def projection(self, axis: int) -> np.ndarray:
        """The largest share along an axis; NaN where nothing is reached."""
        filled = np.where(self.reached, self.index, -1.0).max(axis=axis)
        return np.where(filled < 0.0, np.nan, filled)

    def summary(self) -> dict[str, Any]:
        values = self.values
        return {
            "cells": int(self.reached.sum()),
            "cell_size": self.size,
            "volume": self.volume,
            "mean_index": float(values.mean()) if len(values) else 0.0,
            "dexterous_volume": float((values == 1.0).sum()) * self.size**3,
            "directions": len(self.directions),
            "solves": self.solves,
        }


@dataclass(frozen=True)
class _Work:
    """What a worker needs: the robot and what is asked of it."""

    robot: Robot
    link: str
    axis: ArrayLike
    evaluations: int
    rng: int
    self_collision: bool
    scene: Scene | None

    @cached_property
    def place(self) -> Problem:
        """Whether the link's origin gets there."""
        return Problem(self.robot, [Position(self.link)])

    @cached_property
    def pointing(self) -> Problem:
        """Whether it gets there with its axis in a direction."""
        return Problem(self.robot, [Position(self.link), AlignAxis(self.link, axis=self.axis)])

    @cached_property
    def obstacles(self) -> Any:
        """The robot against itself and the scene; None where neither counts, or where it has no shapes."""
        shaped = any(link.collisions for link in self.robot.description.links)
        if not shaped or not (self.self_collision or self.scene):
            return None
        return FastModel(self.robot, self.scene, "tight", self_collision=self.self_collision)

    def __getstate__(self) -> dict[str, Any]:
        derived = ("place", "pointing", "obstacles")
        return {name: value for name, value in self.__dict__.items() if name not in derived}


def reach_map(
    robot: Robot,
    link: str | None = None,
    *,
    size: float = 0.1,
    directions: int = 24,
    axis: ArrayLike = "z",
    evaluations: int = 300,
    self_collision: bool = True,
    scene: Scene | None = None,
    rng: int = 0,
    threads: int = 1,
    workers: WorkerPool | None = None,
    progress: Callable[[float], None] | None = None,
) -> ReachMap:
    """The map of a link around the robot.

    size            edge of the cells, metres.
    directions      how many directions of the link's `axis` are tried in each cell.
    evaluations     bound on the work for one of them.
    self_collision  whether configurations in which the robot touches itself do not count.
    scene           what must not be touched besides.
    threads         of this process; the map does not depend on them nor on the workers.
    progress        called with the share of the work that came to its end.
    """
    link = robot.tip if link is None else link
    if not 0.0 < size < math.inf or directions < 1:
        raise InvalidInputError("a map needs cells of positive size and at least one direction.")
    origin, shape = _grid(robot, link, size)
    centres = origin + (np.stack(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"), -1) + 0.5) * size
    work = _Work(robot, link, axis, evaluations, rng, self_collision, scene)
    workers = workers or WorkerPool()
    points = centres.reshape(-1, 3)
    near = np.linalg.norm(points - robot.base_pose[:3, 3], axis=1) <= _farthest(robot, link) + size
    candidates = np.flatnonzero(near)
    rays = even_directions(directions)

    def solve(chosen: np.ndarray, ray: int, done: float, share: float) -> np.ndarray:
        """Which of the chosen cells are reached, by position alone (ray -1) or with one of the directions."""
        parts = [
            (points[chosen[k : k + BATCH]], None if ray < 0 else rays[ray], (ray + 1) * len(points) + k, threads)
            for k in range(0, len(chosen), BATCH)
        ]
        answers = []
        for k, answer in workers.map(_solve_part, work, parts):
            answers.append((k, answer))
            if progress is not None:
                progress(done + share * len(answers) / len(parts))
        return np.concatenate(
            [answer for _, answer in sorted(answers, key=lambda pair: pair[0])] or [np.zeros(0, bool)]
        )

    share = 1.0 / (directions + 1)
    found = candidates[solve(candidates, -1, 0.0, share)]
    counts = np.zeros(len(found))
    for ray in range(directions):
        counts += solve(found, ray, (ray + 1) * share, share)
    index = np.full(len(points), np.nan)
    index[found] = counts / directions
    solves = len(candidates) + directions * len(found)
    return ReachMap(origin, size, index.reshape(shape), rays, link, solves)


def even_directions(count: int) -> np.ndarray:
    """Unit vectors (count, 3) spread evenly over the sphere: a Fibonacci lattice."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    turn = math.pi * (1.0 + math.sqrt(5.0)) * k
    flat = np.sqrt(1.0 - z * z)
    return np.stack([flat * np.cos(turn), flat * np.sin(turn), z], axis=1)


def _solve_part(work: _Work, part: tuple[np.ndarray, np.ndarray | None, int, int]) -> np.ndarray:
    points, ray, stream, threads = part
    problem = work.place if ray is None else work.pointing
    valid = None if work.obstacles is None else lambda q: ~work.obstacles.collides(q)
    targets = (np.ascontiguousarray(points),) if ray is None else (np.ascontiguousarray(points), ray)
    options = SolveKeywords(evaluations=work.evaluations, threads=threads)
    return problem.solve_batch(*targets, rng=(work.rng, stream), valid=valid, **options).success


def _farthest(robot: Robot, link: str) -> float:
    places = robot.pose(link, robot.random(0, _SAMPLES))[:, :3, 3]
    return float(np.linalg.norm(places - robot.base_pose[:3, 3], axis=1).max()) * 1.05


def _grid(robot: Robot, link: str, size: float) -> tuple[np.ndarray, tuple[int, int, int]]:
    """A grid around all that random configurations reach, a cell more on every side; aligned with the base."""
    places = robot.pose(link, robot.random(0, _SAMPLES))[:, :3, 3]
    low, high = places.min(axis=0) - size, places.max(axis=0) + size
    base = robot.base_pose[:3, 3]
    # A cell's middle at the base's axes: maps of symmetric arms come out symmetric.
    first = np.floor((low - base) / size - 0.5)
    last = np.ceil((high - base) / size + 0.5)
    nx, ny, nz = (last - first).astype(int).tolist()
    if nx * ny * nz > MOST_CELLS:
        raise InvalidInputError(
            f"cells of {size} m make {nx * ny * nz:,} of them; at most {MOST_CELLS:,} are looked at: take larger ones."
        )
    return base + (first - 0.5) * size, (nx, ny, nz)
