"""What a solution tells: true successes, errors in physical units, and problems of all kinds checked from outside."""

from __future__ import annotations

import numpy as np
import pytest
from problem_generator import generate, robots
from truth import World, excess, violations

import memetik as mk
from memetik.goals import AvoidLimits, Pose, Position
from memetik.solve.problem import Problem

PROBLEMS = 300


def outcome(case, **options):
    problem = Problem(case.robot, case.goals, fixed=case.fixed)
    targets = [case.targets] if case.targets else []
    return problem.solve(*targets, seed=case.seed, rng=case.index, evaluations=600, refine_evaluations=300, **options)


@pytest.mark.parametrize("index", range(0, PROBLEMS, 20))
def test_no_success_is_false(index: int):
    """Answers are checked with Pinocchio's kinematics and the goals' definitions, as in benchmarks/truth.py."""
    for k in range(index, index + 20):
        case = generate(k)
        solution = outcome(case)
        assert np.isfinite(solution.q).all()
        if solution.success:
            assert case.flaw is None, f"{case!r} was made so that no configuration meets it"
            assert violations(case.complete, case.robot, solution.q, case.fixed) == [], repr(case)


@pytest.mark.parametrize("index", range(0, PROBLEMS, 20))
def test_generated_problems_are_as_feasible_as_they_claim(index: int):
    for k in range(index, index + 20):
        case = generate(k)
        if case.flaw is None:
            assert violations(case.complete, case.robot, case.hidden, case.fixed) == [], repr(case)


def test_the_truth_notices_a_small_lie():
    noticed = 0
    for k in range(200):
        case = generate(k)
        if case.flaw is None and not case.fixed:
            moved = np.clip(case.hidden + 0.01, case.robot.lower, case.robot.upper)
            noticed += bool(violations(case.complete, case.robot, moved, case.fixed))
    assert noticed > 60


def test_a_third_of_the_problems_is_infeasible_and_all_robots_come_up():
    cases = [generate(k) for k in range(600)]
    assert 150 < sum(case.flaw is not None for case in cases) < 250
    assert {case.robot.name for case in cases} == {robot.name for robot in robots()}
    assert len({case.flaw for case in cases}) > 9
    assert {len(case.complete) for case in cases} >= set(range(1, 10))
    assert len({type(goal) for case in cases for goal in case.complete}) > 20


def test_answers_do_not_depend_on_threads():
    for k in range(60):
        case = generate(k)
        one, two, four = (outcome(case, threads=threads) for threads in (1, 2, 4))
        for other in (two, four):
            assert one.success == other.success
            np.testing.assert_array_equal(one.q, other.q)


def test_errors_are_what_the_links_are_off_by():
    robot = mk.load_robot("panda")
    problem = Problem(robot, [Pose("panda_hand"), Position("panda_link4", (0, 0, 9), name="far")])
    target = mk.transform((0.4, 0.1, 0.5), rpy=(3.0, 0.1, 0.2))
    solution = problem.solve(target, timeout=0.02)
    pose = World(robot, solution.q).pose("panda_hand")
    errors = solution.errors
    assert errors["pose_panda_hand"]["position"] == pytest.approx(np.linalg.norm(pose[:3, 3] - target[:3, 3]), abs=1e-9)
    cosine = 0.5 * (np.trace(pose[:3, :3].T @ target[:3, :3]) - 1.0)
    assert errors["pose_panda_hand"]["rotation"] == pytest.approx(np.arccos(cosine), abs=1e-6)
    elbow = World(robot, solution.q).pose("panda_link4")[:3, 3]
    assert errors["far"]["position"] == pytest.approx(np.linalg.norm(elbow - (0, 0, 9)), abs=1e-9)


