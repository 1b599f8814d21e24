"""libmemetik, the library for C: its own tests, and the same answers as Python gives."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable
from ctypes import byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path

import numpy as np
import pytest

import memetik as mk
from memetik import _core

BUILD = Path(__file__).parents[2] / "build"
KINDS = {"fixed": 0, "revolute": 1, "continuous": 2, "prismatic": 3}


class Joint(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("parent", c_char_p), ("child", c_char_p), ("kind", c_int),
                ("origin", c_double * 16), ("axis", c_double * 3), ("mimic", c_char_p), ("multiplier", c_double),
                ("offset", c_double)]  # fmt: skip


class SolveOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("timeout", c_double), ("evaluations", c_int64), ("attempts", c_int64),
                ("rng", c_uint64), ("stream", c_uint64), ("max_change", c_double), ("threads", c_int32),
                ("approximate", c_int32), ("valid", c_void_p), ("interrupted", c_void_p),
                ("context", c_void_p)]  # fmt: skip


def newest(name: str) -> Path:
    found = [path for path in BUILD.glob(f"*/{name}") if os.access(path, os.X_OK)]
    if not found:
        pytest.skip("the library for C is not built here: `make test` builds it")
    return max(found, key=lambda path: path.stat().st_mtime)


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(newest("libmemetik.so")))
    for name in ("builder_new", "build", "pose_problem", "load_problem", "with_limits", "problem_robot"):
        getattr(library, f"memetik_{name}").restype = c_void_p
    library.memetik_error.restype = c_char_p
    library.memetik_set_limits.argtypes = [c_void_p, c_char_p, c_double, c_double]
    return library


@pytest.mark.parametrize("architecture", _core.architectures())
def test_the_tests_in_c_pass_on_every_instruction_set(architecture):
    binary = newest("memetik_c_test")
    environment = {**os.environ, "MEMETIK_ARCH": architecture}
    run = subprocess.run([binary], env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"checks hold on {architecture}" in run.stdout


def built_by_calls(library: ctypes.CDLL, robot: mk.Robot) -> int:
    """The robot's description, told to the library link by link and joint by joint."""
    builder = c_void_p(library.memetik_builder_new())
    for link in robot.description.links:
        assert library.memetik_add_link(builder, link.name.encode()) >= 0
    for joint in robot.description.joints:
        own = Joint()
        library.memetik_joint_init(byref(own))
        own.name, own.parent, own.child = joint.name.encode(), joint.parent.encode(), joint.child.encode()
        own.kind = KINDS[joint.kind]
        own.origin, own.axis = (c_double * 16)(*np.ravel(joint.origin)), (c_double * 3)(*joint.axis)
        if joint.mimic is not None:
            own.mimic, own.multiplier, own.offset = (
                joint.mimic.joint.encode(), joint.mimic.multiplier, joint.mimic.offset,
            )  # fmt: skip
        assert library.memetik_add_joint(builder, byref(own)) >= 0, library.memetik_error()
        if joint.kind in ("revolute", "prismatic"):
            assert library.memetik_set_limits(builder, own.name, joint.lower[0], joint.upper[0]) == 0
    made = library.memetik_build(builder)
    assert made, library.memetik_error()
    library.memetik_builder_free(builder)
    return made


def solver(library: ctypes.CDLL, problem: int, dof: int) -> Callable[..., tuple[int, np.ndarray]]:
    assert problem, library.memetik_error()

    def solve(*targets: np.ndarray, seed: np.ndarray | None, rng: int, evaluations: int) -> tuple[int, np.ndarray]:
        options, q = SolveOptions(), np.zeros(dof)
        library.memetik_solve_options_init(byref(options))
        options.timeout, options.evaluations, options.rng = np.inf, evaluations, rng
        flat = np.concatenate([np.ravel(target) for target in targets])
        assert flat.size == library.memetik_target_size(c_void_p(problem))
        start = None if seed is None else np.ascontiguousarray(seed).ctypes.data_as(c_void_p)
        status = library.memetik_solve(
            c_void_p(problem), flat.ctypes.data_as(c_void_p), start, byref(options), q.ctypes.data_as(c_void_p), None
        )
        return status, q

    return solve


