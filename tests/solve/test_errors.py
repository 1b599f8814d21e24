"""Wrong input is an error of memetik's own that names what is wrong and what would be right."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.errors import GoalError, InvalidInputError, MemetikError, UnknownNameError
from memetik.goals import AlignAxis, JointValue, Pose, Position
from memetik.robot.robot import Robot
from memetik.solve.problem import Problem, solve


@pytest.fixture(scope="module")
def panda() -> Robot:
    return mk.load_robot("panda")


@pytest.fixture(scope="module")
def problem(panda: Robot) -> Problem:
    return Problem(panda, [Pose("panda_hand")])


@pytest.fixture(scope="module")
def two(panda: Robot) -> Problem:
    return Problem(panda, [Position("panda_hand", name="place"), AlignAxis("panda_hand", name="axis")])


@pytest.fixture
def target(panda: Robot) -> np.ndarray:
    return panda.pose("panda_hand", panda.random(0))


def test_values_that_are_not_finite_are_named(problem: Problem, panda: Robot, target: np.ndarray):
    for bad in (np.nan, np.inf):
        spoilt = target.copy()
        spoilt[1, 3] = bad
        with pytest.raises(InvalidInputError, match=rf"pose_panda_hand.*{bad} at index \(1, 3\)"):
            problem.solve(spoilt)
        seed = panda.neutral.copy()
        seed[2] = bad
        with pytest.raises(InvalidInputError, match="panda_joint3"):
            problem.solve(target, seed=seed)
        with pytest.raises(InvalidInputError, match="panda_joint3"):
            problem.solve(np.array([target, target]), seed=np.array([panda.neutral, seed]))
        with pytest.raises(GoalError, match=str(bad)):
            Position("panda_hand", (0.0, bad, 0.0))


def test_the_element_of_a_batch_that_is_not_finite_is_named(problem: Problem, target: np.ndarray):
    targets = np.repeat(target[None], 5, axis=0)
    targets[3, 0, 0] = np.nan
    with pytest.raises(InvalidInputError, match=r"\(3, 0, 0\)"):
        problem.solve(targets)


@pytest.mark.parametrize("shape", [(3,), (3, 3), (4, 3), (2, 3, 4, 4), (16,)])
def test_targets_of_the_wrong_shape_are_told(problem: Problem, shape: tuple[int, ...]):
    with pytest.raises(InvalidInputError, match=r"pose_panda_hand"):
        problem.solve(np.zeros(shape))


@pytest.mark.parametrize("shape", [(7,), (9,), (2, 7), (1, 1, 8), ()])
def test_seeds_of_the_wrong_shape_are_told(problem: Problem, target: np.ndarray, shape: tuple[int, ...]):
    with pytest.raises(InvalidInputError, match="8"):
        problem.solve(target, seed=np.zeros(shape))


def test_a_number_as_seed_asks_for_rng(problem: Problem, target: np.ndarray):
    for number in (3, np.int64(3)):
        with pytest.raises(InvalidInputError, match=r"did you mean rng=3\?"):
            problem.solve(target, seed=number)


def test_batches_of_different_lengths_are_told(problem: Problem, panda: Robot, target: np.ndarray):
    with pytest.raises(InvalidInputError, match=r"\[2, 3\]"):
        problem.solve(np.repeat(target[None], 3, axis=0), seed=np.zeros((2, panda.dof)))


def test_missing_superfluous_and_unknown_targets_are_told(two: Problem):
    with pytest.raises(InvalidInputError, match="'place', 'axis'"):
        two.solve((0.3, 0.0, 0.5))
    with pytest.raises(InvalidInputError, match="3 were given"):
        two.solve((0.3, 0.0, 0.5), (0, 0, 1), 3)
    with pytest.raises(InvalidInputError, match="'axis'"):
        two.solve({"place": (0.3, 0.0, 0.5)})
    with pytest.raises(UnknownNameError, match="did you mean 'place'"):
        two.solve({"plac": (0.3, 0.0, 0.5), "axis": (0, 0, 1)})


def test_targets_can_be_named(two: Problem):
    named = two.solve({"axis": (0, 0, -1), "place": (0.4, 0.0, 0.5)}, evaluations=4000)
    ordered = two.solve((0.4, 0.0, 0.5), (0, 0, -1), evaluations=4000)
    assert named.success
    np.testing.assert_array_equal(named.q, ordered.q)


def test_a_direction_of_no_length_is_told(two: Problem):
    with pytest.raises(InvalidInputError, match="axis"):
        two.solve((0.4, 0.0, 0.5), (0, 0, 0))


def test_a_rotation_a_little_off_is_mended_and_one_far_off_is_an_error(problem: Problem, target: np.ndarray):
    rounded = target.copy()
    rounded[:3, :3] = np.round(rounded[:3, :3], 3)
    solution = problem.solve(rounded)
    assert solution.success
    scaled = target.copy()
    scaled[:3, :3] *= 1.1
    with pytest.raises(InvalidInputError, match="orthonormal"):
        problem.solve(scaled)
    mirrored = target.copy()
    mirrored[:3, 0] *= -1.0
    with pytest.raises(InvalidInputError, match="mirror"):
        problem.solve(mirrored)
    with pytest.raises(InvalidInputError, match="bottom row"):
        problem.solve(np.ones((4, 4)))


def test_unknown_names_come_with_the_nearest_ones(panda: Robot):
    with pytest.raises(UnknownNameError, match="did you mean 'panda_hand'"):
        Problem(panda, [Pose("panda_hnd")])
    with pytest.raises(UnknownNameError, match="did you mean 'panda_link0'"):
        Problem(panda, [Pose("panda_hand", relative_to="panda_lnk0")])
    with pytest.raises(UnknownNameError, match="panda_joint"):
        Problem(panda, [JointValue("panda_jont1", 0.0)])
    with pytest.raises(UnknownNameError, match="panda_joint"):
        Problem(panda, [Pose("panda_hand")], fixed=["panda_jont1"])


def test_things_that_are_no_goals_or_robots_are_told(panda: Robot):
    with pytest.raises(GoalError, match="str"):
        Problem(panda, ["panda_hand"])
    with pytest.raises(GoalError, match="at least one"):
        Problem(panda, [])
    with pytest.raises(InvalidInputError, match="load_robot"):
        Problem("panda", [Pose("panda_hand")])
    with pytest.raises(GoalError, match="twice"):
        Problem(panda, [Pose("panda_hand", name="a"), Position("panda_hand", name="a")])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"timeout": -1.0}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": "soon"}, "timeout"),
        ({"evaluations": -5}, "evaluations"),
        ({"evaluations": 10.5}, "evaluations"),
        ({"attempts": -1}, "attempts"),
        ({"threads": 0}, "threads"),
        ({"threads": 1.5}, "threads"),
        ({"rng": -1}, "rng"),
        ({"rng": "x"}, "rng"),
        ({"method": "memetc"}, "memetic"),
        ({"refine": -1.0}, "refine"),
        ({"base": np.zeros((3, 3))}, "base"),
        ({"base": np.full((4, 4), np.nan)}, "base"),
    ],
)
def test_options_out_of_range_are_told(problem: Problem, target: np.ndarray, options: dict, named: str):
    with pytest.raises(InvalidInputError, match=named):
        problem.solve(target, **options)


def test_a_joint_held_outside_its_limits_is_told(panda: Robot):
    with pytest.raises(InvalidInputError, match=r"panda_joint4.*limits"):
        Problem(panda, [Pose("panda_hand")], fixed={"panda_joint4": 1.0})
    with pytest.raises(InvalidInputError, match="panda_joint4"):
        Problem(panda, [Pose("panda_hand")], fixed={"panda_joint4": float("nan")})


def test_closed_problems_take_no_targets(panda: Robot, target: np.ndarray):
    with pytest.raises(InvalidInputError, match="none"):
        Problem(panda, [Pose("panda_hand", target)]).solve(target)
    assert solve(panda, [Pose("panda_hand", target)]).success


def test_every_error_is_one_of_memetiks(problem: Problem):
    for given in ("nonsense", object(), [[1, 2], [3]], None, {"a": 1}, {}):
        with pytest.raises(MemetikError):
            problem.solve(given)
