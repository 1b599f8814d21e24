"""Solving in scenes: openings, batches, margins, approximate answers, preparation."""

import math

import numpy as np
import pytest

import memetik as mk
from memetik.bench.scenarios.surroundings import MOVED_TANK_POSE, allow_touch, make_surroundings
from memetik.collision.allowed_pairs import pairs_always_within
from memetik.errors import GoalError, InvalidInputError
from memetik.geometry.transforms import transform
from memetik.goals.pose import Pose

pytest.importorskip("coal")


@pytest.fixture(scope="module")
def elise() -> mk.Robot:
    return mk.load_robot("elise")


def tank(elise: mk.Robot, name: str = "HydrogenTankSmall", **options):
    surroundings = make_surroundings(name, count=60, **options)
    scene = allow_touch(surroundings, ["tip"])
    return mk.Problem(elise, [Pose("tip")], scene=scene), surroundings


def reaches(problem: mk.Problem, q: np.ndarray, target: np.ndarray) -> bool:
    """By exact kinematics and exact geometry."""
    pose = problem.robot.pose(problem.robot.tip, q)
    near = np.linalg.norm(pose[:3, 3] - target[:3, 3]) <= 1.001e-5
    angle = math.acos(min(1.0, 0.5 * (np.trace(pose[:3, :3].T @ target[:3, :3]) - 1.0)))
    return bool(near and angle < 2e-5 and not mk.CollisionModel(problem.robot, problem.scene).collides(q))


@pytest.mark.parametrize("pose", [None, MOVED_TANK_POSE])
def test_the_mouth_of_a_tank_is_found_without_being_pointed_out(elise, pose):
    problem, surroundings = tank(elise, pose=pose)
    mouth = surroundings.metadata["opening"]
    assert problem.collision_context is not None
    for point in surroundings.metadata["points"]:
        opening = problem.collision_context.opening_behind(point)
        assert opening is not None
        away = opening.point - mouth["centre"]
        assert np.linalg.norm(away - (away @ mouth["axis"]) * mouth["axis"]) < 0.004
        assert abs(away @ mouth["axis"]) < 0.05
        assert opening.radius == pytest.approx(0.5 * mouth["diameter"], abs=0.004)
    assert problem.collision_context.opening_behind(mouth["centre"] - 0.05 * mouth["axis"]) is None


def test_open_vessels_have_no_opening_to_pass_through():
    surroundings = make_surroundings("Barrel", count=40)
    problem = mk.Problem(mk.load_robot("ur10"), [Pose("tool0")], scene=surroundings.scene)
    assert problem.collision_context is not None
    assert all(problem.collision_context.opening_behind(point) is None for point in surroundings.metadata["points"])


def test_moving_a_tank_moves_its_opening(elise):
    problem, surroundings = tank(elise)
    shift = transform((0.1, 0.05, -0.02))
    problem.scene.move("tank", shift @ problem.scene["tank"].pose)
    target = shift @ surroundings.targets[0]
    solution = problem.solve(target, timeout=10.0)
    assert solution.success
    assert reaches(problem, solution.q, target)


@pytest.mark.parametrize(
    "method",
    [
        {},
        {"openings": False},
        {"openings": False, "push": False},
        {"openings": False, "climb": False},
    ],
)
def test_every_way_into_a_tank_gives_certified_answers(elise, method):
    problem, surroundings = tank(elise, "HydrogenTank")
    for k, target in enumerate(surroundings.targets[:6]):
        solution = problem.solve(target, rng=k, timeout=5.0, method=mk.methods.Memetic(**method))
        assert solution.success
        assert reaches(problem, solution.q, target)


def test_the_end_of_a_robot_may_be_chosen_before_its_arm(elise):
    problem, surroundings = tank(elise, "HydrogenTank")
    for k, target in enumerate(surroundings.targets[:6]):
        solution = problem.solve(target, rng=k, timeout=5.0, method="decoupled")
        assert solution.success
        assert reaches(problem, solution.q, target)
    with pytest.raises(GoalError, match="more than 6 joints"):
        mk.Problem(mk.load_robot("ur10"), [Pose("tool0")]).solve(surroundings.targets[0], method="decoupled")


def test_openings_make_the_search_shorter(elise):
    problem, surroundings = tank(elise)
    with_, without = (
        sum(problem.solve(t, rng=k, evaluations=60_000, method=m).evaluations for k, t in enumerate(some))
        for some in (surroundings.targets[:12],)
        for m in (mk.methods.Memetic(), mk.methods.Memetic(openings=False))
    )
    assert 2 * with_ < without


def test_a_user_of_one_method_option_is_told_what_is_wrong():
    with pytest.raises(InvalidInputError, match="openings of Memetic is True or False"):
        mk.methods.Memetic(openings=1)  # type: ignore[arg-type]


def test_elements_of_a_batch_are_certified_and_the_same_on_any_number_of_threads(elise):
    problem, surroundings = tank(elise)
    batches = [problem.solve(surroundings.targets, evaluations=40_000, rng=3, threads=n) for n in (1, 2, 3)]
    assert batches[0].success.all()
    assert all(reaches(problem, q, t) for q, t in zip(batches[0].q, surroundings.targets, strict=True))
    for other in batches[1:]:
        assert np.array_equal(batches[0].q, other.q)
        assert np.array_equal(batches[0].evaluations, other.evaluations)


def test_neighbours_spare_most_of_the_work(elise):
    problem, surroundings = tank(elise)
    alone = mk.methods.Memetic(neighbours=False)
    with_, without = (
        problem.solve(surroundings.targets, evaluations=40_000, method=m).evaluations.sum() for m in ("memetic", alone)
    )
    assert 2 * with_ < without


