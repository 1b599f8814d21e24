"""Task files: every key does what it says, and what is wrong is named with file, step and key."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError, MemetikError
from memetik.motion.tasks.task import Pick, Place, TaskStep
from memetik.motion.tasks.task_file import load_postures, load_task, teach

HEAD = 'schema = "memetik.task/1"\nrobot = "ur5"\n'
OBJECTS = """
[[object]]
name = "cube"
shape = "box"
size = [0.1, 0.1, 0.1]
position = [0.5, 0.0, 0.05]
mass = 0.3
[[object]]
name = "floor"
shape = "box"
size = [1.0, 1.0, 0.02]
"""
GRIPPER = """
[gripper]
tool = "tool0"
spin = "half"
seconds = 0.25
links = ["tool0", "ee_link"]
"""


@pytest.fixture
def load(tmp_path):
    def read(text: str, head: str = HEAD):
        path = tmp_path / "job.toml"
        path.write_text(head + text)
        return load_task(path)

    return read


def test_an_empty_task_has_the_defaults(load, ur5):
    task = load("")
    assert task.name == "job"
    assert (task.speed, task.group, task.gripper, task.steps) == (1.0, None, None, ())
    np.testing.assert_array_equal(task.start, ur5.neutral)
    assert not list(task.scene)


def test_name_speed_and_start_are_read(load, ur5):
    task = load('name = "demo"\nspeed = 0.25\nstart = "ready"\n')
    assert (task.name, task.speed) == ("demo", 0.25)
    np.testing.assert_array_equal(task.start, ur5.state("ready"))
    by_name = load("start = {elbow_joint = 0.5}\n")
    assert by_name.start[ur5.joint_index("elbow_joint")] == 0.5
    in_order = load("start = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]\n")
    np.testing.assert_allclose(in_order.start, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])


def test_a_base_and_a_tool_change_the_robot(load, ur5):
    task = load(
        "base = {position = [0.0, 0.0, 0.5]}\n"
        '[tool]\nname = "cup"\nlink = "tool0"\nposition = [0.0, 0.0, 0.12]\nmass = 0.3\n'
        'shape = {shape = "cylinder", radius = 0.02, length = 0.12, position = [0.0, 0.0, -0.06]}\n'
    )
    q = ur5.state("ready")
    expected = mk.transform((0.0, 0.0, 0.5)) @ ur5.pose("tool0", q) @ mk.transform((0.0, 0.0, 0.12))
    assert task.robot.tip == "cup"
    np.testing.assert_allclose(task.robot.pose("cup", q), expected, atol=1e-12)
    (cup,) = (link for link in task.robot.description.links if link.name == "cup")
    assert cup.inertial.mass == 0.3
    assert cup.collisions[0].shape.radius == 0.02
    np.testing.assert_allclose(cup.collisions[0].origin[:3, 3], [0.0, 0.0, -0.06])


def test_objects_their_masses_and_allowed_pairs_are_read(load):
    task = load('allowed = [["cube", "floor"]]\n' + OBJECTS)
    assert set(task.scene.names) == {"cube", "floor"}
    np.testing.assert_allclose(task.scene["cube"].pose[:3, 3], [0.5, 0.0, 0.05])
    assert task.masses == {"cube": 0.3}
    assert ("cube", "floor") in task.scene.allowed


def test_objects_come_on_top_of_a_scene_from_a_file(load, tmp_path):
    cell = mk.Scene()
    cell.add_sphere("lamp", 0.1, mk.transform((0.0, 0.0, 2.0)))
    cell.save(tmp_path / "cell.toml")
    task = load('scene = "cell.toml"\nallowed = [["cube", "lamp"]]\n' + OBJECTS)
    assert set(task.scene.names) == {"lamp", "cube", "floor"}
    assert ("cube", "lamp") in task.scene.allowed


def test_a_gripper_is_read_whole(load):
    gripper = load(GRIPPER).gripper
    assert (gripper.tool, gripper.spin, gripper.seconds, gripper.hold) == ("tool0", "half", 0.25, "weld")
    assert gripper.links == ("tool0", "ee_link")


def test_moves_go_to_postures_poses_and_values(load, ur5):
    task = load(
        "[poses]\nshelf = {position = [0.4, 0.1, 0.3], rpy = [0.0, 3.0, 0.0]}\n"
        "[postures]\nhigh = [0.0, -1.0, 1.0, 0.0, 0.0, 0.0]\n"
        '[[step]]\nmove = "shelf"\n[[step]]\nmove = "high"\nlabel = "up there"\n[[step]]\nmove = "ready"\n'
        "[[step]]\nmove = {elbow_joint = 0.7}\n[[step]]\nmove = {position = [0.1, 0.2, 0.3]}\n"
    )
    shelf, high, ready, values, pose = task.steps
    np.testing.assert_allclose(shelf.target, mk.transform((0.4, 0.1, 0.3), rpy=(0.0, 3.0, 0.0)))
    np.testing.assert_allclose(high.target, [0.0, -1.0, 1.0, 0.0, 0.0, 0.0])
    assert [step.label for step in task.steps] == ["move shelf", "up there", "move ready", "move", "move"]
    np.testing.assert_array_equal(ready.target, ur5.state("ready"))
    assert values.target[2] == 0.7
    np.testing.assert_allclose(pose.target, mk.transform((0.1, 0.2, 0.3)))
    np.testing.assert_allclose(task.postures["high"], high.target)


def test_lines_go_to_poses_to_taught_ones_and_by_offsets(load, ur5):
    task = load(
        "[postures]\nhigh = [0.0, -1.0, 1.0, 0.0, 0.0, 0.0]\n"
        "[[step]]\nline = {offset = [0.0, 0.0, 0.1]}\n[[step]]\nline = {position = [0.4, 0.0, 0.2]}\n"
        '[[step]]\nline = "high"\n'
    )
    offset, pose, taught = task.steps
    np.testing.assert_array_equal(offset.target, [0.0, 0.0, 0.1])
    np.testing.assert_allclose(pose.target, mk.transform((0.4, 0.0, 0.2)))
    np.testing.assert_allclose(taught.target, ur5.pose("tool0", [0.0, -1.0, 1.0, 0.0, 0.0, 0.0]), atol=1e-12)


def test_a_pick_with_a_target_is_a_pick_and_a_place_of_one_script(load):
    task = load(
        OBJECTS
        + GRIPPER
        + '[[step]]\npick = "cube"\nto = {position = [0.5, 0.3, 0.05]}\nscript = "katana"\n'
        + "grasp = {position = [0.0, 0.0, 0.05]}\n"
    )
    pick, place = task.steps
    assert isinstance(pick, Pick)
    assert isinstance(place, Place)
    assert (pick.item, pick.script, place.item, place.script) == ("cube", "katana", "cube", "katana")
    np.testing.assert_allclose(pick.grasp, mk.transform((0.0, 0.0, 0.05)))
    np.testing.assert_allclose(place.pose, mk.transform((0.5, 0.3, 0.05)))


def test_a_place_is_of_what_was_picked_last(load):
    more = OBJECTS.replace('"cube"', '"ball"').replace('"floor"', '"ground"')
    task = load(
        OBJECTS
        + more
        + GRIPPER
        + '[[step]]\npick = "cube"\n[[step]]\nplace = {position = [0.1, 0.1, 0.1]}\n'
        + '[[step]]\npick = "ball"\n[[step]]\nwait = 1.0\n[[step]]\nplace = {position = [0.2, 0.2, 0.2]}\n'
    )
    assert [step.item for step in task.steps if isinstance(step, Place)] == ["cube", "ball"]


def test_grips_waits_and_attachments_are_steps(load):
    steps = '[[step]]\ngrip = "open"\n[[step]]\nattach = "cube"\n[[step]]\ndetach = true\n[[step]]\nwait = 0.5\n'
    gripper = GRIPPER + "open = {wrist_3_joint = 0.2}\nclosed = {wrist_3_joint = 0.0}\n"
    task = load(OBJECTS + gripper + steps + "[[step]]\ngrip = {wrist_3_joint = 0.1}\n")
    assert [(step.verb, step.target) for step in task.steps] == [
        ("grip", {"wrist_3_joint": 0.2}),
        ("attach", "cube"),
        ("detach", True),
        ("wait", 0.5),
        ("grip", {"wrist_3_joint": 0.1}),
    ]
    assert all(isinstance(step, TaskStep) for step in task.steps)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speed = 2.0\n", "speed is a share"),
        ('speed = "fast"\n', "speed must be a number"),
        ("start = 5\n", "a configuration is values by name or in order"),
        ('start = "redy"\n', r"no configuration 'redy'; .*ready"),
        ("start = [0.1, 0.2]\n", "start|6"),
        ("[poses]\nthere = {place = [0.0, 0.0, 0.0]}\n", "place"),
        ("[poses]\nthere = {position = [0.0, 0.0]}\n", "3 numbers"),
        ("[poses]\nthere = 5\n", "pose 'there' is a name or a table"),
        ("[[step]]\n", "one of move, line, pick"),
        ('[[step]]\ngrip = "open"\n', r"needs a \[gripper\]"),
        (GRIPPER + '[[step]]\ngrip = "ajar"\n', "'open', 'closed' or"),
        (GRIPPER.replace("tool0", "tool9"), "tool9"),
        (GRIPPER.replace('"half"', '"third"'), "spin"),
        (GRIPPER + "colour = 3\n", "colour"),
        ("[[step]]\nline = {offset = [0.0, 0.1]}\n", "3 numbers"),
        ('[[step]]\nline = {offset = "up"}\n', "3 numbers"),
        ("[[step]]\nline = {offset = [0.0, 0.0, 0.1], position = [0.0, 0.0, 0.0]}\n", "position"),
        ('[[object]]\nname = "a"\nshape = "blob"\n', "blob"),
        ('[tool]\nposition = [0.0, 0.0, 0.1]\nlink = "tol0"\n', "tol0"),
    ],
)
def test_what_is_wrong_is_named_when_the_file_is_read(load, text, message):
    with pytest.raises(MemetikError, match=message):
        load(text)


def test_a_complaint_names_the_file_and_the_step(load):
    with pytest.raises(MemetikError, match=r"job.toml.*step 2.*no pose 'nowhere'"):
        load('[[step]]\nmove = "ready"\n[[step]]\nline = "nowhere"\n')


def test_other_schemas_are_refused(load):
    with pytest.raises(MemetikError, match=r"memetik\.task/1"):
        load("", head='schema = "memetik.task/2"\nrobot = "ur5"\n')


def test_postures_are_taught_beside_others_and_replaced(tmp_path):
    path = tmp_path / "taught.toml"
    teach(path, "a b", {"x": 1.0, "y": -2.5})
    teach(path, "other", {"x": 0.1})
    teach(path, "a b", {"x": 3, "y": 1e-12})
    assert load_postures(path) == {"a b": {"x": 3.0, "y": 1e-12}, "other": {"x": 0.1}}


@pytest.mark.parametrize("name", ['say "hi"', "a.b", "umlaut ü", "back\\slash", "[x]"])
def test_any_name_can_be_taught(tmp_path, name):
    teach(tmp_path / "taught.toml", name, {name: 0.5})
    assert load_postures(tmp_path / "taught.toml") == {name: {name: 0.5}}


def test_a_posture_without_a_name_or_a_number_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="needs a name"):
        teach(tmp_path / "taught.toml", "  ", {"x": 1.0})
    (tmp_path / "bad.toml").write_text('schema = "memetik.postures/1"\n[posture.a]\nx = "far"\n')
    with pytest.raises(MemetikError, match=r"bad.toml.*x must be a number"):
        load_postures(tmp_path / "bad.toml")
