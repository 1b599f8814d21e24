"""Tasks: files, scripts, pick and place under physics, teach-in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import memetik as mk
from memetik.cli.app import app
from memetik.motion.execution.faults import StopsEarly, TakesFewPoints
from memetik.motion.tasks.sequencer import run_task
from memetik.motion.tasks.task import SCRIPTS, Gripper, Pick, Place, Task, TaskStep
from memetik.motion.tasks.task_file import load_postures, load_task, teach

pytest.importorskip("mujoco")

TASKS = Path(__file__).parents[2] / "examples" / "tasks"

TASK = """
schema = "memetik.task/1"
robot = "panda"
group = "panda_arm"
start = "ready"

[gripper]
tool = "panda_hand_tcp"
open = {panda_finger_joint1 = 0.04}
closed = {panda_finger_joint1 = 0.0}
links = ["panda_hand", "panda_leftfinger", "panda_rightfinger"]
hold = "friction"
spin = "half"

[poses]
there = {position = [0.45, 0.2, 0.03], rpy = [0.0, 0.0, 0.3]}

[[object]]
name = "table"
shape = "box"
size = [0.8, 1.2, 0.1]
position = [0.5, 0.0, -0.05]

[[object]]
name = "cube"
shape = "box"
size = [0.04, 0.04, 0.06]
position = [0.45, -0.1, 0.03]
mass = 0.1
"""


@pytest.fixture
def task_file(tmp_path):
    def write(steps, head=TASK):
        path = tmp_path / "task.toml"
        path.write_text(head + steps)
        return path

    return write


def test_a_cube_is_carried_by_friction_alone(task_file):
    task = load_task(task_file('[[step]]\npick = "cube"\nto = "there"\n[[step]]\nmove = "ready"\n'))
    report = run_task(task)
    assert report.success, report.message
    assert report.placed["cube"] < 0.01
    assert not any("weld" in note for note in report.notes)
    assert task.scene["cube"].pose[1, 3] == pytest.approx(-0.1)  # the task itself is not changed


def test_without_force_the_cube_is_left_and_said_to_be(task_file):
    head = TASK.replace("closed = {panda_finger_joint1 = 0.0}", "closed = {panda_finger_joint1 = 0.035}")
    report = run_task(load_task(task_file('[[step]]\npick = "cube"\nto = "there"\n', head)))
    assert not report.success
    assert "not held" in report.message


def test_a_weld_is_said_to_be_one(task_file):
    head = TASK.replace('hold = "friction"', 'hold = "weld"')
    report = run_task(load_task(task_file('[[step]]\npick = "cube"\n[[step]]\nplace = "there"\n', head)))
    assert report.success, report.message
    assert any("weld" in note for note in report.notes)


@pytest.mark.parametrize("fault", [lambda d: StopsEarly(d, 0.5, chance=0.5), lambda d: TakesFewPoints(d, 16)])
def test_tasks_end_in_spite_of_faulty_drivers(task_file, fault):
    report = run_task(load_task(task_file('[[step]]\npick = "cube"\nto = "there"\n')), wrap=fault)
    assert report.success, report.message


def test_the_scripts_are_those_of_the_two_arms():
    katana, youbot = SCRIPTS["katana"], SCRIPTS["youbot"]
    assert sum(map(len, (katana.pick_down, katana.pick_up, katana.place_down, katana.place_up))) == 8
    assert sum(map(len, (youbot.pick_down, youbot.pick_up, youbot.place_down, youbot.place_up))) == 4
    assert katana.pick_down == (0.10, 0.03, 0.0)
    assert youbot.place_down == (0.01,)


@pytest.mark.parametrize("name", sorted(path.stem for path in TASKS.glob("*.toml")))
def test_the_example_tasks_load_and_move_twelve_objects(name):
    task = load_task(TASKS / f"{name}.toml")
    assert len(task.picked) == 12
    assert sum(isinstance(step, Place) for step in task.steps) == 12


def test_moves_and_lines_and_grips_are_mixed(task_file):
    steps = """
