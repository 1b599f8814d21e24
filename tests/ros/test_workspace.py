"""Parts of a ROS workspace: parameters of the package's node, and the part of the MoveIt plug-in that needs messages
only, compiled with the real message headers."""

from __future__ import annotations

import json
import shlex
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from namespaces import DISTRIBUTIONS, ROOT, environment, reason_to_skip, run, theirs
from test_rclpy import check_answers, poses_file

import memetik as mk

pytestmark = pytest.mark.ros
PACKAGES = ROOT / "packaging" / "ros"


@pytest.fixture(params=DISTRIBUTIONS)
def distribution(request: pytest.FixtureRequest) -> str:
    if reason := reason_to_skip(request.param):
        pytest.skip(reason)
    return request.param


def test_parameters_become_the_arguments_of_the_node(distribution: str):
    code = f"import sys; sys.path.insert(0, {str(PACKAGES / 'memetik_ros')!r}); import memetik_ros.node as n, json; "
    code += "print(json.dumps(n.arguments(sys.argv)))"
    python = environment(distribution) / "bin" / "python"
    file = PACKAGES / "memetik_ros" / "config" / "memetik.yaml"
    words = f"--ros-args --params-file {file} -p robot:=panda -p controller:=arm -p rate:=250.0"
    done = run(f"{python} -c {shlex.quote(code)} {words}")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found[0] == "panda"
    assert found[-2:] == ["--transport", "rclpy"]
    given = dict(zip(found[1::2], found[2::2], strict=True))
    assert given["--rate"] == "250.0"
    assert given["--controller"] == "arm"
    assert given["--velocity-scale"] == "1.0"
    assert "--scene" not in given


def test_names_of_the_node_are_remapped_as_ros_does(distribution: str):
    here = sysconfig.get_paths()["purelib"]
    code = f"import site, sys; site.addsitedir({here!r}); sys.path.insert(0, {str(PACKAGES / 'memetik_ros')!r}); "
    code += "import memetik_ros.node as n; n.main()"
    words = "--ros-args -p robot:=panda -r __node:=arm_ik -r /compute_ik:=/arm/compute_ik"
    node = f"{environment(distribution) / 'bin' / 'python'} -c {shlex.quote(code)} {words}"
    done = run(f"{node} & sleep 6; {theirs(distribution, 'graph')}")
    report = json.loads(done.stdout.splitlines()[-1])
    assert "arm_ik" in report["nodes"], done.stderr[-3000:]
    assert "/arm/compute_ik" in report["services"]
    assert "/arm_ik/goal" in report["topics"]


PROGRAM = r"""
#include <cstdio>
#include <fstream>
#include <iostream>
#include "group_solver.h"
using namespace memetik_moveit;
int main(int, char **argv) {
  memetik_problem *loaded = memetik_load_problem(argv[1]);
  if (!loaded) return std::fprintf(stderr, "%s\n", memetik_error()), 1;
  // A robot of its own, as the plug-in has one: that of the file would go with its problem.
  std::vector<std::string> joints;
  for (int k = 1; k <= 7; ++k) joints.push_back("panda_joint" + std::to_string(k));
  Robot robot(const_cast<memetik_robot *>(memetik_problem_robot(loaded)));
  GroupSolver solver(std::move(robot), "panda_link0", {"panda_hand_tcp"}, joints, false);
  std::ifstream poses(argv[2]);
  Query query;
  query.poses.resize(1), query.seed = {0, -0.5, 0, -2, 0, 1.5, 0.8}, query.timeout = 0.5;
  int asked = 0;
  query.callback = [&](const Pose &, const std::vector<double> &, ErrorCodes &code) {
    code.val = ++asked % 2 ? ErrorCodes::GOAL_IN_COLLISION : ErrorCodes::SUCCESS;
  };
  Pose &p = query.poses[0];
  for (int index = 0; poses >> p.position.x >> p.position.y >> p.position.z >> p.orientation.x >> p.orientation.y >>
                      p.orientation.z >> p.orientation.w; ++index) {
    std::vector<double> q;
    ErrorCodes code;
    const bool found = solver.solve(query, q, code);
    std::vector<Pose> back;
    if (found && (!solver.forward({"panda_hand_tcp"}, q, back) ||
        std::abs(back[0].position.x - p.position.x) > 2e-5 ||
        std::abs(std::abs(back[0].orientation.x * p.orientation.x + back[0].orientation.y * p.orientation.y +
                          back[0].orientation.z * p.orientation.z +
                          back[0].orientation.w * p.orientation.w) - 1) > 1e-8))
      return 2;
    std::printf("%d %d", index, int(code.val));
    for (double value : q) std::printf(" %.17g", value);
    std::printf("\n");
    Query near = query;
    near.seed = q, near.consistency_limits.assign(7, 0.01), near.callback = {};
    std::vector<double> again;
    if (found && (!solver.solve(near, again, code))) return 3;
    for (size_t k = 0; found && k < 7; ++k)
      if (std::abs(again[k] - q[k]) > 0.01 + 1e-12) return 4;
  }
  std::fflush(stdout);
  std::_Exit(0);  // the robot belongs to two owners here
}
"""


def test_the_plug_in_s_solver_answers_in_moveit_s_messages(distribution: str, tmp_path: Path):
    library = max((ROOT / "build").glob("*/libmemetik.so"), key=lambda path: path.stat().st_mtime, default=None)
    if library is None:
        pytest.skip("the library for C is not built here: `make c-library` builds it")
    mk.export_problem(mk.Problem(mk.load_robot("panda"), mk.Pose("panda_hand_tcp")), tmp_path / "problem.txt")
    path, poses = poses_file(tmp_path / "poses.json", 60)
    rows = json.loads(path.read_text())
    (tmp_path / "poses.txt").write_text("\n".join(" ".join(map(repr, row)) for row in rows))
    (tmp_path / "main.cpp").write_text(PROGRAM)
    source = PACKAGES / "memetik_moveit" / "src"
    include = [f"-I{folder}" for folder in (environment(distribution) / "include").iterdir()]
    command = ["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", tmp_path / "main.cpp",
               source / "group_solver.cpp", f"-I{source}", f"-I{ROOT / 'native' / 'c'}", *include, library,
               f"-Wl,-rpath,{library.parent}", "-o", tmp_path / "solver"]  # fmt: skip
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[-3000:]
    done = subprocess.run([tmp_path / "solver", tmp_path / "problem.txt", tmp_path / "poses.txt"], capture_output=True,
                          text=True, check=False, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = []
    for line in done.stdout.splitlines():
        index, code, *q = line.split()
        answers.append([int(index), int(code), [*map(float, q), 0.02]])
    assert len(answers) == 60
    assert np.mean([code == 1 for _, code, _ in answers]) > 0.9
    check_answers([each for each in answers if each[1] == 1], poses)
