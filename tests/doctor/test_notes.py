"""What a reader leaves out or fills in is on the robot, with line and consequence, and in the doctor's findings."""

from __future__ import annotations

import pickle

import pytest

import memetik as mk
from memetik.doctor import diagnose
from memetik.robot.findings import CODES
from memetik.robot.load import load_description

LINES = """<robot name="arm">
  <link name="base"/>
  <link name="a">{a}</link>
  <joint name="j" type="revolute">
    <parent link="base"/><child link="a"/>
    {j}
  </joint>
  {robot}
</robot>"""

LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'


def urdf(a: str = "", j: str = LIMIT, robot: str = "") -> str:
    return LINES.format(a=a, j=j, robot=robot)


CASES = {
    "collision without shape": (urdf(a="<collision/>"), "left out", "missing-element", 3, "does not collide"),
    "unknown shape": (
        urdf(a="<visual><geometry><cone/></geometry></visual>"),
        "left out",
        "bad-shape",
        3,
        "drawn without",
    ),
    "missing mesh": (
        urdf(a='<collision><geometry><mesh filename="package://none/a.stl"/></geometry></collision>'),
        "left out",
        "missing-mesh",
        3,
        "does not collide",
    ),
    "inertial without mass": (urdf(a="<inertial/>"), "left out", "missing-element", 3, "no mass"),
    "mass without inertia": (
        urdf(a='<inertial><mass value="1"/></inertial>'),
        "filled in",
        "missing-element",
        3,
        "zero",
    ),
    "no limits": (urdf(j=""), "filled in", "missing-limits", 4, "without limits"),
    "one limit": (urdf(j='<limit lower="-1"/>'), "filled in", "one-sided-limits", 6, "It is 0"),
    "velocity of zero": (
        urdf(j='<limit lower="-1" upper="1" velocity="0" effort="1"/>'),
        "filled in",
        "missing-velocity",
        6,
        "timed",
    ),
    "soft limits the wrong way": (
        urdf(j=LIMIT + '<safety_controller soft_lower_limit="1" soft_upper_limit="-1" k_velocity="1"/>'),
        "left out",
        "soft-limits",
        6,
        "use_soft_limits",
    ),
    "axis of length two": (urdf(j=LIMIT + '<axis xyz="0 0 2"/>'), "filled in", "unnormalised-axis", 4, "normalised"),
    "misspelt element": (urdf(a="<colision/>"), "left out", "unknown-element", 3, "no effect"),
    "simulator's element": (urdf(robot="<gazebo/>"), "left out", "left-out", 8, "simulator"),
    "continuous with limits": (
        urdf().replace('"revolute"', '"continuous"'),
        "left out",
        "continuous-with-limits",
        6,
        "without limits",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_kind_of_change_is_noted_with_line_and_consequence_and_found_by_the_doctor(case: str) -> None:
    text, kind, code, line, consequence = CASES[case]
    notes = [note for note in load_description(text).notes if note.code == code]
    assert [(note.kind, note.line) for note in notes] == [(kind, line)]
    assert consequence in notes[0].consequence
    assert not notes[0].message[0].islower()
    found = [finding for finding in diagnose(text, samples=0) if finding.code == code]
    assert [finding.place.line for finding in found] == [line]


def test_a_complete_file_has_no_note_but_for_accelerations() -> None:
    assert [note.message for note in mk.load_robot(urdf()).notes] == ["No acceleration limit is stated for 1 joint."]


def test_the_doctor_tells_the_notes_of_a_description_in_every_format() -> None:
    description = load_description(urdf(robot="<gazebo/>"))
    assert {"left-out", "filled-in"} <= {finding.code for finding in diagnose(description, samples=0)}


def test_a_broken_srdf_beside_the_file_is_noted(tmp_path) -> None:
    (tmp_path / "arm.urdf").write_text(urdf())
    (tmp_path / "arm.srdf").write_text("<robot>")
    notes = mk.load_robot(tmp_path / "arm.urdf").notes
    assert [note.code for note in notes if note.file.endswith("arm.srdf")] == ["srdf-unreadable"]


def test_entries_of_an_srdf_that_do_not_fit_are_noted() -> None:
    srdf = '<robot name="arm">\n<disable_collisions link1="a" link2="c"/>\n</robot>'
    (note,) = [note for note in mk.load_robot(urdf(), srdf=srdf).notes if "collisions" in note.message]
    assert (note.line, note.code) == (2, "disabled-pair-unknown-link")


def test_notes_follow_a_robot_and_do_not_change_what_it_equals() -> None:
    plain, noted = mk.load_robot(urdf()), mk.load_robot(urdf(robot="<gazebo/>"))
    assert plain == noted
    assert plain.content_digest == noted.content_digest
    assert pickle.loads(pickle.dumps(noted)).notes == noted.notes
    assert noted.with_tool((0, 0, 0.1)).notes == noted.notes
    assert set(mk.combine({"one": plain, "two": noted}).notes) == {*plain.notes, *noted.notes}


def test_every_code_of_a_note_is_in_the_catalogue() -> None:
    for text, *_ in CASES.values():
        assert all(note.code in CODES for note in load_description(text).notes)
