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
from memetik.studio.panels.forms import form_of, goal_of, number_of
from memetik.studio.session.files import Folder
from memetik.studio.session.session import Session
from memetik.studio.session.solving import LiveSolver
from memetik.studio.session.targets import GoalEntry, dragged, handle_of


@pytest.fixture
def session() -> Session:
    return Session("panda")


def shifted(session: Session, by: tuple[float, float, float]) -> np.ndarray:
    pose = np.array(session.state.goals[0].target)
    pose[:3, 3] += by
    return pose


def test_a_robot_begins_with_a_goal_at_its_tip_that_holds(session: Session) -> None:
    assert [entry.name for entry in session.state.goals] == ["pose_panda_hand_tcp"]
    solution = LiveSolver().solve(session.state)
    assert solution is not None
    assert solution.success
    np.testing.assert_allclose(solution.q, session.state.q, atol=1e-6)


def test_a_dragged_target_is_solved_for(session: Session) -> None:
    target = shifted(session, (0.1, 0.05, -0.05))
    session.drag("pose_panda_hand_tcp", target)
    solution = LiveSolver().solve(session.state, quick=True)
    assert solution is not None
    assert solution.success
    np.testing.assert_allclose(session.robot.pose("panda_hand_tcp", solution.q), target, atol=2e-5)


def test_drags_of_one_goal_are_one_step_of_the_history(session: Session) -> None:
    before = session.state.goals[0].target
    for k in range(5):
        session.drag("pose_panda_hand_tcp", shifted(session, (0.01 * k, 0.0, 0.0)))
    assert session.undo() == "drag pose_panda_hand_tcp"
    np.testing.assert_array_equal(session.state.goals[0].target, before)
    assert session.undo() is None
    assert session.redo() == "drag pose_panda_hand_tcp"
    assert session.state.goals[0].target[0, 3] == pytest.approx(before[0, 3] + 0.1)


def test_two_drags_with_a_release_between_them_are_two_steps(session: Session) -> None:
    session.drag("pose_panda_hand_tcp", shifted(session, (0.01, 0.0, 0.0)))
    session.settle()
    session.drag("pose_panda_hand_tcp", shifted(session, (0.01, 0.0, 0.0)))
    assert session.undo()
    assert session.undo()
    assert session.undo() is None


def test_a_change_after_undo_forgets_what_was_undone(session: Session) -> None:
    session.add_goal("AvoidLimits")
    session.undo()
    session.add_goal("CenterJoints")
    assert session.redo() is None
    assert [entry.name for entry in session.state.goals] == ["pose_panda_hand_tcp", "center"]


@pytest.mark.parametrize("kind", sorted(set(goal_classes()) - {"ProjectOntoSurface"}))
def test_every_goal_can_be_added_dragged_edited_and_solved(kind: str) -> None:
    session = Session("panda")
    session.remove_goal("pose_panda_hand_tcp")
    if kind in ("Clearance", "NoPenetration", "CollisionDistance"):
        session.add_object(mk.Box((0.1, 0.1, 0.1)), mk.transform((0.0, 0.8, 0.2)))
    name = session.add_goal(kind, "panda_hand")
    entry = session.state.goal(name)
    solver = LiveSolver()
    found = solver.solve(session.state, timeout=0.2)
    assert found is not None
    if entry.goal.priority == 0:
        assert found.success, found.explain()
    handle = handle_of(entry, session.robot, session.state.q)
    if handle is not None:
        same = dragged(entry, handle.pose, session.robot, session.state.q)
        np.testing.assert_allclose(same.target, entry.target, atol=1e-9)
    texts = {line.name: line.text for line in form_of(entry.stated)}
    texts["weight"] = "2.5"
    edited = goal_of(entry.stated, texts)
    assert edited.weight == 2.5
    assert type(edited) is type(entry.goal)
    session.replace_goal(name, edited)
    assert solver.solve(session.state, timeout=0.2) is not None


def test_project_needs_a_mesh_and_then_works(session: Session) -> None:
    with pytest.raises(GoalError, match="add a mesh"):
        session.add_goal("ProjectOntoSurface", "panda_hand")
    session.change("no checks", self_collision=False)
    vertices = np.array([[0.2, -0.5, 0.3], [0.9, -0.5, 0.3], [0.9, 0.5, 0.3], [0.2, 0.5, 0.3]])
    from memetik.geometry.shapes import TriangleMesh

    session.add_object(TriangleMesh(vertices, np.array([[0, 1, 2], [0, 2, 3]])), name="table")
    name = session.add_goal("ProjectOntoSurface", "panda_hand")
    assert session.state.goal(name).goal.surface is not None
    texts = {line.name: line.text for line in form_of(session.state.goal(name).stated)}
    assert goal_of(session.state.goal(name).stated, texts).surface is not None


def test_forms_refuse_text_where_numbers_belong(session: Session) -> None:
    goal = session.state.goals[0].stated
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


