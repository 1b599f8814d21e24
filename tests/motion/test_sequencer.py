"""Tasks run on a crane whose tool is where its joints say: every move of a pick and a place is checked by its place."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.geometry.shapes import Box, Sphere
from memetik.motion.execution.driver import DriverError, ExactDriver
from memetik.motion.execution.faults import FaultyDriver, StopsEarly
from memetik.motion.tasks.report import StepReport, TaskError, TaskReport
from memetik.motion.tasks.sequencer import Sequencer, run_task
from memetik.motion.tasks.task import SCRIPTS, Gripper, Pick, Place, Task, TaskStep
from memetik.robot.description import Description, Geometry, Group, Inertial, Joint, Link, Semantics
from memetik.robot.robot import Robot

pytest.importorskip("coal")

START = np.array([0.0, 0.0, 0.6, 0.05])
CUBE = mk.transform((0.4, -0.3, 0.015))
THERE = mk.transform((0.4, 0.4, 0.015))
LINKS = ("tip", "jaw")


@pytest.fixture(scope="module")
def crane() -> Robot:
    """Slides along x, y and z; at their end a finger that opens along x. q[:3] is where the tool is."""

    def slide(name: str, parent: str, child: str, axis, low: float, high: float) -> Joint:
        return Joint(
            name,
            "prismatic",
            parent,
            child,
            axis=axis,
            lower=(low,),
            upper=(high,),
            velocity=(1.0,),
            acceleration=(4.0,),
            effort=(1e3,),
        )

    mass = Inertial(1.0, inertia=1e-2 * np.eye(3))
    links = (
        Link("frame"),
        Link("bridge", mass),
        Link("trolley", mass),
        Link("tip", mass, (Geometry(Sphere(0.01)),)),
        Link("jaw", mass, (Geometry(Box((0.01, 0.01, 0.01)), mk.transform((0.03, 0.0, 0.0))),)),
    )
    joints = (
        slide("x", "frame", "bridge", (1.0, 0.0, 0.0), -1.0, 1.0),
        slide("y", "bridge", "trolley", (0.0, 1.0, 0.0), -1.0, 1.0),
        slide("z", "trolley", "tip", (0.0, 0.0, 1.0), 0.0, 1.0),
        slide("finger", "tip", "jaw", (1.0, 0.0, 0.0), 0.0, 0.05),
    )
    semantics = Semantics(groups=(Group("arm", joints=("x", "y", "z")),))
    return Robot(Description("crane", links, joints, semantics))


def scene_of(**objects: np.ndarray) -> mk.Scene:
    scene = mk.Scene()
    scene.add_box("table", (2.0, 2.0, 0.1), mk.transform((0.0, 0.0, -0.05)))
    for name, pose in objects.items():
        scene.add_box(name, (0.03, 0.03, 0.03), pose)
    return scene


def gripper(**changes) -> Gripper:
    given = {
        "tool": "tip",
        "approach": "-z",
        "open": {"finger": 0.05},
        "closed": {"finger": 0.01},
        "links": LINKS,
        **changes,
    }
    return Gripper(**given)


def task_of(crane, *steps, scene=None, **options) -> Task:
    scene = scene_of(cube=CUBE) if scene is None else scene
    given = {"gripper": gripper(), "group": "arm", "start": START, **options}
    return Task(crane, scene, tuple(steps), **given)


class Records(FaultyDriver):
    """Keeps what it was sent."""

    def __init__(self, driver):
        super().__init__(driver)
        self.sent = []

    def send(self, trajectory):
        self.sent.append(trajectory)
        super().send(trajectory)

    @property
    def arm(self):
        return [way for way in self.sent if "x" in way.joint_names]


def run(task: Task, **options):
    """The report, the driver with what it was sent, and the sequencer."""
    kept: list[Records] = []

    def wrap(driver):
        kept.append(Records(driver))
        return kept[0]

    tolerance = options.pop("placed_tolerance", 0.01)
    watch = options.pop("watch", None)
    sequencer = Sequencer(task, "exact", wrap=wrap, **options)
    return sequencer.run(watch, tolerance), kept[0], sequencer


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_pick_and_a_place_go_through_the_heights_of_their_script(crane, script):
    report, driver, _ = run(
        task_of(crane, Pick("cube", script=script), Place("cube", THERE, script)), placed_tolerance=0.02
    )
    assert report.success, report.message
    ends = np.array([way.end[:3] for way in driver.arm])
    heights = SCRIPTS[script]
    at_cube = [CUBE[2, 3] + h for h in (*heights.pick_down, *heights.pick_up)]
    at_target = [THERE[2, 3] + h for h in heights.place_down]
    count = len(at_cube)
    np.testing.assert_allclose(ends[:count, 2], at_cube, atol=1e-3)
    np.testing.assert_allclose(ends[:count, :2], np.tile(CUBE[:2, 3], (count, 1)), atol=1e-3)
    np.testing.assert_allclose(ends[count : count + len(at_target), 2], at_target, atol=1e-3)
    np.testing.assert_allclose(ends[count:, :2], np.tile(THERE[:2, 3], (len(ends) - count, 1)), atol=1e-3)
    assert len(ends) == count + len(at_target) + len(heights.place_up)


def test_the_gripper_opens_before_the_approach_closes_at_the_object_and_opens_at_the_target(crane):
    report, driver, _ = run(task_of(crane, Pick("cube"), Place("cube", THERE), start=np.array([0.0, 0.0, 0.6, 0.0])))
    assert report.success
    grips = [(k, way) for k, way in enumerate(driver.sent) if way.joint_names == ("finger",)]
    np.testing.assert_allclose([way.end[0] for _, way in grips], [0.05, 0.01, 0.05])
    first, second, third = (k for k, _ in grips)
    assert first == 0
    np.testing.assert_allclose(driver.sent[second - 1].end[:3], CUBE[:3, 3], atol=1e-3)
    np.testing.assert_allclose(driver.sent[third - 1].end[:2], THERE[:2, 3], atol=1e-3)
    assert all(way.duration == pytest.approx(0.6) for _, way in grips)


def test_the_labels_tell_the_story(crane):
    seen = []
    report, _, _ = run(task_of(crane, Pick("cube"), Place("cube", THERE)), watch=seen.append)
    labels = [step.label for step in report.steps]
    assert labels == [
        "pick cube: open",
        "pick cube: approach",
        "pick cube: down",
        "pick cube: grasp",
        "pick cube: lift",
        "place cube: transfer",
        "place cube: down",
        "place cube: release",
        "place cube: retreat",
    ]
    assert [step.label for step in seen] == labels
    assert report.message == "All steps were done."
    assert report.failed is None
    assert report.duration == pytest.approx(sum(step.running for step in report.steps) + 3 * 0.2 + 0.1)


def test_what_is_held_belongs_to_the_arm_until_it_is_put_down(crane):
    task = task_of(crane, Pick("cube"))
    report, _, sequencer = run(task)
    assert report.success
    assert sequencer.held == "cube"
    assert sequencer.scene["cube"].link == "tip"
    np.testing.assert_allclose(sequencer.scene["cube"].pose[:3, 3], 0.0, atol=1e-3)
    assert task.scene["cube"].link is None  # the task's own scene stays
    _, _, done = run(task_of(crane, Pick("cube"), Place("cube", THERE)))
    assert done.held is None
    assert done.scene["cube"].link is None
    np.testing.assert_allclose(done.scene["cube"].pose[:3, 3], THERE[:3, 3] + [0.0, 0.0, 0.002], atol=1e-3)


def test_what_is_held_does_not_touch_anything_on_its_way(crane):
    """A wall between both places: the tool alone would pass above it sooner than with the cube below."""
    scene = scene_of(cube=CUBE)
    scene.add_box("wall", (2.0, 0.05, 0.3), mk.transform((0.0, 0.05, 0.15)))
    report, driver, _ = run(task_of(crane, Pick("cube"), Place("cube", THERE), scene=scene))
    assert report.success, report.message
    transfer = driver.arm[3]
    around = scene.copy()
    around.attach("cube", link="tip", pose=np.eye(4), touch=LINKS)
    model = mk.CollisionModel(crane.group("arm", {"finger": 0.01}), around)
    assert not model.collides(transfer.at(np.linspace(0.0, transfer.duration, 400))).any()
    over = transfer.at(np.linspace(0.0, transfer.duration, 2000))
    assert over[np.abs(over[:, 1] - 0.05) < 0.02, 2].min() > 0.314


def test_pairs_that_were_allowed_for_a_step_are_not_any_more_after_it(crane):
    _, _, sequencer = run(task_of(crane, Pick("cube"), Place("cube", THERE)))
    assert not any("cube" in pair for pair in sequencer.scene.allowed)


@pytest.mark.parametrize("speed", [1.0, 0.5, 0.1])
def test_the_speed_of_a_task_is_that_of_its_moves(crane, speed):
    _, driver, _ = run(task_of(crane, TaskStep("move", np.array([0.9, 0.3, 0.6])), speed=speed))
    (way,) = driver.arm
    assert way.peaks(1).max() <= speed * (1.0 + 1e-6)
    assert way.peaks(2).max() <= 4.0 * speed * (1.0 + 1e-6)
    assert way.peaks(1).max() >= 0.95 * min(speed, 1.0)


@pytest.mark.parametrize("speed", [0.0, -0.5, 1.5, np.nan])
def test_a_speed_beyond_the_limits_is_refused(crane, speed):
    with pytest.raises(InvalidInputError, match="speed is a share"):
        task_of(crane, speed=speed)


def test_moves_go_to_configurations_of_the_arm_or_of_the_whole_robot_and_to_poses(crane):
    steps = (
        TaskStep("move", np.array([0.1, 0.2, 0.5]), "arm"),
        TaskStep("move", np.array([0.2, -0.2, 0.4, 0.0]), "whole"),
    )
    report, driver, _ = run(task_of(crane, *steps))
    assert report.success, report.message
    np.testing.assert_allclose([way.end[:3] for way in driver.arm], [[0.1, 0.2, 0.5], [0.2, -0.2, 0.4]], atol=1e-6)
    assert all("finger" not in way.joint_names for way in driver.arm)
    with pytest.raises(InvalidInputError, match="4 values, or 3 for the arm"):
        run(task_of(crane, TaskStep("move", np.zeros(2), "short")))


def test_a_line_is_straight_to_a_pose_or_by_an_offset(crane):
    steps = (
        TaskStep("line", np.array([0.2, 0.1, -0.2]), "by"),
        TaskStep("line", mk.transform((0.3, -0.3, 0.5)), "to"),
    )
    report, driver, _ = run(task_of(crane, *steps))
    assert report.success, report.message
    expected = [START[:3] + np.array([0.2, 0.1, -0.2]), [0.3, -0.3, 0.5]]
    np.testing.assert_allclose([way.end for way in driver.arm], expected, atol=1e-3)
    for way in driver.arm:
        q = way.at(np.linspace(0.0, way.duration, 100))
        along = (way.end - way.start) / np.linalg.norm(way.end - way.start)
        off = q - way.start - ((q - way.start) @ along)[:, None] * along
        assert np.linalg.norm(off, axis=1).max() < 1e-3


def test_waiting_lets_the_drivers_time_pass(crane):
    report, _, _ = run(task_of(crane, TaskStep("wait", 0.7)))
    assert report.duration == pytest.approx(0.7)
    assert report.steps[0].label == "wait 0.7 s"


def test_attaching_and_detaching_by_hand(crane):
    above = CUBE[:3, 3] + np.array([0.0, 0.0, 0.0])
    steps = (
        TaskStep("move", np.array([0.4, -0.3, 0.3])),
        TaskStep("attach", "cube"),
        TaskStep("detach", True),
    )
    report, _, sequencer = run(task_of(crane, *steps))
    assert report.success
    np.testing.assert_allclose(sequencer.scene["cube"].pose[:3, 3], above, atol=1e-9)
    assert [step.label for step in report.steps][1] == "attach cube"


def test_a_gripper_that_is_stopped_early_is_told_again(crane):
    task = task_of(crane, TaskStep("grip", {"finger": 0.0}, "close"))
    sequencer = Sequencer(task, "exact", wrap=lambda driver: StopsEarly(driver, 0.5, times=3))
    report = sequencer.run()
    assert report.steps[0].recoveries == 3
    assert sequencer.driver.state().q[3] == pytest.approx(0.0, abs=1e-9)


def test_an_object_that_lies_off_its_target_is_told(crane):
    report, _, _ = run(task_of(crane, Pick("cube"), Place("cube", THERE)), placed_tolerance=1e-3)
    assert not report.success
    assert report.placed["cube"] == pytest.approx(0.002, abs=1e-4)
    assert report.message == "Not where they should be: cube by 2 mm."
    assert report.failed is None


def test_what_cannot_be_done_ends_the_task_and_says_where(crane):
    scene = scene_of(cube=CUBE, other=mk.transform((-0.4, 0.0, 0.015)))
    report, _, _ = run(task_of(crane, Pick("cube"), Pick("other"), TaskStep("wait", 1.0), scene=scene))
    assert not report.success
    assert report.message == "pick other: the gripper still holds 'cube'"
    assert report.steps[-1].label == "pick other"
    assert report.failed is report.steps[-1]
    report, _, _ = run(task_of(crane, Place("cube", THERE)))
    assert report.message == "place cube: the gripper holds nothing"


def test_an_object_out_of_reach_is_not_approached(crane):
    scene = scene_of(cube=mk.transform((3.0, 0.0, 0.015)))
    report, driver, _ = run(task_of(crane, Pick("cube"), scene=scene))
    assert not report.success
    assert "no configuration puts 'tip' at (3.000" in report.message
    assert not driver.arm


def test_an_object_whose_closed_gripper_would_touch_a_wall_is_not_approached(crane):
    """The open finger fits over the wall, the closed one would be in it."""
    scene = scene_of(cube=CUBE)
    x, y, z = CUBE[:3, 3]
    scene.add_box("fin", (0.006, 0.03, 0.03), mk.transform((x + 0.045, y, z)))
    report, driver, _ = run(task_of(crane, Pick("cube"), scene=scene))
    assert not report.success
    assert not driver.arm


def test_a_failing_move_says_whether_the_arm_rests(crane):
    class Refuses(FaultyDriver):
        def send(self, trajectory):
            raise DriverError("no power")

    task = task_of(crane, TaskStep("move", np.array([0.1, 0.1, 0.5]), "go"))
    report = run_task(task, ExactDriver(crane, START), wrap=Refuses, recoveries=0)
    assert report.message.startswith("go: refused: ")
    assert report.message.endswith("The arm is at rest.")


@pytest.mark.parametrize(
    ("steps", "options", "message"),
    [
        ((Pick("cube"),), {"gripper": None}, "needs a gripper"),
        ((Pick("cup"),), {}, "cup"),
        ((Place("cup", THERE),), {}, "cup"),
        ((Pick("cube", script="dance"),), {}, "dance"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused_when_it_is_made(crane, steps, options, message):
    with pytest.raises((InvalidInputError, UnknownNameError), match=message):
        task_of(crane, *steps, **options)


@pytest.mark.parametrize("changes", [{"hold": "magic"}, {"spin": "third"}, {"hold": "friction", "closed": {}}])
def test_a_gripper_that_makes_no_sense_is_refused(changes):
    with pytest.raises(InvalidInputError, match="gripper"):
        gripper(**changes)


def test_the_objects_that_a_task_takes_are_listed_once(crane):
    scene = scene_of(cube=CUBE, other=THERE)
    task = task_of(crane, Pick("cube"), Place("cube", THERE), Pick("cube"), TaskStep("attach", "other"), scene=scene)
    assert task.picked == ("cube", "other")


def test_a_report_knows_the_step_that_failed():
    steps = (StepReport("one", True), StepReport("two", False), StepReport("three", False))
    assert TaskReport(False, steps, {}, "").failed is steps[1]
    error = TaskError("two", "too far")
    assert (error.label, str(error)) == ("two", "two: too far")


def test_under_physics_a_weld_carries_and_a_slipped_object_is_missed(crane):
    pytest.importorskip("mujoco")
    scene = scene_of(cube=mk.transform((0.2, -0.1, 0.015)))
    above = mk.transform((0.0, 0.0, 0.03))
    task = task_of(crane, Pick("cube", above), scene=scene, masses={"cube": 0.2})
    sequencer = Sequencer(task)
    report = sequencer.run()
    assert report.success, report.message
    assert any("held by a weld" in note for note in report.notes)
    lifted = sequencer.simulation.pose("cube")
    assert lifted[2, 3] == pytest.approx(0.115, abs=0.01)

    slips = Sequencer(task)
    slips.simulation.hold = lambda item, link: None  # the weld does not close
    report = slips.run()
    assert not report.success
    assert "has slipped by" in report.message
    assert "is not held" in report.message
