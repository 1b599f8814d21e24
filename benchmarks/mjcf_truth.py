"""Every MJCF file below some folders, read by memetik and by MuJoCo: frames, limits, couplings, keyframes, masses.

    python benchmarks/mjcf_truth.py FOLDER ... [--configurations 5] [--list]

A folder is that of an unpacked package, such as dm_control, gymnasium-robotics, robosuite, playground, metaworld,
myosuite or mujoco-mjx from the package index; all of them may be read, wherever in them a file lies. Files that
MuJoCo does not compile are counted apart, with what memetik says of them. Compared are the poses of every body,
site and camera at random configurations (metres, entries of the rotation), position limits, linear couplings,
keyframes, and masses with centres and inertias (relative to the largest of the body). Each file is read in a
process of its own. Exit code 1 where a bar does not hold.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from memetik.errors import MemetikError
from memetik.geometry.transforms import angles_from_rotation, frozen_inverse, pose, rotation_from_quaternion
from memetik.robot.load import load_description
from memetik.robot.robot import Robot

BARS = {"frames": 1e-9, "limits": 1e-9, "couplings": 1e-9, "keyframes": 1e-9, "masses": 1e-6}
HANG_SECONDS = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--configurations", type=int, default=5)
    parser.add_argument("--list", action="store_true", help="print a line for every file")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    outcomes: Counter[str] = Counter()
    worst = dict.fromkeys(BARS, 0.0)
    missed = 0
    for path in mjcf_files(given.folders):
        read = partial(compare, search_path=given.folders)
        answer = run_in_process(read, path, given.configurations)
        outcome, differences, said = ("crash", {}, answer) if isinstance(answer, str) else answer
        outcomes[outcome] += 1
        for name, value in differences.items():
            worst[name] = max(worst[name], value)
        beyond = {name: value for name, value in differences.items() if not value <= BARS[name]}
        missed += bool(beyond) or outcome in ("refused by memetik alone", "crash")
        if beyond or given.list or outcome in ("refused by memetik alone", "crash"):
            shown = " ".join(f"{name}={value:.1e}" for name, value in (differences if given.list else beyond).items())
            print(f"{outcome}: {path}: {shown} {said}", flush=True)
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:5} {outcome}")
    for name, value in worst.items():
        print(f"{name:10} largest difference {value:.1e}, bar {BARS[name]:.0e}")
    print("every bar holds" if not missed else f"{missed} files miss a bar")
    return 1 if missed else 0


def mjcf_files(folders: list[Path]) -> list[Path]:
    """The XML files whose root is <mujoco>."""
    files = sorted(path for folder in folders for path in ([folder] if folder.is_file() else folder.rglob("*.xml")))
    return [path for path in files if b"<mujoco" in path.read_bytes() and b"<mujocoinclude" not in path.read_bytes()]


def run_in_process(function: Callable[[Path, int], Any], path: Path, configurations: int) -> Any:
    """A function of a file in a process of its own, so that crashes and hangs are seen; a text where it had none."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    worker = context.Process(target=_answer, args=(sender, function, path, configurations))
    worker.start()
    sender.close()
    try:
        answer = receiver.recv() if receiver.poll(HANG_SECONDS) else "no answer in time"
    except EOFError:
        answer = "the process ended"
    worker.kill()
    worker.join()
    return answer


