"""`memetik solve`: several goals, JSON in and out, exit codes."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest

import memetik as mk
from memetik.cli.goal_words import joined
from memetik.errors import GoalError, InvalidInputError
from memetik.goals import (
    AlignAxis,
    AvoidLimits,
    Balance,
    Cone,
    Distance,
    Huber,
    JointValue,
    Line,
    LookAt,
    MinDistance,
    MinimalDisplacement,
    Orientation,
    PartialOrientation,
    Pivot,
    Plane,
    PointDistance,
    Pose,
    Position,
    ProjectOntoSurface,
    RelativePose,
    Touch,
    Viewpoint,
)
from memetik.solve.problem_file import SCHEMA, ProblemFile, goal_classes, goal_from_dict, goal_to_dict, read_problem


def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "memetik.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, input=stdin, timeout=600, check=False)


def test_a_pose_in_words_is_solved():
    result = run("solve", "panda", "--pose", "panda_hand", "0.4", "-0.1", "0.5", "3.14", "0", "0", "--json")
    assert result.returncode == 0, result.stderr
    data = json.loads(result.stdout)
    assert data["schema"] == "memetik.solution/1"
    assert data["success"] is True
    assert data["reason"] == "solved"
    pose = mk.load_robot("panda").pose("panda_hand", data["q"])
    np.testing.assert_allclose(pose, mk.transform((0.4, -0.1, 0.5), rpy=(3.14, 0, 0)), atol=2e-5)


def test_several_goals_and_a_quaternion_are_solved():
    quaternion = ("0", "0", "0", "-1")
    goal = json.dumps(
        {"type": "Position", "link": "l_elbow_flex_link", "target": [0.4, 0.6, 0.9], "tolerance": [0.3] * 3}
    )
    result = run(
        "solve", "pr2", "--pose", "r_gripper_tool_frame", "0.6", "-0.2", "0.9", *quaternion, "--position",
        "l_gripper_tool_frame", "0.6", "0.3", "1.0", "--goal", goal, "--json", "--timeout", "2",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    data = json.loads(result.stdout)
    robot = mk.load_robot("pr2")
    expected = mk.transform((0.6, -0.2, 0.9), quat_xyzw=(0, 0, 0, 1))
    np.testing.assert_allclose(robot.pose("r_gripper_tool_frame", data["q"]), expected, atol=2e-5)
    np.testing.assert_allclose(robot.pose("l_gripper_tool_frame", data["q"])[:3, 3], (0.6, 0.3, 1.0), atol=2e-5)
    assert len(data["errors"]) == 3


def test_text_names_joints_errors_and_the_outcome():
    result = run("solve", "ur5", "--position", "tool0", "0.3", "0.2", "0.4", "--align", "tool0", "z", "-z")
    assert result.returncode == 0, result.stderr
    for word in ("shoulder_pan_joint", "position_tool0", "alignaxis_tool0", "solved in"):
        assert word in result.stdout


def test_what_cannot_be_solved_exits_with_1_and_says_why():
    arguments = ("solve", "ur5", "--position", "tool0", "5", "0", "0", "--timeout", "0.02")
    result = run(*arguments)
    assert result.returncode == 1
    assert "out of reach" in result.stdout
    data = json.loads(run(*arguments, "--explain", "--json").stdout)
    assert data["success"] is False
    assert data["reason"] == "out of reach"
    assert data["explanation"][0] == "Not solved: out of reach."


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("solve",), "ROBOT"),
        (("solve", "panda"), "--pose"),
        (("solve", "pnda", "--position", "panda_hand", "0", "0", "0"), "panda"),
        (("solve", "panda", "--position", "panda_hnd", "0", "0", "0"), "panda_hand"),
        (("solve", "panda", "--position", "panda_hand", "0", "0"), "x y z"),
        (("solve", "panda", "--position", "panda_hand", "0", "0", "up"), "'up' is not a number"),
        (("solve", "panda", "--pose", "panda_hand", "0", "0", "0", "1"), "quaternion"),
        (("solve", "panda", "--pose", "panda_hand", "nan", "0", "0"), "finite"),
        (("solve", "panda", "--goal", "{"), "not JSON"),
        (("solve", "panda", "--goal", '{"type": "Pos"}'), "Pose"),
        (("solve", "panda", "--goal", '{"type": "Pose"}'), "'link'"),
        (("solve", "panda", "--goal", '{"type": "Pose", "link": "panda_hand", "tolerance": 1}'), "position_tolerance"),
        (("solve", "panda", "--position", "panda_hand", "0.4", "0", "0.5", "--seed", "1 2"), "8"),
        (("solve", "panda", "--position", "panda_hand", "0.4", "0", "0.5", "--fix", "panda_jont1"), "panda_joint1"),
        (("solve", "--problem", "/nowhere.json"), "cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: tuple[str, ...], named: str):
    result = run(*arguments)
    assert result.returncode == 2, result.stdout
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("memetik: ")
    assert named in result.stderr


def test_a_saved_problem_gives_the_same_answer(tmp_path):
    path = tmp_path / "problem.json"
    options = ("--evaluations", "5000", "--rng", "7", "--json")
    first = run(
        "solve", "iiwa14", "--position", "tool0", "0.4", "0.2", "0.6", "--align", "tool0", "z", "-z", "--seed",
        "joint_a2=0.3, joint_a4=-1.2", "--fix", "joint_a1=0.4", "--save", str(path), *options,
    )  # fmt: skip
    assert first.returncode == 0, first.stderr
    stated = json.loads(path.read_text())
    assert stated["schema"] == SCHEMA
    assert stated["fixed"] == {"joint_a1": 0.4}
    second = run("solve", "--problem", str(path), "--json")
    third = run("solve", "--problem", "-", "--json", stdin=path.read_text())
    answers = [json.loads(result.stdout)["q"] for result in (first, second, third)]
    assert answers[0] == answers[1] == answers[2]


def test_open_targets_come_from_the_file():
    stated = {
        "schema": SCHEMA,
        "robot": "ur5",
        "goals": [{"type": "Pose", "link": "tool0", "name": "tool"}],
        "targets": {"tool": {"position": [0.4, 0.1, 0.4], "rpy": [3.1, 0.0, 0.5]}},
    }
    result = run("solve", "--problem", "-", "--json", stdin=json.dumps(stated))
    assert result.returncode == 0, result.stderr
    pose = mk.load_robot("ur5").pose("tool0", json.loads(result.stdout)["q"])
    np.testing.assert_allclose(pose, mk.transform((0.4, 0.1, 0.4), rpy=(3.1, 0.0, 0.5)), atol=2e-5)


def test_all_solutions_are_listed():
    pose = ("--pose", "tool0", "0.4", "0.2", "0.4", "3.0", "0.1", "0.2")
    data = json.loads(run("solve", "ur5", *pose, "--all", "--json").stdout)
    assert data["schema"] == "memetik.solutions/1"
    assert len(data["solutions"]) >= 8
    robot = mk.load_robot("ur5")
    expected = mk.transform((0.4, 0.2, 0.4), rpy=(3.0, 0.1, 0.2))
    for solution in data["solutions"]:
        np.testing.assert_allclose(robot.pose("tool0", solution["q"]), expected, atol=2e-5)
    assert "distinct solutions" in run("solve", "ur5", *pose, "--all").stdout


def test_a_scene_is_read_from_its_file(tmp_path):
    scene = mk.Scene()
    scene.add_box("wall", size=(0.6, 0.1, 0.6), pose=mk.transform((0.4, 0.1, 0.4)))
    scene.save(tmp_path / "cell.toml")
    inside = ("solve", "ur5", "--position", "tool0", "0.4", "0.1", "0.4", "--timeout", "0.05", "--json")
    blocked = run(*inside, "--scene", str(tmp_path / "cell.toml"))
    assert blocked.returncode == 1, blocked.stderr
    assert json.loads(blocked.stdout)["reason"] == "in collision"
    stated = {
        "schema": SCHEMA,
        "robot": "ur5",
        "goals": [{"type": "Position", "link": "tool0", "target": [0.4, -0.4, 0.4]}],
        "scene": "cell.toml",
        "self_collision": False,
        "margin": 0.02,
    }
    (tmp_path / "problem.json").write_text(json.dumps(stated))
    result = run("solve", "--problem", str(tmp_path / "problem.json"), "--json", "--timeout", "1")
    assert result.returncode == 0, result.stderr
    model = mk.CollisionModel(mk.load_robot("ur5"), scene, self_collision=False)
    assert model.distance(json.loads(result.stdout)["q"]) >= 0.02


def test_words_of_a_goal_are_joined_up_to_the_next_option():
    given = ["solve", "r", "--pose", "hand", "0.1", "-0.2", "-3e-1", "--align", "hand", "z", "-z", "-v", "--rng", "-1"]
    assert joined(given) == [
        "solve", "r", "--pose", "hand 0.1 -0.2 -3e-1", "--align", "hand z -z", "-v", "--rng", "-1",
    ]  # fmt: skip


GOALS = [
    Pose("a"),
    Pose("a", mk.transform((1, 2, 3), rpy=(0.1, 0.2, 0.3)), rotation_tolerance=(0.1, (-0.1, 0.2), math.inf)),
    Pose("a", mk.transform((1, 2, 3)), offset=(0, 0, 0.1), relative_to="b", weight=2.0, priority=1, name="there"),
    RelativePose("a", "b", mk.transform((1, 2, 3))),
    Position("a", (1, 2, 3), tolerance=(0.1, (-math.inf, 0.0), math.inf), loss=Huber(0.1)),
    Orientation("a", mk.transform(rpy=(1, 2, 3))[:3, :3]),
    PartialOrientation("a", roll=0.1, yaw=(-1.0, 1.0)),
    AlignAxis("a", "x", (0, 0, -1)),
    Cone("a", "x", (0, 0, -1), 0.3, position=(1, 2, 3)),
    LookAt("a", "x", (0, 0, -1)),
    Line("a", (1, 2, 3), "x", (0.0, 1.0)),
    Plane("a", (1, 2, 3), "x", (0.0, math.inf)),
    Distance("a", "b", (0.1, 0.2)),
    MinDistance("a", ((1, 2, 3), (4, 5, 6)), 0.1, radii=(0.1, 0.2)),
    Pivot(("a", "b"), (1, 2, 3)),
    Pivot("a", (1, 2, 3), segment=(0.0, 1.0)),
    Viewpoint("a", (1, 2, 3), (0, 0, 1)),
    Balance(polygon=((0, 0, 0), (1, 0, 0), (0, 1, 0))),
    Touch("a", (0, 0, 0.1)),
    PointDistance("a", (0, 0, 0.1), (-0.1, 0.0)),
    JointValue("j", (0.0, 1.0)),
    AvoidLimits(weights={"j": 2.0}, joints=("j",)),
    MinimalDisplacement(reference={"j": 1.0}),
]


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: type(goal).__name__)
def test_goals_come_back_from_json(goal):
    data = goal_to_dict(goal)
    again = goal_from_dict(json.loads(json.dumps(data, allow_nan=False)))
    assert type(again) is type(goal)
    assert repr(again) == repr(goal)
    assert goal_to_dict(again) == data


def test_surfaces_come_back_from_json():
    goal = ProjectOntoSurface("a", "z", mk.Box((0.1, 0.2, 0.3)), 0.05, surface_pose=mk.transform((1, 2, 3)))
    again = goal_from_dict(json.loads(json.dumps(goal_to_dict(goal), allow_nan=False)))
    np.testing.assert_array_equal(again.surface.triangles, goal.surface.triangles)
    assert again.stand_off == goal.stand_off


def test_every_kind_of_goal_can_be_named_in_a_file():
    for name in (
        "Pose",
        "Position",
        "Orientation",
        "LookAt",
        "Pivot",
        "Balance",
        "JointValue",
        "AvoidLimits",
        "GravityTorque",
    ):
        assert name in goal_classes()
    assert "Goal" not in goal_classes()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[]", "object"),
        ("{", "not JSON"),
        ("{}", "memetik.problem/1"),
        ('{"schema": "memetik.problem/9", "robot": "ur5", "goals": []}', "memetik.problem/1"),
        ('{"schema": "memetik.problem/1", "goals": []}', "'robot'"),
        ('{"schema": "memetik.problem/1", "robot": "ur5"}', "'goals'"),
        ('{"schema": "memetik.problem/1", "robot": "ur5", "goals": [], "sed": []}', "'seed'"),
        ('{"schema": "memetik.problem/1", "robot": "ur5", "goals": [], "options": {"time": 1}}', "timeout"),
        ('{"schema": "memetik.problem/1", "robot": "ur5", "goals": [{"type": "Pose", "link": 3}]}', "link"),
        ('{"schema": "memetik.problem/1", "robot": "ur5", "goals": ["Pose"]}', "goals must be a list of objects"),
        ('{"schema": "memetik.problem/1", "robot": "ur5", "goals": [], "fixed": 3}', "fixed"),
        (
            '{"schema": "memetik.problem/1", "robot": "ur5", "goals": '
            '[{"type": "Pose", "link": "a", "loss": {"type": "Hubert"}}]}',
            "Huber",
        ),
    ],
)
def test_files_that_state_no_problem_are_told(text: str, named: str):
    with pytest.raises(InvalidInputError, match=named):
        read_problem(text)


def test_own_code_cannot_be_written():
    class Mine(Position):
        pass

    with pytest.raises(GoalError, match="Mine"):
        goal_to_dict(Mine("a"))


def test_a_problem_file_round_trips():
    stated = ProblemFile(
        "ur5",
        tuple(GOALS[:3]),
        scene="cell.toml",
        self_collision=True,
        margin=0.01,
        fixed={"j": 0.1, "k": None},
        targets={"t": np.eye(4)},
        seed=np.zeros(6),
        base=np.eye(4),
        options={"timeout": 0.1},
    )
    again = read_problem(json.dumps(stated.to_dict(), allow_nan=False))
    assert again.to_dict() == stated.to_dict()
