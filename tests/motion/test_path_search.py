"""Searching for paths: costs in closed form, which goal is chosen, what planners are told, and OMPL's beside ours."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.planning.endpoint_repair import NEAR, EndpointRepair
from memetik.motion.planning.free_space import CheckerSpace, OpenSpace, SceneSpace, space_for
from memetik.motion.planning.goal_configurations import DISTINCT, find_configurations
from memetik.motion.planning.ompl_planners import ompl_names, ompl_planner
from memetik.motion.planning.paths import (
    GoalSet,
    PathOptions,
    PathProblem,
    Share,
    find_path,
    path_cost,
    planner_names,
    shorten,
)

A, B = np.array([-1.0, 0.0]), np.array([1.0, 0.0])


class Gate:
    """A wall at x = 0 with a gap above y = 0.5."""

    def __init__(self, gap: float = 0.5):
        self.gap, self.asked = gap, 0

    def collides(self, q):
        q = np.asarray(q)
        self.asked += q.size // 2
        return (np.abs(q[..., 0]) < 0.1) & (q[..., 1] < self.gap)


def length(points: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def test_a_path_costs_the_time_of_its_slowest_joint_in_every_segment(gantry):
    points = np.array([[0.0, 0.0], [0.5, 0.2], [0.5, 1.2], [0.4, 1.2]])
    assert path_cost(gantry, points) == pytest.approx(0.5 + 1.0 + 0.1)
    slow = gantry.with_limits({"y": {"velocity": 0.1}})
    assert path_cost(slow, points) == pytest.approx(2.0 + 10.0 + 0.1)
    assert path_cost(gantry, points[:1]) == 0.0


def test_a_free_straight_motion_is_the_path(gantry):
    found = find_path(OpenSpace(gantry), A, B)
    assert found
    assert found.planner == "straight"
    np.testing.assert_array_equal(found.points, [A, B])
    assert (found.goal, found.reason) == (0, "solved")
    assert found.tried == ["straight motion: free"]


def test_of_free_straight_motions_the_quickest_is_taken_by_time_and_not_by_distance(gantry):
    """Over (1, 1) both slides move at once, so that it is nearer in time than 1.2 along one of them."""
    goals = np.array([[1.2, 0.0], [1.0, 1.0], [1.9, 0.0]])
    found = find_path(OpenSpace(gantry), np.zeros(2), goals)
    assert found.goal == 1
    slow = gantry.with_limits({"y": {"velocity": 0.5}})
    assert find_path(OpenSpace(slow), np.zeros(2), goals).goal == 0


def test_a_blocked_goal_is_passed_over_for_one_that_is_straight_ahead(gantry):
    found = find_path(CheckerSpace(gantry, Gate()), A, np.array([[0.3, 0.0], [-1.9, 1.0]]))
    assert found.goal == 1
    assert found.planner == "straight"


@pytest.mark.parametrize("planner", ["rrtconnect", "sbl"])
@pytest.mark.parametrize("rng", range(3))
def test_a_path_through_the_gap_is_found_and_shortened_nearly_to_the_shortest(gantry, planner, rng):
    gate = Gate()
    space = CheckerSpace(gantry, gate)
    found = find_path(space, A, B, planner=planner, rng=rng, timeout=30.0)
    assert found.success
    np.testing.assert_array_equal(found.points[[0, -1]], [A, B])
    for a, b in pairwise(found.points):
        assert not gate.collides(a + np.linspace(0.0, 1.0, 500)[:, None] * (b - a)).any()
    shortest = 2.0 * np.hypot(0.9, 0.5) + 0.2
    assert shortest - 1e-6 <= length(found.points) < 1.25 * shortest
    assert found.checks > 0
    assert found.time > 0.0


def test_a_path_that_is_not_to_be_smoothed_is_longer_or_as_long(gantry):
    space = CheckerSpace(gantry, Gate())
    rough = find_path(space, A, B, smooth=False, timeout=30.0)
    smooth = find_path(space, A, B, timeout=30.0)
    assert length(smooth.points) <= length(rough.points) + 1e-9


def test_the_box_of_the_search_is_that_of_the_limits(gantry):
    """The gap is beyond the limits of the second slide."""
    low = gantry.with_limits({"y": (-0.4, 0.4)})
    found = find_path(CheckerSpace(low, Gate()), A, B, timeout=0.1)
    assert not found
    assert found.reason == "no path found in time"


def test_the_first_goal_that_is_reached_is_kept_if_that_is_asked_for(gantry):
    goals = np.array([B, [1.0, 0.9]])
    space = CheckerSpace(gantry, Gate())
    first = find_path(space, A, goals, choose="first", timeout=30.0)
    best = find_path(space, A, goals, choose="best", timeout=30.0)
    assert first.success
    assert path_cost(gantry, best.points) <= path_cost(gantry, first.points) + 1e-9
    np.testing.assert_array_equal(best.points[-1], goals[best.goal])
    np.testing.assert_array_equal(first.points[-1], goals[first.goal])


def test_planners_are_tried_in_turn_and_named(gantry):
    class Walled(Gate):
        def collides(self, q):
            return super().collides(q) | (np.abs(np.asarray(q)[..., 0]) < 0.1)

    found = find_path(CheckerSpace(gantry, Walled()), A, B, planner=["rrtconnect", "sbl"], timeout=1.0)
    lines = found.tried
    assert any(line.startswith("rrtconnect, try 1") for line in lines)
    assert any(line.startswith("sbl, try 1") for line in lines)
    assert any("tries in all, 1 goals" in line for line in lines)


def test_a_path_that_a_closer_look_refuses_is_searched_again(gantry):
    """A foil thinner than the checker is first asked for: the finer look finds it, and the path goes around."""

    class Foil:
        def collides(self, q):
            q = np.asarray(q)
            return (np.abs(q[..., 0] - 0.0013) < 7e-4) & (q[..., 1] < 0.5)

    found = find_path(CheckerSpace(gantry, Foil()), A, B, timeout=60.0)
    assert found.success
    for a, b in pairwise(found.points):
        assert not Foil().collides(a + np.linspace(0.0, 1.0, 20_000)[:, None] * (b - a)).any()
    assert any("free at samples only, and replaced" in line for line in found.tried)


@pytest.mark.parametrize("goals", [np.zeros((0, 2)), np.full((1, 2), np.nan), np.zeros((1, 3))])
def test_goals_that_are_none_are_refused(gantry, goals):
    with pytest.raises(mk.MemetikError):
        find_path(OpenSpace(gantry), A, goals)


def test_joints_without_limits_are_searched_beyond_start_and_goals():
    turning = mk.robot_from_dh([(0.0, 0.5, 0.0, 0.0), (0.0, 0.5, 0.0, 0.0)])
    seen = []

    class Sees:
        def collides(self, q):
            rows = np.atleast_2d(q)
            seen.append(rows)
            blocked = (np.abs(rows[:, 0]) < 0.1) & (rows[:, 1] < 0.5)
            return blocked if np.ndim(q) > 1 else bool(blocked[0])

    found = find_path(CheckerSpace(turning, Sees()), A, B, timeout=30.0)
    assert found.success
    rows = np.concatenate(seen)
    assert np.abs(rows[:, 0]).max() <= 1.0 + np.pi + 1e-9


def test_shortcuts_are_taken_until_none_is_left(gantry):
    zigzag = np.array([[0.0, 0.0], [0.5, 0.4], [0.1, -0.4], [0.9, 0.5], [1.0, 0.0]])
    short = shorten(OpenSpace(gantry), zigzag, timeout=30.0)
    np.testing.assert_array_equal(short[[0, -1]], zigzag[[0, -1]])
    assert length(short) < 1.05
    np.testing.assert_array_equal(shorten(OpenSpace(gantry), zigzag, timeout=30.0), short)


def test_shortcuts_never_pass_what_is_in_the_way(gantry):
    gate = Gate()
    around = np.array([A, [-0.5, 1.5], [0.5, 1.5], B])
    short = shorten(CheckerSpace(gantry, gate), around, timeout=30.0)
    assert length(short) < length(around)
    for a, b in pairwise(short):
        assert not gate.collides(a + np.linspace(0.0, 1.0, 1000)[:, None] * (b - a)).any()


def test_without_patience_or_checks_a_path_stays_as_it_is(gantry):
    around = np.array([A, [-0.5, 1.5], [0.5, 1.5], B])
    gate = Gate()
    kept = shorten(CheckerSpace(gantry, gate), around, timeout=30.0, checks=0)
    assert length(kept) <= length(around) + 1e-12
    np.testing.assert_array_equal(shorten(OpenSpace(gantry), around[:2]), around[:2])


def near_post(gantry, gap: float) -> tuple[SceneSpace, np.ndarray]:
    scene = mk.Scene()
    scene.add_sphere("post", 0.1, mk.transform((0.0, 0.0, 0.0)))
    space = space_for(gantry, scene)
    assert isinstance(space, SceneSpace)
    return space, np.array([-0.15 - gap, 0.0])


def problem_of(space, start, *goals) -> PathProblem:
    robot = space.robot
    return PathProblem(space, np.array(start), np.array(goals), robot.lower, robot.upper, np.ones(2))


@pytest.mark.parametrize(("gap", "replaced"), [(0.5 * NEAR, True), (4.0 * NEAR, False)])
def test_only_an_end_that_is_near_to_something_is_replaced(gantry, gap, replaced):
    pytest.importorskip("coal")
    space, near = near_post(gantry, gap)
    repair = EndpointRepair(problem_of(space, near, [1.0, 0.0], near))
    assert repair.failure is None
    assert np.array_equal(repair.problem.start, near) is not replaced
    assert np.array_equal(repair.problem.goals[1], near) is not replaced
    np.testing.assert_array_equal(repair.problem.goals[0], [1.0, 0.0])
    assert any("nearly in collision" in line for line in repair.tried) is replaced
    points, number = repair.completed(np.stack([repair.problem.start, repair.problem.goals[1]]), 1)
    assert len(points) == (4 if replaced else 2)
    np.testing.assert_array_equal(points[[0, -1]], [near, near])
    assert number == 1


def test_further_goals_keep_their_numbers(gantry):
    pytest.importorskip("coal")
    space, near = near_post(gantry, 0.2 * NEAR)
    repair = EndpointRepair(problem_of(space, [-1.0, 0.0], [1.0, 0.0]))
    repair.add(np.array([near, [1.0, 1.0]]))
    assert len(repair.given.goals) == 3
    assert len(repair.problem.goals) == 3
    points, number = repair.completed(np.stack([repair.problem.start, repair.problem.goals[1]]), 1)
    assert number == 1
    np.testing.assert_array_equal(points[-1], near)
    points, number = repair.completed(np.stack([repair.problem.start, repair.problem.goals[2]]), 2)
    assert (len(points), number) == (2, 2)


def test_a_start_in_collision_cannot_be_left(gantry):
    pytest.importorskip("coal")
    space, _ = near_post(gantry, 0.0)
    repair = EndpointRepair(problem_of(space, [0.0, 0.0], [1.0, 0.0]))
    assert repair.failure == "the start cannot be left"
    goals = EndpointRepair(problem_of(space, [-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]))
    assert goals.failure is None
    assert len(goals.problem.goals) == 1
    assert any("goal 1: no motion out of it" in line for line in goals.tried)
    assert goals.completed(np.stack([[-1.0, 0.0], [1.0, 0.0]]), 0)[1] == 1


def test_a_path_to_a_goal_that_touches_says_that_it_cannot_be_left(gantry):
    pytest.importorskip("coal")
    space, _ = near_post(gantry, 0.0)
    found = find_path(space, [-1.0, 0.0], [[0.0, 0.0]], timeout=0.5)
    assert not found.success
    assert found.reason == "no goal can be left"


def test_without_a_scene_nothing_is_repaired(gantry):
    problem = problem_of(OpenSpace(gantry), [-1.0, 0.0], [1.0, 0.0])
    repair = EndpointRepair(problem)
    np.testing.assert_array_equal(repair.problem.start, problem.start)
    np.testing.assert_array_equal(repair.problem.goals, problem.goals)
    repair.add(np.array([[0.0, 1.0]]))
    assert repair.completed(np.zeros((2, 2)), 1)[1] == 1


@pytest.mark.parametrize("name", ["RRTConnect", "rrtconnect", "KPIECE1"])
def test_planners_of_ompl_go_through_the_gap_whatever_the_case_of_their_names(gantry, name):
    pytest.importorskip("ompl")
    gate = Gate()
    found = find_path(CheckerSpace(gantry, gate), A, B, planner=f"ompl:{name}", timeout=30.0)
    assert found.success
    np.testing.assert_array_equal(found.points[[0, -1]], [A, B])
    for a, b in pairwise(found.points):
        assert not gate.collides(a + np.linspace(0.0, 1.0, 500)[:, None] * (b - a)).any()


def test_a_planner_of_ompl_says_which_goal_it_reached_and_moves_no_joint_that_stays(gantry):
    pytest.importorskip("ompl")
    goals = np.array([[0.0, 0.0], B])  # the first is in the wall
    problem = PathProblem(
        CheckerSpace(gantry, Gate(gap=-0.5)), A, goals, np.array([-2.0, 0.0]), np.array([2.0, 0.0]), np.ones(2)
    )
    found = ompl_planner("RRTConnect")(problem, Share(10.0), PathOptions(time.perf_counter() + 10.0))
    assert found.success
    assert found.goal in (0, 1)
    np.testing.assert_array_equal(found.points[-1], goals[found.goal])
    assert (found.points[:, 1] == 0.0).all()


def test_planners_of_ompl_are_listed_and_unknown_ones_refused():
    pytest.importorskip("ompl")
    names = ompl_names()
    assert {"RRTConnect", "PRM", "BITstar"} <= set(names)
    assert "SimpleSetup" not in names
    assert {f"ompl:{name}" for name in names} <= set(planner_names())
    with pytest.raises(InvalidInputError, match=r"no planner 'RRTConect' here; .*RRTConnect"):
        ompl_planner("RRTConect")


def test_a_planner_of_ompl_that_finds_nothing_says_so(gantry):
    pytest.importorskip("ompl")

    class Walled:
        def collides(self, q):
            return np.abs(np.asarray(q)[..., 0]) < 0.1

    problem = problem_of(CheckerSpace(gantry, Walled()), A, B)
    found = ompl_planner("RRTConnect")(problem, Share(0.05), PathOptions(time.perf_counter() + 0.05))
    assert not found.success
    assert found.points is None
    assert found.reason == "no path found in time"


def test_configurations_that_meet_the_goals_differ_and_the_nearest_comes_first(elbow):
    """The hand's place leaves two: elbow up and elbow down."""
    q = np.array([0.4, 1.0])
    place = elbow.pose("hand", q)[:3, 3]
    problem = mk.Problem(elbow, [mk.Position("hand")])
    found = find_configurations(problem, place, start=q + 0.05, timeout=1.0)
    assert found
    assert found.reason == "solved"
    assert len(found.configurations) == 2
    np.testing.assert_allclose(found.configurations[0], q, atol=1e-3)
    for row in found.configurations:
        np.testing.assert_allclose(elbow.pose("hand", row)[:3, 3], place, atol=1e-4)
    assert np.abs(np.diff(found.configurations, axis=0)).max() > DISTINCT
    assert "2 configurations" in found.tried


