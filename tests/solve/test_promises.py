"""Bounds that hold from the first evaluation on, turns, seeds, sequences, goals that are switched off."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk


@pytest.fixture(scope="module")
def panda() -> mk.Robot:
    return mk.load_robot("panda").group("panda_arm")


@pytest.mark.parametrize(
    "method", ["memetic", "bio1", "bio2_memetic", "de", "pso", "gd", "jac", "pick", "trac", "cascade"]
)
@pytest.mark.parametrize("bound", [0, 1, 5, 50, 300])
def test_evaluations_and_attempts_are_bounds(panda: mk.Robot, method: str, bound: int):
    problem, target = mk.Problem(panda, [mk.Pose(panda.tip)]), panda.pose(panda.tip, panda.random(5))
    assert problem.solve(target, method=method, evaluations=bound).evaluations <= bound
    solution = problem.solve(target, method=method, attempts=max(bound, 1), evaluations=2000)
    assert solution.outcome.starts <= max(bound, 1)
    assert solution.evaluations <= 2000


def test_evaluations_bound_the_refinement_too():
    robot = mk.load_robot("valkyrie")
    problem = mk.Problem(robot, [mk.Pose("leftPalm"), mk.AvoidLimits()])
    target = robot.pose("leftPalm", robot.random(1))
    for bound in (5, 48, 100, 500):
        assert problem.solve(target, evaluations=bound).evaluations <= bound


def test_bounded_elements_of_a_batch_equal_single_solves(panda: mk.Robot):
    problem = mk.Problem(panda, [mk.Pose(panda.tip)])
    targets = panda.pose(panda.tip, np.stack([panda.random(k) for k in range(20)]))
    for evaluations, attempts in ((30, None), (200, None), (1000, 3)):
        batch = problem.solve_batch(targets, evaluations=evaluations, attempts=attempts)
        for k, target in enumerate(targets):
            single = problem.solve(target, rng=(0, k), evaluations=evaluations, attempts=attempts)
            assert (batch.success[k], batch.evaluations[k]) == (single.success, single.evaluations)
            np.testing.assert_array_equal(batch.q[k], single.q)


@pytest.mark.parametrize("method", ["memetic", "bio1", "jac", "trac", "slsqp", "ccd"])
def test_other_turns_of_an_answer_are_candidates(method: str):
    robot = mk.load_robot("ur5")
    q = robot.random(4)
    q[0] = 1.0  # or a turn less
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    solution = problem.solve(robot.pose(robot.tip, q), valid=lambda q: q[0] < -3.0, method=method, timeout=5.0)
    assert solution.success
    assert solution.q[0] < -3.0


def test_soft_goals_find_the_turn_they_ask_for():
    robot = mk.load_robot("ur5")
    q = robot.random(4)
    q[0] = 1.0
    wish = mk.JointValue(robot.joint_names[0], 1.0 - 2.0 * np.pi, priority=1)
    problem = mk.Problem(robot, [mk.Pose(robot.tip, robot.pose(robot.tip, q)), wish])
    assert problem.solve(explore=True, seed=q).q[0] == pytest.approx(1.0 - 2.0 * np.pi, abs=1e-3)
    assert problem.solve(seed=q).q[0] == pytest.approx(1.0, abs=1e-3)  # a sequence does not turn around


def test_closed_forms_keep_to_seeds_that_are_near(panda: mk.Robot):
    problem, rng = mk.Problem(panda, [mk.Pose(panda.tip)]), np.random.default_rng(0)
    far = 0
    for k in range(300):
        q = panda.random(k)
        seed = np.clip(q + rng.choice((-0.2, 0.2), panda.dof), panda.lower, panda.upper)
        solution = problem.solve(panda.pose(panda.tip, q), seed=seed)
        far += bool(not solution.success or np.abs(solution.q - seed).max() > 1.0)
    assert far <= 6


@pytest.mark.parametrize("goal", [mk.AvoidLimits(), mk.GravityTorque(), mk.CenterJoints()])
def test_sequences_with_soft_goals_do_not_jump(panda: mk.Robot, goal: mk.Goal):
    start = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])
    pose, steps = panda.pose(panda.tip, start), []
    for goals in ([], [goal]):
        problem, q, answers = mk.Problem(panda, [mk.Pose(panda.tip), *goals]), start, []
        for k in range(200):
            target = pose.copy()
            target[1, 3] += 1e-3 * k
            q = problem.solve(target, seed=q, evaluations=5000).q
            answers.append(q)
        steps.append(np.abs(np.diff(answers[20:], axis=0)).max())
    assert steps[1] <= 1.5 * steps[0]


@pytest.mark.parametrize("goal", [mk.AvoidLimits(), mk.GravityTorque(), mk.JointValue("panda_joint3", 1.0, priority=1)])
def test_soft_goals_move_no_joint_much_farther_than_the_hard_goals_do(panda: mk.Robot, goal: mk.Goal):
    plain, soft = mk.Problem(panda, [mk.Pose(panda.tip)]), mk.Problem(panda, [mk.Pose(panda.tip), goal])
    rng, bounded = np.random.default_rng(1), 0
    for k in range(100):
        seed = 0.7 * panda.random(k) + 0.3 * panda.neutral
        target = panda.pose(panda.tip, seed)
        target[:3, 3] += rng.uniform(-2e-3, 2e-3, 3)
        alone = plain.solve(target, seed=seed, method=mk.methods.Memetic(closed_form=False), evaluations=2000)
        both = soft.solve(target, seed=seed, evaluations=5000)
        if not (alone.success and both.success) or np.abs(alone.q - seed).max() > 0.02:
            continue
        bounded += 1
        assert np.abs(both.q - seed).max() <= 1.35 * np.abs(alone.q - seed).max() + 5e-4
    assert bounded > 50


def test_a_resting_target_lets_soft_goals_creep_to_their_optimum(panda: mk.Robot):
    q = start = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])
    problem = mk.Problem(panda, [mk.Pose(panda.tip), mk.JointValue("panda_joint3", 0.1, priority=1)])
    target, steps = panda.pose(panda.tip, start), list[float]()
    for _ in range(400):
        solution = problem.solve(target, seed=q, evaluations=2000)
        steps.append(float(np.abs(solution.q - q).max()))
        q = solution.q
    assert max(steps) <= 5.1e-4
    assert q[2] == pytest.approx(0.1, abs=2e-3)


def test_changes_are_bounded_where_that_is_asked_for(panda: mk.Robot):
    q = seed = panda.random(3)
    problem = mk.Problem(panda, [mk.Pose(panda.tip), mk.AvoidLimits()])
    for k in range(20):
        seed = np.clip(q + 0.05 * np.random.default_rng(k).uniform(-1.0, 1.0, panda.dof), panda.lower, panda.upper)
        solution = problem.solve(panda.pose(panda.tip, q), seed=seed, max_change=0.1)
        assert solution.success
        assert np.abs(solution.q - seed).max() <= 0.1
    batch = problem.solve_batch(panda.pose(panda.tip, q)[None], seed=seed, max_change=0.1)
    assert batch.success.all()
    assert np.abs(batch.q - seed).max() <= 0.1
    with pytest.raises(mk.errors.InvalidInputError, match="max_change is in radians or metres"):
        problem.solve(panda.pose(panda.tip, q), max_change=-1.0)


def test_soft_goals_move_the_joints_that_they_name():
    robot = mk.load_robot("baxter")
    head = next(name for name in robot.joint_names if "head" in name)
    problem = mk.Problem(robot, [mk.Pose("left_gripper"), mk.JointValue(head, 0.4, priority=1)])
    solution = problem.solve(robot.pose("left_gripper", robot.random(2)))
    assert solution.joints[head] == pytest.approx(0.4, abs=1e-3)
    others = mk.Problem(robot, [mk.Pose("left_gripper"), mk.AvoidLimits()])
    assert head not in others.variables  # a goal on all joints pulls at those that others move


@pytest.mark.parametrize("method", ["memetic", "bio1", "bio2_memetic", "jac", "trac", "slsqp", "ccd"])
def test_weight_zero_switches_a_goal_off(panda: mk.Robot, method: str):
    impossible = mk.Position("panda_link4", (9.0, 0.0, 0.0), weight=0.0, name="off")
    problem = mk.Problem(panda, [mk.Pose(panda.tip), impossible])
    solution = problem.solve(panda.pose(panda.tip, panda.random(7)), method=method, timeout=5.0)
    assert solution.success
    assert solution.errors["off"] == {}


def test_a_goal_that_is_off_keeps_the_place_of_its_target(panda: mk.Robot):
    problem = mk.Problem(panda, [mk.Position("panda_link4", weight=0.0), mk.Pose(panda.tip)])
    target = panda.pose(panda.tip, panda.random(7))
    assert problem.solve((9.0, 0.0, 0.0), target).success


def test_refinement_says_what_ended_it(panda: mk.Robot):
    problem = mk.Problem(panda, [mk.Pose(panda.tip), mk.GravityTorque()])
    q = panda.random(4)
    target = panda.pose(panda.tip, q)
    assert problem.solve(target, seed=q, explore=False).refinement == "optimum"
    assert problem.solve(target, seed=q).refinement == "continuity"
    assert problem.solve(target, refine_evaluations=16).refinement in ("bound", "optimum")
    assert mk.Problem(panda, [mk.Pose(panda.tip)]).solve(target).refinement == "none"


def test_refinement_between_near_bounds_comes_to_their_optimum():
    """The gain between the bounds that a sequence sets, against a line search of our own; it once ended half way."""
    robot = mk.load_robot("baxter")
    link, shares = "left_gripper", list[float]()
    problem, plain = (
        mk.Problem(robot, [mk.Pose(link), mk.CenterJoints(weights="equal")]),
        mk.Problem(robot, [mk.Pose(link)]),
    )
    moving = np.flatnonzero(robot.moves(link))
    middle = 0.5 * (robot.lower + robot.upper)[moving]
    for k in range(12):
        seed = 0.5 * robot.random(k) + 0.5 * robot.neutral
        target = robot.pose(link, seed)
        target[:3, 3] += (1e-3, 5e-4, 0.0)
        hard, soft = plain.solve(target, seed=seed), problem.solve(target, seed=seed)
        if not (hard.success and soft.success) or np.abs(hard.q - seed).max() > 0.02:
            continue
        most = np.abs(soft.q - seed).max()
        jacobian = robot.jacobian(link, hard.q)[:, moving]

        def cost(q: np.ndarray) -> float:
            return float(np.sum((q[moving] - middle) ** 2))

        # Along the one direction that the pose leaves free, as far as the bounds allow.
        free = np.linalg.svd(jacobian)[2][-1]
        ways = np.linspace(-4.0, 4.0, 4001)[:, None] * most * free
        near = hard.q[moving] + ways
        near = near[(np.abs(near - seed[moving]) <= 1.3 * np.abs(hard.q - seed).max()).all(axis=1)]
        least = float(((near - middle) ** 2).sum(axis=1).min())
        if cost(hard.q) - least > 1e-6:
            shares.append((cost(hard.q) - cost(soft.q)) / (cost(hard.q) - least))
    assert len(shares) >= 6
    assert min(shares) > 0.9
