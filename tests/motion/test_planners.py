"""Paths: the core's planners over an edge function, goals and their joints, ends that are nearly in collision."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import memetik as mk
from memetik import _core
from memetik.errors import InvalidInputError
from memetik.motion.planning.endpoint_repair import EndpointRepair, nearby_free
from memetik.motion.planning.free_space import (
    BLOCKED,
    PROVED,
    UNKNOWN,
    CheckerSpace,
    LiveSpace,
    OpenSpace,
    SceneSpace,
    space_for,
)
from memetik.motion.planning.paths import GoalSet, find_path, planner_names, shorten


class Wall:
    """A wall in joint space: joint 1 may pass zero only where joint 2 is far up."""

    def __init__(self) -> None:
        self.asked = 0

    def collides(self, q: np.ndarray) -> np.ndarray:
        self.asked += np.size(q) // np.shape(q)[-1]
        return (np.abs(q[..., 0]) < 0.2) & (q[..., 1] < 0.8)


@pytest.fixture(scope="module")
def ur5() -> mk.Robot:
    return mk.load_robot("ur5")


def ends(robot: mk.Robot) -> tuple[np.ndarray, np.ndarray]:
    start = np.zeros(robot.dof)
    start[0] = -1.0
    goal = start.copy()
    goal[0] = 1.0
    return start, goal


@pytest.mark.parametrize("planner", ["rrtconnect", "sbl", "rrtconnect-exact", "sbl-exact"])
def test_every_planner_of_the_core_goes_around_what_only_a_checker_knows(ur5, planner):
    start, goal = ends(ur5)
    space = CheckerSpace(ur5, Wall())
    found = find_path(space, start, goal, planner=planner, timeout=20.0)
    assert found.success
    assert found.planner == planner
    np.testing.assert_array_equal(found.points[[0, -1]], [start, goal])
    finer = space.finer()
    assert all(finer.edge(a, b) for a, b in pairwise(found.points))
    assert found.points[:, 1].max() > 0.8


def test_a_path_with_a_checker_depends_on_the_seed_alone(ur5):
    start, goal = ends(ur5)
    runs = [find_path(CheckerSpace(ur5, Wall()), start, goal, timeout=20.0, rng=rng).points for rng in (3, 3, 4)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert runs[0].shape != runs[2].shape or not np.array_equal(runs[0], runs[2])


def test_an_error_of_the_checker_comes_through(ur5):
    class Broken(Wall):
        def collides(self, q: np.ndarray) -> np.ndarray:
            if self.asked > 3000:
                raise RuntimeError("the checker is broken")
            return super().collides(q)

    start, goal = ends(ur5)
    with pytest.raises(RuntimeError, match="the checker is broken"):
        find_path(CheckerSpace(ur5, Broken()), start, goal, timeout=20.0)


def test_shortcuts_over_an_edge_function_keep_the_ends_and_stay_free(ur5):
    start, goal = ends(ur5)
    space = CheckerSpace(ur5, Wall())
    rough = find_path(space, start, goal, timeout=20.0, smooth=False).points
    short = shorten(space, rough, timeout=20.0)
    np.testing.assert_array_equal(short[[0, -1]], rough[[0, -1]])
    assert all(space.edge(a, b) for a, b in pairwise(short))

    def length(points: np.ndarray) -> float:
        return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())

    assert length(short) <= length(rough) + 1e-12


def test_without_time_the_reason_is_time(ur5):
    start, goal = ends(ur5)
    found = find_path(CheckerSpace(ur5, Wall()), start, goal, timeout=0.0)
    assert not found
    assert found.points is None
    assert found.reason == "no path found in time"
    assert found.tried[0] == "straight motion: blocked"


def test_joints_that_start_and_goal_leave_alone_stay(ur5):
    panda = mk.load_robot("panda")
    fingers = [k for k, name in enumerate(panda.joint_names) if "finger" in name]
    start = panda.neutral
    goal = start.copy()
    goal[0] += 1.0

    class Block:
        def collides(self, q: np.ndarray) -> np.ndarray:
            return (np.abs(q[..., 0] - start[0] - 0.5) < 0.1) & (np.abs(q[..., 3] - start[3]) < 0.2)

    found = find_path(CheckerSpace(panda, Block()), start, goal, timeout=20.0)
    assert found.success
    assert (found.points[:, fingers] == start[fingers]).all()


def test_only_the_named_joints_of_a_goal_set_move(ur5):
    start, goal = ends(ur5)
    names = ur5.joint_names
    goals = GoalSet(goal, joints=[names[1]])
    found = find_path(CheckerSpace(ur5, Wall()), start, goals, timeout=20.0)
    assert found.success
    assert (found.points[:, 2:] == start[2:]).all()
    assert np.ptp(found.points[:, 1]) > 0.0


def test_further_goals_are_asked_for_until_one_is_reached(ur5):
    start, goal = ends(ur5)
    reachable = start + 0.3 * np.array([-1.0, 0, 1, 0, 0, 0])
    asked: list[int] = []

    class Halves(Wall):
        def collides(self, q: np.ndarray) -> np.ndarray:
            return np.abs(q[..., 0]) < 0.2

    def more(attempt: int) -> np.ndarray:
        asked.append(attempt)
        return reachable[None]

    found = find_path(CheckerSpace(ur5, Halves()), start, GoalSet(goal, more=more), timeout=30.0)
    assert found.success
    assert asked[0] == 1
    np.testing.assert_array_equal(found.points[-1], reachable)


def test_the_names_of_planners_are_those_of_the_core_with_and_without_exact_geometry():
    names = planner_names()
    assert set(_core.planner_names()) == {"rrtconnect", "sbl"}
    assert {"rrtconnect", "sbl", "rrtconnect-exact", "sbl-exact"} <= set(names)


def test_an_unknown_planner_and_a_bad_request_are_refused(ur5):
    start, goal = ends(ur5)
    with pytest.raises(InvalidInputError, match="rrtconnect"):
        find_path(OpenSpace(ur5), start, goal, planner="rrtconect")
    with pytest.raises(InvalidInputError, match="one start"):
        find_path(OpenSpace(ur5), np.stack([start, goal]), goal)
    limits = {"lower": ur5.lower, "upper": ur5.upper, "weights": np.ones(6)}
    with pytest.raises(ValueError, match="start must hold numbers that are finite"):
        _core.search_path(bool, bool, bool, _core.PathRequest(start=np.full(6, np.nan), goals=goal, **limits))
    short = _core.PathRequest(start=start, goals=goal, **{**limits, "upper": np.ones(5)})
    with pytest.raises(ValueError, match="upper must hold 6 numbers"):
        _core.search_path(bool, bool, bool, short)


def near_wall(robot: mk.Robot, gap: float) -> tuple[SceneSpace, np.ndarray]:
    """A configuration whose tool is `gap` metres in front of a wall."""
    q = robot.state("ready") if "ready" in robot.named_states else np.array([0.0, -1.2, 1.4, -1.7, -1.5, 0.0])
    scene = mk.Scene()
    clear = space_for(robot, scene).collision_context.exact
    tool = robot.pose(robot.tip, q)[:3, 3]

    def at(distance: float) -> np.ndarray:
        return mk.transform(tool + np.array([distance, 0.0, 0.0]))

    scene.add_box("wall", (0.02, 1.0, 1.0), at(0.5))
    low, high = 0.0, 0.5
    for _ in range(40):  # move the wall until the gap is left
        middle = 0.5 * (low + high)
        scene.move("wall", at(middle))
        low, high = (middle, high) if float(clear.distance(q)) < gap else (low, middle)
    scene.move("wall", at(high))
    space = space_for(robot, scene)
    assert isinstance(space, SceneSpace)
    return space, q


def test_an_end_a_hair_from_a_wall_is_replaced_by_one_that_is_clear(ur5):
    pytest.importorskip("coal")
    space, q = near_wall(ur5, 2e-4)
    assert space.is_free(q)
    beside = nearby_free(space, q)
    assert beside is not None
    assert space.clearance(beside, 0.01) > 2e-3
    assert space.is_escape_free(q, beside)
    samples = q + np.linspace(0.0, 1.0, 500)[:, None] * (beside - q)
    assert not space.collision_context.exact.collides(samples).any()


def test_a_repaired_path_begins_and_ends_where_it_was_asked_to(ur5):
    pytest.importorskip("coal")
    space, q = near_wall(ur5, 2e-4)
    away = q - np.array([0.8, 0.2, 0.0, 0.0, 0.0, 0.0])
    from memetik.motion.planning.paths import PathProblem

    weights = np.ones(6)
    problem = PathProblem(space, q, np.stack([away, q]), ur5.lower, ur5.upper, weights)
    repair = EndpointRepair(problem)
    assert repair.failure is None
    assert not np.array_equal(repair.problem.start, q)
    points, goal = repair.completed(np.stack([repair.problem.start, repair.problem.goals[-1]]), 1)
    np.testing.assert_array_equal(points[0], q)
    np.testing.assert_array_equal(points[-1], q)
    assert goal == 1


def test_a_live_space_is_kept_until_the_scene_changes(ur5):
    pytest.importorskip("coal")
    scene = mk.Scene()
    scene.add_sphere("ball", 0.1, mk.transform((0.6, 0.0, 0.6)))
    live = LiveSpace(ur5, scene)
    first = live.current
    assert live.current is first
    scene.move("ball", mk.transform((0.6, 0.2, 0.6)))
    assert live.current is not first
    checked = LiveSpace(ur5, Wall())
    assert checked.current is checked.current


def test_a_checker_blocks_what_collides_and_proves_what_is_asked_densely_enough(ur5):
    space = CheckerSpace(ur5, Wall())
    q = np.zeros((3, 6))
    q[1:, 0] = 1.0
    spread = np.full((3, 6), 1e-6)
    spread[2] = 0.1
    assert space.states(q, spread).tolist() == [BLOCKED, PROVED, UNKNOWN]


def test_without_a_proved_motion_out_of_it_an_end_is_not_replaced(ur5, monkeypatch):
    pytest.importorskip("coal")
    space, q = near_wall(ur5, 2e-4)
    monkeypatch.setattr(space, "is_escape_free", lambda a, b: False)
    assert nearby_free(space, q) is None
