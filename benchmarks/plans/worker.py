"""Plans the problems of benchmarks/planning.py with one peer; run by that script, with the peer's own Python.

    python worker.py PEER INPUT.json OUTPUT.json

The input holds the robot (URDF and SRDF text), the obstacles and the problems; the output, per problem, whether the
peer says it succeeded, the seconds from the target pose to the timed trajectory, and the trajectory's points.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


class RoboPlan:
    """SimpleIk with collision checks, RRT-Connect, shortcutting, TOPP-RA: as its own examples put them together."""

    def __init__(self, task):
        from roboplan import core
        from roboplan.core import Scene, loadUrdfSceneDescriptionFromXml
        from roboplan.rrt import RRT, RRTOptions
        from roboplan.simple_ik import SimpleIk, SimpleIkOptions
        from roboplan.toppra import PathParameterizerTOPPRA, TOPPRAOptions

        self.core, self.task = core, task
        self.scene = Scene("bench", loadUrdfSceneDescriptionFromXml(task["urdf"]))
        self.scene.addGroupFromChain("arm", task["base"], task["tip"])
        for first, second in task["allowed"]:
            self.scene.setCollisions(first, second, False)
        limits = Path(tempfile.mkdtemp()) / "limits.yaml"
        rows = zip(task["joints"], task["velocity"], task["acceleration"], strict=True)
        limits.write_text("joint_limits:\n" + "".join(
            f"  {name}:\n    max_velocity: [{v}]\n    max_acceleration: [{a}]\n" for name, v, a in rows
        ))  # fmt: skip
        self.scene.importJointLimitsFromConfig(core.loadJointLimitsConfig(str(limits)))
        color = np.array([0.5, 0.5, 0.5, 1.0])
        for thing in task["objects"]:
            pose = np.asfortranarray(thing["pose"])
            if thing["kind"] == "box":
                self.scene.addBoxGeometry(thing["name"], "universe", core.Box(*thing["size"]), pose, color)
            elif thing["kind"] == "sphere":
                self.scene.addSphereGeometry(thing["name"], "universe", core.Sphere(thing["size"][0]), pose, color)
        names = [thing["name"] for thing in task["objects"]]
        still = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        still += [(link, name) for link in task["still"] for name in names]
        self.scene.setCollisions(still, False)
        seconds = task["timeout"]
        self.ik = SimpleIk(self.scene, SimpleIkOptions(
            group_name="arm", max_time=0.5, max_restarts=1000, step_size=1.0, check_collisions=True,
            max_linear_error_norm=1e-4, max_angular_error_norm=1e-4,
        ))  # fmt: skip
        self.rrt = RRT(self.scene, RRTOptions(
            group_name="arm", max_nodes=1_000_000, max_planning_time=seconds, rrt_connect=True,
        ))  # fmt: skip
        self.shortcutter = core.PathShortcutter(self.scene, core.PathShortcuttingOptions(group_name="arm"))
        self.toppra = PathParameterizerTOPPRA(self.scene, "arm")
        self.options = TOPPRAOptions(dt=0.01)

    def plan(self, start, pose):
        core, names = self.core, self.task["joints"]
        begin = core.JointConfiguration(names, start)
        end = core.JointConfiguration(names, np.zeros(len(names)))
        self.scene.setJointPositions(self.scene.toFullJointPositions("arm", start))
        goal = core.CartesianConfiguration(self.task["base"], self.task["tip"], np.asfortranarray(pose))
        if not self.ik.solveIk(goal, begin, end):
            self.note = "no configuration"
            return None
        path = self.rrt.plan(begin, end)
        if path is None:
            return None
        trajectory = self.toppra.generate(self.shortcutter.shortcut(path), self.options)
        return np.array(trajectory.times), np.array(trajectory.positions)


class MpLib:
    """Planner.plan_pose: IK, RRT-Connect, simplification, TOPP-RA."""

    def __init__(self, task):
        from mplib import Planner, Pose
        from mplib.collision_detection.fcl import Box, CollisionObject, FCLObject, Sphere

        self.task, self.pose = task, Pose
        folder = Path(tempfile.mkdtemp())
        (folder / "robot.urdf").write_text(task["urdf"])
        (folder / "robot.srdf").write_text(task["srdf"])
        objects = []
        for thing in task["objects"]:
            shape = Box(thing["size"]) if thing["kind"] == "box" else Sphere(thing["size"][0])
            objects.append(FCLObject(thing["name"], Pose(np.array(thing["pose"])), [CollisionObject(shape)], [Pose()]))
        self.planner = Planner(
            urdf=str(folder / "robot.urdf"), srdf=str(folder / "robot.srdf"), move_group=task["tip"],
            joint_vel_limits=np.array(task["velocity"]), joint_acc_limits=np.array(task["acceleration"]),
            objects=objects,
        )  # fmt: skip
        allowed = self.planner.planning_world.get_allowed_collision_matrix()
        for link in task["still"]:
            for thing in task["objects"]:
                allowed.set_entry(link, thing["name"], True)
        order = [self.planner.user_joint_names[k] for k in self.planner.move_group_joint_indices]
        self.order = [task["joints"].index(name) for name in order]
        self.full = np.zeros(len(self.planner.user_joint_names))
        for k, name in enumerate(self.planner.user_joint_names):
            self.full[k] = task["fixed"].get(name, 0.0)

    def plan(self, start, pose):
        q = self.full.copy()
        q[self.planner.move_group_joint_indices] = start[self.order]
        result = self.planner.plan_pose(
            self.pose(pose), q, time_step=0.01, planning_time=self.task["timeout"], rrt_range=0.1
        )
        self.note = result["status"]
        if result["status"] != "Success":
            return None
        positions = np.zeros((len(result["time"]), len(self.order)))
        positions[:, self.order] = result["position"]
        return np.array(result["time"]), positions


def main():
    peer, source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as stream:
        task = json.load(stream)
    planner = {"roboplan": RoboPlan, "mplib": MpLib}[peer](task)
    results = []
    for problem in task["problems"]:
        start, pose = np.array(problem["start"]), np.array(problem["pose"])
        begin = time.perf_counter()
        try:
            found, note = planner.plan(start, pose), getattr(planner, "note", "")
        except Exception as error:
            found, note = None, f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - begin
        entry = {"success": found is not None, "seconds": seconds, "note": note}
        if found is not None:
            entry["times"], entry["positions"] = found[0].tolist(), np.asarray(found[1]).tolist()
        results.append(entry)
    with open(target, "w", encoding="utf-8") as stream:
        json.dump(results, stream)


if __name__ == "__main__":
    main()
