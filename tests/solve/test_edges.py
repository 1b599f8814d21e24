"""Where solvers usually fail: turns, limits, singular starts, robots without joints or with 200, budgets of nothing."""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import memetik as mk
from memetik.goals import AlignAxis, JointValue, Orientation, Pose, Position
from memetik.robot.robot import Robot
from memetik.solve.problem import Problem

ONE_JOINT = """<robot name="crank"><link name="base"/><link name="arm"/>
  <joint name="crank" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" velocity="1" effort="1"/></joint></robot>"""

ENDLESS = ONE_JOINT.replace('type="revolute"', 'type="continuous"')


@pytest.fixture(scope="module")
def panda() -> Robot:
    return mk.load_robot("panda")


@pytest.fixture(scope="module")
def problem(panda: Robot) -> Problem:
    return Problem(panda, [Pose("panda_hand")])


def reachable(robot: Robot, link: str, seed: int) -> np.ndarray:
    return robot.pose(link, robot.random(seed))


def test_continuous_joints_cross_pi_without_turning_back():
    robot = mk.load_robot(ENDLESS)
    problem = Problem(robot, [Orientation("arm")])
    q = np.array([3.1])
    for turn in np.arange(3.1, 9.6, 0.05):
        target = Rotation.from_euler("z", turn).as_matrix()
        solution = problem.solve(target, seed=q)
        assert solution.success
        assert abs(solution.q[0] - turn) < 1e-4
        q = solution.q


@pytest.mark.parametrize("name", ["pr2", "ur5"])
def test_answers_stay_within_half_a_turn_of_the_seed_where_limits_allow(name: str):
    robot = mk.load_robot(name)
    link = robot.tips[0]
    problem = Problem(robot, [Pose(link)])
    rng = np.random.default_rng(3)
    turning = [k for k in problem.core.variables if robot.turning[k]]
    for _ in range(50):
        # A configuration near the seed: no joint has a reason to be more than half a turn away.
        seed = robot.random(rng)
        seed[robot.continuous] += 2.0 * math.pi * rng.integers(-3, 4, size=int(robot.continuous.sum()))
        goal = np.clip(seed + rng.normal(scale=0.05, size=robot.dof), robot.lower, robot.upper)
        solution = problem.solve(robot.pose(link, goal), seed=seed, timeout=1.0)
        assert solution.success
        away = np.abs(solution.q - seed)[turning]
        room = np.isinf(robot.upper[turning]) | (robot.upper[turning] - robot.lower[turning] >= 2.0 * math.pi - 1e-9)
        assert (away[room] <= math.pi + 1e-9).all()


def test_a_small_motion_is_answered_in_the_seeds_own_basin():
    robot = mk.load_robot("ur5")
    problem = Problem(robot, [Pose("tool0")])
    rng = np.random.default_rng(5)
    for _ in range(100):
        seed = rng.uniform(-2.0, 2.0, size=6)
        if abs(np.linalg.det(robot.jacobian("tool0", seed))) < 0.01:
            continue
        goal = seed + rng.normal(scale=0.01, size=6)
        solution = problem.solve(robot.pose("tool0", goal), seed=seed)
        assert solution.success
        assert np.abs(solution.q - goal).max() < 1e-2


def test_seeds_outside_limits_are_clipped_and_said(problem: Problem, panda: Robot):
    seed = panda.neutral.copy()
    seed[[0, 3]] = 9.0
    solution = problem.solve(reachable(panda, "panda_hand", 1), seed=seed)
    assert solution.success
    assert panda.within_limits(solution.q)
    assert solution.clipped == ["panda_joint1", "panda_joint4"]
    assert "'panda_joint1', 'panda_joint4'" in solution.explain()


def test_joints_that_no_goal_touches_keep_the_seed_but_within_limits(problem: Problem, panda: Robot):
    seed = panda.neutral.copy()
    target = reachable(panda, "panda_hand", 1)
    seed[7] = 0.031
    assert problem.solve(target, seed=seed).q[7] == 0.031
    seed[7] = 2.0
    solution = problem.solve(target, seed=seed)
    assert solution.success
    assert solution.q[7] == panda.upper[7]
    assert solution.clipped == ["panda_finger_joint1"]


