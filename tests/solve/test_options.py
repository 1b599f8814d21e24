"""Options are checked once, alike for one target and for many; those of earlier solves are known."""

import pickle

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.solve.problem import MOST_KNOWN


@pytest.fixture(scope="module")
def robot():
    return mk.load_robot("panda")


@pytest.fixture(scope="module")
def problem(robot):
    return mk.Problem(robot, mk.Pose(robot.tip))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": "al"}, "did you mean 'all'"),
        ({"select": "neares"}, "did you mean 'nearest'"),
        ({"threads": 0}, "threads is a whole number"),
        ({"timeout": -1.0}, "timeout is in seconds"),
        ({"evaluations": 1.5}, "evaluations is a whole number"),
        ({"refine": -1.0}, "refine is in seconds"),
        ({"attempts": -2}, "attempts is a whole number"),
        ({"method": "memetc"}, "did you mean 'memetic'"),
        ({"method": "lma", "trace": True}, "trace= is kept by"),
        ({"select": "nearest", "trace": True}, "trace= is kept of one search"),
        ({"rng": -1}, "rng is a whole number"),
    ],
)
def test_a_wrong_option_is_refused_for_one_target_as_for_many(robot, problem, options, message):
    target = robot.pose(robot.tip, robot.neutral)
    for given in (target, target[None]):
        with pytest.raises(InvalidInputError, match=message):
            problem.solve(given, **options)


def test_an_unknown_option_suggests_the_right_one(robot, problem):
    with pytest.raises(TypeError, match="did you mean 'timeout'"):
        problem.solve(robot.pose(robot.tip, robot.neutral), timeot=1.0)


def test_all_solutions_of_one_target_are_not_a_batch(robot, problem):
    target = robot.pose(robot.tip, robot.neutral)
    with pytest.raises(InvalidInputError, match="solve_all"):
        problem.solve(target, keep="all")
    with pytest.raises(InvalidInputError, match="of many elements"):
        problem.solve_batch(target)
    with pytest.raises(InvalidInputError, match="keep='all'"):
        problem.solve_all(target[None])


def test_all_solutions_of_each_element_are_those_of_its_own(robot, problem):
    targets = robot.pose(robot.tip, robot.neutral + np.array([[0.2], [0.1]]))
    for k, found in enumerate(problem.solve_batch(targets, evaluations=5_000, keep="all")):
        alone = problem.solve_all(targets[k], evaluations=5_000, rng=(0, k))
        np.testing.assert_array_equal([s.q for s in found], [s.q for s in alone])


def test_a_full_table_of_options_goes_on_learning(robot):
    problem, target = mk.Problem(robot, mk.Pose(robot.tip)), robot.pose(robot.tip, robot.neutral)
    for evaluations in range(1000, 1002 + MOST_KNOWN):
        first = problem.solve(target, evaluations=evaluations)
        assert (("evaluations", evaluations),) in problem._warm
        np.testing.assert_array_equal(problem.solve(target, evaluations=evaluations).q, first.q)


def test_a_pickled_solution_keeps_every_field(robot):
    problem = mk.Problem(robot, [mk.Pose(robot.tip), mk.CenterJoints()])
    target, seed = robot.pose(robot.tip, robot.neutral + 0.2), robot.upper + 0.1
    solution = problem.solve(target, seed=seed, evaluations=2_000, trace=True)
    again = pickle.loads(pickle.dumps(solution))
    for name in ("success", "joints", "errors", "cost", "preference_cost", "time", "evaluations", "restarts", "clipped",
                 "reason", "statistics", "profile"):  # fmt: skip
        assert getattr(again, name) == getattr(solution, name), name
    assert solution.clipped
    assert len(solution.trace) == len(again.trace) > 0
    for (island, variables, cost), (island_again, variables_again, cost_again) in zip(
        solution.trace, again.trace, strict=True
    ):
        assert island == island_again
        np.testing.assert_array_equal(variables, variables_again)
        np.testing.assert_array_equal(cost, cost_again)


def test_a_problem_is_written_with_its_scene_and_read_back(robot, tmp_path):
    scene = mk.Scene()
    scene.add("wall", mk.Box((0.1, 2.0, 2.0)), mk.transform((0.9, 0.0, 0.5)))
    goal = mk.Position(robot.tip, (0.4, 0.1, 0.5))
    mk.save_problem(mk.Problem(robot, goal, scene=scene, fixed={"panda_joint1": 0.1}), tmp_path / "reach.json")
    again = mk.load_problem(tmp_path / "reach.json")
    assert again.robot == "panda"
    assert again.fixed == {"panda_joint1": 0.1}
    problem = again.compile(mk.load_robot(again.robot))
    assert [item.name for item in problem.scene] == ["wall"]
    assert problem.solve(evaluations=20_000).success


def test_a_robot_that_cannot_be_loaded_again_is_not_written(robot, tmp_path):
    moved = robot.at(mk.transform((1.0, 0.0, 0.0)))
    with pytest.raises(InvalidInputError, match="load_robot gives no robot like this"):
        mk.save_problem(mk.Problem(moved, mk.Position(robot.tip)), tmp_path / "reach.json")


@pytest.mark.parametrize("most", [float("nan"), float("inf"), 2.5, -1, "3", None, [1], 2**40])
def test_the_number_of_solutions_is_a_whole_number(most):
    robot = mk.load_robot("panda")
    problem = mk.Problem(robot, [mk.Pose("panda_hand", robot.pose("panda_hand", robot.neutral))])
    with pytest.raises(mk.InvalidInputError, match="most is a whole number"):
        problem.solve_all(most=most)


@pytest.mark.parametrize("distinct", [float("nan"), float("inf"), -1.0, "3", None, [1]])
def test_the_distance_of_distinct_solutions_is_a_number(distinct):
    robot = mk.load_robot("panda")
    problem = mk.Problem(robot, [mk.Pose("panda_hand", robot.pose("panda_hand", robot.neutral))])
    with pytest.raises(mk.InvalidInputError, match="distinct is in radians or metres"):
        problem.solve_all(distinct=distinct)
