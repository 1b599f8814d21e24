"""RelaxedIK: its losses by their formulas, its gradient by differences, its work, its ranges, its streams."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import check_grad

import memetik as mk
from memetik.solve.inputs import Inputs
from memetik.solve.literature.relaxed import RelaxedObjective, groove, swamp, swamp_groove
from memetik.solve.methods.task import SearchTask
from memetik.solve.options import SolveOptions


def task_of(problem, *targets, seed=None):
    configuration = np.array(problem.robot.neutral if seed is None else seed)
    options = SolveOptions.checked(problem, {"timeout": math.inf})
    return SearchTask(problem.bind(Inputs.checked(problem, targets, configuration), options))


def test_losses_are_their_formulas():
    x = np.linspace(-2.0, 2.0, 41)
    np.testing.assert_allclose(groove(x, 0.1, 10.0)[0], -np.exp(-(x**2) / 0.02) + 10.0 * x**2)
    b = (-1.0 / math.log(0.05)) ** (1.0 / 8)
    s = (2.0 * x - (-0.5) - 1.0) / 1.5
    np.testing.assert_allclose(swamp(x, -0.5, 1.0)[0], (1.0 + 0.1 * s**2) * (1.0 - np.exp(-((s / b) ** 8))) - 1.0)
    assert groove(np.array(0.0))[0] == -1.0
    # At a bound the wall has climbed 95 % of its height.
    assert swamp(np.array(1.0), -0.5, 1.0, growth=0.0)[0] == pytest.approx(0.95 - 1.0)
    inside, outside = swamp_groove(np.array([0.0, 0.3]), -0.2, 0.2, 0.4)[0]
    assert inside == pytest.approx(-1.0)
    assert outside > 50.0


@pytest.mark.parametrize(
    "loss",
    [
        lambda x: groove(x, 0.3, 2.0, 4.0, 0.1),
        lambda x: swamp(x, -0.5, 1.0, 2.0, 0.3, 6),
        lambda x: swamp_groove(x, -0.5, 1.0, 0.7, 0.5, 3.0, 6, 0.2),
    ],
)
def test_slopes_of_losses_are_their_derivatives(loss):
    x, step = np.linspace(-1.4, 1.7, 37), 1e-6
    numeric = (loss(x + step)[0] - loss(x - step)[0]) / (2.0 * step)
    np.testing.assert_allclose(loss(x)[1], numeric, atol=1e-6)


@pytest.mark.parametrize("orientation", ["keep", "ignore", "adaptive"])
def test_the_gradient_of_the_sum_is_exact_with_ranges_and_collision(orientation):
    robot = mk.load_robot("elise")
    goal = mk.Pose(robot.tip, position_tolerance=(0.02, 0.02, (-0.1, 0.3)), rotation_tolerance=(0.2, 0.2, 0.5))
    problem = mk.Problem(robot, [goal], self_collision=True)
    rng = np.random.default_rng(2)
    task = task_of(problem, robot.pose(robot.tip, robot.random(1)))
    objective = RelaxedObjective(mk.methods.Relaxed(collision=1.0, orientation=orientation, clearance=0.1), task)
    for _ in range(3):
        x = 0.4 * rng.uniform(robot.lower, robot.upper)
        size = np.linalg.norm(objective(x)[1])
        error = check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], x, epsilon=1e-7)
        assert error < 1e-4 * size


def test_work_on_random_poses_is_within_the_published_one():
    """582 objective evaluations on average, numeric gradients counted, by the source; 700 allowed."""
    robot = mk.load_robot("elise")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    method = mk.methods.Relaxed(gradient="numeric")
    solutions = [
        problem.solve(robot.pose(robot.tip, robot.random(k)), seed=robot.random(1000 + k), timeout=5.0, method=method)
        for k in range(60)
    ]
    assert all(solution.success for solution in solutions)
    assert np.mean([solution.evaluations for solution in solutions]) <= 700


def test_numeric_gradients_count_one_evaluation_for_each_joint_more():
    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    task = task_of(problem, robot.pose(robot.tip, robot.random(1)))
    numeric = RelaxedObjective(mk.methods.Relaxed(gradient="numeric"), task)
    exact = RelaxedObjective(mk.methods.Relaxed(), task)
    x = robot.random(2)
    before = task.evaluations
    value, slope = numeric(x)
    assert task.evaluations - before == robot.dof + 1
    np.testing.assert_allclose(slope, exact(x)[1], rtol=1e-4, atol=1e-3 * np.abs(slope).max())
    assert value == pytest.approx(exact(x)[0], rel=1e-12)


@pytest.mark.parametrize(
    ("optimizer", "calls"), [("slsqp", 7), ("nlopt_lbfgs", 7), ("nlopt_sbplx", 1), ("nelder_mead", 1)]
)
def test_optimisers_that_ask_for_no_gradient_pay_for_none(optimizer: str, calls: int):
    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    task = task_of(problem, robot.pose(robot.tip, robot.random(1)))
    objective = RelaxedObjective(mk.methods.Relaxed(optimizer=optimizer, gradient="numeric"), task)
    before = task.evaluations
    objective(robot.random(2))
    assert task.evaluations - before == calls


def test_ranges_are_used_and_their_middle_is_preferred():
    robot = mk.load_robot("panda")
    target = robot.pose(robot.tip, robot.neutral)
    problem = mk.Problem(
        robot, [mk.Pose(robot.tip, position_tolerance=(0.05, 0.05, 0.05), rotation_tolerance=(0.3, 0.3, 0.3))]
    )
    solution = problem.solve(target, seed=robot.random(4), timeout=5.0, method="relaxed")
    assert solution.success
    off = (np.linalg.inv(target) @ robot.pose(robot.tip, solution.q))[:3, 3]
    assert np.abs(off).max() <= 0.05


def test_the_collision_term_leads_around_what_is_in_the_way():
    """A ball at the elbow of the configuration that a bare search ends at: with the term it ends at another."""
    robot = mk.load_robot("panda")
    rng, count = np.random.default_rng(4), 0
    solved = {0.0: 0, 1.0: 0}
    while count < 20:
        witness, seed = robot.random(rng), robot.random(rng)
        target = robot.pose(robot.tip, witness)[:3, 3]
        bare = mk.methods.Relaxed(restarts=False)
        found = mk.Problem(robot, [mk.Position(robot.tip)], self_collision=True).solve(
            target, seed=seed, method=bare, evaluations=2000
        )
        scene = mk.Scene()
        scene.add_sphere("at the elbow", radius=0.05, pose=mk.transform(robot.pose("panda_link4", found.q)[:3, 3]))
        model = mk.CollisionModel(robot, scene)
        if not found.success or model.collides(seed) or model.collides(witness):
            continue
        count += 1
        problem = mk.Problem(robot, [mk.Position(robot.tip)], scene=scene)
        for weight in solved:
            method = mk.methods.Relaxed(collision=weight, restarts=False)
            solution = problem.solve(target, seed=seed, method=method, evaluations=2000)
            solved[weight] += solution.success
            if solution.success:
                assert not model.collides(solution.q)
            elif weight == 0.0:  # it is the ball, not the goal, that turns the bare search's end away
                assert model.collides(solution.q)
                assert solution.errors["position_panda_hand_tcp"]["position"] < 1e-5
    assert solved[0.0] == 0
    assert solved[1.0] >= 14


def beside_a_wall():
    """Panda with its hand some centimetres from a wall, and a pose to go to."""
    robot = mk.load_robot("panda")
    q = np.array([0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.7, 0.02])
    scene = mk.Scene()
    pose = robot.pose(robot.tip, q)
    scene.add_box("wall", size=(0.02, 1.0, 1.0), pose=mk.transform(pose[:3, 3] + [0.12, 0.0, 0.0]))
    goal = mk.Pose(robot.tip, position_tolerance=(0.02,) * 3, rotation_tolerance=(0.4,) * 3)
    return q, mk.Problem(robot, [goal], scene=scene), pose @ mk.transform((0.0, 0.05, 0.0), rpy=(0.2, 0.1, 0.3))


def test_adaptive_orientations_count_by_the_score_without_the_collision_term():
    q, problem, target = beside_a_wall()
    task = task_of(problem, target, seed=q)
    x = q[problem.core.variables]
    values = {
        mode: RelaxedObjective(mk.methods.Relaxed(orientation=mode), task)(x)[0]
        for mode in ("keep", "ignore", "adaptive")
    }
    distance = problem.collision_context.tight.clearance(q[None], 10.0)
    score = (2.0 * 0.02 / (0.02 + distance[0])) ** 2
    assert 0.0 < distance[0] < 0.2
    assert values["keep"] > values["ignore"]
    wanted = values["ignore"] + 0.05 / (0.05 + score) * (values["keep"] - values["ignore"])
    assert values["adaptive"] == pytest.approx(wanted, rel=1e-9)
    runs = {
        mode: problem.solve(target, seed=q, method=mk.methods.Relaxed(orientation=mode), evaluations=500)
        for mode in values
    }
    assert not np.array_equal(runs["adaptive"].q, runs["keep"].q)
    assert not np.array_equal(runs["adaptive"].q, runs["ignore"].q)


def test_where_there_is_nothing_to_touch_adaptive_orientations_are_kept():
    robot = mk.load_robot("panda")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    target, seed = robot.pose(robot.tip, robot.random(1)), robot.random(2)
    keep, adaptive = (
        problem.solve(target, seed=seed, method=mk.methods.Relaxed(orientation=mode), evaluations=2000)
        for mode in ("keep", "adaptive")
    )
    np.testing.assert_array_equal(keep.q, adaptive.q)


@pytest.mark.parametrize("parameters", [{"collision": 1.0}, {"orientation": "adaptive"}])
def test_scenes_that_know_no_distances_are_refused_where_distances_count(parameters):
    class Verdict:
        def collides(self, q):
            return False

    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)], scene=Verdict())
    with pytest.raises(mk.errors.GoalError, match="distances"):
        problem.solve(np.eye(4), method=mk.methods.Relaxed(**parameters))


def test_streams_keep_clear_of_a_scene():
    """The target goes through a post; with the term the robot stays off it, without it does not."""
    robot = mk.load_robot("panda")
    seed = np.array([0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.7, 0.02])
    start = robot.pose(robot.tip, seed)
    scene = mk.Scene()
    scene.add_box("post", size=(0.06, 0.06, 1.0), pose=mk.transform(start[:3, 3] + [0.0, 0.2, 0.0]))
    problem, model = mk.Problem(robot, [mk.Position(robot.tip)], scene=scene), mk.CollisionModel(robot, scene)
    touched = {}
    for weight in (0.0, 1.0):
        stream = mk.methods.RelaxedStream(problem, seed, 0.05, method=mk.methods.Relaxed(width=0.1, collision=weight))
        ways = np.linspace(0.0, 0.2, 30)
        configurations = [stream.step(start[:3, 3] + [0.0, way, 0.0]).q for way in ways]
        touched[weight] = sum(model.collides(q) for q in configurations)
    assert touched[0.0] > 0
    assert touched[1.0] == 0


def test_streams_keep_links_apart():
    """The target goes into the robot's own base: the self-collision term stops the hand before it."""
    robot = mk.load_robot("panda")
    seed = np.array([0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.7, 0.02])
    start = robot.pose(robot.tip, seed)[:3, 3]
    problem, model = mk.Problem(robot, [mk.Position(robot.tip)]), mk.CollisionModel(robot)
    touched = {}
    for weight in (0.0, 1.0):
        stream = mk.methods.RelaxedStream(problem, seed, 0.05, self_collision=weight)
        ways = np.linspace(0.0, 1.0, 60)
        configurations = [stream.step((1.0 - way) * start + way * np.array([0.0, 0.0, 0.15])).q for way in ways]
        touched[weight] = sum(model.collides(q) for q in configurations)
    assert touched[0.0] > 0
    assert touched[1.0] == 0


