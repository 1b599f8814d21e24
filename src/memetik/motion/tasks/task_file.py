"""Tasks as TOML files.

    schema = "memetik.task/1"
    robot = "panda"                 # bundled name, or the path of a description or of a robot config
    group = "panda_arm"             # the joints that moves are planned for
    start = "ready"                 # a posture: a name, values in order, or {joint = value}
    speed = 0.8                     # share of the velocity and acceleration limits
    scene = "cell.toml"             # a scene's file; objects below come on top

    [tool]                          # optional: a link added to the robot, which becomes its tip
    name = "cup"
    link = "tool0"
    position = [0.0, 0.0, 0.12]     # of its frame; its shape is that of a scene's object, in this frame
    shape = {shape = "cylinder", radius = 0.02, length = 0.12, position = [0.0, 0.0, -0.06]}
    mass = 0.3

    [gripper]                       # see memetik.motion.tasks.task.Gripper
    tool = "panda_hand_tcp"
    open = {panda_finger_joint1 = 0.04}
    closed = {panda_finger_joint1 = 0.0}
    links = ["panda_hand", "panda_leftfinger", "panda_rightfinger"]
    hold = "friction"

    [[object]]                      # as in a scene's file; and mass, in kilograms
    name = "cube"
    shape = "box"
    size = [0.04, 0.04, 0.05]
    position = [0.4, 0.2, 0.025]

    [poses]
    bin = {position = [0.4, -0.3, 0.025]}

    [postures]                      # or postures = "taught.toml", a file that teach-in writes
    home = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]

    [[step]]
    move = "home"                   # a planned motion to a posture or a pose, by name or as it is
    [[step]]
    line = {offset = [0.0, 0.0, 0.1]}       # a straight line to a pose, or by an offset
    [[step]]
    pick = "cube"                   # and, optionally, to = a pose: pick it and place it there; script, grasp
    [[step]]
    place = "bin"                   # what is held
    [[step]]
    grip = "open"                   # open, closed or {joint = value}
    [[step]]
    wait = 0.5                      # also attach = an object, detach = true

A taught posture may stand where a pose is asked for: the pose of the tool in it is meant. Files are named relative to
the task's folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from memetik.errors import GeometryError, InvalidInputError, suggest
from memetik.files.atomic import write_whole
from memetik.files.schema import Table, Value, read_table
from memetik.files.toml_writer import to_toml
from memetik.geometry.transforms import read_pose
from memetik.motion.tasks.task import Gripper, Pick, Place, Task, TaskStep
from memetik.robot import bundled
from memetik.robot.configuration import JointValues
from memetik.robot.robot import Robot, load_robot
from memetik.scene.scene import Scene
from memetik.scene.scene_file import scene_from_table

SCHEMA = "memetik.task/1"
POSTURES_SCHEMA = "memetik.postures/1"
MAX_BYTES = 4_000_000

_KEYS = (
    "schema", "name", "robot", "base", "group", "start", "speed", "scene", "allowed", "tool", "gripper", "object",
    "poses", "postures", "step",
)  # fmt: skip
_VERBS = ("move", "line", "pick", "place", "grip", "attach", "detach", "wait")
_STEP_KEYS = {"pick": ("to", "script", "grasp"), "place": ("script",)}
_GRIPPER_KEYS = tuple(Gripper.__dataclass_fields__)
_POSE_KEYS = ("position", "rpy", "quat_xyzw")


def load_task(path: str | os.PathLike[str]) -> Task:
    """Read a task; errors say which file, which step and what is wrong there."""
    path = Path(path)
    document = read_table(path, "the task", "toml", most=MAX_BYTES)
    return _Reader(document.schema(SCHEMA).known(*_KEYS), path).task()


def load_postures(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """The postures that were taught: joint values by name, by the postures' names."""
    document = read_table(path, "the postures", "toml", most=MAX_BYTES).schema(POSTURES_SCHEMA)
    taught = document.table("posture")
    return {name: {joint: taught.table(name).number(joint) for joint in taught.table(name)} for name in taught}


