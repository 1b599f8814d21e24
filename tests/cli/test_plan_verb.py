"""`memetik plan`: exit codes, tables, JSON and files."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from memetik.cli.app import app
from memetik.motion.timing.trajectory import Trajectory

pytest.importorskip("coal")

GOAL = ["--pose", "tool0", "0.4", "0.2", "0.4", "3.14", "0", "0"]
START = ["--start", "0 -1.2 1.6 -1.9 -1.57 0"]


def run(*arguments: str):
    return CliRunner().invoke(app, ["plan", "ur5", *arguments])


def test_it_plans_to_a_pose_and_writes_the_trajectory(tmp_path):
    result = run(*GOAL, *START, "-o", str(tmp_path / "motion.csv"), "--rate", "100")
    assert result.exit_code == 0, result.output
    assert "planned" in result.output
    trajectory = Trajectory.load(tmp_path / "motion.csv")
    np.testing.assert_allclose(np.diff(trajectory.times), 0.01, atol=1e-9)


def test_json_holds_the_plan():
    result = run("--to", "elbow_joint=1.0", *START, "--json")
    data = json.loads(result.output)
    assert data["schema"] == "memetik.plan/1"
    assert data["success"]
    assert data["stage"] == "done"
    assert data["trajectory"]["positions"][0] == pytest.approx([0, -1.2, 1.6, -1.9, -1.57, 0])


def test_lines_are_straight():
    result = run("--pose", "tool0", "0.5", "0.2", "0.3", "3.14", "0", "1.5", *START, "--line", "--json")
    assert json.loads(result.output)["stage"] in ("done", "postures")


def test_failure_is_exit_code_one_and_bad_input_an_error():
    assert run("--position", "tool0", "3", "0", "0", *START).exit_code == 1
    assert run(*START).exit_code != 0


def test_goals_along_the_way_are_given_as_json():
    level = '{"type": "AlignAxis", "link": "tool0", "axis": "z", "to": [0, 0, -1], "tolerance": 0.01}'
    start = ["--start", "0 -1.2 1.6 -1.97 -1.57 0"]
    result = run("--position", "tool0", "0.4", "0.2", "0.4", *start, "--along", level, "--json")
    data = json.loads(result.output)
    assert data["success"], data["detail"]
    assert run("--to", "elbow_joint=1.0", *START, "--along", level).exit_code == 1  # its start is not level
    assert run("--pose", "tool0", "0.4", "0.2", "0.4", "--line", "--along", level).exit_code != 0
