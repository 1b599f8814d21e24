"""Clearance, NoPenetration and CollisionDistance: values, derivatives, and what coal says of their answers."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_cases import assert_derivative_is_exact, carrier

import memetik as mk
from memetik.errors import GoalError, UnknownNameError
from memetik.geometry.shapes import Box, Capsule, Sphere
from memetik.goals import HARD, SOFT
from memetik.robot.description import Description, Geometry, Joint, Link
from memetik.robot.robot import Robot
from memetik.solve.problem import Problem


def two_balls() -> Robot:
    """Balls on two links of a sliding and turning chain, so that self-contacts and contacts with the world mix."""
    shift, far = mk.transform((0.4, 0.0, 0.0)), mk.transform((0.0, 0.0, 9.0))
    links = (
        Link("base"),
        Link("first", collisions=(Geometry(Sphere(0.05)),)),
        Link("between", collisions=(Geometry(Sphere(0.001), far),)),  # so that the two are no neighbours
        Link("second", collisions=(Geometry(Sphere(0.04), shift),)),
    )
    joints = (
        Joint("float", "floating", "base", "first", lower=(-1.0,) * 6, upper=(1.0,) * 6),
        Joint("turn", "revolute", "first", "between", axis=(0.0, 0.0, 1.0), lower=(-2.0,), upper=(2.0,)),
        Joint("slide", "prismatic", "between", "second", axis=(1.0, 0.0, 0.0), lower=(-0.5,), upper=(0.5,)),
    )
    return Robot(Description("balls", links, joints))


def scene_of_balls() -> mk.Scene:
    scene = mk.Scene()
    scene.add("left", Sphere(0.1), pose=mk.transform((0.3, 0.2, 0.0)))
    scene.add("right", Sphere(0.1), pose=mk.transform((0.3, -0.2, 0.1)))
    return scene


def clearances(robot: Robot, q: np.ndarray) -> dict[tuple[str, str], float]:
    """Closed forms for the two balls among the two balls. The fast model's bodies are larger by 0.01 mm."""
    first = robot.pose("first", q)[:3, 3]
    second = (robot.pose("second", q) @ (0.4, 0.0, 0.0, 1.0))[:3]
    left, right = np.array([0.3, 0.2, 0.0]), np.array([0.3, -0.2, 0.1])
    found = {("first", "second"): np.linalg.norm(first - second) - 0.09 - 2e-5}
    for name, centre in (("left", left), ("right", right)):
        found["first", name] = np.linalg.norm(first - centre) - 0.15 - 1e-5
        found["second", name] = np.linalg.norm(second - centre) - 0.14 - 1e-5
    return found


def rows(robot: Robot, goal: mk.Goal, q: np.ndarray, scene: mk.Scene) -> float:
    problem = Problem(robot, goal, scene=scene)
    core = problem.core
    world = problem.collision_context.conservative.core
    return float(core.evaluate((), q, np.ascontiguousarray(q[core.variables])[None], collision=world)[0][0, 0])


def inverse(d: np.ndarray) -> np.ndarray:
    """1 / d, from 5 mm on downwards as a straight line."""
    return np.where(d < 0.005, 2.0 / 0.005 - d / 0.005**2, 1.0 / np.maximum(d, 0.005))


def goal_cases(form: str) -> tuple[mk.Goal, object]:
    if form == "clearance":
        goal = mk.Clearance(0.1, priority=HARD)
        return goal, lambda c: np.sqrt(np.sum(np.maximum(0.10001 - c, 0.0) ** 2))
    if form == "penetration":
        return mk.NoPenetration(), lambda c: max(0.0, 1e-5 - c.min())
    options = {"priority": HARD, "loss": mk.Square()}
    if form == "least":
        end = (2 * 0.05 / 0.55) ** 2
        return (
            mk.CollisionDistance(0.05, 0.5, form="least", **options),
            lambda c: (0.1 * inverse(0.05 + min(c.min(), 0.5))) ** 2 - end,
        )

    def pairs(c: np.ndarray) -> float:
        return float(np.sum(((0.05 * inverse(c)) ** 2 - (0.05 / 0.5) ** 2)[c < 0.5]))

    return mk.CollisionDistance(0.05, 0.5, **options), pairs


@pytest.mark.parametrize("form", ["clearance", "penetration", "pairs", "least"])
def test_residual_and_derivative_follow_the_formula(form: str) -> None:
    robot, scene = two_balls(), scene_of_balls()
    rng = np.random.default_rng(1)
    goal, formula = goal_cases(form)
    told = counted = 0
    for q in robot.random(rng, 60):
        q[:3] *= 0.4
        c = np.array(list(clearances(robot, q).values()))
        expected = float(formula(c))
        assert rows(robot, goal, q, scene) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        told += assert_derivative_is_exact(robot, goal, q, scene=scene)
        counted += expected > 0.0
    assert told > 50
    assert counted > 5


