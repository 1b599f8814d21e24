"""A search looked at afterwards: its population generation by generation, and where in each joint's range it was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memetik.solve.problem import Problem
from memetik.solve.solution import Solution
from memetik.studio.robot_view import fitness_colors

MOST_GENERATIONS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Evolution:
    """Generations of a search: postures (G, N, dof) and costs (G, N) of its individuals, the best of each first."""

    joints: tuple[str, ...]
    """The joints that were searched, in the order of `entries`."""
    entries: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    postures: np.ndarray
    costs: np.ndarray
    solution: Solution

    def __len__(self) -> int:
        return len(self.postures)


def record_evolution(problem: Problem, targets: tuple, seed: np.ndarray, **options: object) -> Evolution:
    """Solves with every individual kept. Rows of the islands are put side by side, generation by generation."""
    solution = problem.solve(*targets, seed=seed, trace=True, **{"timeout": 0.2, **options})
    entries = np.array(problem._core.variables, dtype=int)
    islands: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
    for island, variables, costs in solution.trace:
        islands.setdefault(island, []).append((variables, costs))
    count = max((len(rows) for rows in islands.values()), default=0)
    step = max(1, -(-count // MOST_GENERATIONS))
    postures, values = [], []
    for generation in range(0, count, step):
        rows = [own[min(generation, len(own) - 1)] for own in islands.values()]
        variables = np.concatenate([row[0] for row in rows])
        costs = np.concatenate([row[1] for row in rows])
        order = np.argsort(costs, kind="stable")
        full = np.tile(solution.q, (len(order), 1))
        full[:, entries] = variables[order]
        postures.append(full)
        values.append(costs[order])
    robot = problem.robot
    shape = (0, 0, robot.dof)
    return Evolution(
        tuple(robot.joint_names[k] for k in entries),
        entries,
        robot.lower[entries],
        robot.upper[entries],
        np.array(postures) if postures else np.zeros(shape),
        np.array(values) if values else np.zeros((0, 0)),
        solution,
    )


def landscape(evolution: Evolution, width: int = 96, height: int = 120, columns: int = 4) -> np.ndarray:
    """A picture (H, W, 3): a panel for each joint, time to the right, the joint's range upwards, individuals coloured
    from green, good, to red; the best of each generation in black."""
    count = len(evolution.joints)
    rows = -(-count // columns)
    picture = np.full((rows * (height + 6), min(columns, count) * (width + 6), 3), 255, dtype=np.uint8)
    colors = fitness_colors(evolution.costs.ravel()).reshape(*evolution.costs.shape, 3)
    generations = max(len(evolution) - 1, 1)
    for k in range(count):
        panel = np.full((height, width, 3), 244, dtype=np.uint8)
        low, high = evolution.lower[k], evolution.upper[k]
        values = evolution.postures[:, :, evolution.entries[k]]
        if not (np.isfinite(low) and np.isfinite(high)):
            low, high = -np.pi, np.pi
            values = np.mod(values + np.pi, 2.0 * np.pi) - np.pi
        across = (np.arange(len(evolution)) * (width - 2) / generations).astype(int)
        up = ((height - 3) * (1.0 - np.clip((values - low) / max(high - low, 1e-9), 0.0, 1.0))).astype(int)
        for individual in range(values.shape[1] - 1, -1, -1):
            for dx in (0, 1):
                for dy in (0, 1):
                    panel[up[:, individual] + dy, across + dx] = colors[:, individual]
        panel[up[:, 0], across] = 0
        top, left = (k // columns) * (height + 6), (k % columns) * (width + 6)
        picture[top : top + height, left : left + width] = panel
    return picture