def test_quaternions_of_either_sign_are_the_same_target(panda: Robot):
    pose = reachable(panda, "panda_hand", 4)
    quaternion = Rotation.from_matrix(pose[:3, :3]).as_quat()
    problem = Problem(panda, [Orientation("panda_hand")])
    answers = [problem.solve(sign * quaternion, rng=1, evaluations=5000) for sign in (1.0, -1.0)]
    assert all(answers)
    np.testing.assert_array_equal(answers[0].q, answers[1].q)


def test_targets_out_of_reach_are_not_solved_and_the_nearest_configuration_is_near(panda: Robot):
    problem = Problem(panda, [Position("panda_hand")])
    for direction in np.eye(3):
        solution = problem.solve(10.0 * direction, timeout=0.1)
        assert not solution.success
        assert solution.reason == "out of reach"
        assert np.isfinite(solution.q).all()
        # The arm is about 1 m long: a stretched one comes to about 9 m.
        assert solution.errors["position_panda_hand"]["position"] < 9.5


@pytest.mark.parametrize("name", ["ur5", "iiwa14", "panda", "chain"])
@pytest.mark.clock
def test_singular_starts_are_left(name: str):
    robot = mk.load_robot(name)
    problem = Problem(robot, [Pose(robot.tip)])
    zeros = np.clip(np.zeros(robot.dof), robot.lower, robot.upper)
    for k in range(20):
        assert problem.solve(reachable(robot, robot.tip, k), seed=zeros, timeout=0.5).success


def test_a_problem_without_variables_is_only_checked(panda: Robot):
    q = panda.random(2)
    held = dict(zip(panda.joint_names, q.tolist(), strict=True))
    problem = Problem(panda, [Pose("panda_hand")], fixed=held)
    assert problem.variables == []
    right = problem.solve(panda.pose("panda_hand", q))
    assert right.success
    np.testing.assert_array_equal(right.q, q)
    assert right.restarts == 0
    wrong = problem.solve(reachable(panda, "panda_hand", 7))
    assert not wrong.success
    assert wrong.reason == "out of reach"


def test_a_robot_without_joints_is_only_checked():
    robot = mk.load_robot('<robot name="stone"><link name="stone"/></robot>')
    assert Problem(robot, [Position("stone", (0, 0, 0))]).solve().success
    solution = Problem(robot, [Position("stone", (0, 0, 1))]).solve()
    assert not solution.success
    assert solution.reason == "out of reach"


def test_an_empty_batch_is_an_empty_answer(problem: Problem, panda: Robot):
    batch = problem.solve(np.zeros((0, 4, 4)))
    assert len(batch) == 0
    assert batch.q.shape == (0, panda.dof)
    assert list(batch) == []


def test_robots_of_one_joint_are_solved():
    robot = mk.load_robot(ONE_JOINT)
    problem = Problem(robot, [Orientation("arm")])
    for turn in (-1.9, 0.0, 1.9):
        solution = problem.solve(Rotation.from_euler("z", turn).as_matrix())
        assert solution.success
        assert solution.q[0] == pytest.approx(turn, abs=1e-4)
    beyond = problem.solve(Rotation.from_euler("z", 2.5).as_matrix())
    assert not beyond.success
    assert beyond.reason == "limits exclude it"


def test_chains_of_200_joints_are_solved():
    robot = mk.load_robot("chain200")
    assert robot.dof == 200
    problem = Problem(robot, [Pose("tip")])
    for k in range(5):
        solution = problem.solve(reachable(robot, "tip", k), timeout=5.0)
        assert solution.success
        np.testing.assert_allclose(robot.pose("tip", solution.q), reachable(robot, "tip", k), atol=2e-5)


def test_no_time_still_gives_a_configuration(problem: Problem, panda: Robot):
    solution = problem.solve(reachable(panda, "panda_hand", 3) + 0.0, timeout=0.0)
    assert np.isfinite(solution.q).all()
    assert panda.within_limits(solution.q)
    far = mk.transform((5.0, 0.0, 0.0))
    few = problem.solve(far, timeout=0.0)
    assert not few.success
    assert few.evaluations < problem.solve(far, timeout=0.05).evaluations


def test_one_evaluation_still_gives_a_configuration(problem: Problem, panda: Robot):
    solution = problem.solve(mk.transform((5.0, 0.0, 0.0)), evaluations=1)
    assert not solution.success
    assert panda.within_limits(solution.q)