def test_one_configuration_is_enough_where_one_is_asked_for(elbow):
    place = elbow.pose("hand", np.array([0.4, 1.0]))[:3, 3]
    problem = mk.Problem(elbow, [mk.Position("hand")])
    assert len(find_configurations(problem, place, start=np.zeros(2), most=1, timeout=1.0).configurations) == 1


def test_without_a_configuration_the_miss_is_told(elbow):
    problem = mk.Problem(elbow, [mk.Position("hand")])
    found = find_configurations(problem, np.array([1.6, 0.0, 0.0]), start=np.array([0.5, 0.5]), timeout=0.2)
    assert not found
    assert found.configurations.shape == (0, 2)
    assert found.reason == "out of reach"
    assert "misses by 0.1" in found.detail


def test_a_goal_set_with_further_goals_stops_asking_when_one_is_reached(gantry):
    asked = []

    def more(attempt: int) -> np.ndarray:
        asked.append(attempt)
        return np.array([[-1.5, 0.5 * attempt]])

    walled = CheckerSpace(gantry, Gate(gap=9.0))
    found = find_path(walled, A, GoalSet(B, more=more), timeout=30.0)
    assert found.success
    assert asked == [1]
    assert found.goal == 1
    np.testing.assert_array_equal(found.points[-1], [-1.5, 0.5])
