"""Scenarios with goals of any kind: verified by formulas of their own, read from files, run, and diagnosed before."""

import sys
from pathlib import Path

import numpy as np
import pytest

import memetik as mk
from memetik.bench.peers.registry import find_solver
from memetik.bench.run.comparison import Comparison, Settings, SolverProcesses
from memetik.bench.run.goal_checks import _CHECKS, misses, stated
from memetik.bench.run.runner import run
from memetik.bench.run.seeding import seeds_of
from memetik.bench.run.shape_distance import is_inside, shape_distance
from memetik.bench.run.spec import Spec, solver_spec
from memetik.bench.run.store import Store
from memetik.bench.run.verification import LinkPoses, Verifier
from memetik.bench.scenarios import NOT_FOUND, REACHABLE, scenario
from memetik.errors import GoalError, InvalidInputError, UnknownNameError
from memetik.robot.bundled import names as bundled_names

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "solve"))

PIVOT = {"type": "Pivot", "link": "endoscope_rod_1", "segment": [0.0, 0.6], "point": "opening", "tolerance": 0.02}


def through_the_mouth(*more, **options):
    return scenario("HydrogenTank", "elise", targets=3, goals=[{"type": "Pose"}, PIVOT, *more], **options)


def test_goals_are_judged_as_by_formulas_of_others():
    from problem_generator import generate
    from truth import World, excess

    compared = set()
    for index in range(120):
        case = generate(index)
        serial = not any(j.reversed or j.swing_twist or j.axes > 1 for j in case.robot.description.joints)
        if not serial:
            continue
        for q in (case.hidden, case.robot.random(index)):
            ours, theirs = LinkPoses(case.robot, q, {}), World(case.robot, q)
            for goal in case.complete:
                if type(goal) in _CHECKS and goal.priority == 0:
                    beyond = [miss.error - miss.allowed for miss in misses(goal, ours)]
                    wrong = excess(goal, theirs)
                    assert (max(beyond, default=0.0) <= 1e-8) == (wrong <= 1e-8), (case, goal)
                    if wrong > 1e-8 and not isinstance(goal, mk.goals.PartialOrientation):
                        assert max(beyond) == pytest.approx(wrong, abs=1e-6), goal
                    compared.add(type(goal))
    assert len(compared) >= 15, compared


@pytest.mark.parametrize("kind", ["Pose", "Orientation", "AlignAxis", "Scan", "Touch", "JointValue", "Partial"])
def test_open_targets_find_their_goal(kind):
    frame = mk.transform((0.3, 0.1, 0.4), rpy=(0.2, 0.3, 0.4))
    made = {
        "Pose": (mk.Pose("tool0"), frame, "target"),
        "Orientation": (mk.Orientation("tool0"), frame[:3, :3], "target"),
        "AlignAxis": (mk.AlignAxis("tool0"), frame[:3, 2], "to"),
        "Scan": (mk.Viewpoint("tool0"), frame, "point"),
        "Touch": (mk.goals.Touch("tool0", normal=None), frame, "point"),
        "JointValue": (mk.JointValue("elbow_joint"), np.array(0.25), "value"),
        "Partial": (mk.PartialOrientation("tool0", roll="open", yaw="open"), np.array([0.2, 0.4]), "yaw"),
    }
    goal, target, field = made[kind]
    full = stated(goal, target)
    assert not full.is_open
    assert getattr(full, field) is not None
    if kind in ("Scan", "Touch"):
        assert np.allclose(full.normal, frame[:3, 2])
    if kind == "Partial":
        assert (full.roll, full.yaw) == (0.2, 0.4)


def test_distances_to_meshes_agree_with_those_to_boxes():
    from memetik.geometry.shapes import Box
    from memetik.geometry.tessellate import as_mesh

    box, rng = Box((0.2, 0.4, 0.6)), np.random.default_rng(3)
    mesh = as_mesh(box)
    for point in rng.uniform(-0.5, 0.5, (200, 3)):
        assert shape_distance(mesh, point) == pytest.approx(shape_distance(box, point), abs=1e-12)
        assert is_inside(mesh.vertices[mesh.faces], point) == (shape_distance(box, point) < 0.0)


def test_any_goals_make_a_scenario_with_the_same_targets():
    plain, pivot = scenario("HydrogenTank", "elise", targets=3), through_the_mouth()
    assert np.array_equal(plain.poses, pivot.poses)
    assert plain.key != pivot.key
    assert np.allclose(pivot.goals[1].point, pivot.metadata["opening"]["centre"])
    scan = scenario("HydrogenTank", "elise", targets=3, goals=[{"type": "Scan", "view_angle": 0.3}])
    assert np.allclose(scan.poses, plain.poses)
    verifier = Verifier(scan.robot, scan.goals, scan.scene, self_collision=True)
    assert verifier.check(scan.of(0), scan.known_solutions[0]).holds
    assert "misses by" in verifier.check(scan.of(1), scan.known_solutions[0]).reason