@pytest.mark.parametrize("threads", [2, 4, 64])
def test_answers_do_not_depend_on_the_number_of_threads(threads: int):
    robot = mk.load_robot("katana300")
    problem = Problem(robot, [Position(robot.tip), AlignAxis(robot.tip)])
    for k in range(10):
        target = robot.pose(robot.tip, robot.random(k))[:3, 3]
        one, many = (problem.solve(target, (0, 0, -1), rng=k, evaluations=3000, threads=n) for n in (1, threads))
        assert one.success == many.success
        np.testing.assert_array_equal(one.q, many.q)


def test_elements_of_a_batch_equal_single_solves(problem: Problem, panda: Robot):
    targets = panda.pose("panda_hand", panda.random(11, n=40))
    batch = problem.solve(targets, rng=3, evaluations=4000, threads=2)
    for k in range(40):
        single = problem.solve(targets[k], rng=(3, k), evaluations=4000)
        np.testing.assert_array_equal(batch.q[k], single.q)
        assert batch[k].success == single.success
        assert batch[k].reason == single.reason


def test_a_fixed_joint_that_is_asked_to_be_elsewhere_is_no_success(panda: Robot):
    goals = [Position("panda_hand", reachable(panda, "panda_hand", 1)[:3, 3]), JointValue("panda_joint1", 0.5)]
    held = Problem(panda, goals, fixed={"panda_joint1": 0.0}).solve(timeout=0.01)
    assert not held.success
    assert held.errors["jointvalue_panda_joint1"]["value"] == pytest.approx(0.5)
    assert held.reason == "limits exclude it"


def test_a_base_stands_where_it_is_said_to(panda: Robot):
    base = mk.transform((0.3, -0.2, 0.1), rpy=(0.1, 0.2, 0.3))
    elsewhere = panda.at(mk.transform((1.0, 2.0, 3.0)))
    target = base @ reachable(panda, "panda_hand", 6)
    for robot in (panda, elsewhere):
        solution = Problem(robot, [Pose("panda_hand")]).solve(target, base=base)
        assert solution.success
        np.testing.assert_allclose(robot.at(base).pose("panda_hand", solution.q), target, atol=2e-5)
    far = base @ mk.transform((5.0, 0.0, 0.0))
    assert Problem(panda, [Pose("panda_hand")]).solve(far, base=base).reason == "out of reach"


def test_errors_in_a_predicate_come_through(problem: Problem, panda: Robot):
    class OwnError(Exception):
        pass

    def fails(q: np.ndarray) -> bool:
        raise OwnError("no")

    with pytest.raises(OwnError, match="no"):
        problem.solve(reachable(panda, "panda_hand", 1), valid=fails)
    for kind in (TypeError, ValueError, AttributeError):
        calls = []

        def fails_once(q: np.ndarray, kind: type[Exception] = kind, calls: list[int] = calls) -> bool:
            calls.append(1)
            raise kind("mine")

        with pytest.raises(kind, match="mine"):
            problem.solve(reachable(panda, "panda_hand", 1), valid=fails_once)
        assert len(calls) == 1


def test_a_predicate_is_asked_until_it_agrees(problem: Problem, panda: Robot):
    target = reachable(panda, "panda_hand", 8)
    elbow = problem.solve(target).q[2]
    solution = problem.solve(target, valid=lambda q: abs(q[2] - elbow) > 0.5, timeout=5.0)
    assert solution.success
    assert abs(solution.q[2] - elbow) > 0.5
    never = problem.solve(target, valid=lambda q: False, timeout=0.05)
    assert not never.success
    assert never.statistics["rejected"] > 0
    assert "turned away" in never.explain()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.clock
