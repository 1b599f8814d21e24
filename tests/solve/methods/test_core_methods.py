"""Methods that run in the core: each finds answers, keeps its bounds, repeats itself, and says what is wrong."""

from __future__ import annotations

import time

import numpy as np
import pytest

import memetik as mk
from memetik import _core
from memetik.errors import MethodNotBuiltError
from memetik.solve.literature.bio import Bio1, Bio1Ros, Bio2, Pick
from memetik.solve.literature.newton import GradientDescent, Jac, Kdl, Lma
from memetik.solve.literature.populations import De, Ga, Pso
from memetik.solve.methods import METHODS, Native, method_named

CORE = (
    "bio2", "bio2_memetic", "bio2_memetic_l", "bio2_memetic_lbfgs", "bio1", "bio1_ros", "gd", "gd_r", "gd_c", "gd_c_4",
    "jac", "jac_4", "jac_damped", "jac_transpose", "kdl", "lma", "pick", "pick_local", "de", "pso", "ga",
)  # fmt: skip
SLOW = {"gd", "gd_r", "gd_c", "gd_c_4", "pick", "pick_local", "ga", "de", "bio1_ros", "jac_transpose"}
"""Methods that converge slowly: they are asked for less accuracy here."""


@pytest.fixture(scope="module")
def arm():
    robot = mk.load_robot("ur5")
    return robot, robot.pose(robot.tip, robot.random(21, 6)), robot.random(22, 6)


def problem_for(robot, name):
    tolerance = 1e-2 if name in SLOW else 1e-5
    return mk.Problem(robot, [mk.Pose(robot.tip, position_tolerance=tolerance, rotation_tolerance=tolerance)])


def test_all_of_them_are_native():
    assert all(isinstance(method_named(name), Native) for name in CORE)
    assert set(CORE) <= set(METHODS)


@pytest.mark.parametrize("name", CORE)
def test_answers_are_found_and_hold(arm, name):
    robot, targets, seeds = arm
    problem = problem_for(robot, name)
    batch = problem.solve(targets, seed=seeds, method=name, evaluations=200_000)
    assert name == "gd" or batch.success.mean() >= 0.8  # the bare descent is stuck on each of these; see below
    tolerance = 1.5e-2 if name in SLOW else 2e-5
    for k in np.flatnonzero(batch.success):
        np.testing.assert_allclose(robot.pose(robot.tip, batch.q[k]), targets[k], atol=tolerance)
        assert (batch.q[k] >= robot.lower).all()
        assert (batch.q[k] <= robot.upper).all()


def test_the_bare_descent_is_stuck_where_the_one_with_resets_goes_on(arm):
    robot, targets, seeds = arm
    problem = problem_for(robot, "gd")
    bare, reset = (problem.solve(targets, seed=seeds, method=name, evaluations=50_000) for name in ("gd", "gd_r"))
    assert bare.success.mean() < reset.success.mean()
    missed = np.flatnonzero(~bare.success)
    assert len(missed) > 0
    for k in missed:
        alone = problem.solve(targets[k], seed=seeds[k], method="gd", evaluations=50_000)
        assert alone.evaluations < 50_000
        assert alone.restarts == 0
    near = robot.random(5, 20)
    coarse = mk.Problem(robot, [mk.Pose(robot.tip, position_tolerance=1e-3, rotation_tolerance=1e-3)])
    there = coarse.solve(robot.pose(robot.tip, near), seed=robot.clip(near + 0.003), method="gd", evaluations=50_000)
    assert there.success.mean() > 0.3


@pytest.mark.parametrize("name", ["pick", "pick_local"])
def test_descents_of_pick_are_not_kept_from_narrow_tolerances_by_their_differences(arm, name):
    robot, targets, seeds = arm
    batch = mk.Problem(robot, [mk.Pose(robot.tip)]).solve(targets, seed=seeds, method=name, evaluations=200_000)
    assert batch.success.mean() >= 0.8


@pytest.mark.parametrize("name", CORE)
def test_the_same_random_numbers_give_the_same_answer_on_any_number_of_threads(arm, name):
    robot, targets, seeds = arm
    problem = problem_for(robot, name)
    options = {"seed": seeds[0], "method": name, "evaluations": 8000, "rng": 3}
    first = problem.solve(targets[0], **options)
    for threads in (1, 2):
        again = problem.solve(targets[0], threads=threads, **options)
        assert again.success == first.success
        if first.success:
            np.testing.assert_array_equal(again.q, first.q)