def teach(path: str | os.PathLike[str], name: str, values: Mapping[str, float]) -> None:
    """Record a posture under a name, in a file that may already hold others; one of that name is replaced.

    values: joint values by name, such as a driver's state tells them.
    """
    if not name.strip():
        raise InvalidInputError("a taught posture needs a name.")
    path = Path(path)
    known = load_postures(path) if path.exists() else {}
    known[name] = {joint: float(value) for joint, value in values.items()}
    text = f'# Postures that were taught: radians, metres.\nschema = "{POSTURES_SCHEMA}"\n'
    for posture, joints in known.items():
        head = to_toml({posture: joints}).strip()
        text += "\n[posture." + head[1:] + "\n"
    write_whole(path, text)


class _Reader:
    def __init__(self, document: Table, path: Path):
        self.document, self.folder = document, path.resolve().parent
        self.name = document.data.get("name", path.stem)

    def task(self) -> Task:
        document = self.document
        self.robot = self.load_robot()
        self.group = document.data.get("group")
        self.arm = self.robot if self.group is None else self.robot.group(self.group)
        self.postures = self.load_postures()
        self.gripper = self.load_gripper()
        self.tool = self.gripper.tool if self.gripper is not None else self.arm.tip
        poses = document.table("poses").data
        self.poses = {name: self.pose(entry, f"pose {name!r}") for name, entry in poses.items()}
        scene, masses = self.load_scene()
        steps: list[TaskStep | Pick | Place] = []
        for entry in document.tables("step"):
            with entry.naming_errors():
                steps += self.step(entry, steps)
        start = self.posture(document.data.get("start", {}), "start")
        return Task(
            robot=self.robot,
            scene=scene,
            steps=tuple(steps),
            gripper=self.gripper,
            group=self.group,
            start=start,
            postures=self.postures,
            speed=document.number("speed", 1.0),
            name=str(self.name),
            masses=masses,
        )

    def load_robot(self) -> Robot:
        source = self.document.text("robot", meaning="a bundled name or a path")
        robot = load_robot(source if source in bundled.names() else str(self.folder / source))
        base = self.document.data.get("base")
        robot = robot if base is None else robot.at(self.pose(base, "base"))
        return self.with_tool(robot) if "tool" in self.document else robot

    def with_tool(self, robot: Robot) -> Robot:
        given = self.document.table("tool").known("name", "link", "mass", "shape", *_POSE_KEYS)
        name = str(given.data.get("name", "tool"))
        options: dict[str, Any] = {}
        if "shape" in given:
            (item,) = self.scene({"object": [{"name": name, **given.table("shape").data}]})
            options["collisions"] = options["visuals"] = [(item.shape, item.pose)]
        if "mass" in given:
            options["mass"] = given.number("mass")
        return robot.with_tool(read_pose(given), name=name, link=given.data.get("link"), **options)

    def load_postures(self) -> dict[str, np.ndarray]:
        given = self.document.data.get("postures", {})
        entries = load_postures(self.folder / given) if isinstance(given, str) else self.document.table("postures").data
        return {name: self._values(entry, f"posture {name!r}") for name, entry in entries.items()}

    def load_gripper(self) -> Gripper | None:
        if "gripper" not in self.document:
            return None
        given = self.document.table("gripper").known(*_GRIPPER_KEYS)
        links = given.texts("links", ())
        for link in (given.text("tool", meaning="the name of a link"), *links):
            self.robot.link_index(link)
        for key in ("open", "closed"):
            self.robot.q(given.data.get(key, {}))
        return Gripper(**{**given.data, "links": links})

    def load_scene(self) -> tuple[Scene, dict[str, float]]:
        entries = self.document.tables("object")
        masses = {str(entry.data.get("name")): entry.number("mass") for entry in entries if "mass" in entry}
        objects = [{key: value for key, value in entry.data.items() if key != "mass"} for entry in entries]
        own = self.scene({"object": objects, "allowed": self.document.listed("allowed")})
        if "scene" not in self.document:
            return own, masses
        scene = Scene.load(self.folder / str(self.document.data["scene"]))
        for item in own:
            scene.add(item.name, item.shape, item.pose, padding=item.padding, solid=item.solid, color=item.color)
        for first, second in own.allowed:
            scene.allow(first, second)
        return scene, masses

    def scene(self, entries: Mapping[str, Value]) -> Scene:
        """The scene of `object` and `allowed` entries of this task."""
        return scene_from_table(Table(entries, replace(self.document.source, error=GeometryError)), str(self.folder))

    def step(self, entry: Table, before: list[TaskStep | Pick | Place]) -> list[TaskStep | Pick | Place]:
        verbs = [verb for verb in _VERBS if verb in entry]
        if len(verbs) != 1:
            raise entry.error(f"one of {', '.join(_VERBS)} is needed; there is {', '.join(entry) or 'nothing'}.")
        verb, value = verbs[0], entry.data[verbs[0]]
        entry.known(verb, "label", *_STEP_KEYS.get(verb, ()))
        named = entry.data.get("label", f"{verb} {value}" if isinstance(value, str) else verb)
        if verb == "move":
            return [TaskStep("move", self.move_target(value), named)]
        if verb == "line":
            by = entry.table("line") if isinstance(value, dict) and "offset" in value else None
            target = self.pose(value, "line") if by is None else np.array(by.known("offset").numbers("offset", 3))
            return [TaskStep("line", target, named)]
        if verb == "grip":
            return [TaskStep("grip", self.grip(value), named)]
        if verb in ("attach", "detach"):
            return [TaskStep(verb, value, named)]  # type: ignore[arg-type]
        if verb == "wait":
            return [TaskStep("wait", entry.number("wait"), named)]
        script = entry.data.get("script", "standard")
        if verb == "pick":
            grasp = self.pose(entry.data["grasp"], "grasp") if "grasp" in entry else None
            picked: list[TaskStep | Pick | Place] = [Pick(str(value), grasp, script)]
            return [*picked, Place(str(value), self.pose(entry.data["to"], "to"), script)] if "to" in entry else picked
        held = next((step.item for step in reversed(before) if isinstance(step, Pick)), None)
        if held is None:
            raise entry.error("nothing was picked before, so nothing can be placed.")
        return [Place(held, self.pose(value, "place"), script)]

    def move_target(self, value: Value) -> np.ndarray:
        if isinstance(value, str) and value in self.poses:
            return self.poses[value]
        if isinstance(value, dict) and any(key in value for key in _POSE_KEYS):
            return self.pose(value, "move")
        return self.posture(value, "move")

    def grip(self, value: Value) -> dict[str, float]:
        if self.gripper is None:
            raise InvalidInputError("grip needs a [gripper].")
        if value in ("open", "closed"):
            return dict(getattr(self.gripper, value))
        if not isinstance(value, dict):
            raise InvalidInputError(f"grip is 'open', 'closed' or {{joint = value}}, not {value!r:.60}.")
        values = Table(value, self.document.source, place="grip")
        self.robot.q({name: values.number(name) for name in values})
        return {name: values.number(name) for name in values}

    def pose(self, entry: Value, what: str) -> np.ndarray:
        """A pose by name, as position and rotation, or as that of the tool in a taught posture."""
        if isinstance(entry, str):
            poses = getattr(self, "poses", {})
            if entry in poses:
                return poses[entry]
            if entry in self.postures:
                return self.robot.pose(self.tool, self.postures[entry])
            raise InvalidInputError(f"{what}: there is no pose {entry!r}; {suggest(entry, [*poses, *self.postures])}")
        if not isinstance(entry, dict) or not entry:
            raise InvalidInputError(f"{what} is a name or a table of position and rpy or quat_xyzw, not {entry!r:.60}.")
        return read_pose(Table(entry, self.document.source, place=what).known(*_POSE_KEYS))

    def posture(self, entry: Value, what: str) -> np.ndarray:
        if isinstance(entry, str):
            if entry in self.postures:
                return self.postures[entry]
            if entry in self.robot.named_states:
                return self.robot.state(entry)
            choices = [*self.postures, *self.robot.named_states, *getattr(self, "poses", {})]
            raise InvalidInputError(f"{what}: there is no posture {entry!r}; {suggest(entry, choices)}")
        return self._values(entry, what)

    def _values(self, entry: Value, what: str) -> np.ndarray:
        """A posture of the whole robot, from values by name or in order (of the arm, or of all)."""
        if isinstance(entry, dict):
            return self.robot.q(cast("JointValues", entry))
        if isinstance(entry, list) and len(entry) == self.arm.dof:
            return self.robot.q(cast("JointValues", dict(zip(self.arm.joint_names, entry, strict=True))))
        if isinstance(entry, list):
            return self.robot.q(cast("JointValues", entry))
        raise self.document.error(f"{what}: a posture is values by name or in order, not {entry!r:.60}.")
