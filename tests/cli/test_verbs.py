"""The command line: what the verbs print, their exit codes, and that errors end in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import memetik as mk

URDF = """<robot name="pendulum">
  <link name="base"/>
  <link name="bob">
    <inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
  </link>
  <joint name="pivot" type="revolute">
    <parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/>
  </joint>
</robot>
"""


def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "memetik.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, input=stdin, timeout=600, check=False)


def test_help_lists_every_verb_and_each_verb_takes_json():
    from memetik.cli.app import VERBS, load_verb

    listed = run("--help").stdout
    for verb in VERBS:
        assert verb in listed
        made = load_verb(verb)
        assert made.help == VERBS[verb]
        for command in getattr(made, "commands", {verb: made}).values():
            assert "as_json" in {parameter.name for parameter in command.params} or hasattr(command, "commands")


def test_help_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['memetik', '--help']\n"
        "from memetik.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'scipy', 'trimesh', 'yourdfpy', 'coal', 'matplotlib') if m in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True
    ).stdout
    assert output.strip().splitlines()[-1] == "[]"


def test_robots_lists_what_is_bundled():
    data = json.loads(run("robots", "--json").stdout)
    assert data["schema"] == "memetik.robots/1"
    listed = {entry["name"]: entry for entry in data["robots"]}
    assert listed["panda"]["dof"] == mk.load_robot("panda").dof
    assert "panda" in run("robots").stdout


def test_fk_prints_the_pose_that_the_robot_has():
    robot = mk.load_robot("panda")
    q = robot.q({"panda_joint4": -2.0})
    data = json.loads(run("fk", "panda", "--joints", "panda_joint4=-2", "--link", "panda_hand", "--json").stdout)
    pose = robot.pose("panda_hand", q)
    np.testing.assert_allclose(data["q"], q)
    np.testing.assert_allclose(data["poses"]["panda_hand"]["matrix"], pose, atol=1e-12)
    np.testing.assert_allclose(data["poses"]["panda_hand"]["position"], pose[:3, 3], atol=1e-12)
    x, y, z, w = data["poses"]["panda_hand"]["quaternion_xyzw"]
    assert 2 * (x * z + y * w) == pytest.approx(pose[0, 2], abs=1e-9)


def test_fk_reads_many_configurations_from_standard_input():
    robot = mk.load_robot("ur5")
    configurations = np.linspace(-1.0, 1.0, 12).reshape(2, 6)
    stated = json.dumps({"q": configurations.tolist(), "links": ["tool0", "wrist_3_link"]})
    data = json.loads(run("fk", "ur5", "--input", "-", "--json", stdin=stated).stdout)
    for link in ("tool0", "wrist_3_link"):
        got = [entry["matrix"] for entry in data["poses"][link]]
        np.testing.assert_allclose(got, robot.pose(link, configurations), atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("fk", "pnda"), "panda"),
        (("fk", "panda", "--link", "panda_hnd"), "panda_hand"),
        (("fk", "panda", "--joints", "panda_joint4"), "NAME=VALUE"),
        (("fk", "panda", "--q", "1 2 3"), "8 numbers"),
        (("fk", "panda", "--q", "a b c"), "numbers"),
        (("fk", "panda", "--input", "/nowhere.json"), "cannot be read"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(arguments, named):
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert named in result.stderr
    assert result.stderr.startswith("memetik: ")


def test_doctor_exits_1_on_errors_only(tmp_path):
    path = tmp_path / "pendulum.urdf"
    path.write_text(URDF)
    assert run("doctor", str(path)).returncode == 0
    path.write_text(URDF.replace('upper="1"', 'upper="-2"'))
    result = run("doctor", str(path))
    assert result.returncode == 1
    assert "inverted-limits" in result.stdout
    assert "pendulum.urdf:8" in result.stdout


def test_doctor_prints_json_with_place_and_remedy(tmp_path):
    path = tmp_path / "pendulum.urdf"
    path.write_text(URDF.replace('<mass value="1"/>', '<mass value="-1"/>'))
    result = run("doctor", str(path), "--json")
    data = json.loads(result.stdout)
    assert result.returncode == 1
    assert data["schema"] == "memetik.doctor/1"
    (finding,) = [entry for entry in data["findings"] if entry["code"] == "negative-mass"]
    assert finding["place"]["line"] == 4
    assert finding["severity"] == "error"
    assert finding["remedy"]


def test_doctor_reports_a_file_that_is_not_there():
    result = run("doctor", "/nowhere/robot.urdf")
    assert result.returncode == 1
    assert "unreadable" in result.stdout


def test_demo_solves_on_five_robots():
    data = json.loads(run("demo", "--json").stdout)
    assert [row["name"] for row in data["robots"]] == ["panda", "ur5", "iiwa14", "pr2", "valkyrie"]
    assert all(row["solved"] > 0.99 for row in data["robots"])
    assert all(row["solves_per_second"] > 0.0 for row in data["robots"])
    assert data["tank"]["solved"] == data["tank"]["targets"] == 100


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_output_that_is_full_is_a_sentence(options):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "memetik.cli", "fk", "panda", *options]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("memetik: the output cannot be read or written")
    assert len(done.stderr.splitlines()) == 1


def test_json_that_is_nested_too_deeply_is_a_sentence(tmp_path):
    (tmp_path / "deep.json").write_text("[" * 100_000)
    for command in (
        ["fk", "panda", "--input", str(tmp_path / "deep.json")],
        ["solve", "panda", "--goal", "[" * 50_000],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "memetik.cli", *command], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert "nested too deeply" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_the_program_alone_shows_three_things_to_try_that_are_verbs():
    told = run()
    assert told.returncode == 0
    from memetik.cli.app import VERBS

    named = [line.split()[1] for line in told.stdout.splitlines() if line.startswith("  memetik ")]
    assert len(named) == 3
    assert set(named) <= set(VERBS)
    assert max(map(len, told.stdout.splitlines())) <= 80


def test_the_version_is_told_with_what_a_report_needs():
    told = run("--version")
    assert told.returncode == 0
    assert told.stdout.startswith(f"memetik {mk.__version__}\n")
    assert np.__version__ in told.stdout


def test_a_pose_says_which_rotation_it_assumes():
    assert (
        "its axes are those of the world" in run("solve", "panda", "--pose", "panda_hand", "0.4", "0.1", "0.5").stdout
    )
    said = run("solve", "panda", "--pose", "panda_hand", "0.4", "0.1", "0.5", "3.14", "0", "0").stdout
    assert "roll, pitch and yaw in radians" in said


def test_joints_beyond_their_limits_are_warned_of():
    done = run("fk", "panda", "--joints", "panda_joint4=1")
    assert "panda_joint4 at 1 is beyond its limits" in done.stderr
    assert not run("fk", "panda").stderr


def test_tables_in_a_pipe_break_long_text():
    assert max(map(len, run("robots").stdout.splitlines())) < 260