def test_streams_with_manipulability_turn_away_from_singular_configurations():
    robot = mk.load_robot("panda")
    seed = np.array([0.0, 0.3, 0.0, -0.15, 0.0, 1.9, 0.7, 0.02])  # the elbow is nearly straight
    problem = mk.Problem(robot, [mk.Position(robot.tip)])
    target = robot.pose(robot.tip, seed)[:3, 3]
    last = {}
    for weight in (0.0, 1.0):
        stream = mk.methods.RelaxedStream(problem, seed, 0.05, manipulability=weight)
        for _ in range(20):
            step = stream.step(target)
        last[weight] = np.prod(np.linalg.svd(robot.jacobian(robot.tip, step.q)[:, :7], compute_uv=False))
        assert step.errors["position_panda_hand_tcp"]["position"] < 0.02
    assert last[1.0] > 1.2 * last[0.0]


def test_streams_are_smooth_within_velocity_limits_and_near_their_targets():
    robot = mk.load_robot("panda")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    seed = np.array([0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.7, 0.02])
    start, dt = robot.pose(robot.tip, seed), 0.02
    runs = {}
    for name, weights in (("smooth", {}), ("free", {"velocity": 0.0, "acceleration": 0.0, "jerk": 0.0})):
        stream = mk.methods.RelaxedStream(problem, seed, dt, **weights)
        configurations, errors = [], []
        for k in range(40):
            target = start.copy()
            target[:3, 3] += [0.05 * math.sin(0.1 * k), 0.05 * (1.0 - math.cos(0.1 * k)), 0.0]
            step = stream.step(target)
            configurations.append(step.q)
            errors.append(step.errors["pose_panda_hand_tcp"]["position"])
        runs[name] = np.array(configurations), max(errors)
    velocity = np.array(robot.tree.limits["velocity"])
    for configurations, _ in runs.values():
        assert (np.abs(np.diff(configurations, axis=0)) <= velocity * dt + 1e-9).all()
    jerk = {name: np.abs(np.diff(configurations, 3, axis=0)).mean() for name, (configurations, _) in runs.items()}
    assert jerk["smooth"] < jerk["free"]
    assert runs["free"][1] < 1e-4
    assert runs["smooth"][1] < 5e-3


def test_a_jump_of_the_target_is_followed_at_the_velocity_limit():
    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [mk.Position(robot.tip)])
    seed = np.array([0.1, -1.2, 1.4, -1.0, -1.5, 0.0])
    stream = mk.methods.RelaxedStream(problem, seed, 0.01)
    target = robot.pose(robot.tip, seed)[:3, 3] + [0.0, 0.3, 0.0]
    steps = [stream.step(target) for _ in range(12)]
    configurations = np.array([seed, *(step.q for step in steps)])
    limit = np.array(robot.tree.limits["velocity"]) * 0.01
    assert (np.abs(np.diff(configurations, axis=0)) <= limit * (1 + 1e-9)).all()
    distances = [step.errors["position_tool0"]["position"] for step in steps]
    assert distances[-1] < distances[0] < 0.3