def test_the_pivot_is_part_of_the_verdict():
    made = through_the_mouth()
    free = scenario("HydrogenTank", "elise", targets=3)
    verifier = Verifier(made.robot, made.goals, None, self_collision=False)
    assert verifier.check(made.of(0), made.known_solutions[0]).holds
    q = free.problem.solve(free.poses[0], rng=1).q
    outside = mk.Problem(free.robot, [mk.Pose("tip")], self_collision=False)
    for rng in range(20):
        q = outside.solve(free.poses[0], rng=rng).q
        if not verifier.check(made.of(0), q).holds:
            break
    assert "(Pivot)" in verifier.check(made.of(0), q).reason


def test_a_file_restates_a_built_in_scenario(tmp_path):
    path = tmp_path / "mouth.toml"
    lines = ['schema = "memetik.scenario/1"', 'scenario = "HydrogenTank"', 'robot = "elise"', "[[goals]]",
             'type = "Pose"', "[[goals]]", 'type = "Pivot"', 'link = "endoscope_rod_1"', "segment = [0.0, 0.6]",
             'point = "opening"', "tolerance = 0.02"]  # fmt: skip
    path.write_text("\n".join(lines))
    made = scenario(str(path), targets=3)
    assert np.array_equal(made.poses, through_the_mouth().poses)
    assert [type(goal).__name__ for goal in made.goals] == ["Pose", "Pivot"]
    path.write_text("\n".join([*lines[:2], 'mesh = "part.ply"']))
    with pytest.raises(InvalidInputError, match="mesh"):
        scenario(str(path), "elise", targets=1)


@pytest.mark.parametrize(
    ("goals", "words", "error"),
    [
        ([{"type": "Poze"}], "goal 1: .*Pose", InvalidInputError),
        ([{"type": "Pose", "lonk": 3}], "goal 1: .*link", InvalidInputError),
        ([{"type": "AvoidLimits"}], "leaves its target open", InvalidInputError),
        ([], "list of tables", InvalidInputError),
        ([{"type": "Pose"}, {"type": "Line", "point": "opening"}], "no opening", InvalidInputError),
        ([{"type": "Pose", "link": "tool7"}], "tool7", UnknownNameError),
        ([{"type": "Pose"}, {"type": "Balance"}], "takes nothing from a target", InvalidInputError),
    ],
)
def test_wrong_goals_are_explained(goals, words, error):
    with pytest.raises(error, match=words):
        scenario("Shelf", "ur10", targets=2, goals=goals, reachability="skip")


def test_hard_goals_that_nobody_checks_are_refused_and_soft_ones_are_not():
    robot = mk.load_robot("ur10")
    with pytest.raises(GoalError, match="Manipulability as a hard goal; give it priority=1"):
        Verifier(robot, [mk.Manipulability("tool0", priority=0)], None, self_collision=False)
    Verifier(robot, [mk.Pose("tool0"), mk.Manipulability("tool0")], None, self_collision=False)
    assert len(bundled_names()) > 10


def test_soft_goals_cost_what_the_core_says_and_peers_take_part(tmp_path):
    made = scenario("Random", "ur10", targets=3, goals=[{"type": "Pose"}, {"type": "AvoidLimits"}])
    solvers = [find_solver("memetic"), find_solver("kdl")]
    with SolverProcesses() as processes:
        comparison = Comparison(made, solvers, Settings(evaluations=20_000), processes)
        results = [result for _, result in comparison.run(range(3), 0)]
    assert all(result.verified and result.soft_cost >= 0.0 for result in results)
    found = made.problem.solve(*made.of(0), seed=made.seeds[0], rng=0)
    from memetik.bench.run.soft_costs import soft_cost

    assert soft_cost(made.problem, made.of(0), made.seeds[0], found.q) == pytest.approx(found.preference_cost)
    from memetik.bench.peers.task import ChainTask

    assert ChainTask(made).target(made.of(0), np.random.default_rng(0)) == made.targets[0][0].tolist()


