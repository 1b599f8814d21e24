"""Methods made of others: in order, raced, one that seeds another, a store of answers, closed forms, presets."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import memetik as mk
from memetik.errors import GoalError, InvalidInputError, UnknownNameError
from memetik.solve.methods import method_named

M = mk.methods


@pytest.fixture(scope="module")
def arm():
    robot = mk.load_robot("ur5")
    return robot, mk.Problem(robot, [mk.Pose(robot.tip)])


def poses(robot, count):
    return [robot.pose(robot.tip, robot.random(k)) for k in range(count)]


def test_the_next_of_a_cascade_takes_over(arm):
    robot, problem = arm
    for target in poses(robot, 4):
        alone = problem.solve(target, evaluations=50, method=M.Ccd(restarts=False))
        both = problem.solve(target, evaluations=2000, method=M.Cascade(["ccd", "memetic"], shares=(0.02,)))
        assert both.success >= alone.success
        assert both.success


@pytest.mark.parametrize("raced", [False, True])
def test_cascades_are_reproducible_where_evaluations_bound_them(arm, raced):
    robot, problem = arm
    method = M.Cascade(["slsqp", "relaxed", "memetic"], raced=raced, turn=40)
    for target in poses(robot, 3):
        runs = [problem.solve(target, evaluations=3000, rng=4, method=method) for _ in range(2)]
        assert runs[0].success
        np.testing.assert_array_equal(runs[0].q, runs[1].q)


@pytest.mark.clock
def test_a_race_is_won_by_whoever_can_and_stops_the_others(arm):
    robot, problem = arm
    # DIRECT alone would go on for all of the ten seconds.
    solution = problem.solve(
        poses(robot, 1)[0], timeout=10.0, method=M.Cascade(["nlopt_direct", "memetic"], raced=True)
    )
    assert solution.success
    assert solution.time < 5.0


def test_errors_of_a_racer_come_through(arm):
    robot, problem = arm

    def broken(q):
        raise RuntimeError("the user's own")

    with pytest.raises(RuntimeError, match="the user's own"):
        problem.solve(poses(robot, 1)[0], timeout=2.0, method=M.Cascade(["slsqp", "memetic"], raced=True), valid=broken)


def test_all_methods_of_a_cascade_must_serve_the_goals(arm):
    robot, _ = arm
    with pytest.raises(GoalError, match="ccd"):
        mk.Problem(robot, [mk.AlignAxis(robot.tip, axis="z", to="-z")]).solve(method=M.Cascade(["memetic", "ccd"]))


def test_the_best_configuration_of_one_method_is_the_seed_of_the_next(arm):
    robot, problem = arm
    q = np.array([0.4, -1.1, 1.3, -0.6, 0.8, 0.3])

    def near(pose):
        return [q + 0.05]

    # From the closed form's answer, which is off, the memetic search comes to the configuration beside it.
    solution = problem.solve(
        robot.pose(robot.tip, q),
        seed=-q,
        evaluations=2000,
        method=M.Seeded(M.Analytic(near, polish=0), "memetic"),
    )
    assert solution.success
    np.testing.assert_allclose(solution.q, q, atol=1e-3)


def test_a_store_gives_the_same_answer_again_from_any_seed_and_file(arm, tmp_path):
    robot, problem = arm
    method = M.Cached(store=M.PoseStore())
    first = [problem.solve(target, method=method, timeout=2.0, rng=k) for k, target in enumerate(poses(robot, 6))]
    assert len(method.store) == 6
    again = [problem.solve(t, seed=robot.random(90), method=method, rng=7) for t in poses(robot, 6)]
    method.store.save(tmp_path / "store.npz")
    read = M.Cached(store=M.PoseStore.load(tmp_path / "store.npz"))
    third = [problem.solve(t, seed=robot.random(91), method=read, rng=8) for t in poses(robot, 6)]
    for a, b, c in zip(first, again, third, strict=True):
        assert a.success
        np.testing.assert_array_equal(a.q, b.q)
        np.testing.assert_array_equal(a.q, c.q)
    assert len(method.store) == 6
    assert again[0].evaluations < first[0].evaluations + 2


def test_a_stored_answer_that_no_longer_holds_is_replaced_by_a_search(arm):
    robot, problem = arm
    method, target = M.Cached(store=M.PoseStore()), poses(robot, 1)[0]
    first = problem.solve(target, method=method)
    other = problem.solve(target, method=method, timeout=2.0, valid=lambda q: np.abs(q - first.q).max() > 0.1)
    assert other.success
    assert np.abs(other.q - first.q).max() > 0.1


def test_answers_near_a_stored_pose_stay_near_its_configuration(arm):
    robot, problem = arm
    q = np.array([0.4, -1.1, 1.3, -0.6, 0.8, 0.3])
    method = M.Cached(store=M.PoseStore())
    problem.solve(robot.pose(robot.tip, q), seed=q, method=method)
    moved = robot.pose(robot.tip, q) @ mk.transform((0.01, 0.0, 0.0))
    solution = problem.solve(moved, seed=-q, method=method)
    assert solution.success
    assert np.abs(solution.q - q).max() < 0.2


def test_goals_of_another_kind_or_robot_do_not_share_answers(arm):
    robot, problem = arm
    method, target = M.Cached(store=M.PoseStore()), poses(robot, 1)[0]
    problem.solve(target, method=method)
    mk.Problem(robot, [mk.Position(robot.tip)]).solve(target[:3, 3], method=method)
    other = mk.load_robot("ur10")
    mk.Problem(other, [mk.Pose(other.tip)]).solve(target, method=method)
    assert len(method.store._tables) >= 2
    assert len(method.store) >= 2


def test_files_that_are_no_store_are_refused(tmp_path):
    (tmp_path / "text.npz").write_text("nothing")
    for name in ("text.npz", "missing.npz"):
        with pytest.raises(InvalidInputError, match="pose store"):
            M.PoseStore.load(tmp_path / name)


def test_closed_form_answers_are_all_answers_within_limits(arm):
    pytest.importorskip("eaik")
    robot, problem = arm
    method = M.Analytic(M.eaik_function(robot))
    for target in poses(robot, 5):
        found = problem.solve_all(target, method=method)
        searched = problem.solve_all(target, timeout=2.0)
        assert len(found) >= len(searched) >= 2


def test_closed_forms_come_back_on_the_turn_of_the_seed_and_are_polished(arm):
    robot, problem = arm
    q = np.array([0.4, -1.1, 1.3, -0.6, 0.8, 0.3])
    method = M.Analytic(lambda pose: [q + 2.0 * np.pi + 1e-4, np.full(6, np.nan)])
    solution = problem.solve(robot.pose(robot.tip, q), seed=q, method=method)
    assert solution.success
    np.testing.assert_allclose(solution.q, q, atol=1e-4)
    assert not problem.solve(robot.pose(robot.tip, q), seed=q, method=M.Analytic(method.function, polish=0)).success


def test_closed_forms_get_the_pose_in_the_robots_base(arm):
    robot, _ = arm
    moved = robot.at(mk.transform((0.3, -0.2, 0.5), rpy=(0.1, 0.2, 0.3)))
    seen = []
    q = robot.random(1)
    mk.Problem(moved, [mk.Pose(moved.tip, offset=(0.0, 0.0, 0.1))]).solve(
        moved.pose(moved.tip, q) @ mk.transform((0.0, 0.0, 0.1)),
        method=M.Analytic(lambda pose: seen.append(pose) or []),
    )
    np.testing.assert_allclose(seen[0], robot.pose(robot.tip, q), atol=1e-12)


def test_scenes_turn_closed_forms_away(arm):
    pytest.importorskip("eaik")
    robot, _ = arm
    scene = mk.Scene()
    scene.add_box("floor", size=(2.0, 2.0, 0.1), pose=mk.transform((0.0, 0.0, -0.1)))
    problem = mk.Problem(robot, [mk.Pose(robot.tip)], scene=scene)
    method, model = M.Analytic(M.eaik_function(robot)), mk.CollisionModel(robot, scene)
    found = [problem.solve(target, method=method) for target in poses(robot, 12)]
    assert any(solution.success for solution in found)
    assert not any(model.collides(solution.q) for solution in found if solution.success)


def test_presets_come_back_from_their_file_as_they_were(arm, tmp_path):
    robot, problem = arm
    preset = M.Preset(
        M.Cascade(["nlopt_lbfgs", M.Relaxed(width=0.2), M.Memetic(population=4)], shares=(0.1, 0.5)),
        {"evaluations": 500},
        weights={"center": 0.5},
    )
    preset.save(tmp_path / "arm.json")
    read = M.load_preset(tmp_path / "arm.json")
    assert read == preset
    target = poses(robot, 1)[0]
    answers = [
        problem.solve(target, evaluations=500, method=method).q
        for method in (preset.method, preset, str(tmp_path / "arm.json"), tmp_path / "arm.json")
    ]
    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])
    assert preset.solve(problem, target).success


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"the preset '.*bad\.json' is not JSON"),
        ("{}", "schema"),
        (json.dumps({"schema": "memetik.method/1", "method": "tracc"}), "did you mean 'trac'"),
        (json.dumps({"schema": "memetik.method/1", "method": "trac", "parameters": {"mod": 1}}), "did you mean 'mode'"),
        (json.dumps({"schema": "memetik.method/1", "method": "trac", "option": {}}), "did you mean 'options'"),
        (
            json.dumps({"schema": "memetik.method/1", "method": "trac", "parameters": 5}),
            "line 1: parameters must be an object",
        ),
        (json.dumps({"schema": "memetik.method/1", "method": ["a"]}), r"bad\.json', line 1: method is \['a'\]"),
        (
            json.dumps({"schema": "memetik.method/1", "method": "trac", "options": 5}),
            r"json': options of a preset",
        ),
        (json.dumps({"schema": "memetik.method/1", "method": "ccd", "parameters": {"sweeps": "x"}}), "sweeps of Ccd"),
    ],
)
def test_bad_presets_say_what_is_wrong(tmp_path, content, message):
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(InvalidInputError, match=message):
        method_named(str(tmp_path / "bad.json"))


KINEMATICS = """
/**:
  ros__parameters:
    robot_description_kinematics:
      arm:
        kinematics_solver: trac_ik_kinematics_plugin/TRAC_IKKinematicsPlugin
        kinematics_solver_search_resolution: 0.005
        kinematics_solver_timeout: 0.05
        kinematics_solver_attempts: 3
        solve_type: Distance
        position_only_ik: true
        minimal_displacement_weight: 0.5
      odd:
        kinematics_solver: my_plugins/IKFastPlugin
"""


def test_moveits_kinematics_become_a_preset(tmp_path):
    (tmp_path / "kinematics.yaml").write_text(KINEMATICS)
    preset = M.preset_from_moveit(tmp_path / "kinematics.yaml", "arm")
    assert preset.method == M.Trac("distance")
    assert preset.options == {"timeout": 0.15}
    assert preset.ignored == ("kinematics_solver_search_resolution",)
    robot = mk.load_robot("ur5")
    problem = preset.problem(robot)
    assert [type(goal).__name__ for goal in problem.goals] == ["Position", "MinimalDisplacement"]
    target = robot.pose(robot.tip, robot.neutral + 0.2)[:3, 3]
    assert preset.solve(problem, target).success
    with pytest.raises(UnknownNameError, match="arm"):
        M.preset_from_moveit(tmp_path / "kinematics.yaml", "arms")
    with pytest.raises(InvalidInputError, match="Analytic"):
        M.preset_from_moveit(tmp_path / "kinematics.yaml", "odd")


@pytest.mark.parametrize(
    ("plugin", "more", "name"),
    [
        ("kdl_kinematics_plugin/KDLKinematicsPlugin", "", "kdl"),
        ("lma_kinematics_plugin/LMAKinematicsPlugin", "", "lma"),
        ("bio_ik/BioIKKinematicsPlugin", "", "bio2_memetic"),
        ("bio_ik/BioIKKinematicsPlugin", "mode: gd_c_4", "gd_c_4"),
        ("bio_ik/BioIKKinematicsPlugin", "mode: optlib_lbfgsb_r_4", "lbfgsb"),
        ("bio_ik/BioIKKinematicsPlugin", "mode: optlib_nm", "nelder_mead"),
        ("pick_ik/PickIkPlugin", "mode: local", "pick_local"),
    ],
)
def test_plugins_of_moveit_are_methods_of_that_name(tmp_path, plugin, more, name):
    text = f"arm: {{kinematics_solver: {plugin}, kinematics_solver_timeout: 0.005{', ' + more if more else ''}}}"
    (tmp_path / "kinematics.yaml").write_text(text)
    preset = M.preset_from_moveit(tmp_path / "kinematics.yaml", "arm")
    assert preset.method == method_named(name)
    assert preset.options == {"timeout": 0.005}
    assert preset.ignored == ()


def test_every_method_comes_back_from_a_preset(tmp_path):
    for name in M.METHODS:
        if name != "analytic":
            M.Preset(name).save(tmp_path / "method.json")
            assert M.load_preset(tmp_path / "method.json").method == method_named(name)


def test_methods_pickle():
    for name, entry in M.METHODS.items():
        if name != "analytic":
            method = entry.make()
            assert pickle.loads(pickle.dumps(method)) == method