@pytest.mark.parametrize("name", ["panda", "ur5", "pr2", "iiwa14"])
def test_a_tree_built_by_calls_has_python_s_poses_and_solutions(library, name):
    robot = mk.load_robot(name)
    if not all(joint.kind in KINDS for joint in robot.description.joints):
        pytest.skip("joints of several axes are not built by calls")
    made, rng = built_by_calls(library, robot), np.random.default_rng(7)
    poses = np.zeros((len(robot.links), 4, 4))
    indices = np.arange(len(robot.links), dtype=np.int32)
    for q in robot.random(rng, 20):
        library.memetik_fk(
            c_void_p(made), q.ctypes.data_as(c_void_p), indices.ctypes.data_as(c_void_p), len(indices),
            poses.ctypes.data_as(c_void_p),
        )  # fmt: skip
        for k, link in enumerate(robot.links):
            assert np.abs(poses[k] - robot.pose(link, q)).max() < 1e-13
    tip, same = robot.tips[0], 0
    solve = solver(library, library.memetik_pose_problem(c_void_p(made), tip.encode(), None), robot.dof)
    problem, configurations = mk.Problem(robot, mk.Pose(tip)), robot.random(rng, 100)
    for k, (q, seed) in enumerate(zip(configurations, configurations[::-1], strict=True)):
        target = robot.pose(tip, q)
        expected = problem.solve(target, seed=seed.copy(), rng=k, evaluations=20000)
        status, found = solve(target, seed=seed, rng=k, evaluations=20000)
        assert (status == 0) == expected.success
        if expected.success:
            error = np.linalg.inv(target) @ robot.pose(tip, found) - np.eye(4)
            assert np.abs(error).max() < 3e-5
            same += np.abs(found - expected.q).max() < 1e-7
    # Poses differ in the last bit, which may tip a search to another branch now and then.
    assert same >= 97


@pytest.mark.parametrize(
    "goals",
    [
        [mk.Pose("panda_hand")],
        [mk.Pose("panda_hand", position_tolerance=(0.01, 0.01, np.inf), rotation_tolerance=(0.1, 0.1, np.inf))],
        [mk.Position("panda_hand"), mk.CenterJoints()],
        [mk.Pose("panda_link8"), mk.GravityTorque()],
    ],
    ids=["pose", "ranges", "soft", "torques"],
)
def test_an_exported_problem_has_python_s_answers_bit_for_bit(library, tmp_path, goals):
    robot = mk.load_robot("panda")
    problem = mk.Problem(robot, goals, fixed={"panda_finger_joint1": 0.02})
    mk.export_problem(problem, tmp_path / "problem.txt")
    loaded = library.memetik_load_problem(str(tmp_path / "problem.txt").encode())
    solve, rng = solver(library, loaded, robot.dof), np.random.default_rng(3)
    for k, q in enumerate(robot.random(rng, 25)):
        pose = robot.pose(goals[0].link, q)
        target = pose[:3, 3].copy() if isinstance(goals[0], mk.Position) else pose
        seed = None if k % 2 else robot.random(rng)
        expected = problem.solve(target, seed=seed, rng=k, evaluations=3000)
        status, found = solve(target, seed=seed, rng=k, evaluations=3000)
        assert (status == 0) == expected.success
        assert found.tobytes() == expected.q.tobytes()
    library.memetik_problem_free(c_void_p(loaded))


def test_files_that_are_cut_or_changed_are_refused_with_a_sentence(library, tmp_path):
    path = tmp_path / "problem.txt"
    mk.export_problem(mk.Problem(mk.load_robot("ur5"), mk.Pose("tool0")), path)
    text, rng, refused = path.read_bytes(), np.random.default_rng(0), 0
    for _ in range(300):
        data = bytearray(text[: rng.integers(len(text))] if rng.random() < 0.5 else text)
        for place in rng.integers(len(data), size=3) if data else []:
            data[place] = rng.integers(256)
        path.write_bytes(data)
        loaded = library.memetik_load_problem(str(path).encode())
        if loaded:
            library.memetik_problem_free(c_void_p(loaded))
        else:
            refused += 1
            assert library.memetik_error().decode(errors="replace").endswith(".")
    assert refused > 150


def test_problems_that_need_python_are_not_exported(tmp_path):
    robot = mk.load_robot("panda")
    with pytest.raises(mk.InvalidInputError, match="scene"):
        mk.export_problem(mk.Problem(robot, mk.Pose("panda_hand"), self_collision=True), tmp_path / "x")
    own = mk.JointFunction(["panda_joint1"], lambda q: q)
    with pytest.raises(mk.InvalidInputError, match="JointFunction"):
        mk.export_problem(mk.Problem(robot, [mk.Pose("panda_hand"), own]), tmp_path / "x")
