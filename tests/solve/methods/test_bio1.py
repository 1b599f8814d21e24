"""Bio IK: wipe-outs, elites on threads of their own, and the linear fitness of its first version."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest

import memetik as mk
from memetik.solve.literature.bio import Bio1, Bio1Ros


@pytest.fixture(scope="module")
def hard():
    """An arm and poses of which some are stuck in a local optimum at first."""
    robot = mk.load_robot("kr120")
    problem = mk.Problem(robot, [mk.Pose(robot.tip, position_tolerance=1e-4, rotation_tolerance=1e-3)])
    return problem, robot.pose(robot.tip, robot.random(11, 40)), robot.random(12, 40)


@pytest.fixture(scope="module")
def body():
    robot = mk.load_robot("valkyrie").group("torso_both_arms_head")
    configuration = robot.random(3)
    goals = [mk.Pose(link, robot.pose(link, configuration)) for link in ("rightPalm", "leftPalm")]
    return robot, mk.Problem(robot, goals)


def solve_all(hard, method):
    problem, poses, seeds = hard
    pairs = zip(poses, seeds, strict=True)
    return [problem.solve(pose, seed=seed, method=method, evaluations=400_000) for pose, seed in pairs]


SMALL = {"population": 40, "elites": 2}
"""Of the poses of `hard`, a third gets such a population stuck, and hardly any one of the usual size."""


def test_stuck_populations_are_wiped_out_and_find_an_answer(hard):
    solutions = solve_all(hard, Bio1(**SMALL))
    stuck = [solution for solution in solutions if solution.statistics["wipeouts"] > 0]
    assert len(stuck) >= 3
    assert all(solution.success for solution in solutions)
    assert np.mean([solution.statistics["generations"] for solution in solutions]) < 20


def test_without_wipeouts_the_same_runs_go_another_way(hard):
    for one, other in zip(solve_all(hard, Bio1(**SMALL)), solve_all(hard, Bio1(**SMALL, wipeout=False)), strict=True):
        assert other.statistics["wipeouts"] == 0
        changed = one.statistics["generations"] != other.statistics["generations"] or not np.array_equal(one.q, other.q)
        # Only what comes after a wipe-out can differ.
        assert changed == (one.statistics["wipeouts"] > 0)


def test_elites_drawn_by_rank_are_hardly_ever_wiped_out(hard):
    ranked = solve_all(hard, Bio1(elite_selection="rank"))
    assert sum(solution.statistics["wipeouts"] for solution in ranked) <= 2


@pytest.mark.parametrize("threads", [1, 2, 3, 6])
@pytest.mark.parametrize("islands", [1, 2])
def test_parallel_elites_change_no_answer(body, hard, threads, islands):
    robot, humanoid = body
    problem, poses, seeds = hard
    plain = Bio1(population=60, elites=4, islands=islands)
    parallel = Bio1(population=60, elites=4, islands=islands, parallel_elites=True)
    cases = [(humanoid, (), robot.random(k), k) for k in range(4)]
    cases += [(problem, (poses[k],), seeds[k], k) for k in range(12)]
    for task, targets, seed, rng in cases:
        options = {"seed": seed, "evaluations": 20_000, "rng": rng}
        one = task.solve(*targets, method=plain, **options)
        other = task.solve(*targets, method=parallel, threads=threads, **options)
        assert one.success == other.success
        np.testing.assert_array_equal(one.q, other.q)
        if islands == 1:  # several islands on several threads go on until they hear of each other
            assert one.evaluations == other.evaluations
            assert one.statistics == other.statistics


def test_parallel_elites_go_on_alike_after_an_answer_is_turned_away(hard):
    problem, poses, seeds = hard
    seen = {}
    for method, threads in ((Bio1(), 1), (Bio1(parallel_elites=True), 3)):
        asked = []

        def valid(q, asked=asked):
            asked.append(np.array(q))
            return len(asked) > 5

        assert problem.solve(poses[0], seed=seeds[0], method=method, threads=threads, timeout=20.0, valid=valid).success
        seen[threads] = asked
    np.testing.assert_array_equal(seen[1], seen[3])


def test_two_threads_may_solve_with_parallel_elites_at_once(body):
    robot, problem = body
    method = Bio1(population=60, elites=3, parallel_elites=True)
    seeds = [robot.random(k) for k in range(6)]

    def answers():
        return [problem.solve(seed=seed, method=method, threads=3, evaluations=10_000).q for seed in seeds]

    alone, together = answers(), {}
    workers = [threading.Thread(target=lambda k=k: together.__setitem__(k, answers())) for k in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k in range(2):
        np.testing.assert_array_equal(together[k], alone)


def test_goals_in_python_are_asked_by_one_thread_at_a_time():
    robot = mk.load_robot("panda")
    threads = set()

    class Bent(mk.Goal):
        joints = None

        def residual(self, q, poses):
            threads.add(threading.get_ident())
            return q[3] + 1.0

    problem = mk.Problem(robot, [mk.Position(robot.tip, (0.4, 0.2, 0.5)), Bent()])
    options = {"evaluations": 20_000, "rng": 2}
    one = problem.solve(method=Bio1(), **options)
    other = problem.solve(method=Bio1(parallel_elites=True), threads=4, **options)
    np.testing.assert_array_equal(one.q, other.q)
    assert threads == {threading.get_ident()}


@pytest.mark.unsanitized
@pytest.mark.clock
def test_parallel_elites_keep_timeouts_and_hear_of_interrupts(body):
    robot, _ = body
    link = "rightPalm"
    far = mk.Problem(robot, [mk.Position(link, robot.pose(link, robot.random(1))[:3, 3] + 10.0)])
    method = Bio1(parallel_elites=True)
    begin = time.perf_counter()
    assert not far.solve(method=method, threads=3, timeout=0.05).success
    assert time.perf_counter() - begin < 1.0
    timer = threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        far.solve(method=method, threads=3, timeout=20.0)
    assert time.perf_counter() - begin < 5.0


def test_more_elites_than_threads_can_serve_are_refused():
    with pytest.raises(mk.InvalidInputError, match="16"):
        Bio1(elites=17, parallel_elites=True)


def test_the_linear_fitness_solves_by_angles_in_radians():
    """It measures rotations by their angle, whatever `rotation` says of the quadratic one."""
    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [mk.Pose(robot.tip, position_tolerance=1e-2, rotation_tolerance=1e-2)])
    poses, seeds = robot.pose(robot.tip, robot.random(21, 8)), robot.random(22, 8)
    batch = problem.solve(poses, seed=seeds, method=Bio1Ros(combination="mean"), evaluations=200_000)
    other = problem.solve(poses, seed=seeds, method=Bio1Ros(combination="mean", rotation="sine"), evaluations=200_000)
    assert batch.success.mean() >= 0.75
    np.testing.assert_array_equal(batch.q, other.q)


@pytest.mark.parametrize("height", [0.0, 10.0])
def test_a_floating_base_is_solved_wherever_the_world_has_its_origin(height):
    """Positions are measured by the chain from the pelvis on, not by how far it is from the origin."""
    robot = mk.load_robot("valkyrie").with_floating_base()
    seed = np.array(robot.neutral)
    seed[2] = height
    solved = 0
    for k in range(6):
        q = robot.random(k)
        q[:6] = np.random.default_rng(k).uniform(-0.2, 0.2, 6)
        q[2] += height
        goals = [mk.Pose(link, robot.pose(link, q)) for link in ("rightPalm", "leftPalm", "rightFoot", "leftFoot")]
        solved += mk.solve(robot, goals, method=Bio1(), seed=seed, rng=k, evaluations=400_000).success
    assert solved >= 5