def _answer(sender: Any, function: Callable[[Path, int], Any], path: Path, configurations: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # MuJoCo's warnings
    try:
        answer = function(path, configurations)
    except Exception as error:
        answer = repr(error)
    sender.send(answer)


def compare(path: Path, configurations: int, search_path: Sequence[Path] = ()) -> tuple[str, dict[str, float], str]:
    """What became of one file, the largest differences, and what was said of it."""
    try:
        model, refusal = mujoco.MjModel.from_xml_path(str(path)), ""
    except ValueError as error:
        model, refusal = None, str(error).split("\n")[0]
    start = time.perf_counter()
    try:
        robot = Robot(load_description(path, search_path=search_path))
    except MemetikError as error:
        outcome = "refused by both" if model is None else "refused by memetik alone"
        if model is not None and model.nbody == 1:
            outcome = "refused by memetik, without bodies"
        return outcome, {}, f"{error} [{refusal}]"
    except Exception as error:
        return "crash", {}, repr(error)
    seconds = f"({time.perf_counter() - start:.2f} s)"
    if model is None:
        return "refused by MuJoCo alone", {}, f"{refusal} {seconds}"
    try:
        return "read by both", differences(robot, model, configurations), seconds
    except Exception as error:
        return "crash", {}, repr(error)


def differences(robot: Robot, model: Any, configurations: int) -> dict[str, float]:
    """The largest difference of each quantity between a robot and MuJoCo's model of the same file."""
    truth = Truth(robot, model)
    return {
        "frames": truth.frames(configurations),
        "limits": truth.limits(),
        "couplings": truth.couplings(),
        "keyframes": truth.keyframes(),
        "masses": truth.masses(),
    }


class Truth:
    """A robot beside MuJoCo's model, matched by the order of bodies and joints in the file."""

    def __init__(self, robot: Robot, model: Any):
        self.robot, self.model, self.data = robot, model, mujoco.MjData(model)
        self.joints = [joint for joint in robot.description.joints if joint.axes]
        if len(self.joints) != model.njnt:
            raise ValueError(f"{len(self.joints)} joints, MuJoCo has {model.njnt}")
        self.bodies = [self._link_of(index) for index in range(model.nbody)]

    def _link_of(self, index: int) -> str:
        """The link of a body: by name, else the nameless one in the same place in the order of the file."""
        name = self.model.body(index).name
        if name:
            return name
        nameless = [
            link for link in self.robot.links if link == "body" or (link.startswith("body_") and "/" not in link)
        ]
        given = {self.model.body(k).name for k in range(self.model.nbody)}
        nameless = [link for link in nameless if link not in given]
        position = len([k for k in range(index) if not self.model.body(k).name])
        return nameless[position]

    def q(self, qpos: np.ndarray) -> np.ndarray:
        """MuJoCo's qpos as this robot's q, where couplings hold."""
        values: list[float] = []
        for index, joint in enumerate(self.joints):
            if joint.mimic is not None:
                continue
            address = self.model.jnt_qposadr[index]
            kind = self.model.jnt_type[index]
            if kind == mujoco.mjtJoint.mjJNT_FREE:
                world = pose(rotation_from_quaternion(*qpos[address + 3 : address + 7]), qpos[address : address + 3])
                moved = frozen_inverse(joint.origin) @ world
                values += [*moved[:3, 3], *angles_from_rotation(moved[:3, :3], joint.rotation_order)]
            elif kind == mujoco.mjtJoint.mjJNT_BALL:
                turn = rotation_from_quaternion(*qpos[address : address + 4])
                values += angles_from_rotation(turn, joint.rotation_order)
            else:
                values.append(qpos[address])
        return np.array(values)

    def random_qpos(self, rng: np.random.Generator) -> np.ndarray:
        """A random qpos, in which mimic joints follow their masters."""
        model = self.model
        qpos = rng.uniform(-1.5, 1.5, model.nq)
        for index in range(model.njnt):
            if model.jnt_limited[index] and model.jnt_type[index] >= int(mujoco.mjtJoint.mjJNT_SLIDE):
                qpos[model.jnt_qposadr[index]] = rng.uniform(*model.jnt_range[index])
        mujoco.mj_normalizeQuat(model, qpos)
        return self.followed(qpos)

    def followed(self, qpos: np.ndarray) -> np.ndarray:
        """qpos with the values that mimic joints have by ours."""
        address = {joint.name: self.model.jnt_qposadr[k] for k, joint in enumerate(self.joints)}
        for _ in self.joints:
            changed = False
            for joint in self.joints:
                if joint.mimic is not None:
                    value = joint.mimic.multiplier * qpos[address[joint.mimic.joint]] + joint.mimic.offset
                    changed |= value != qpos[address[joint.name]]
                    qpos[address[joint.name]] = value
            if not changed:
                break
        return qpos

    def frames(self, configurations: int) -> float:
        model, data = self.model, self.data
        rng = np.random.default_rng(1)
        found = 0.0
        fixed = [k for k in range(model.ncam) if model.cam_mode[k] == mujoco.mjtCamLight.mjCAMLIGHT_FIXED]
        names = list(self.bodies)
        names += [self._frame(model.site(k).name, "site") for k in range(model.nsite) if model.site(k).name]
        names += [self._frame(model.cam(k).name, "camera") for k in fixed if model.cam(k).name]
        sites = [k for k in range(model.nsite) if model.site(k).name]
        cameras = [k for k in fixed if model.cam(k).name]
        for _ in range(configurations):
            data.qpos[:] = self.random_qpos(rng)
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_camlight(model, data)
            positions = np.concatenate([data.xpos, data.site_xpos[sites], data.cam_xpos[cameras]])
            turns = np.concatenate([data.xmat, data.site_xmat[sites], data.cam_xmat[cameras]]).reshape(-1, 3, 3)
            ours = self.robot.pose(names, self.q(data.qpos))
            found = max(found, np.abs(ours[:, :3, 3] - positions).max(), np.abs(ours[:, :3, :3] - turns).max())
        return float(found)

    def _frame(self, name: str, kind: str) -> str:
        """The link of a site or camera, which has a longer name where a body has its own."""
        taken = [n for n in (f"{name}_{kind}", name) if n in self.robot.links]
        if not taken:
            raise ValueError(f"no frame of {kind} {name!r}")
        return taken[0]

    def limits(self) -> float:
        found = 0.0
        for index, joint in enumerate(self.joints):
            if self.model.jnt_type[index] < int(mujoco.mjtJoint.mjJNT_SLIDE):
                continue
            limited = self.model.jnt_limited[index]
            expected = self.model.jnt_range[index] if limited else np.array([-np.inf, np.inf])
            ours = np.array([joint.lower[0], joint.upper[0]])
            if not (ours == expected).all():
                found = max(found, float(np.abs(ours - expected).max()))
        return found

    def couplings(self) -> float:
        """The largest error of MuJoCo's joint and tendon equalities where mimic joints follow their masters."""
        model, data = self.model, self.data
        if not model.neq:
            return 0.0
        data.qpos[:] = self.random_qpos(np.random.default_rng(2))
        mujoco.mj_forward(model, data)
        linear = [
            k
            for k in range(model.neq)
            if model.eq_type[k] in (mujoco.mjtEq.mjEQ_JOINT, mujoco.mjtEq.mjEQ_TENDON)
            and model.eq_active0[k]
            and not model.eq_data[k, 2:5].any()
        ]
        rows = (data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY) & np.isin(data.efc_id, linear)
        return float(np.abs(data.efc_pos[rows]).max(initial=0.0))

    def keyframes(self) -> float:
        """How far the named states are from MuJoCo's keyframes, in the poses of bodies."""
        model, data, found = self.model, self.data, 0.0
        states = {state.name: state for state in self.robot.description.semantics.states}
        for index in range(model.nkey):
            name = model.key(index).name or f"key{index}"
            if name not in states and not model.key(index).name:
                continue  # <size nkey=.../> makes room for keyframes that the file does not have
            if name not in states:
                raise ValueError(f"no state of keyframe {name!r}")
            data.qpos[:] = self.followed(model.key_qpos[index].copy())
            mujoco.mj_kinematics(model, data)
            values = [v for joint in self.joints if joint.mimic is None for v in states[name].values[joint.name]]
            ours = self.robot.pose(self.bodies, np.array(values))
            found = max(found, float(np.abs(ours[:, :3, 3] - data.xpos).max()))
        return found

    def masses(self) -> float:
        model, found = self.model, 0.0
        for index in range(1, model.nbody):
            inertial = self.robot.link(self.bodies[index]).inertial
            mass = 0.0 if inertial is None else inertial.mass
            expected = model.body_mass[index]
            if expected == 0.0 == mass:
                continue
            found = max(found, abs(mass - expected) / max(expected, 1e-12))
            if inertial is None:
                continue
            found = max(found, float(np.abs(np.array(inertial.com) - model.body_ipos[index]).max()))
            turn = rotation_from_quaternion(*model.body_iquat[index])
            inertia = turn @ np.diag(model.body_inertia[index]) @ turn.T
            scale = max(float(model.body_inertia[index].max()), 1e-9)
            found = max(found, float(np.abs(inertial.inertia - inertia).max()) / scale)
        return float(found)


if __name__ == "__main__":
    sys.exit(main())