[[step]]
grip = "closed"
[[step]]
line = {offset = [0.0, 0.1, -0.05]}
[[step]]
move = {position = [0.5, 0.1, 0.4], rpy = [3.14159265, 0.0, 0.0]}
[[step]]
wait = 0.1
[[step]]
move = "home"
[postures]
home = [0.1, -0.7, 0.0, -2.2, 0.0, 1.6, 0.8]
"""
    report = run_task(load_task(task_file(steps)), "exact")
    assert report.success, report.message
    assert [step.label for step in report.steps] == ["grip closed", "line", "move", "wait", "move home"]


def test_taught_postures_are_targets(task_file, tmp_path):
    robot = mk.load_robot("panda")
    q = robot.state("ready")
    q[0] = 0.4
    teach(tmp_path / "taught.toml", "left", robot.joints(q))
    teach(tmp_path / "taught.toml", "right hand side", {name: 0.1 * k for k, name in enumerate(robot.joint_names)})
    teach(tmp_path / "taught.toml", "right hand side", robot.joints(robot.state("ready")))
    assert list(load_postures(tmp_path / "taught.toml")) == ["left", "right hand side"]
    head = TASK.replace('start = "ready"', 'start = "ready"\npostures = "taught.toml"')
    task = load_task(task_file('[[step]]\nmove = "left"\n[[step]]\nline = "right hand side"\n', head))
    np.testing.assert_allclose(task.steps[0].target, q)
    np.testing.assert_allclose(task.steps[1].target, robot.pose("panda_hand_tcp", robot.state("ready")), atol=1e-12)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ('[[step]]\npick = "cup"\n', "cup"),
        ('[[step]]\nmove = "hom"\n', "no configuration"),
        ('[[step]]\nline = "nowhere"\n', "no pose"),
        ('[[step]]\npick = "cube"\nmove = "ready"\n', "is needed; there is pick, move"),
        ('[[step]]\nplace = "there"\n', "nothing was picked"),
        ('[[step]]\npick = "cube"\nscript = "dance"\n', "script"),
        ("[[step]]\ngrip = {elbow = 1.0}\n", "elbow"),
        ('[[step]]\nwait = "long"\n', "number"),
        ('[[step]]\nmove = "ready"\nfast = true\n', "fast"),
        ("steps = 1\n", "steps"),
    ],
)
def test_what_is_wrong_in_a_task_is_named(task_file, steps, message):
    head = TASK if steps.startswith("[[") else steps + TASK
    with pytest.raises(mk.MemetikError, match=message):
        load_task(task_file(steps if steps.startswith("[[") else "", head))


def test_a_task_without_gripper_cannot_pick():
    scene = mk.Scene()
    scene.add_sphere("ball", 0.02)
    with pytest.raises(mk.InvalidInputError, match="gripper"):
        Task(mk.load_robot("ur5"), scene, (Pick("ball"),))
    with pytest.raises(mk.InvalidInputError, match="friction"):
        Gripper("tool0", hold="friction")


def test_a_step_that_cannot_be_done_ends_the_task_at_rest():
    robot = mk.load_robot("ur5")
    far = mk.transform((3.0, 0.0, 0.5))
    task = Task(robot, mk.Scene(), (TaskStep("move", far, "far away"),), start=robot.state("ready"))
    report = run_task(task, "exact")
    assert not report.success
    assert report.failed is not None
    assert "far away" in report.message


def test_the_command_line_runs_a_task_and_teaches(task_file, tmp_path):
    path = str(task_file('[[step]]\nmove = "ready"\n'))
    done = CliRunner().invoke(app, ["run", path, "--driver", "exact", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["schema"] == "memetik.run/1"
    assert found["success"]
    taught = str(tmp_path / "p.toml")
    done = CliRunner().invoke(app, ["run", path, "--driver", "exact", "--teach", "here", "--postures", taught])
    assert done.exit_code == 0, done.output
    assert "here" in load_postures(taught)