@pytest.mark.parametrize("name", CORE)
@pytest.mark.clock
def test_time_and_work_are_bounded(arm, name):
    robot, targets, seeds = arm
    problem = problem_for(robot, "bio2")
    far = targets[0].copy()
    far[0, 3] += 10.0
    assert problem.solve(far, seed=seeds[0], method=name, evaluations=2000).evaluations < 2000 + 8000
    begin = time.perf_counter()
    solution = problem.solve(far, seed=seeds[0], method=name, timeout=0.02)
    assert not solution.success
    assert time.perf_counter() - begin < 5.0


def test_free_turns_are_turned_back_within_the_limits():
    """UR5's joints turn twice: what is searched beyond their limits is given out within them."""
    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    rng = np.random.default_rng(8)
    seeds = np.where(rng.random((200, robot.dof)) < 0.5, robot.lower, robot.upper)
    poses = robot.pose(robot.tip, robot.random(rng, 200))
    solved = {}
    for free in (True, False):
        method = mk.methods.Jac(restarts=False, free_turns=free)
        batch = problem.solve(poses, seed=seeds, method=method, evaluations=500)
        assert ((batch.q >= robot.lower) & (batch.q <= robot.upper)).all()
        np.testing.assert_allclose(robot.pose(robot.tip, batch.q[batch.success]), poses[batch.success], atol=2e-5)
        solved[free] = batch.success.mean()
    assert solved[True] > 1.5 * solved[False]


@pytest.mark.clock
def test_a_bare_method_ends_where_it_is_stuck(arm):
    robot, targets, seeds = arm
    problem = problem_for(robot, "jac")
    far = targets[0].copy()
    far[0, 3] += 10.0
    for method in (GradientDescent(restarts=False), Lma(restarts=False), Pick(mode="local", restarts=False)):
        solution = problem.solve(far, seed=seeds[0], method=method, timeout=20.0)
        assert not solution.success
        assert solution.restarts == 0
        assert solution.time < 10.0


def test_answers_that_are_turned_away_lead_to_restarts(arm):
    robot, targets, seeds = arm
    problem = problem_for(robot, "kdl")
    seen = set()

    def valid(q):
        seen.add(tuple(np.round(np.sin(q), 3)))  # other turns of an answer are that answer
        return len(seen) > 3

    for method in ("kdl", "lma", "bio2_memetic", "bio1"):
        seen.clear()
        solution = problem.solve(targets[0], seed=seeds[0], method=method, timeout=20.0, valid=valid)
        assert solution.success
        assert len(seen) == 4
        assert solution.restarts >= 3


def test_methods_serve_goals_of_several_links():
    robot = mk.load_robot("valkyrie").group("torso_both_arms_head")
    configuration = robot.random(3)
    goals = [
        mk.Pose("rightPalm", robot.pose("rightPalm", configuration)),
        mk.Position("leftPalm", robot.pose("leftPalm", configuration)[:3, 3]),
    ]
    problem = mk.Problem(robot, goals)
    for method in ("bio2_memetic", "jac", "lma", "kdl", Bio2(extrapolate=False)):
        assert problem.solve(method=method, evaluations=400_000).success, method


def test_methods_serve_goals_that_need_the_whole_robot():
    """The centre of mass depends on every link, not on the chain to one of them."""
    robot = mk.load_robot("panda")
    q = robot.random(3)
    tip, centre = robot.pose(robot.tip, q)[:3, 3], robot.center_of_mass(q)
    goals = [mk.Position(robot.tip, tip, tolerance=1e-3), mk.Balance(centre, tolerance=1e-3)]
    alone = mk.Problem(robot, goals[:1]).solve(rng=0)
    assert np.linalg.norm((robot.center_of_mass(alone.q) - centre)[:2]) > 0.01  # the goal asks for something
    for method in ("bio2_memetic", "bio1", "lma", "kdl", "pso", "de"):
        solution = mk.Problem(robot, goals).solve(method=method, evaluations=200_000, rng=0)
        assert solution.success, method
        assert np.linalg.norm((robot.center_of_mass(solution.q) - centre)[:2]) <= 1e-3 + 1e-9, method
        assert np.linalg.norm(robot.pose(robot.tip, solution.q)[:3, 3] - tip) <= 1e-3 + 1e-9, method