def test_errors_of_random_problems_agree_with_the_truth():
    """A goal whose reported errors are within its tolerance is met, and one that is not met reports it."""
    for k in range(100):
        case = generate(k)
        problem = Problem(case.robot, case.goals, fixed=case.fixed)
        targets = [case.targets] if case.targets else []
        solution = problem.solve(*targets, seed=case.seed, evaluations=200, refine_evaluations=50)
        world = World(case.robot, solution.q)
        tolerances = {}
        for term in problem.terms:
            tolerances.setdefault(problem.goal_names[term.spec.goal], []).append(term.spec.tolerance)
        for goal, name in zip(case.complete, problem.goal_names, strict=True):
            if goal.priority == 0:
                errors = solution.errors[name].values()
                met = all(error <= bound for error, bound in zip(errors, tolerances[name], strict=True))
                if met:
                    assert excess(goal, world) <= 1e-8, repr(goal)


@pytest.mark.clock
def test_a_solution_tells_its_joints_counts_and_time():
    robot = mk.load_robot("panda")
    solution = Problem(robot, [Position("panda_hand", (0.4, 0.0, 0.5))]).solve()
    assert solution
    assert solution.joints == dict(zip(robot.joint_names, solution.q.tolist(), strict=True))
    assert solution.evaluations > 0
    assert 0.0 < solution.time < 1.0
    assert solution.restarts >= 0
    assert solution.cost < 1e-9
    assert "solved in" in repr(solution)


def test_musts_hold_after_soft_goals_were_refined():
    robot = mk.load_robot("iiwa14")
    problem = Problem(robot, [Pose("tool0"), AvoidLimits()])
    for k in range(20):
        target = robot.pose("tool0", robot.random(k))
        solution = problem.solve(target, rng=k, timeout=0.01)
        assert solution.success
        assert violations([Pose("tool0", target)], robot, solution.q, {}) == []


def test_every_one_of_all_solutions_is_true():
    for k in range(120):
        case = generate(k)
        if case.robot.dof > 20:
            continue
        problem = Problem(case.robot, case.goals, fixed=case.fixed)
        targets = [case.targets] if case.targets else []
        found = problem.solve_all(*targets, seed=case.seed, rng=k, evaluations=1500, most=8)
        assert not (found and case.flaw)
        for solution in found:
            assert violations(case.complete, case.robot, solution.q, case.fixed) == [], repr(case)


def test_elements_of_batches_at_other_bases_are_true():
    robot = mk.load_robot("panda").at(mk.transform((0.1, 0.2, 0.3)))
    problem = Problem(robot, [Pose("panda_hand"), AvoidLimits()])
    rng = np.random.default_rng(0)
    bases = np.array([mk.transform(rng.normal(size=3), rpy=rng.uniform(-3, 3, size=3)) for _ in range(30)])
    targets = np.array([robot.at(base).pose("panda_hand", robot.random(rng)) for base in bases])
    targets[::3, :3, 3] += 5.0
    batch = problem.solve(targets, base=bases, evaluations=2000, seed=robot.random(rng, n=30))
    for k, (base, target) in enumerate(zip(bases, targets, strict=True)):
        single = problem.solve(target, base=base, evaluations=2000, seed=batch[k].seed, rng=(0, k))
        np.testing.assert_array_equal(batch.q[k], single.q)
        assert batch[k].reason == single.reason == ("out of reach" if k % 3 == 0 else "solved")
        if batch.success[k]:
            assert violations([Pose("panda_hand", target)], robot.at(base), batch.q[k], {}) == []


def test_answers_that_a_predicate_agreed_to_are_true():
    robot = mk.load_robot("iiwa14")
    problem = Problem(robot, [Pose("tool0"), AvoidLimits()])
    for k in range(30):
        target = robot.pose("tool0", robot.random(k))
        solution = problem.solve(target, valid=lambda q: q[0] > 0.0, rng=k, evaluations=20_000, refine_evaluations=500)
        if solution.success:
            assert solution.q[0] > 0.0
            assert violations([Pose("tool0", target)], robot, solution.q, {}) == []