def test_sliders_take_targets_along(session: Session) -> None:
    session.set_joint("panda_joint1", 0.5)
    state = session.state
    np.testing.assert_allclose(state.goals[0].target, state.robot.pose("panda_hand_tcp", state.q), atol=1e-12)
    solution = LiveSolver().solve(state)
    assert solution is not None
    np.testing.assert_allclose(solution.q, state.q, atol=1e-6)
    with pytest.raises(InvalidInputError, match="goes from"):
        session.set_joint("panda_joint1", 99.0)


def test_held_joints_stay(session: Session) -> None:
    session.hold("panda_joint1")
    session.drag("pose_panda_hand_tcp", shifted(session, (0.0, 0.1, 0.0)))
    solution = LiveSolver().solve(session.state)
    assert solution is not None
    assert solution.q[0] == session.state.q[0]


def test_disabled_goals_do_not_count_and_are_kept(session: Session) -> None:
    session.enable("pose_panda_hand_tcp", False)
    assert LiveSolver().solve(session.state) is None
    session.enable("pose_panda_hand_tcp")
    assert LiveSolver().solve(session.state) is not None


def test_dragging_compiles_nothing(session: Session) -> None:
    session.add_object(mk.Box((0.1, 0.1, 0.1)), mk.transform((0.5, 0.5, 0.2)))
    solver = LiveSolver()
    problem = solver.problem(session.state)
    session.drag("pose_panda_hand_tcp", shifted(session, (0.1, 0.0, 0.0)))
    session.move_object("box", mk.transform((0.5, 0.4, 0.2)))
    assert solver.problem(session.state) is problem
    np.testing.assert_allclose(solver.scene["box"].pose[:3, 3], (0.5, 0.4, 0.2))


def test_collisions_are_seen_and_avoided(session: Session) -> None:
    tip = session.robot.pose("panda_hand_tcp", session.state.q)[:3, 3]
    session.add_object(mk.Box((0.2, 0.2, 0.2)), mk.transform(tip))
    solver = LiveSolver()
    clearances = solver.look(session.state)
    assert "box" in clearances.touching
    solution = solver.solve(session.state, timeout=0.05)
    assert solution is not None
    assert not solution.success  # the target itself is inside the box
    session.move_object("box", mk.transform((0.6, 0.6, 0.2)))
    assert solver.look(session.state).contacts == ()
    assert solver.solve(session.state)


def test_scenes_change_objects_and_allowed_pairs_by_undo(session: Session) -> None:
    solver = LiveSolver()
    session.add_object(mk.Sphere(0.1), mk.transform((0.5, 0.5, 0.5)))
    session.edit_scene("allow", lambda scene: scene.allow("sphere", "panda_hand"))
    solver.problem(session.state)
    assert solver.scene.allowed == {("panda_hand", "sphere")}
    session.undo()
    solver.problem(session.state)
    assert solver.scene.allowed == frozenset()
    session.undo()
    solver.problem(session.state)
    assert len(solver.scene) == 0


def full_session() -> Session:
    session = Session("panda")
    session.drag("pose_panda_hand_tcp", shifted(session, (0.05, 0.1, 0.0)))
    solution = LiveSolver().solve(session.state)
    assert solution is not None
    session.follow(solution.q)
    session.keep_configuration("reach")
    session.set_joint("panda_joint1", -0.4)
    session.keep_configuration("left")
    session.set_waypoints(("reach", "left"))
    session.add_object(mk.Box((0.1, 0.2, 0.3)), mk.transform((0.4, -0.4, 0.2), rpy=(0.1, 0.2, 0.3)))
    session.add_object(mk.Cylinder(0.05, 0.4), mk.transform((-0.4, 0.4, 0.2)))
    session.add_goal("AlignAxis", "panda_hand")
    session.add_goal("AvoidLimits")
    session.enable("avoidlimits", False)
    return session


