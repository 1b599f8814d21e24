"""A search looked at afterwards: its population generation by generation, and where in each joint's range it was."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Unpack

import numpy as np

from memetik.robot.robot import Robot
from memetik.solve.options import SolveKeywords
from memetik.solve.problem import CallKeywords, Problem
from memetik.solve.solution import Solution

MOST_GENERATIONS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Evolution:
    """Generations of a search: configurations (G, N, dof) and costs (G, N) of its individuals, the best of each
    first."""

    robot: Robot
    entries: np.ndarray
    """Of q, those that were searched."""
    configurations: np.ndarray
    costs: np.ndarray
    solution: Solution

    @property
    def joints(self) -> list[str]:
        """The joints that were searched."""
        return [self.robot.joint_names[k] for k in self.entries]

    def __len__(self) -> int:
        return len(self.configurations)


def record_evolution(problem: Problem, targets: tuple, seed: np.ndarray, **options: Unpack[SolveKeywords]) -> Evolution:
    """Solves with every individual kept. Rows of the islands are put side by side, generation by generation."""
    call: CallKeywords = {"timeout": 0.2, **options, "trace": True, "seed": seed}
    solution = problem.solve(*targets, **call)
    entries = np.array(problem.core.variables, dtype=int)
    islands: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
    for island, variables, costs in solution.trace:
        islands.setdefault(island, []).append((variables, costs))
    count = max((len(rows) for rows in islands.values()), default=0)
    step = max(1, -(-count // MOST_GENERATIONS))
    configurations, values = [], []
    for generation in range(0, count, step):
        rows = [own[min(generation, len(own) - 1)] for own in islands.values()]
        variables = np.concatenate([row[0] for row in rows])
        costs = np.concatenate([row[1] for row in rows])
        order = np.argsort(costs, kind="stable")
        full = np.tile(solution.q, (len(order), 1))
        full[:, entries] = variables[order]
        configurations.append(full)
        values.append(costs[order])
    return Evolution(
        problem.robot,
        entries,
        np.array(configurations) if configurations else np.zeros((0, 0, problem.robot.dof)),
        np.array(values) if values else np.zeros((0, 0)),
        solution,
    )


def landscape(evolution: Evolution, width: int = 96, height: int = 120, columns: int = 4) -> np.ndarray:
    """A picture (H, W, 3): a panel for each joint, time to the right, the joint's range upwards, individuals coloured
    from green, good, to red; the best of each generation in black."""
    robot, count = evolution.robot, len(evolution.entries)
    rows = -(-count // columns)
    picture = np.full((rows * (height + 6), min(columns, count) * (width + 6), 3), 255, dtype=np.uint8)
    colors = fitness_colors(evolution.costs.ravel()).reshape(*evolution.costs.shape, 3)
    generations = max(len(evolution) - 1, 1)
    for k, entry in enumerate(evolution.entries):
        panel = np.full((height, width, 3), 244, dtype=np.uint8)
        low, high, values = robot.lower[entry], robot.upper[entry], evolution.configurations[:, :, entry]
        if not (np.isfinite(low) and np.isfinite(high)):
            low, high = -np.pi, np.pi
            values = np.mod(values + np.pi, 2.0 * np.pi) - np.pi
        across = (np.arange(len(evolution)) * (width - 2) / generations).astype(int)
        up = ((height - 3) * (1.0 - np.clip((values - low) / max(high - low, 1e-9), 0.0, 1.0))).astype(int)
        for individual in range(values.shape[1] - 1, -1, -1):
            for dx, dy in product((0, 1), (0, 1)):
                panel[up[:, individual] + dy, across + dx] = colors[:, individual]
        panel[up[:, 0], across] = 0
        top, left = (k // columns) * (height + 6), (k % columns) * (width + 6)
        picture[top : top + height, left : left + width] = panel
    return picture


def fitness_colors(costs: np.ndarray) -> np.ndarray:
    """Colours (N, 3) from green for the least cost to red for the greatest, on a logarithmic scale."""
    values = np.log10(np.maximum(costs, 1e-16))
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    share = (values - low) / (high - low) if high > low else np.zeros_like(values)
    colors = ((34, 197, 94), (250, 204, 21), (239, 68, 68))
    return np.stack([np.interp(share, (0.0, 0.5, 1.0), channel) for channel in zip(*colors, strict=True)], 1).astype(
        int
    )