def test_attempts_are_kept_on_request(tmp_path):
    made = scenario("Shelf", "ur10", targets=2)
    adapter = tmp_path / "first.py"
    collides = Verifier(made.robot, made.goals, made.scene, self_collision=True).collides
    bad = next(q for q in made.robot.random(0, 1000) if collides(q))
    adapter.write_text(ANSWERS.format(known=made.known_solutions.tolist(), bad=bad.tolist()))
    spec = Spec(robots=("ur10",), scenarios=("Shelf",), solvers=(solver_spec("kdl"), solver_spec(f"{adapter}:Second")),
                targets=2, trials=1, timeouts=(5.0,), log=True)  # fmt: skip
    run(spec, tmp_path / "s.db")
    with Store(tmp_path / "s.db") as store:
        logs = {str(own.label): store.attempts(str(own.run)) for own in store.runs()}
        assert store.results().solved.all()
    for log in logs.values():
        for *_, attempt in log:
            assert attempt.time >= 0.0
            assert attempt.verdict == "holds" or "misses" in attempt.verdict
            assert (attempt.contacts == "") == (attempt.verdict == "holds")
    assert [(target, number) for target, _, number, _ in logs["Second"]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [attempt.verdict == "holds" for *_, attempt in logs["Second"]] == [False, True] * 2


ANSWERS = """
class Second:
    def prepare(self, task):
        self.task = task

    def solve(self, target, seed, timeout):
        attempt, number = self.task.stream[0] % 1_000_003, self.task.stream[1]
        return {bad} if attempt == 2 else {known}[number]

    def close(self):
        pass
"""


def test_without_rejection_our_methods_search_once():
    made = scenario("Barrel", "ur10", targets=6)
    solver = find_solver("kdl")
    shares = {}
    for rejection in (True, False):
        with SolverProcesses() as processes:
            comparison = Comparison(made, [solver], Settings(evaluations=20_000, rejection=rejection), processes)
            results = [result for _, result in comparison.run(range(len(made)), 0)]
        shares[rejection] = sum(result.verified for result in results)
        if not rejection:
            assert all(result.restarts == 0 for result in results)
    assert shares[True] == len(made)
    assert shares[False] < shares[True]


def test_seeds_hold_the_arm_and_free_the_endoscope():
    made = scenario("HydrogenTank", "elise", targets=3)
    free = (("endoscope_joint_1", 1.0), ("endoscope_joint_2", 0.5))
    straight, seeds = seeds_of(made, "straight", 0), seeds_of(made, "straight", 0, free=free)
    moved = np.abs(seeds - straight)
    held = [k for k, name in enumerate(made.robot.joint_names) if name not in dict(free)]
    assert moved[:, held].max() == 0.0
    one, two = (made.robot.joint_index(name) for name, _ in free)
    assert (moved[:, [one, two]] > 0.0).all()
    low, high = made.robot.lower[two], made.robot.upper[two]
    assert (seeds[:, two] >= 0.5 * (low + straight[:, two])).all()
    assert (seeds[:, two] <= 0.5 * (high + straight[:, two])).all()
    assert np.array_equal(seeds, seeds_of(made, "straight", 0, free=free))
    assert Settings(free=free).recorded["free"] == dict(free)
    assert "free" not in Settings().recorded
    with pytest.raises(UnknownNameError, match="endoscope_joint_7"):
        seeds_of(made, "straight", 0, free=(("endoscope_joint_7", 1.0),))
    with pytest.raises(InvalidInputError, match="from 0, held, to 1"):
        seeds_of(made, "straight", 0, free=(("endoscope_joint_1", 2.0),))


def test_targets_that_nobody_reaches_are_told_with_the_reason():
    made = scenario("Shelf", "ur10", targets=8, reachability="check")
    missed = int((made.reachable == NOT_FOUND).sum())
    assert 0 < missed < 8
    (text,) = made.metadata["remarks"]
    assert text.startswith(f"{missed} of 8 targets were reached by none of memetic, bio2_memetic, kdl (")
    assert (made.reachable == REACHABLE).sum() == 8 - missed


def test_another_method_may_prove_what_the_default_does_not_find(monkeypatch):
    from memetik.bench.scenarios import reachability

    monkeypatch.setattr(reachability, "STAGES", (("memetic", 1, 0), ("kdl", 30_000, 3)))
    made = scenario("Random", "panda", targets=4, reachability="check", seed=11, goals=[{"type": "Pose"}])
    assert (made.reachable == REACHABLE).all()


def test_the_bundled_specification_for_confined_spaces_can_be_made():
    from memetik.bench.run.spec import load_spec

    spec = load_spec("confined").checked()
    own = [name for name in spec.scenarios if name.endswith(".toml")]
    assert len(own) == 11
    for name in own:
        made = scenario(name, targets=2, reachability="skip")
        Verifier(made.robot, made.goals, made.scene, self_collision=True)
        assert made.problem.solve(*made.of(0), evaluations=200_000, rng=0).success, name
