"""Poses among obstacles: candidates of the closed form, of a sweep and of many starts, checked by exact geometry."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.collision.mesh_checker import MeshChecker


def clutter(rng: np.random.Generator, count: int = 12) -> mk.Scene:
    scene = mk.Scene()
    for k in range(count):
        place = rng.uniform(-0.9, 0.9, 3)
        while np.linalg.norm(place[:2]) < 0.3:
            place = rng.uniform(-0.9, 0.9, 3)
        scene.add_box(f"box{k}", rng.uniform(0.05, 0.3, 3), mk.transform(place, rpy=rng.uniform(-3.0, 3.0, 3)))
    return scene


@pytest.mark.parametrize("name", ["panda", "ur5", "iiwa14"])
def test_targets_of_free_configurations_are_reached_without_collision(name: str):
    rng, robot = np.random.default_rng(3), mk.load_robot(name)
    scene, link = clutter(rng), robot.links[-1]
    checker = MeshChecker(robot, scene)
    q = robot.random(rng, 400)
    free = q[~np.asarray(checker.collides(q))][:40]
    problem = mk.Problem(robot, mk.Pose(link), scene=scene)
    # Joints that do not move the link stay where the configuration has them.
    for row in free:
        seed = np.where(np.isin(np.arange(robot.dof), problem.core.variables), free[0], row)
        found = problem.solve(robot.pose(link, row), seed=seed)
        assert found.success, found.explain()
        assert not checker.collides(found.q)
        assert np.allclose(robot.pose(link, found.q), robot.pose(link, row), atol=1e-3)


@pytest.mark.parametrize("name", ["panda", "ur5"])
@pytest.mark.parametrize("seeded", [False, True])
def test_batches_give_the_answers_of_single_solves_in_a_scene(name: str, seeded: bool):
    """With a seed; without one, elements start from the answers of neighbours unless these are switched off."""
    rng, robot = np.random.default_rng(4), mk.load_robot(name)
    problem = mk.Problem(robot, mk.Pose(robot.links[-1]), scene=clutter(rng))
    targets = robot.pose(robot.links[-1], robot.random(rng, 20))
    method = mk.methods.Memetic(neighbours=seeded)
    seed = robot.neutral if seeded else None
    batches = [problem.solve(targets, evaluations=4000, seed=seed, method=method, threads=n) for n in (1, 2)]
    assert np.array_equal(batches[0].q, batches[1].q)
    for k, target in enumerate(targets):
        alone = problem.solve(target, evaluations=4000, seed=seed, method=method, rng=(0, k))
        assert alone.success == batches[0].success[k]
        assert np.array_equal(alone.q, batches[0].q[k]) or not alone.success


def test_batches_that_start_from_neighbours_are_the_same_on_any_number_of_threads():
    rng, robot = np.random.default_rng(4), mk.load_robot("panda")
    problem = mk.Problem(robot, mk.Pose(robot.links[-1]), scene=clutter(rng))
    targets = robot.pose(robot.links[-1], robot.random(rng, 60))
    one, two = (problem.solve(targets, evaluations=4000, threads=n) for n in (1, 2))
    assert np.array_equal(one.q, two.q)
    assert np.array_equal(one.evaluations, two.evaluations)


def test_six_joint_arms_are_solved_exactly_where_a_branch_is_free():
    """Truth: all branches in free space, each asked alone."""
    rng, robot = np.random.default_rng(5), mk.load_robot("ur5")
    scene, link = clutter(rng, 30), robot.links[-1]
    checker = MeshChecker(robot, scene)
    free_space, problem = mk.Problem(robot, mk.Pose(link)), mk.Problem(robot, mk.Pose(link), scene=scene)
    outcomes = []
    for target in robot.pose(link, robot.random(rng, 60)):
        branches = np.array([found.q for found in free_space.solve_all(target, timeout=0.05)])
        found = problem.solve(target)
        assert found.success == (not np.asarray(checker.collides(branches)).all())
        outcomes.append(found.success)
    assert any(outcomes)
    assert not all(outcomes)


def test_a_blocked_target_names_what_blocks_each_configuration():
    robot = mk.load_robot("ur5")
    link, q = robot.links[-1], robot.random(1)
    target = robot.pose(link, q)
    scene = mk.Scene()
    scene.add_box("crate", (0.3, 0.3, 0.3), mk.transform(target[:3, 3]))
    found = mk.Problem(robot, mk.Pose(link), scene=scene).solve(target, timeout=10.0)
    assert not found.success
    assert found.reason == "in collision"
    assert found.time < 1.0  # of ten: a proof, not a search
    text = found.explain()
    assert "Proved: every configuration that reaches the target is in collision" in text
    assert "touches 'crate'" in text
    assert "To move out of the way: 'crate'" in text