def test_ctrl_c_ends_a_solve():
    code = """
import memetik as mk
from memetik.goals import Pose
from memetik.solve.problem import Problem
problem = Problem(mk.load_robot("panda"), [Pose("panda_hand")])
print("ready", flush=True)
problem.solve(mk.transform((9, 0, 0)), timeout=60, threads=2)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background may ignore it
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    begin = time.perf_counter()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert time.perf_counter() - begin < 10.0
    assert "KeyboardInterrupt" in errors
    assert process.returncode != 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.unsanitized
def test_forked_children_solve(problem: Problem, panda: Robot):
    target = reachable(panda, "panda_hand", 5)
    here = problem.solve(target, evaluations=4000, threads=2)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, problem.solve(target, evaluations=4000, threads=2).q.tobytes())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        there = np.frombuffer(pipe.read())
    os.waitpid(child, 0)
    np.testing.assert_array_equal(here.q, there)


def test_two_threads_solve_the_same_problem_at_once(problem: Problem, panda: Robot):
    targets = [reachable(panda, "panda_hand", k) for k in range(200)]
    alone = [problem.solve(target, evaluations=4000).q for target in targets]
    found: dict[int, list[np.ndarray]] = {}

    def work(name: int) -> None:
        found[name] = [problem.solve(target, evaluations=4000).q for target in targets]

    workers = [threading.Thread(target=work, args=(name,)) for name in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for answers in found.values():
        np.testing.assert_array_equal(answers, alone)


def test_problems_and_solutions_pickle(problem: Problem, panda: Robot):
    copy = pickle.loads(pickle.dumps(problem))
    target = reachable(panda, "panda_hand", 9)
    first, second = (p.solve(target, evaluations=4000) for p in (problem, copy))
    np.testing.assert_array_equal(first.q, second.q)
    for solution in (first, problem.solve(mk.transform((9.0, 0.0, 0.0)), timeout=0.01)):
        again = pickle.loads(pickle.dumps(solution))
        np.testing.assert_array_equal(again.q, solution.q)
        assert again.errors == solution.errors
        assert again.reason == solution.reason
        assert again.explain().splitlines()[0] == solution.explain().splitlines()[0]
    batch = problem.solve(np.array([target, target]), evaluations=4000)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(batch)).q, batch.q)


def test_random_numbers_do_not_depend_on_those_of_earlier_solves(panda: Robot):
    target, seed = reachable(panda, "panda_hand", 3), panda.random(np.random.default_rng(9))
    fresh = Problem(panda, [Pose("panda_hand")]).solve(target, seed=seed, evaluations=20_000)
    used = Problem(panda, [Pose("panda_hand")])
    for rng in ((0, 7), 5, (3, 1)):
        used.solve(target, seed=seed, evaluations=20_000, rng=rng)
    assert (used.solve(target, seed=seed, evaluations=20_000).q == fresh.q).all()


ENDING = """
import threading, time
import numpy as np
import memetik as mk
robot = mk.load_robot("ur5")
problem = mk.Problem(robot, [mk.Pose(robot.tip)])
near = robot.pose(robot.tip, robot.random(1))
tracker = mk.Tracker(problem)

def loop(work):
    while True:
        work()

for work in (lambda: problem.solve(near), lambda: tracker.step(near),
             lambda: robot.pose(robot.tip, np.zeros((20000, 6))),
             lambda: problem.solve(near, valid=lambda q: False, timeout=1.0)):
    threading.Thread(target=loop, args=(work,), daemon=True).start()
time.sleep(0.2)
"""


def test_daemon_threads_inside_the_core_let_the_interpreter_end():
    ended = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.clock
@pytest.mark.parametrize("threads", [1, 2])  # with two, the caller's may have nothing to do but to wait
def test_ctrl_c_ends_a_batch_within_an_element(problem: Problem, threads: int):
    targets, timeout = np.stack([mk.transform((3.0, 0.0, 0.0))] * 64), 0.1
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        problem.solve(targets, timeout=timeout, threads=threads)
    assert time.monotonic() - begin < 20 * timeout  # all of them take 64


def test_a_robot_without_joints_is_asked_about_contacts():
    shape = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    joint = '<joint name="j" type="fixed"><parent link="base"/><child link="tip"/></joint>'
    text = f'<robot name="r"><link name="base">{shape}</link><link name="tip">{shape}</link>{joint}</robot>'
    robot = mk.load_robot(text)
    assert Problem(robot, [Position("tip")], self_collision=True).solve((0.0, 0.0, 0.0)).success
    scene = mk.Scene()
    scene.add_sphere("ball", 0.1, mk.transform((0.5, 0.0, 0.0)))
    assert Problem(robot, [Position("tip")], scene=scene).solve((0.0, 0.0, 0.0)).success
    assert not Problem(robot, [Position("tip")], scene=scene).solve((0.1, 0.0, 0.0)).success
