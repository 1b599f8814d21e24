"""Tasks as TOML files.

    schema = "memetik.task/1"
    robot = "panda"                 # bundled name, or the path of a description or of a set-up file
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

    [gripper]                       # see memetik.motion.task.Gripper
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
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from memetik.errors import InvalidInputError, MemetikError, suggest
from memetik.files import write_whole
from memetik.motion.task import Gripper, Pick, Place, Step, Task
from memetik.robot.robot import Robot, load_robot
from memetik.robot.toml_text import to_toml
from memetik.robot.transforms import transform
from memetik.scene.scene import Scene
from memetik.scene.scene_file import scene_from_document

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
    document = _document(path, "task")
    return _Reader(document, path).task()


def load_postures(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """The postures that were taught: joint values by name, by the postures' names."""
    document = _document(Path(path), "postures")
    if document.get("schema") != POSTURES_SCHEMA:
        raise InvalidInputError(
            f"{os.fspath(path)!r} has schema {document.get('schema')!r:.60}, not {POSTURES_SCHEMA}."
        )
    found = document.get("posture", {})
    if not isinstance(found, dict) or not all(isinstance(values, dict) for values in found.values()):
        raise InvalidInputError(f"{os.fspath(path)!r}: postures are tables [posture.NAME] of joint values.")
    return {name: {joint: float(value) for joint, value in values.items()} for name, values in found.items()}


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
    def __init__(self, document: dict[str, Any], path: Path):
        self.what, self.folder, self.document = f"the task {path.name!r}", path.resolve().parent, document
        if document.get("schema") != SCHEMA:
            raise InvalidInputError(f"{self.what} has schema {document.get('schema')!r:.60}; it must be {SCHEMA!r}.")
        self.known(document, _KEYS, self.what)
        self.name = document.get("name", path.stem)

    def task(self) -> Task:
        document = self.document
        self.robot = self.load_robot()
        self.group = document.get("group")
        self.arm = self.robot if self.group is None else self.robot.group(self.group)
        self.postures = self.load_postures()
        self.gripper = self.load_gripper()
        self.tool = self.gripper.tool if self.gripper is not None else self.arm.tip
        poses = self.table(document, "poses")
        self.poses = {name: self.pose(entry, f"pose {name!r}") for name, entry in poses.items()}
        scene, masses = self.load_scene()
        steps: list[Step | Pick | Place] = []
        for number, entry in enumerate(self.listed("step"), 1):
            label = f"{self.what}, step {number}"
            try:
                steps += self.step(entry, label, steps)
            except MemetikError as error:
                raise error if str(error).startswith(self.what) else InvalidInputError(f"{label}: {error}") from None
        start = self.posture(document.get("start", {}), "start")
        return Task(
            robot=self.robot,
            scene=scene,
            steps=tuple(steps),
            gripper=self.gripper,
            group=self.group,
            start=start,
            postures=self.postures,
            speed=self.number(document, "speed", 1.0),
            name=str(self.name),
            masses=masses,
        )

    def load_robot(self) -> Robot:
        from memetik.robot import bundled

        source = self.document.get("robot")
        if not isinstance(source, str):
            raise InvalidInputError(f"{self.what} needs robot, a bundled name or a path.")
        robot = load_robot(source if source in bundled.names() else str(self.folder / source))
        base = self.document.get("base")
        robot = robot if base is None else robot.at(self.pose(base, "base"))
        return self.with_tool(robot) if "tool" in self.document else robot

    def with_tool(self, robot: Robot) -> Robot:
        given = self.table(self.document, "tool")
        self.known(given, ("name", "link", "mass", "shape", *_POSE_KEYS), f"{self.what}, [tool]")
        name = str(given.get("name", "tool"))
        place = {key: given[key] for key in _POSE_KEYS if key in given}
        options: dict[str, Any] = {}
        if "shape" in given:
            entry = {"name": name, **self.table(given, "shape")}
            (item,) = scene_from_document({"schema": 1, "object": [entry]}, f"{self.what}, [tool]", str(self.folder))
            options["collisions"] = options["visuals"] = [(item.shape, item.pose)]
        if "mass" in given:
            options["mass"] = self.number(given, "mass", 0.0)
        return robot.with_tool(self.pose(place, "tool"), name=name, link=given.get("link"), **options)

    def load_postures(self) -> dict[str, np.ndarray]:
        given = self.document.get("postures", {})
        if isinstance(given, str):
            given = load_postures(self.folder / given)
        if not isinstance(given, dict):
            raise InvalidInputError(f"{self.what}: postures is a table, or the name of a file.")
        return {name: self._values(entry, f"posture {name!r}") for name, entry in given.items()}

    def load_gripper(self) -> Gripper | None:
        given = self.document.get("gripper")
        if given is None:
            return None
        given = self.table(self.document, "gripper")
        self.known(given, _GRIPPER_KEYS, f"{self.what}, [gripper]")
        if not isinstance(given.get("tool"), str):
            raise InvalidInputError(f"{self.what}: [gripper] needs tool, the name of a link.")
        self.robot.link_index(given["tool"])
        for link in given.get("links", []):
            self.robot.link_index(link)
        for key in ("open", "closed"):
            self.robot.q(given.get(key, {}))
        return Gripper(**{**given, "links": tuple(given.get("links", ()))})

    def load_scene(self) -> tuple[Scene, dict[str, float]]:
        masses, objects = {}, []
        for entry in self.listed("object"):
            entry = dict(entry)
            if "mass" in entry:
                masses[str(entry.get("name"))] = self.number(entry, "mass", 0.0)
                del entry["mass"]
            objects.append(entry)
        pairs = self.document.get("allowed", [])
        own = scene_from_document({"schema": 1, "object": objects, "allowed": pairs}, self.what, str(self.folder))
        if "scene" not in self.document:
            return own, masses
        scene = Scene.load(self.folder / str(self.document["scene"]))
        for item in own:
            scene.add(item.name, item.shape, item.pose, padding=item.padding, solid=item.solid, color=item.color)
        for first, second in own.allowed:
            scene.allow(first, second)
        return scene, masses

    def step(self, entry: Any, label: str, before: list[Step | Pick | Place]) -> list[Step | Pick | Place]:
        verbs = [verb for verb in _VERBS if verb in entry]
        if len(verbs) != 1:
            raise InvalidInputError(
                f"{label} needs one of {', '.join(_VERBS)}; it has {', '.join(entry) or 'nothing'}."
            )
        verb, value = verbs[0], entry[verbs[0]]
        self.known(entry, (verb, "label", *_STEP_KEYS.get(verb, ())), label)
        named = entry.get("label", f"{verb} {value}" if isinstance(value, str) else verb)
        if verb == "move":
            return [Step("move", self.move_target(value), named)]
        if verb == "line":
            offset = value.get("offset") if isinstance(value, dict) else None
            target = np.array(offset, dtype=float) if offset is not None else self.pose(value, "line")
            return [Step("line", target, named)]
        if verb == "grip":
            return [Step("grip", self.grip(value), named)]
        if verb in ("attach", "detach"):
            return [Step(verb, value, named)]  # type: ignore[arg-type]
        if verb == "wait":
            return [Step("wait", self.number(entry, "wait", 0.0), named)]
        script = entry.get("script", "standard")
        if verb == "pick":
            grasp = self.pose(entry["grasp"], "grasp") if "grasp" in entry else None
            picked: list[Step | Pick | Place] = [Pick(str(value), grasp, script)]
            return [*picked, Place(str(value), self.pose(entry["to"], "to"), script)] if "to" in entry else picked
        held = next((step.item for step in reversed(before) if isinstance(step, Pick)), None)
        if held is None:
            raise InvalidInputError(f"{label}: nothing was picked before, so nothing can be placed.")
        return [Place(held, self.pose(value, "place"), script)]

    def move_target(self, value: Any) -> np.ndarray:
        if isinstance(value, str) and value in self.poses:
            return self.poses[value]
        if isinstance(value, dict) and any(key in value for key in _POSE_KEYS):
            return self.pose(value, "move")
        return self.posture(value, "move")

    def grip(self, value: Any) -> dict[str, float]:
        if self.gripper is None:
            raise InvalidInputError("grip needs a [gripper].")
        if value in ("open", "closed"):
            return dict(getattr(self.gripper, value))
        if not isinstance(value, dict):
            raise InvalidInputError(f"grip is 'open', 'closed' or {{joint = value}}, not {value!r:.60}.")
        self.robot.q(value)
        return {name: float(number) for name, number in value.items()}

    def pose(self, entry: Any, what: str) -> np.ndarray:
        """A pose by name, as position and turn, or as that of the tool in a taught posture."""
        if isinstance(entry, str):
            poses = getattr(self, "poses", {})
            if entry in poses:
                return poses[entry]
            if entry in self.postures:
                return self.robot.pose(self.tool, self.postures[entry])
            raise InvalidInputError(f"{what}: there is no pose {entry!r}; {suggest(entry, [*poses, *self.postures])}")
        if not isinstance(entry, dict) or not entry:
            raise InvalidInputError(f"{what} is a name or a table of position and rpy or quat_xyzw, not {entry!r:.60}.")
        self.known(entry, _POSE_KEYS, f"{self.what}, {what}")
        turn = {key: entry[key] for key in ("rpy", "quat_xyzw") if key in entry}
        return transform(entry.get("position", (0.0, 0.0, 0.0)), **turn)

    def posture(self, entry: Any, what: str) -> np.ndarray:
        if isinstance(entry, str):
            if entry in self.postures:
                return self.postures[entry]
            if entry in self.robot.named_states:
                return self.robot.state(entry)
            choices = [*self.postures, *self.robot.named_states, *getattr(self, "poses", {})]
            raise InvalidInputError(f"{what}: there is no posture {entry!r}; {suggest(entry, choices)}")
        return self._values(entry, what)

    def _values(self, entry: Any, what: str) -> np.ndarray:
        """A posture of the whole robot, from values by name or in order (of the arm, or of all)."""
        if isinstance(entry, dict):
            return self.robot.q(entry)
        if isinstance(entry, list) and len(entry) == self.arm.dof:
            return self.robot.q(dict(zip(self.arm.joint_names, entry, strict=True)))
        if isinstance(entry, list):
            return self.robot.q(entry)
        raise InvalidInputError(f"{self.what}, {what}: a posture is values by name or in order, not {entry!r:.60}.")

    def listed(self, key: str) -> list[dict[str, Any]]:
        found = self.document.get(key, [])
        if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
            raise InvalidInputError(f"{self.what}: {key}s are tables [[{key}]].")
        return found

    def table(self, owner: Mapping[str, Any], key: str) -> dict[str, Any]:
        found = owner.get(key, {})
        if not isinstance(found, dict):
            raise InvalidInputError(f"{self.what}: {key} is a table.")
        return found

    def number(self, owner: Mapping[str, Any], key: str, default: float) -> float:
        value = owner.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidInputError(f"{self.what}: {key} must be a number, not {value!r:.60}.")
        return float(value)

    def known(self, table: Mapping[str, Any], keys: tuple[str, ...], what: str) -> None:
        for key in table:
            if key not in keys:
                raise InvalidInputError(f"{what} has the key {key!r:.60}, which is not known; {suggest(key, keys)}")


def _document(path: Path, what: str) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise InvalidInputError(f"{str(path)!r} is larger than the {MAX_BYTES} bytes that are read.")
        return tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise InvalidInputError(f"the {what} file {str(path)!r} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"the {what} file {str(path)!r} is not valid TOML: {str(error)[:120]}.") from None