def test_a_saved_session_loads_as_it_was(tmp_path) -> None:
    session = full_session()
    path = tmp_path / "cell.json"
    session.save(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cell.json", "cell.scene.toml"]
    other = Session("ur5")
    other.load(path)
    first, second = session.state, other.state
    assert [(w.name, w.enabled, type(w.goal)) for w in first.goals] == [
        (w.name, w.enabled, type(w.goal)) for w in second.goals
    ]
    np.testing.assert_allclose(second.goals[0].target, first.goals[0].target, atol=1e-12)
    np.testing.assert_array_equal(second.q, first.q)
    assert second.waypoints == ("reach", "left")
    np.testing.assert_array_equal(second.configurations["left"], first.configurations["left"])
    assert dict(second.scene.objects) == dict(first.scene.objects)
    assert other.undo() == "load"
    assert other.robot.name == "ur5"


def test_a_saved_session_is_a_problem_for_python_and_the_command_line(tmp_path) -> None:
    session = full_session()
    path = tmp_path / "cell.json"
    session.save(path)
    problem = load_problem(path)
    solution = problem.compile(mk.load_robot(problem.robot)).solve(seed=problem.seed)
    assert solution.success
    command = [sys.executable, "-m", "memetik.cli", "solve", "--problem", str(path), "--json"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    np.testing.assert_allclose(json.loads(printed.stdout)["q"], solution.q, atol=1e-9)


def test_the_script_makes_the_same_thing() -> None:
    session = full_session()
    names: dict = {}
    exec(session.script(), names)
    mine = LiveSolver().solve(session.state, timeout=0.1)
    assert mine is not None
    np.testing.assert_allclose(names["solution"].q, mine.q, atol=1e-6)
    assert names["solution"].success
    assert names["scene"].names == ("box", "cylinder")
    np.testing.assert_allclose(names["waypoints"][1], session.state.configurations["left"], atol=1e-9)


def test_loading_something_else_is_refused_and_changes_nothing(tmp_path, session: Session) -> None:
    bad = tmp_path / "bad.json"
    for text, words in (
        ("{", "not JSON"),
        ("{}", "schema"),
        ('{"schema": "memetik.problem/1", "robot": "panda", "goals": [], "studio": {"postures": 3}}', "postures"),
        (
            '{"schema": "memetik.problem/1", "robot": "panda", "goals": [], "studio": {"way": ["x"]}}',
            "configuration 'x'",
        ),
        ('{"schema": "memetik.problem/1", "robot": "nobody", "goals": []}', "nobody"),
    ):
        bad.write_text(text)
        before = session.state
        with pytest.raises(MemetikError, match=words):
            session.load(bad)
        assert session.state is before
    with pytest.raises(InvalidInputError, match=r"\.json"):
        session.save(tmp_path / "setup.txt")


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


def test_another_robot_keeps_the_world_and_drops_what_hung_on_its_links(session: Session) -> None:
    session.add_object(mk.Box((0.1, 0.1, 0.1)), mk.transform((0.5, 0.5, 0.2)))
    session.edit_scene("attach", lambda scene: scene.attach("cup", mk.Sphere(0.03), link="panda_hand"))
    session.use_robot("ur5")
    assert list(session.state.scene.objects) == ["box"]
    assert LiveSolver().solve(session.state)
    session.undo()
    assert session.robot.name == "panda"
    assert list(session.state.scene.objects) == ["box", "cup"]


def test_names_that_are_not_there_are_refused(session: Session) -> None:
    for action in (
        lambda: session.remove_goal("nothing"),
        lambda: session.drag("nothing", np.eye(4)),
        lambda: session.remove_object("nothing"),
        lambda: session.drop_configuration("nothing"),
        lambda: session.hold("nothing"),
        lambda: session.add_goal("Pose", "nothing"),
        lambda: session.set_waypoints(("nothing",)),
    ):
        before = session.state
        with pytest.raises(UnknownNameError):
            action()
        assert session.state is before


def test_targets_in_the_frame_of_a_link_are_dragged_in_the_world(session: Session) -> None:
    goal = mk.Pose("panda_hand_tcp", np.eye(4), relative_to="panda_link0")
    robot = session.robot.at(mk.transform((1.0, 0.0, 0.0)))
    entry = GoalEntry.of(goal, "relative")
    handle = handle_of(entry, robot, session.state.q)
    assert handle is not None
    np.testing.assert_allclose(handle.pose[:3, 3], (1.0, 0.0, 0.0), atol=1e-12)
    moved = dragged(entry, mk.transform((1.2, 0.3, 0.0)), robot, session.state.q)
    np.testing.assert_allclose(moved.target[:3, 3], (0.2, 0.3, 0.0), atol=1e-12)


def test_robots_start_with_goals_on_hands_feet_and_head() -> None:
    assert [goal.goal.links[0] for goal in Session("panda").state.goals] == ["panda_hand_tcp"]
    links = {goal.goal.links[0] for goal in Session("character").state.goals}
    assert {"left_hand", "right_hand", "left_sole", "right_sole", "eyes"} <= links
    wheels = """<robot name="cart"><link name="base"/><link name="wheel"/><link name="arm_1"/><link name="arm_2"/>
      <joint name="wheel_joint" type="continuous"><parent link="base"/><child link="wheel"/></joint>
      <joint name="a" type="revolute"><parent link="base"/><child link="arm_1"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
      <joint name="b" type="revolute"><parent link="arm_1"/><child link="arm_2"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    assert [goal.goal.links[0] for goal in Session(mk.load_robot(wheels)).state.goals] == ["arm_2"]


def test_a_pulled_point_follows_the_hand_and_the_pose_still_holds() -> None:
    session = Session("panda")
    elbow = session.robot.pose("panda_link4", session.state.q)[:3, 3]
    hand = elbow + np.array([0.0, 0.1, 0.0])
    session.pull("panda_link4", elbow, "pull")
    np.testing.assert_allclose(session.state.goal("pull").target, elbow)
    session.drag("pull", mk.transform(hand))
    solution = LiveSolver().solve(session.state, timeout=1.0)
    assert solution is not None
    assert solution.success
    assert np.linalg.norm(session.robot.pose("panda_link4", solution.q)[:3, 3] - hand) < 0.08


def test_the_script_plans_through_the_waypoints() -> None:
    session = Session("panda")
    first = session.keep_configuration()
    session.set_joint("panda_joint1", 0.5)
    session.set_waypoints((first, session.keep_configuration()))
    names: dict = {}
    exec(session.script(), names)
    np.testing.assert_allclose(names["trajectory"].end, session.state.q, atol=1e-6)