def test_only_named_links_and_pairs_count() -> None:
    robot, scene = two_balls(), scene_of_balls()
    rng = np.random.default_rng(2)
    kinds = [
        ({"links": "second"}, lambda pair: "second" in pair),
        ({"links": ["first"]}, lambda pair: "first" in pair),
        ({"pairs": [("first", "second")]}, lambda pair: set(pair) == {"first", "second"}),
        ({"pairs": [("left", "second")]}, lambda pair: set(pair) == {"left", "second"}),
        (
            {"pairs": [("first", "right"), ("second", "left")]},
            lambda p: set(p) in ({"first", "right"}, {"second", "left"}),
        ),
    ]
    for options, wanted in kinds:
        goal = mk.Clearance(0.3, priority=HARD, **options)
        for q in robot.random(rng, 8):
            c = np.array([value for pair, value in clearances(robot, q).items() if wanted(pair)])
            expected = np.sqrt(np.sum(np.maximum(0.30001 - c, 0.0) ** 2))
            assert rows(robot, goal, q, scene) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_derivative_of_capsules_against_a_box_is_right() -> None:
    """The nearest point of a segment is found to 0.02 mm: differences over longer steps, to a thousandth."""
    robot = carrier(Capsule(0.03, 0.2), arm=True)
    scene = mk.Scene()
    scene.add("box", Box((0.3, 0.3, 0.3)), pose=mk.transform((0.4, 0.3, 0.6)))
    problem = Problem(robot, mk.Clearance(0.5, priority=HARD), scene=scene)
    core, world = problem.core, problem.collision_context.conservative.core
    rng = np.random.default_rng(3)
    steps, near = 3e-3 * np.eye(3), 0
    for q in robot.random(rng, 40):
        r, jacobian = core.evaluate((), q, np.concatenate([q[None], q + steps, q - steps]), collision=world)
        if r[0, 0] == 0.0:
            continue
        slope = (r[1:4, 0] - r[4:, 0]) / 6e-3
        near += np.abs(jacobian[0, 0] - slope).max() < 0.02
    assert near > 30


def test_a_must_keeps_the_margin_by_exact_geometry() -> None:
    panda = mk.load_robot("panda")
    scene = mk.Scene()
    scene.add("post", mk.Cylinder(0.05, 1.0), pose=mk.transform((0.45, 0.0, 0.5)))
    scene.add("table", Box((2.0, 2.0, 0.1)), pose=mk.transform((0.0, 0.0, -0.06)))
    exact = mk.CollisionModel(panda, scene)
    rng = np.random.default_rng(4)
    goals = [mk.Position("panda_hand", None), mk.Clearance(0.03, priority=HARD, links=["panda_hand", "panda_link7"])]
    problem = mk.Problem(panda, goals, scene=scene)
    solved = 0
    for number in range(15):
        target = np.array([rng.uniform(0.3, 0.6), rng.uniform(0.15, 0.4), rng.uniform(0.2, 0.6)])
        solution = problem.solve(target, rng=number, timeout=1.0)
        if not solution.success:
            continue
        solved += 1
        per_link = exact.per_link(solution.q)
        assert min(per_link["panda_hand"], per_link["panda_link7"]) >= 0.03 - 1e-9
    assert solved >= 12


def test_soft_goals_move_away_and_the_hard_ones_hold() -> None:
    panda = mk.load_robot("panda")
    scene = mk.Scene()
    scene.add("wall", Box((2.0, 0.1, 2.0)), pose=mk.transform((0.0, 0.55, 0.5)))
    exact = mk.CollisionModel(panda, scene, self_collision=False)
    target = np.array([0.45, 0.2, 0.4])
    hard = mk.Position("panda_hand", target)
    options = {"scene": scene, "self_collision": False}
    bounds = {"evaluations": 20_000, "refine_evaluations": 20_000, "explore": True}
    plain = mk.Problem(panda, hard, **options)
    near, pairs, least = mk.Clearance(0.25), mk.CollisionDistance(0.05), mk.CollisionDistance(0.05, form="least")
    for number in range(6):
        seed = panda.random(np.random.default_rng(number))
        before = plain.solve(seed=seed, rng=number, evaluations=20_000)
        after = {}
        for goal in (near, pairs, least):
            solution = mk.Problem(panda, [hard, goal], **options).solve(seed=seed, rng=number, **bounds)
            assert solution.success
            assert np.linalg.norm(panda.pose("panda_hand", solution.q)[:3, 3] - target) < 1.1e-5
            after[goal] = solution.q
        assert exact.distance(before.q) < 0.24
        assert exact.distance(after[near]) > 0.25 - 1e-5
        assert exact.distance(after[least]) > exact.distance(before.q) + 0.02
        held = mk.Problem(panda, pairs, fixed=panda.joint_names, **options)
        costs = [held.solve(seed=q).errors["collisiondistance"]["nearness"] for q in (before.q, after[pairs])]
        assert costs[1] < 0.9 * costs[0]


def test_errors_say_what_is_wrong() -> None:
    robot, scene = two_balls(), scene_of_balls()
    with pytest.raises(GoalError, match=r"give the problem an mk\.Scene as scene="):
        mk.Problem(robot, mk.Clearance(0.1))
    with pytest.raises(UnknownNameError, match="'frist'"):
        mk.Problem(robot, mk.Clearance(0.1, links="frist"), scene=scene)
    with pytest.raises(UnknownNameError, match="'lift'"):
        mk.Problem(robot, mk.Clearance(0.1, pairs=[("first", "lift")]), scene=scene)
    with pytest.raises(GoalError, match="pairs of two names"):
        mk.Clearance(0.1, pairs=["first"])
    with pytest.raises(GoalError, match="names of links"):
        mk.Clearance(0.1, links=3)
    with pytest.raises(GoalError, match="the margin of Clearance must be positive"):
        mk.Clearance(0.0)
    with pytest.raises(GoalError, match="the scale of CollisionDistance must be positive"):
        mk.CollisionDistance(-0.1)
    with pytest.raises(GoalError, match="'pairs' or 'least'"):
        mk.CollisionDistance(form="all")
    assert repr(mk.Clearance(0.1, links=["hand"])) == "Clearance(links=('hand',), margin=0.1)"
    assert mk.Clearance(0.1).priority == SOFT
