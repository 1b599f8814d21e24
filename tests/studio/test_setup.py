"""Set-ups without a browser: changes, history, files, scripts."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import memetik as mk
from memetik.errors import GoalError, InvalidInputError, MemetikError, UnknownNameError
from memetik.solve.problem_file import goal_classes, load_problem
from memetik.studio.files import Folder
from memetik.studio.forms import form_of, goal_of, number_of
from memetik.studio.setup import SetUp
from memetik.studio.solving import LiveSolver
from memetik.studio.targets import Wanted, dragged, handle_of


@pytest.fixture
def setup() -> SetUp:
    return SetUp("panda")


def shifted(setup: SetUp, by: tuple[float, float, float]) -> np.ndarray:
    pose = np.array(setup.state.goals[0].target)
    pose[:3, 3] += by
    return pose


def test_a_robot_begins_with_a_goal_at_its_tip_that_holds(setup: SetUp) -> None:
    assert [wanted.name for wanted in setup.state.goals] == ["pose_panda_hand_tcp"]
    solution = LiveSolver().solve(setup.state)
    assert solution is not None
    assert solution.success
    np.testing.assert_allclose(solution.q, setup.state.q, atol=1e-6)


def test_a_dragged_target_is_solved_for(setup: SetUp) -> None:
    target = shifted(setup, (0.1, 0.05, -0.05))
    setup.drag("pose_panda_hand_tcp", target)
    solution = LiveSolver().solve(setup.state, quick=True)
    assert solution is not None
    assert solution.success
    np.testing.assert_allclose(setup.robot.pose("panda_hand_tcp", solution.q), target, atol=2e-5)


def test_drags_of_one_goal_are_one_step_of_the_history(setup: SetUp) -> None:
    before = setup.state.goals[0].target
    for k in range(5):
        setup.drag("pose_panda_hand_tcp", shifted(setup, (0.01 * k, 0.0, 0.0)))
    assert setup.undo() == "drag pose_panda_hand_tcp"
    np.testing.assert_array_equal(setup.state.goals[0].target, before)
    assert setup.undo() is None
    assert setup.redo() == "drag pose_panda_hand_tcp"
    assert setup.state.goals[0].target[0, 3] == pytest.approx(before[0, 3] + 0.1)


def test_two_drags_with_a_release_between_them_are_two_steps(setup: SetUp) -> None:
    setup.drag("pose_panda_hand_tcp", shifted(setup, (0.01, 0.0, 0.0)))
    setup.settle()
    setup.drag("pose_panda_hand_tcp", shifted(setup, (0.01, 0.0, 0.0)))
    assert setup.undo()
    assert setup.undo()
    assert setup.undo() is None


def test_a_change_after_undo_forgets_what_was_undone(setup: SetUp) -> None:
    setup.add_goal("AvoidLimits")
    setup.undo()
    setup.add_goal("Center")
    assert setup.redo() is None
    assert [wanted.name for wanted in setup.state.goals] == ["pose_panda_hand_tcp", "center"]


@pytest.mark.parametrize("kind", sorted(set(goal_classes()) - {"Project"}))
def test_every_goal_can_be_added_dragged_edited_and_solved(kind: str) -> None:
    setup = SetUp("panda")
    setup.remove_goal("pose_panda_hand_tcp")
    if kind in ("Clearance", "Penetration", "CollisionDistance"):
        setup.add_object(mk.Box((0.1, 0.1, 0.1)), mk.transform((0.0, 0.8, 0.2)))
    name = setup.add_goal(kind, "panda_hand")
    wanted = setup.state.goal(name)
    solver = LiveSolver()
    found = solver.solve(setup.state, timeout=0.2)
    assert found is not None
    if wanted.goal.priority == 0:
        assert found.success, found.explain()
    handle = handle_of(wanted, setup.robot, setup.state.q)
    if handle is not None:
        same = dragged(wanted, handle.pose, setup.robot, setup.state.q)
        np.testing.assert_allclose(same.target, wanted.target, atol=1e-9)
    texts = {line.name: line.text for line in form_of(wanted.stated)}
    texts["weight"] = "2.5"
    edited = goal_of(wanted.stated, texts)
    assert edited.weight == 2.5
    assert type(edited) is type(wanted.goal)
    setup.replace_goal(name, edited)
    assert solver.solve(setup.state, timeout=0.2) is not None


def test_project_needs_a_mesh_and_then_works(setup: SetUp) -> None:
    with pytest.raises(GoalError, match="add a mesh"):
        setup.add_goal("Project", "panda_hand")
    setup.change("no checks", self_collision=False)
    vertices = np.array([[0.2, -0.5, 0.3], [0.9, -0.5, 0.3], [0.9, 0.5, 0.3], [0.2, 0.5, 0.3]])
    from memetik.scene.objects import TriangleMesh

    setup.add_object(TriangleMesh(vertices, np.array([[0, 1, 2], [0, 2, 3]])), name="table")
    name = setup.add_goal("Project", "panda_hand")
    assert setup.state.goal(name).goal.surface is not None
    texts = {line.name: line.text for line in form_of(setup.state.goal(name).stated)}
    assert goal_of(setup.state.goal(name).stated, texts).surface is not None


def test_forms_refuse_text_where_numbers_belong(setup: SetUp) -> None:
    goal = setup.state.goals[0].stated
    texts = {line.name: line.text for line in form_of(goal)}
    with pytest.raises(InvalidInputError, match="3 numbers"):
        goal_of(goal, {**texts, "target.position": "here"})
    with pytest.raises(GoalError, match="weight"):
        goal_of(goal, {**texts, "weight": "heavy"})
    with pytest.raises(GoalError, match="priority"):
        goal_of(goal, {**texts, "priority": "1.5"})
    with pytest.raises(GoalError, match="loss"):
        goal_of(goal, {**texts, "loss": "Cubic"})
    with pytest.raises(InvalidInputError, match="1 to 64"):
        number_of("1000", "the number of threads", 1, 64)


def test_sliders_take_targets_along(setup: SetUp) -> None:
    setup.set_joint("panda_joint1", 0.5)
    state = setup.state
    np.testing.assert_allclose(state.goals[0].target, state.robot.pose("panda_hand_tcp", state.q), atol=1e-12)
    solution = LiveSolver().solve(state)
    assert solution is not None
    np.testing.assert_allclose(solution.q, state.q, atol=1e-6)
    with pytest.raises(InvalidInputError, match="goes from"):
        setup.set_joint("panda_joint1", 99.0)


def test_held_joints_stay(setup: SetUp) -> None:
    setup.hold("panda_joint1")
    setup.drag("pose_panda_hand_tcp", shifted(setup, (0.0, 0.1, 0.0)))
    solution = LiveSolver().solve(setup.state)
    assert solution is not None
    assert solution.q[0] == setup.state.q[0]


def test_disabled_goals_do_not_count_and_are_kept(setup: SetUp) -> None:
    setup.enable("pose_panda_hand_tcp", False)
    assert LiveSolver().solve(setup.state) is None
    setup.enable("pose_panda_hand_tcp")
    assert LiveSolver().solve(setup.state) is not None


def test_dragging_compiles_nothing(setup: SetUp) -> None:
    setup.add_object(mk.Box((0.1, 0.1, 0.1)), mk.transform((0.5, 0.5, 0.2)))
    solver = LiveSolver()
    problem = solver.problem(setup.state)
    setup.drag("pose_panda_hand_tcp", shifted(setup, (0.1, 0.0, 0.0)))
    setup.move_object("box", mk.transform((0.5, 0.4, 0.2)))
    assert solver.problem(setup.state) is problem
    np.testing.assert_allclose(solver.scene["box"].pose[:3, 3], (0.5, 0.4, 0.2))


def test_collisions_are_seen_and_avoided(setup: SetUp) -> None:
    tip = setup.robot.pose("panda_hand_tcp", setup.state.q)[:3, 3]
    setup.add_object(mk.Box((0.2, 0.2, 0.2)), mk.transform(tip))
    solver = LiveSolver()
    nearness = solver.look(setup.state)
    assert "box" in nearness.touching
    solution = solver.solve(setup.state, timeout=0.05)
    assert solution is not None
    assert not solution.success  # the target itself is inside the box
    setup.move_object("box", mk.transform((0.6, 0.6, 0.2)))
    assert solver.look(setup.state).contacts == ()
    assert solver.solve(setup.state)


def test_scenes_change_objects_and_allowed_pairs_by_undo(setup: SetUp) -> None:
    solver = LiveSolver()
    setup.add_object(mk.Sphere(0.1), mk.transform((0.5, 0.5, 0.5)))
    setup.edit_scene("allow", lambda scene: scene.allow("sphere", "panda_hand"))
    solver.problem(setup.state)
    assert solver.scene.allowed == {("panda_hand", "sphere")}
    setup.undo()
    solver.problem(setup.state)
    assert solver.scene.allowed == frozenset()
    setup.undo()
    solver.problem(setup.state)
    assert len(solver.scene) == 0


def full_setup() -> SetUp:
    setup = SetUp("panda")
    setup.drag("pose_panda_hand_tcp", shifted(setup, (0.05, 0.1, 0.0)))
    solution = LiveSolver().solve(setup.state)
    assert solution is not None
    setup.follow(solution.q)
    setup.keep_posture("reach")
    setup.set_joint("panda_joint1", -0.4)
    setup.keep_posture("left")
    setup.set_way(("reach", "left"))
    setup.add_object(mk.Box((0.1, 0.2, 0.3)), mk.transform((0.4, -0.4, 0.2), rpy=(0.1, 0.2, 0.3)))
    setup.add_object(mk.Cylinder(0.05, 0.4), mk.transform((-0.4, 0.4, 0.2)))
    setup.add_goal("AlignAxis", "panda_hand")
    setup.add_goal("AvoidLimits")
    setup.enable("avoidlimits", False)
    return setup


def test_a_saved_setup_loads_as_it_was(tmp_path) -> None:
    setup = full_setup()
    path = tmp_path / "cell.json"
    setup.save(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cell.json", "cell.scene.toml"]
    other = SetUp("ur5")
    other.load(path)
    first, second = setup.state, other.state
    assert [(w.name, w.enabled, type(w.goal)) for w in first.goals] == [
        (w.name, w.enabled, type(w.goal)) for w in second.goals
    ]
    np.testing.assert_allclose(second.goals[0].target, first.goals[0].target, atol=1e-12)
    np.testing.assert_array_equal(second.q, first.q)
    assert second.way == ("reach", "left")
    np.testing.assert_array_equal(second.postures["left"], first.postures["left"])
    assert dict(second.scene.objects) == dict(first.scene.objects)
    assert other.undo() == "load"
    assert other.robot.name == "ur5"


def test_a_saved_setup_is_a_problem_for_python_and_the_command_line(tmp_path) -> None:
    setup = full_setup()
    path = tmp_path / "cell.json"
    setup.save(path)
    problem = load_problem(path)
    solution = problem.compile(mk.load_robot(problem.robot)).solve(seed=problem.seed)
    assert solution.success
    command = [sys.executable, "-m", "memetik.cli", "solve", "--problem", str(path), "--json"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    np.testing.assert_allclose(json.loads(printed.stdout)["q"], solution.q, atol=1e-9)


def test_the_script_makes_the_same_thing() -> None:
    setup = full_setup()
    names: dict = {}
    exec(setup.script(), names)
    mine = LiveSolver().solve(setup.state, timeout=0.1)
    assert mine is not None
    np.testing.assert_allclose(names["solution"].q, mine.q, atol=1e-6)
    assert names["solution"].success
    assert names["scene"].names == ("box", "cylinder")
    np.testing.assert_allclose(names["way"][1], setup.state.postures["left"], atol=1e-9)


def test_loading_something_else_is_refused_and_changes_nothing(tmp_path, setup: SetUp) -> None:
    bad = tmp_path / "bad.json"
    for text, words in (
        ("{", "not JSON"),
        ("{}", "schema"),
        ('{"schema": "memetik.problem/1", "robot": "panda", "goals": [], "studio": {"postures": 3}}', "postures"),
        ('{"schema": "memetik.problem/1", "robot": "panda", "goals": [], "studio": {"way": ["x"]}}', "posture 'x'"),
        ('{"schema": "memetik.problem/1", "robot": "nobody", "goals": []}', "nobody"),
    ):
        bad.write_text(text)
        before = setup.state
        with pytest.raises(MemetikError, match=words):
            setup.load(bad)
        assert setup.state is before
    with pytest.raises(InvalidInputError, match=r"\.json"):
        setup.save(tmp_path / "setup.txt")


def test_only_files_below_the_folder_are_named(tmp_path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "a.json").write_text("{}")
    (tmp_path / "b.json").write_text("{}")
    (tmp_path / "inside" / "link.json").symlink_to(tmp_path / "b.json")
    folder = Folder(tmp_path / "inside")
    assert folder.path("a.json", (".json",)).name == "a.json"
    for name in ("../b.json", str(tmp_path / "b.json"), "link.json", "a/../../b.json"):
        with pytest.raises(InvalidInputError, match="outside the folder"):
            folder.path(name)
    with pytest.raises(InvalidInputError, match="does not end"):
        folder.path("a.json", (".toml",))
    with pytest.raises(InvalidInputError, match="name of a file"):
        folder.path("  ")
    assert "a.json" in folder.files((".json",))


def test_another_robot_keeps_the_world_and_drops_what_hung_on_its_links(setup: SetUp) -> None:
    setup.add_object(mk.Box((0.1, 0.1, 0.1)), mk.transform((0.5, 0.5, 0.2)))
    setup.edit_scene("attach", lambda scene: scene.attach("cup", mk.Sphere(0.03), link="panda_hand"))
    setup.use_robot("ur5")
    assert list(setup.state.scene.objects) == ["box"]
    assert LiveSolver().solve(setup.state)
    setup.undo()
    assert setup.robot.name == "panda"
    assert list(setup.state.scene.objects) == ["box", "cup"]


def test_names_that_are_not_there_are_refused(setup: SetUp) -> None:
    for action in (
        lambda: setup.remove_goal("nothing"),
        lambda: setup.drag("nothing", np.eye(4)),
        lambda: setup.remove_object("nothing"),
        lambda: setup.drop_posture("nothing"),
        lambda: setup.hold("nothing"),
        lambda: setup.add_goal("Pose", "nothing"),
        lambda: setup.set_way(("nothing",)),
    ):
        before = setup.state
        with pytest.raises(UnknownNameError):
            action()
        assert setup.state is before


def test_targets_in_the_frame_of_a_link_are_dragged_in_the_world(setup: SetUp) -> None:
    goal = mk.Pose("panda_hand_tcp", np.eye(4), relative_to="panda_link0")
    robot = setup.robot.at(mk.transform((1.0, 0.0, 0.0)))
    wanted = Wanted.of(goal, "relative")
    handle = handle_of(wanted, robot, setup.state.q)
    assert handle is not None
    np.testing.assert_allclose(handle.pose[:3, 3], (1.0, 0.0, 0.0), atol=1e-12)
    moved = dragged(wanted, mk.transform((1.2, 0.3, 0.0)), robot, setup.state.q)
    np.testing.assert_allclose(moved.target[:3, 3], (0.2, 0.3, 0.0), atol=1e-12)