def test_without_neighbours_an_element_equals_the_single_solve(elise):
    problem, surroundings = tank(elise)
    alone = mk.methods.Memetic(neighbours=False)
    batch = problem.solve(surroundings.targets[:5], evaluations=40_000, rng=(2, 10), method=alone)
    for k in range(5):
        single = problem.solve(surroundings.targets[k], evaluations=40_000, rng=(2, 10 + k), method=alone)
        assert np.array_equal(batch.q[k], single.q)


def test_an_empty_batch_in_a_scene_is_empty(elise):
    problem, _ = tank(elise)
    assert len(problem.solve(np.zeros((0, 4, 4)))) == 0


def test_threads_do_not_change_a_single_solve(elise):
    problem, surroundings = tank(elise)
    method = mk.methods.Memetic(openings=False)
    for k in range(4):
        one, three = (
            problem.solve(surroundings.targets[k], evaluations=40_000, rng=k, threads=n, method=method) for n in (1, 3)
        )
        assert np.array_equal(one.q, three.q)


def test_a_batch_may_have_a_stand_in_for_the_scene():
    class Ceiling:
        """Nothing above half a metre."""

        def __init__(self, robot):
            self.robot = robot

        def collides(self, q):
            return any(self.robot.pose(link, q)[2, 3] > 0.75 for link in self.robot.links)

    robot = mk.load_robot("panda")
    targets = np.array([transform((0.5, y, 0.3), rpy=(math.pi, 0, 0)) for y in (-0.1, 0.0, 0.1)])
    ceiling = Ceiling(robot)
    batch = mk.Problem(robot, [Pose("panda_hand")], scene=ceiling).solve(targets, timeout=2.0)
    assert batch.success.all()
    assert not any(ceiling.collides(q) for q in batch.q)


def test_links_that_are_always_near_do_not_forbid_a_margin():
    robot = mk.load_robot("ur5")
    assert pairs_always_within(robot, 0.02)
    assert not pairs_always_within(robot, 0.0)
    scene = mk.Scene()
    scene.add_box("wall", (0.1, 1.0, 1.0), transform((0.75, 0.0, 0.5)))
    problem = mk.Problem(robot, [Pose("tool0")], scene=scene, margin=0.02)
    targets = [transform((0.45, y, 0.35), rpy=(math.pi, 0, 0)) for y in (-0.2, 0.1, 0.2)]
    model = mk.CollisionModel(robot, scene, self_collision=False)
    for target in targets:
        solution = problem.solve(target, timeout=10.0)
        assert solution.success
        assert model.distance(solution.q) >= 0.02


def test_the_nearest_free_configuration_is_returned_where_the_target_is_in_the_way():
    robot = mk.load_robot("panda")
    scene = mk.Scene()
    scene.add_box("table", (1.0, 1.0, 0.2), transform((0.8, 0.0, 0.1)))
    problem = mk.Problem(robot, [mk.Position("panda_hand_tcp")], scene=scene)
    buried = np.array([0.6, 0.1, 0.1])
    solution = problem.solve(buried, approximate=True, timeout=0.05)
    assert not solution.success
    assert solution.reason == "approximate"
    assert not mk.CollisionModel(robot, scene).collides(solution.q)
    tcp = robot.pose("panda_hand_tcp", solution.q)[:3, 3]
    # The way out is 10 cm upwards, and the fingers reach a little beyond the point between them.
    assert np.linalg.norm(tcp - buried) < 0.13
    again = problem.solve(buried, approximate=True, evaluations=2000, rng=1)
    assert np.array_equal(again.q, problem.solve(buried, approximate=True, evaluations=2000, rng=1, threads=2).q)


def test_exact_geometry_is_prepared_before_the_first_solve(elise):
    problem, surroundings = tank(elise)
    assert problem.collision_context is not None
    before = problem.collision_context.preparation_time
    assert before > 0.0
    problem.solve(surroundings.targets[0])
    assert problem.collision_context.preparation_time == before
    problem.scene.add_box("box", (0.1, 0.1, 0.1), transform((0.0, -1.0, 0.5)))
    problem.solve(surroundings.targets[0])
    assert problem.collision_context.preparation_time > before


def test_errors_in_stand_ins_come_through_from_a_batch():
    class Broken:
        def collides(self, q):
            raise RuntimeError("no sensor")

    problem = mk.Problem(mk.load_robot("ur5"), [Pose("tool0")], scene=Broken())
    with pytest.raises(RuntimeError, match="no sensor"):
        problem.solve(np.array([transform((0.4, 0.1, 0.4))] * 2))


def test_the_time_for_contacts_is_told_apart(elise):
    problem, surroundings = tank(elise)
    solution = problem.solve(surroundings.targets[0], rng=0, evaluations=100_000)
    assert 0.0 < solution.profile["contacts"] < solution.time
    free = mk.Problem(elise, [Pose("tip")]).solve(surroundings.targets[0], rng=0)
    assert free.profile["contacts"] == 0.0


def test_a_configuration_that_nothing_moves_is_checked_for_contacts_too():
    panda = mk.load_robot("panda")
    for x, is_free in ((0.3, False), (3.0, True)):
        scene = mk.Scene()
        scene.add_box("block", size=(1.0, 1.0, 1.0), pose=transform((x, 0.0, 0.5)))
        assert mk.Problem(panda, [mk.CenterJoints()], scene=scene).solve().success == is_free
