"""Seeds next to the targets: the answer is in their basin, also where many joints stand at their limits."""

from __future__ import annotations

import numpy as np

import memetik as mk

FAR = 0.3


def test_answers_stay_in_the_basin_of_a_seed_at_its_limits():
    robot, link, count = mk.load_robot("valkyrie"), "leftPalm", 300
    problem = mk.Problem(robot, [mk.Pose(link)])
    seeds, targets = np.empty((count, robot.dof)), np.empty((count, 4, 4))
    for k in range(count):
        rng = np.random.default_rng(k)
        q = robot.random(rng)
        limit = np.where(rng.random(robot.dof) < 0.5, robot.lower, robot.upper)
        seeds[k] = np.where((rng.random(robot.dof) < 0.5) & np.isfinite(limit), limit, q)
        near = np.clip(seeds[k] + rng.normal(0.0, 2e-3, robot.dof), robot.lower, robot.upper)
        targets[k] = robot.pose(link, near)
    moved = robot.moves(link)
    for k in range(count):
        found = problem.solve(targets[k], seed=seeds[k], evaluations=3000)
        assert found.success
        assert np.abs(found.q - seeds[k])[moved].max() < FAR
    batch = problem.solve_batch(targets, seed=seeds, evaluations=3000)
    assert batch.success.all()
    assert np.abs(batch.q - seeds)[:, moved].max() < FAR
