"""One model of an SDF file becomes a Description."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from memetik.errors import GeometryError, suggest
from memetik.files.xml_tree import Element
from memetik.geometry.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from memetik.geometry.transforms import inverse, pose, unit
from memetik.robot.description import Description, Geometry, Inertial, Joint, Link, Loop, Mimic
from memetik.robot.notes import Notes
from memetik.robot.readers.mesh_paths import MeshFinder
from memetik.robot.readers.mjcf_geoms import ellipsoid_mesh, pose_of
from memetik.robot.readers.mjcf_settings import rotation_to
from memetik.robot.readers.sdf_frames import (
    MODEL,
    WORLD,
    FrameGraph,
    child_text,
    limit_of,
    number_of,
    numbers_of,
    raw_pose,
    text_of,
)

_KINDS = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "ball": "spherical",
    "fixed": "fixed",
    "screw": "revolute",
    "gearbox": "revolute",
    "universal": "revolute",
    "revolute2": "revolute",
}


@dataclass(eq=False)
class SdfModel:
    """A model of the file, and where it stands."""

    name: str
    element: Element
    base: np.ndarray
    finder: MeshFinder
    parts: dict[int, MeshFinder] = field(default_factory=dict[int, MeshFinder])
    """Finders of the nested models that were included, by the id of their element."""


class ModelReader:
    """Reads one model of an SDF file, of that version."""

    def __init__(self, model: SdfModel, version: tuple[int, int], source: str, notes: Notes):
        self.model, self.version, self.source, self.notes = model, version, source, notes
        self.frames = FrameGraph()
        self.links: dict[str, Link] = {}
        self.joints: list[Joint] = []
        self.loops: list[Loop] = []
        self.joint_names: set[str] = set()
        self.planes: list[tuple[str, str, np.ndarray]] = []
        """Planes, which no link can be: name, link and pose there, z being the normal."""
        self.pending: list[tuple[Element, str]] = []
        """<joint> elements and the prefix of their model."""

    def description(self) -> Description:
        """The model as a robot."""
        self._scan(self.model.element, "", self.model.finder)
        placement = self.model.element.text("placement_frame", child_text(self.model.element, "placement_frame"))
        base = self.model.base
        if placement:
            base = base @ inverse(self.frames.pose(placement))
        for element, prefix in self.pending:
            self._joint(element, prefix)
        self._add_frames()
        children = {joint.child for joint in self.joints}
        roots = [name for name in self.links if name not in children]
        canonical = self.model.element.text("canonical_link", "")
        if len(roots) > 1 and (WORLD in roots or all(root not in children for root in roots)):
            self._join_roots(roots, canonical)
            roots = [WORLD] if WORLD in self.links else roots[:1]
        root = roots[0] if roots else WORLD
        placed = base if root == WORLD else base @ self.frames.pose(root)
        return Description(
            name=self.model.name,
            links=tuple(self.links.values()),
            joints=tuple(self.joints),
            base=pose_of(placed),
            source=self.source,
            notes=self.notes.collected(),
            loops=tuple(self.loops),
        )

    def _scan(self, model: Element, prefix: str, finder: MeshFinder) -> None:
        """Collects the links, frames and joints of a model and of those nested in it."""
        origin = prefix[:-2] or MODEL
        canonical = model.text("canonical_link", next((link.text("name") for link in model.all("link")), ""))
        inner = next((f"{nested.text('name')}" for nested in model.all("model")), "")
        self.frames.attached[origin] = prefix + (canonical or inner)
        for element in model.all("link"):
            self.frames.add(element, prefix + element.text("name"), origin, prefix=prefix)
        for element in model.all("joint"):
            child = _reference(element, "child")
            name = prefix + element.text("name")
            self.frames.add(element, name, prefix + child, prefix=prefix)
            self.frames.attached[name] = prefix + child
            self.pending.append((element, prefix))
        for element in model.all("frame"):
            name, attached = prefix + element.text("name"), element.text("attached_to", "")
            self.frames.add(element, name, prefix + attached if attached else origin, prefix=prefix)
            self.frames.attached[name] = prefix + attached if attached else origin
        for element in model.all("model"):
            name = prefix + element.text("name")
            self.frames.add(element, name, origin, prefix=prefix)
            self._scan(element, f"{name}::", self.model.parts.get(id(element), finder))
            placement = element.text("placement_frame", child_text(element, "placement_frame"))
            if placement:
                offset = inverse(self.frames.pose(name)) @ self.frames.pose(f"{name}::{placement}")
                self.frames.shift(name, offset)
        for element in model.all("link"):
            name = prefix + element.text("name")
            self.links[name] = self._link(element, name, prefix, finder)

    def _link(self, element: Element, name: str, prefix: str, finder: MeshFinder) -> Link:
        shapes: dict[str, list[Geometry]] = {"collision": [], "visual": []}
        for part in element.all("collision", "visual"):
            holder = part.first("geometry")
            plane = holder.first("plane") if holder is not None else None
            if plane is not None:
                if part.tag == "collision":
                    normal = unit(numbers_of(plane.first("normal"), 3, (0.0, 0.0, 1.0))) or (0.0, 0.0, 1.0)
                    origin = self._local(part.first("pose"), name, prefix) @ pose(rotation_to(normal))
                    self.planes.append((part.text("name", name), name, origin))
                continue
            shape = self._shape(holder, part, finder) if holder is not None else None
            if shape is None:
                continue
            origin = self._local(part.first("pose"), name, prefix)
            shapes[part.tag].append(Geometry(shape, pose_of(origin), part.text("name", ""), _color(part)))
        return Link(name, self._inertial(element, name, prefix), tuple(shapes["collision"]), tuple(shapes["visual"]))

    def _local(self, stated: Element | None, link: str, prefix: str) -> np.ndarray:
        """A pose in the frame of a link."""
        if stated is None or not stated.text("relative_to", ""):
            return raw_pose(stated)
        return inverse(self.frames.pose(link)) @ self.frames.place(stated, link, prefix=prefix)

    def _inertial(self, element: Element, name: str, prefix: str) -> Inertial | None:
        stated = element.first("inertial")
        if stated is None:
            self.notes.filled_in(
                f"Link {name!r} has no <inertial>.", "It has no mass; Gazebo gives it 1 kg.", line=element.line
            )
            return None
        placed = self._local(stated.first("pose"), name, prefix)
        matrix = np.zeros((3, 3))
        entries = stated.first("inertia")
        if entries is not None:
            for tag in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"):
                row, column = "xyz".index(tag[1]), "xyz".index(tag[2])
                matrix[row, column] = matrix[column, row] = number_of(entries, tag, 1.0 if row == column else 0.0)
        turn = placed[:3, :3]
        x, y, z = (float(v) for v in placed[:3, 3])
        return Inertial(number_of(stated, "mass", 1.0), (x, y, z), turn @ matrix @ turn.T)

    def _shape(self, holder: Element, part: Element, finder: MeshFinder) -> Shape | None:
        element = next((child for child in holder.children if not child.tag.startswith("empty")), None)
        if element is None:
            return None
        try:
            match element.tag:
                case "box":
                    x, y, z = numbers_of(element.first("size"), 3)
                    return Box((x, y, z))
                case "sphere":
                    return Sphere(number_of(element, "radius", 1.0))
                case "cylinder":
                    return Cylinder(number_of(element, "radius", 1.0), number_of(element, "length", 1.0))
                case "capsule":
                    return Capsule(number_of(element, "radius", 0.5), number_of(element, "length", 1.0))
                case "ellipsoid":
                    return ellipsoid_mesh(numbers_of(element.first("radii"), 3))
                case "mesh":
                    uri = child_text(element, "uri")
                    if not uri:
                        raise GeometryError("it names no file.")
                    x, y, z = numbers_of(element.first("scale"), 3, (1.0, 1.0, 1.0))
                    if element.first("submesh") is not None:
                        message = f"{part.label} takes a part of the mesh {uri!r}."
                        self.notes.filled_in(message, "It is the whole mesh.", line=element.line)
                    return Mesh(uri, finder.find(uri), (x, y, z))
                case _:
                    raise GeometryError(f"a link cannot be a {element.tag}.")
        except GeometryError as error:
            message = f"{part.label} is left out: {error}"
            self.notes.left_out(message, "Its link lacks it.", line=part.line, code="lost-shape")
            return None

    def _joint(self, element: Element, prefix: str) -> None:
        name, kind = prefix + element.text("name"), element.text("type")
        if kind not in _KINDS:
            raise element.error(
                f"{element.label} has type {kind!r}; {suggest(kind, list(_KINDS))}", "unknown-joint-type"
            )
        child, parent = (self._end(element, tag, prefix) for tag in ("child", "parent"))
        at_parent = np.eye(4) if parent == WORLD else self.frames.pose(parent)
        at_child = np.eye(4) if child == WORLD else self.frames.pose(child)
        at_joint = self.frames.pose(name)
        if any(joint.child == child for joint in self.joints):
            self._loop(element, kind, (parent, at_parent), (child, at_child), at_joint)
            return
        origin = inverse(at_parent) @ at_child
        x, y, z = (float(v) for v in (inverse(at_child) @ at_joint)[:3, 3])
        plain = Joint(name, "fixed", parent, child, pose_of(origin))
        if kind == "fixed":
            self._append([plain])
            return
        if kind == "ball":
            self._append([Joint(name, "spherical", parent, child, pose_of(origin), anchor=(x, y, z))])
            return
        axes = [axis for axis in (element.first("axis"), element.first("axis2")) if axis is not None]
        two = kind in ("universal", "revolute2")
        if len(axes) < 1 + two:
            raise element.error(f"{element.label} of type {kind} needs {1 + two} axes.", "missing-element")
        first = self._axis(axes[0], name, child, prefix)
        joint = self._moving(replace(plain, anchor=(x, y, z)), _KINDS[kind], axes[0], first, prefix)
        if two:
            second = self._axis(axes[1], name, child, prefix)
            between = self._between(name)
            last = replace(plain, name=self._free(f"{name}/2"), parent=between, origin=np.eye(4), anchor=(x, y, z))
            self._append([replace(joint, child=between), self._moving(last, "revolute", axes[1], second, prefix)])
        elif kind == "screw":
            between = self._between(name)
            slide = Joint(self._free(f"{name}/slide"), "prismatic", between, child, axis=first,
                          mimic=Mimic(name, _pitch(element), 0.0))  # fmt: skip
            self._append([replace(joint, child=between), slide])
        else:
            if kind == "gearbox":
                message = f"{element.label} is a gearbox, whose ratio is left out."
                consequence = "It turns freely."
                self.notes.left_out(message, consequence, line=element.line, code="lost-constraint")
            self._append([joint])

    def _moving(
        self, plain: Joint, kind: str, axis: Element, direction: tuple[float, float, float], prefix: str
    ) -> Joint:
        """A joint of one axis, with its limits and what it mimics."""
        limit = axis.first("limit")
        lower, upper, velocity, effort = -math.inf, math.inf, math.inf, math.inf
        if limit is not None:
            lower, upper = limit_of(limit, "lower", lower), limit_of(limit, "upper", upper)
            velocity, effort = limit_of(limit, "velocity", velocity), limit_of(limit, "effort", effort)
        if kind == "continuous" or (kind == "revolute" and math.isinf(lower) and math.isinf(upper)):
            kind, lower, upper = "continuous", -math.inf, math.inf
        # Negative rates stand for none.
        velocity, effort = (v if v >= 0.0 else math.inf for v in (velocity, effort))
        mimic = None
        stated = axis.first("mimic")
        if stated is not None:
            multiplier, offset = number_of(stated, "multiplier", 1.0), number_of(stated, "offset", 0.0)
            offset -= multiplier * number_of(stated, "reference", 0.0)
            mimic = Mimic(prefix + stated.text("joint"), multiplier, offset)
        return Joint(
            plain.name,
            kind,  # type: ignore[arg-type]
            plain.parent,
            plain.child,
            plain.origin,
            axis=direction,
            anchor=plain.anchor,
            lower=(lower,),
            upper=(upper,),
            velocity=(velocity,),
            effort=(effort,),
            mimic=mimic,
        )

    def _axis(self, element: Element, joint: str, child: str, prefix: str) -> tuple[float, float, float]:
        """The direction of an axis in the child's frame."""
        stated = element.first("xyz")
        vector = np.array(numbers_of(stated, 3, (0.0, 0.0, 1.0)))
        base = joint
        expressed = stated.text("expressed_in", "") if stated is not None else ""
        old = child_text(element, "use_parent_model_frame").lower()
        if expressed:
            base = prefix + expressed
        elif old in ("1", "true") or (self.version < (1, 5) and not old):
            base = prefix[:-2] or MODEL
        turn = self.frames.pose(base)[:3, :3]
        own = np.eye(3) if child == WORLD else self.frames.pose(child)[:3, :3]
        direction = unit(tuple(own.T @ turn @ vector))
        if direction is None:
            raise element.error(f"the joint {joint!r} has an axis of length zero.", "zero-axis")
        return direction

    def _loop(self, element: Element, kind: str, first: tuple[str, np.ndarray], second: tuple[str, np.ndarray],
              at: np.ndarray) -> None:  # fmt: skip
        """A joint to a link that has one already closes the tree."""
        name = element.text("name")
        if kind not in ("ball", "fixed", "revolute", "continuous"):
            message = f"{element.label} of type {kind} closes a loop and is left out."
            self.notes.left_out(message, "The loop is open there.", line=element.line, code="lost-constraint")
            return
        places = [at]
        if kind in ("revolute", "continuous"):
            # Two points of the axis hold it.
            axis = element.first("axis")
            direction = self._axis(axis, name, second[0], "") if axis is not None else (0.0, 0.0, 1.0)
            along = second[1][:3, :3] @ np.array(direction)
            places.append(np.array(pose(None, 0.1 * along)) @ at)
        for number, place in enumerate(places):
            ends = [inverse(pose_) @ place for _, pose_ in (first, second)]
            held = "frame" if kind == "fixed" else "point"
            label = name if number == 0 else f"{name}/{number}"
            self.loops.append(Loop(label, held, first[0], second[0], pose_of(ends[0]), pose_of(ends[1])))

    def _end(self, element: Element, tag: str, prefix: str) -> str:
        """The link that a joint's parent or child names, which may be a frame."""
        name = _reference(element, tag)
        if name == WORLD:
            self.links.setdefault(WORLD, Link(WORLD))
            return WORLD
        body = self.frames.body(prefix + name, set(self.links))
        if body is None:
            choices = list(self.links)
            raise element.error(f"{element.label} has the {tag} {name!r}; {suggest(name, choices)}", f"unknown-{tag}")
        return body

    def _append(self, joints: list[Joint]) -> None:
        self.joints += joints
        self.joint_names.update(joint.name for joint in joints)

    def _between(self, name: str) -> str:
        link = f"{name}/between"
        self.links[link] = Link(link)
        return link

    def _free(self, name: str) -> str:
        while name in self.joint_names:
            name += "_"
        return name

    def _add_frames(self) -> None:
        """<frame> elements as massless links on what they move with."""
        bodies = set(self.links)
        joints = {prefix + element.text("name") for element, prefix in self.pending}
        for name in [name for name in self.frames.raw if name not in bodies and name not in joints]:
            body = self.frames.body(name, bodies)
            if body is None or name in self.links:
                continue
            self.links[name] = Link(name)
            origin = inverse(self.frames.pose(body)) @ self.frames.pose(name)
            self._append([Joint(self._free(f"{name}_fixed"), "fixed", body, name, pose_of(origin))])

    def _join_roots(self, roots: list[str], canonical: str) -> None:
        """Loose parts of a model stand where the file draws them."""
        root = WORLD if WORLD in roots else (canonical if canonical in roots else roots[0])
        at_root = np.eye(4) if root == WORLD else self.frames.pose(root)
        for name in roots:
            if name != root:
                message = f"Nothing joins link {name!r} to the rest of model {self.model.name!r}."
                self.notes.filled_in(message, f"It is fixed to {root!r}; in Gazebo it moves freely.")
                origin = inverse(at_root) @ self.frames.pose(name)
                self._append([Joint(self._free(f"{name}_fixed"), "fixed", root, name, pose_of(origin))])


def _reference(element: Element, tag: str) -> str:
    stated = element.first(tag)
    name = text_of(stated) or (stated.text("link", "") if stated is not None else "")
    if not name:
        raise element.error(f"{element.label} has no <{tag}>.", f"missing-{tag}")
    return name


def _pitch(element: Element) -> float:
    """Metres that a screw joint advances per radian."""
    stated = element.first("screw_thread_pitch")
    if stated is not None:
        return numbers_of(stated, 1)[0] / (2.0 * math.pi)
    old = number_of(element, "thread_pitch", 1.0)
    return -1.0 / old if old else 0.0


def _color(part: Element) -> tuple[float, float, float, float] | None:
    material = part.first("material")
    if material is None or material.first("diffuse") is None:
        return None
    values = numbers_of(material.first("diffuse"), None)
    if len(values) not in (3, 4):
        return None
    r, g, b, a = (*values, 1.0)[:4]
    return (r, g, b, a)
