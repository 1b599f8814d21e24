"""Arms whose inverse kinematics has a closed form."""

import numpy as np
import pytest

import memetik as mk

SEARCH = mk.methods.Memetic(closed_form=False)
ARMS = ("ur3", "ur5", "ur10", "ur5e", "racer5", "racer3", "kr120", "fanuc_m10ia", "powerball")


def problem_of(name):
    robot = mk.load_robot(name)
    return robot, mk.Problem(robot, [mk.Pose(robot.tip)])


def configurations_of(robot, count, rng):
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    return rng.uniform(lower, upper, (count, robot.dof))


@pytest.mark.parametrize("name", ARMS)
def test_every_pose_is_met_without_search(name):
    robot, problem = problem_of(name)
    rng = np.random.default_rng(0)
    configurations, seeds = configurations_of(robot, 500, rng), configurations_of(robot, 500, rng)
    targets = robot.pose(robot.tip, configurations)
    batch = problem.solve(targets, seed=seeds, evaluations=2000)
    assert batch.success.all()
    assert (batch.evaluations == 8).mean() > 0.99  # the eight configurations of the closed form, and nothing else
    assert np.abs(robot.pose(robot.tip, batch.q) - targets).max() < 1e-5


@pytest.mark.parametrize("name", ARMS)
def test_the_configuration_nearest_to_the_seed_is_returned(name):
    robot, problem = problem_of(name)
    rng = np.random.default_rng(1)
    for configuration in configurations_of(robot, 100, rng):
        # Away from a singular configuration, nothing else is as near as the configuration that made the target.
        jacobian = robot.jacobian(robot.tip, configuration)
        if np.linalg.svd(jacobian, compute_uv=False)[-1] < 0.05:
            continue
        seed = np.clip(configuration + rng.uniform(-0.02, 0.02, robot.dof), robot.lower, robot.upper)
        solution = problem.solve(robot.pose(robot.tip, configuration), seed=seed)
        np.testing.assert_allclose(solution.q, configuration, atol=1e-7)


def test_the_search_finds_nothing_nearer():
    robot, problem = problem_of("ur5")
    rng = np.random.default_rng(2)
    for configuration, seed in zip(configurations_of(robot, 20, rng), configurations_of(robot, 20, rng), strict=True):
        target = robot.pose(robot.tip, configuration)
        closed = problem.solve(target, seed=seed)
        for other in problem.solve_all(target, seed=seed, evaluations=200_000, method=SEARCH):
            assert np.linalg.norm(closed.q - seed) <= np.linalg.norm(other.q - seed) + 1e-4


def test_a_predicate_chooses_among_the_configurations():
    robot, problem = problem_of("ur5")
    target = robot.pose(robot.tip, robot.q([0.3, -1.1, 1.4, -0.7, 1.2, 0.4]))
    above = problem.solve(target, seed=robot.q([0.3, -1.1, 1.4, -0.7, 1.2, 0.4]))
    below = problem.solve(target, seed=above.q, valid=lambda q: q[2] < 0)
    assert above.q[2] > 0 > below.q[2]
    assert below.success
    assert below.evaluations == 8


def test_poses_beyond_reach_and_on_the_border_are_told_apart():
    robot, problem = problem_of("ur5")
    stretched = robot.pose(robot.tip, np.zeros(6))
    assert problem.solve(stretched, seed=np.full(6, 0.5)).success
    assert not problem.solve(mk.transform((2.0, 0, 0)), evaluations=5000).success


def test_answers_of_a_batch_are_those_of_single_solves():
    robot, problem = problem_of("racer5")
    rng = np.random.default_rng(3)
    targets, seeds = robot.pose(robot.tip, configurations_of(robot, 64, rng)), configurations_of(robot, 64, rng)
    batch = problem.solve(targets, seed=seeds, evaluations=2000, threads=2)
    for k in range(64):
        assert (problem.solve(targets[k], seed=seeds[k], evaluations=2000, rng=(0, k)).q == batch.q[k]).all()


def test_an_arm_with_an_elbow_is_solved_for_angles_of_its_last_joint():
    robot, problem = problem_of("panda")
    rng = np.random.default_rng(4)
    configurations, seeds = configurations_of(robot, 500, rng), configurations_of(robot, 500, rng)
    targets = robot.pose(robot.tip, configurations)
    batch = problem.solve(targets, seed=seeds, evaluations=2000)
    assert batch.success.all()
    assert np.abs(robot.pose(robot.tip, batch.q) - targets).max() < 1e-5
    # Four configurations a try; most need few, and the search has to help with some at the border of the workspace
    # only. assert np.median(batch.evaluations) <= 16
    assert (batch.evaluations <= 160).mean() > 0.98
    of_the_seed = np.abs(batch.q[:, 6] - seeds[:, 6]) < 1e-12
    assert of_the_seed.mean() > 0.25
    for k in range(64):
        assert (problem.solve(targets[k], seed=seeds[k], evaluations=2000, rng=(0, k)).q == batch.q[k]).all()


def test_an_arm_with_an_elbow_stays_with_a_seed_that_is_near():
    robot, problem = problem_of("panda")
    rng = np.random.default_rng(5)
    configurations = configurations_of(robot, 200, rng)
    seeds = np.clip(configurations + rng.uniform(-0.05, 0.05, configurations.shape), robot.lower, robot.upper)
    targets = robot.pose(robot.tip, configurations)
    near, searched = (problem.solve(targets, seed=seeds, evaluations=2000, method=m) for m in ("memetic", SEARCH))
    assert (near.q == searched.q).all()


def test_elbows_that_bend_to_both_sides_are_solved_too():
    # Shoulder and wrist as in an arm for research, without offsets.
    half = np.pi / 2
    turns, lengths = (-half, half, half, -half, -half, half, 0), (0.36, 0, 0.42, 0, 0.4, 0, 0.126)
    table = [(0, length, 0, turn) for turn, length in zip(turns, lengths, strict=True)]
    robot = mk.robot_from_dh(table, limits=[(-2.9, 2.9), (-2.1, 2.1)] * 3 + [(-3.0, 3.0)])
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    rng = np.random.default_rng(6)
    configurations, seeds = configurations_of(robot, 300, rng), configurations_of(robot, 300, rng)
    targets = robot.pose(robot.tip, configurations)
    batch = problem.solve(targets, seed=seeds, evaluations=2000)
    assert batch.success.all()
    assert np.median(batch.evaluations) <= 16  # two tries
    assert (batch.q[:, 3] > 0).any()
    assert (batch.q[:, 3] < 0).any()