def test_scenes_are_respected():
    robot = mk.load_robot("panda")
    scene = mk.Scene()
    scene.add_box("post", size=(0.2, 0.2, 1.0), pose=mk.transform((0.45, 0.0, 0.5)))
    problem = mk.Problem(robot, [mk.Pose(robot.tip)], scene=scene)
    model = mk.CollisionModel(robot, scene)
    target = mk.transform((0.3, 0.4, 0.5), rpy=(np.pi, 0, 0))
    for method in ("bio2_memetic", "kdl", "lma"):
        solution = problem.solve(target, method=method, timeout=10.0)
        assert solution.success
        assert not model.collides(solution.q)


def test_preferences_preselect_children():
    """Without refinement only the choice of children knows the soft goal: answers to the same seeds cost less."""
    robot = mk.load_robot("panda")
    place = mk.Position(robot.tip, (0.4, 0.2, 0.5))
    plain, soft = mk.Problem(robot, [place]), mk.Problem(robot, [place, mk.CenterJoints()])
    costs = []
    for k in range(40):
        options = {"method": "bio2_memetic", "evaluations": 20_000, "rng": k, "seed": robot.random(k)}
        with_it, without = soft.solve(**options, refine_evaluations=0), plain.solve(**options)
        assert with_it.success
        assert without.success
        costs.append([off_centre(robot, solution.q) for solution in (with_it, without)])
    with_it, without = np.array(costs).T
    assert with_it.mean() < 0.9 * without.mean()
    assert (with_it < without).mean() > 0.65


def off_centre(robot, q):
    """What CenterJoints asks for, but for its weights: squares of the distances from the middle of the limits."""
    return float((((q - 0.5 * (robot.lower + robot.upper)) / (robot.upper - robot.lower)) ** 2).sum())


def test_extrapolated_kinematics_err_by_the_square_of_the_step():
    robot = mk.load_robot("pr2").group("right_arm")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    core, rng = problem.core, np.random.default_rng(1)
    for _ in range(5):
        configuration = robot.random(rng)
        direction = rng.normal(size=len(core.variables))
        direction /= np.linalg.norm(direction)
        steps = np.array([0.0, 1e-3, 2e-3, 4e-3])
        q = configuration[core.variables] + steps[:, None] * direction
        start = np.ascontiguousarray(configuration[core.variables])
        poses = _core.extrapolate(core, configuration, start, np.ascontiguousarray(q))
        full = np.repeat(configuration[None], 4, axis=0)
        full[:, core.variables] = q
        exact = robot.pose(robot.tip, full)[:, :3]
        error = np.abs(poses[:, 0] - exact).max(axis=(1, 2))
        assert error[0] < 1e-12
        assert 3.0 < error[2] / error[1] < 5.0
        assert 3.0 < error[3] / error[2] < 5.0


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Bio2(population=0), "population"),
        (lambda: Bio2(local="cubic"), "local"),
        (lambda: Bio2(mutation_low=5, mutation_high=4), "mutation_high"),
        (lambda: Bio1(elites=101), "elites"),
        (lambda: Bio1Ros(population=1), "population"),
        (lambda: Jac(inverse="left"), "inverse"),
        (lambda: Kdl(adaptive=1), "adaptive"),
        (lambda: Lma(tau=-1.0), "tau"),
        (lambda: Pick(mode="remote"), "mode"),
        (lambda: De(population=1000), "512"),
        (lambda: Pso(particles=2.5), "particles"),
        (lambda: Ga(islands=0), "islands"),
    ],
)
def test_wrong_parameters_are_named(make, what):
    with pytest.raises(mk.InvalidInputError, match=what):
        make()


def test_a_build_without_the_literature_says_so(monkeypatch):
    monkeypatch.setattr(_core, "HAS_LITERATURE", False)
    robot = mk.load_robot("panda")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    with pytest.raises(MethodNotBuiltError, match="Bio1"):
        problem.solve(robot.pose(robot.tip, robot.neutral), method=Bio1(population=7))
    assert problem.solve(robot.pose(robot.tip, robot.neutral)).success
