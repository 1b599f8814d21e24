"""MJCF, MuJoCo's format, becomes a Description.

Bodies become links, the world body the root link "world". Hinges, slides, balls and free joints become revolute or
continuous, prismatic, spherical and floating joints. Hinges and slides keep MJCF's own zero (`ref` included); the zero
of a ball or free joint is the pose that the file draws. A body with several joints gets massless links between them.
Sites and cameras become massless links, fixed to their bodies. Masses come from <inertial>, else from geoms. Linear
couplings in <equality> (of two joints, or of a fixed tendon over two joints) become mimic joints, <connect> and <weld>
loops, keyframes named states, and what MuJoCo does not check for contact disabled pairs. The range that position
actuators command becomes the soft limits of their joints.
Whatever else would restrain the motion is noted.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from memetik.errors import DescriptionError, GeometryError
from memetik.files.xml_tree import Element, parse_xml
from memetik.geometry.transforms import pose, rotation_about, unit
from memetik.robot.description import Description, Inertial, Joint, Link, Semantics
from memetik.robot.joint_kinds import MJCF_KINDS
from memetik.robot.notes import Notes, summarised
from memetik.robot.readers.mesh_paths import MeshFinder, SearchPath
from memetik.robot.readers.mjcf_actuators import Actuator, read_actuators
from memetik.robot.readers.mjcf_contacts import Body, disabled_pairs
from memetik.robot.readers.mjcf_couplings import couple, keyframe_states
from memetik.robot.readers.mjcf_expand import Expander, Scope
from memetik.robot.readers.mjcf_files import SourceFiles
from memetik.robot.readers.mjcf_geoms import GeomReader, pose_of, primitive_sizes
from memetik.robot.readers.mjcf_loops import WORLD, read_loops
from memetik.robot.readers.mjcf_settings import Settings
from memetik.robot.readers.mjcf_solids import body_inertial, combined, stated_inertial, with_total_mass
from memetik.robot.validate import MAX_LINKS

logger = logging.getLogger(__name__)

_UNSUPPORTED = ("composite", "flexcomp", "plugin")
_FRAMES = ("site", "camera")


def read_mjcf(
    text: str | bytes, *, folder: str | None = None, search_path: SearchPath = (), source: str = ""
) -> Description:
    """Read MJCF text. Included files and meshes are looked for from `folder`."""
    root = parse_xml(text, source or "the MJCF text")
    return read_mjcf_element(root, folder=folder, search_path=search_path, source=source)


def read_mjcf_element(
    root: Element, *, folder: str | None = None, search_path: SearchPath = (), source: str = ""
) -> Description:
    """Read a parsed MJCF."""
    return MjcfReader(root, folder=folder, search_path=search_path, source=source).description()


@dataclass(frozen=True, slots=True)
class _Part:
    """An element inside a body, with the frame its coordinates start in, the default class it inherits, its model."""

    element: Element
    frame: np.ndarray
    childclass: str
    scope: Scope


class MjcfReader:
    """Reads one MJCF file. What is between a file and a Description is kept for readers of worlds."""

    def __init__(self, root: Element, *, folder: str | None = None, search_path: SearchPath = (), source: str = ""):
        if root.tag != "mujoco":
            raise DescriptionError(f"{source or 'the text'} starts with <{root.tag}>; an MJCF starts with <mujoco>.")
        self.source, self.notes = source, Notes(source)
        self.name = root.text("model", "robot")
        self.scope = Expander(SourceFiles(folder, search_path), self.notes).scope(root, source, folder)
        self.scopes = self.scope.everything()
        self.finders = {id(scope): MeshFinder(scope.folder, search_path) for scope in self.scopes}
        self.readers = {
            id(scope): GeomReader(scope.root, scope.settings, self.finders[id(scope)], self.notes)
            for scope in self.scopes
        }
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        self.bodies: list[Body] = []
        self.driven: set[str] = set()
        """The bodies that a simulation's user moves."""
        self.placed: dict[str, np.ndarray] = {WORLD: np.eye(4)}
        """The pose of each body as the file draws it."""
        self.sites: dict[str, tuple[str, np.ndarray]] = {}
        # The value of each hinge and slide at which its body is where the file draws it.
        self.references: dict[str, float] = {}
        self.link_names = _given_names(root, "body") | {WORLD}
        self.joint_names = _given_names(root, "joint", "freejoint")

    def description(self) -> Description:
        """The whole file as one tree."""
        worlds = list(self.scope.root.all("worldbody"))
        if not worlds:
            raise DescriptionError(
                f"{self.source or 'the MJCF text'} has no <worldbody>: it is a part for other MJCF files to include."
            )
        world = Element("worldbody", {}, worlds[0].line)
        world.children = [child for element in worlds for child in element.children]
        start = _Part(world, np.eye(4), worlds[0].text("childclass", "main"), self.scope)
        self.bodies.append(Body(WORLD, "", False))
        waiting = [(part, WORLD) for part in reversed(self._link(self.bodies[0], start))]
        while waiting:
            part, parent = waiting.pop()
            body, inner = self._body(part, parent)
            waiting.extend((child, body) for child in reversed(inner))
        roots = [scope.root for scope in self.scopes]
        links = with_total_mass(self.links, self.scope.settings.total_mass)
        actuators = self._actuators()
        joints = couple(roots, [_driven(joint, actuators) for joint in self.joints], self.references, self.notes)
        description = Description(
            name=self.name,
            links=tuple(links),
            joints=tuple(joints),
            source=self.source,
            loops=tuple(read_loops(roots, self.placed, self.sites, self.driven, self.notes)),
        )
        states = keyframe_states(self.scope.root, description, self.references, actuators, self.notes)
        pairs = disabled_pairs(self.bodies, roots, self.notes)
        semantics = Semantics(states=states, disabled_pairs=pairs, pairs_are_complete=True)
        self._report_missing_meshes()
        notes = self.notes.collected()
        told = summarised(note for note in notes if note.code != "missing-mesh")
        if told:
            logger.warning("robot %r: not all of the MJCF is honoured: %s. See robot.notes.", self.name, told)
        return replace(description, semantics=semantics, notes=notes)

    def _report_missing_meshes(self) -> None:
        for finder in self.finders.values():
            finder.report(self.name)

    def _actuators(self) -> list[Actuator]:
        ranges = {joint.name: (joint.lower[0], joint.upper[0]) for joint in self.joints if joint.axes == 1}
        return [actuator for scope in self.scopes for actuator in read_actuators(scope.root, scope.settings, ranges)]

    def _body(self, part: _Part, parent: str) -> tuple[str, list[_Part]]:
        """Append the joints and links of a body; gives its name and the bodies inside it."""
        element = part.element
        name = element.text("name", "") or _free_name("body", self.link_names)
        part = replace(part, childclass=element.text("childclass", part.childclass))
        origin = pose_of(part.frame @ part.scope.settings.placement(element))
        self.placed[name] = self.placed[parent] @ origin
        joints = [inner for inner in self._parts(part) if inner.element.tag in ("joint", "freejoint")]
        body = Body(name, parent, bool(joints))
        self.bodies.append(body)
        if element.flag("mocap"):
            self.driven.add(name)
        for index, inner in enumerate(joints):
            joint_name = inner.element.text("name", "") or _free_name(f"{name}_joint", self.joint_names)
            child = name
            if index < len(joints) - 1:
                child = _free_name(f"{name}/{joint_name}", self.link_names)
                self.links.append(Link(child))
            self.joints.append(self._joint(inner, joint_name, parent, child, origin))
            parent, origin = child, pose()
        if not joints:
            self._fix(name, parent, origin)
        return name, self._link(body, part)

    def _fix(self, name: str, parent: str, origin: np.ndarray) -> None:
        self.joints.append(Joint(_free_name(f"{name}_fixed", self.joint_names), "fixed", parent, name, origin=origin))

    def _link(self, body: Body, part: _Part) -> list[_Part]:
        """Append the link of a body and the frames on it; gives the bodies inside it."""
        bodies: list[_Part] = []
        frames: list[_Part] = []
        shares: list[Inertial | None] = []
        for inner in self._parts(part):
            element, reader = inner.element, self.readers[id(inner.scope)]
            if element.tag == "body":
                bodies.append(inner)
            elif element.tag in _FRAMES:
                frames.append(inner)
            elif element.tag == "geom":
                geom = reader.read(inner.scope.settings.complete(element, inner.childclass), inner.frame)
                if geom is not None:
                    body.geoms.append(geom)
                    if inner.scope.settings.inertia_from_geoms != "false" and body.parent:
                        shares.append(reader.inertial(geom))
            elif element.tag in _UNSUPPORTED:
                self.notes.left_out(f"{element.label} is left out.", "What it makes is missing.", line=element.line)
        self.links.append(_link_of(body, self._inertial(part, shares)))
        for inner in frames:
            self._frame(body.name, inner)
        return bodies

    def _frame(self, body: str, part: _Part) -> None:
        """Append a site or camera as a massless link; a nameless one cannot be asked for."""
        element = part.scope.settings.complete(part.element, part.childclass)
        name = element.text("name", "")
        if not name:
            return
        try:
            _, local = primitive_sizes(part.scope.settings, element, element.text("type", "sphere"))
        except GeometryError as error:
            self.notes.left_out(f"{element.label} is left out: {error}", "There is no such frame.", line=element.line)
            return
        origin = pose_of(part.frame @ local)
        if element.tag == "site":
            self.sites[name] = (body, np.array(origin))
        elif element.text("mode", "fixed") != "fixed":
            message = f"{element.label} follows what it looks at."
            self.notes.filled_in(message, "Its frame is fixed to its body as drawn.", line=element.line)
        link = name if name not in self.link_names else f"{name}_{element.tag}"
        if link != name:
            message = f"The {element.tag} {name!r} has the name of a body or another frame."
            self.notes.filled_in(message, f"Its frame is called {link!r}.", line=element.line)
        link = _free_name(link, self.link_names)
        self.links.append(Link(link))
        self._fix(link, body, origin)

    def _parts(self, part: _Part) -> Iterator[_Part]:
        """What is inside a body, in the order of the file, <frame> elements looked through."""
        start = replace(part, frame=np.eye(4))
        stack = [(start, iter(part.element.children))]
        while stack:
            holder, rest = stack[-1]
            child = next(rest, None)
            if child is None:
                stack.pop()
            elif child.tag == "frame":
                frame = holder.frame @ holder.scope.settings.placement(child)
                scope = holder.scope.attached.get(id(child))
                childclass = "main" if scope is not None else child.text("childclass", holder.childclass)
                stack.append((_Part(child, frame, childclass, scope or holder.scope), iter(child.children)))
            else:
                yield replace(holder, element=child)

    def _joint(self, part: _Part, name: str, parent: str, child: str, origin: np.ndarray) -> Joint:
        if part.element.tag == "freejoint":
            return Joint(name, "floating", parent, child, origin=origin)
        settings = part.scope.settings
        element = settings.complete(part.element, part.childclass)
        kind = MJCF_KINDS.get(element.text("type", "hinge"))
        if kind is None:
            raise DescriptionError(
                f"{element.label} has type {element.text('type')!r}; {', '.join(MJCF_KINDS)} are known."
            )
        if kind == "floating":
            return Joint(name, kind, parent, child, origin=origin)
        turn, shift = part.frame[:3, :3], part.frame[:3, 3]
        x, y, z = (float(v) for v in turn @ np.array(element.numbers("pos", 3, (0.0, 0.0, 0.0))) + shift)
        anchor = (x, y, z) if kind != "prismatic" else (0.0, 0.0, 0.0)
        lower, upper = _range(settings, element, kind)
        effort = _effort(element)
        if kind == "spherical":
            if math.isfinite(upper):
                message = f"The cone of {upper:.3g} rad of {element.label} becomes that range about each axis."
                self.notes.filled_in(message, "Corners of that range lie outside the cone.", line=element.line)
            lowest, highest, efforts = (-upper,) * 3, (upper,) * 3, (effort,) * 3
            return Joint(name, kind, parent, child, origin, anchor=anchor, lower=lowest, upper=highest, effort=efforts)
        axis = unit(tuple(turn @ np.array(element.numbers("axis", 3, (0.0, 0.0, 1.0)))))
        if axis is None:
            raise DescriptionError(f"{element.label} has an axis of length zero.")
        reference = element.number("ref", 0.0)
        if kind == "revolute":
            reference = settings.angle(reference)
            if math.isinf(lower) and math.isinf(upper):
                kind = "continuous"
        self.references[name] = reference
        return Joint(
            name=name,
            kind=kind,
            parent=parent,
            child=child,
            origin=_before_motion(origin, kind, axis, anchor, -reference),
            axis=axis,
            anchor=anchor,
            lower=(lower,),
            upper=(upper,),
            effort=(effort,),
        )

    def _inertial(self, part: _Part, shares: list[Inertial | None]) -> Inertial | None:
        settings = part.scope.settings
        if part.element.tag == "worldbody":
            return None
        stated = part.element.first("inertial")
        if stated is not None and settings.inertia_from_geoms != "true":
            inertial = stated_inertial(stated, settings)
        else:
            inertial = combined([share for share in shares if share is not None])
        return body_inertial(inertial, settings)


def _link_of(body: Body, inertial: Inertial | None) -> Link:
    collisions = tuple(geom.geometry for geom in body.geoms if geom.collides)
    visuals = tuple(geom.geometry for geom in body.geoms if geom.visible)
    return Link(body.name, inertial=inertial, collisions=collisions, visuals=visuals)


def _range(settings: Settings, element: Element, kind: str) -> tuple[float, float]:
    limits = element.numbers("range", 2, (0.0, 0.0))
    limited = element.text("limited", "auto").lower()
    if limited == "auto":
        limited = "true" if settings.automatic_limits and limits[0] < limits[1] else "false"
    if limited not in ("true", "false"):
        raise element.error(f"{element.label} has limited={limited!r}; 'true', 'false' or 'auto' is needed.")
    if limited == "false":
        return -math.inf, math.inf
    if kind == "prismatic":
        return limits[0], limits[1]
    return settings.angle(limits[0]), settings.angle(limits[1])


def _effort(element: Element) -> float:
    if "actuatorfrcrange" not in element.attributes or element.text("actuatorfrclimited", "auto") == "false":
        return math.inf
    return max(abs(v) for v in element.numbers("actuatorfrcrange", 2))


def _driven(joint: Joint, actuators: list[Actuator]) -> Joint:
    """A joint of one axis with what its actuators say: effort, and the commanded range as soft limits."""
    own = [actuator for actuator in actuators if actuator.joint == joint.name]
    if not own or joint.axes != 1:
        return joint
    effort = min(joint.effort[0], sum(actuator.effort for actuator in own))
    commanded = [actuator.commanded for actuator in own if actuator.commanded is not None]
    if len(commanded) != len(own):
        return replace(joint, effort=(effort,))
    low, high = max(pair[0] for pair in commanded), min(pair[1] for pair in commanded)
    return replace(joint, effort=(effort,), soft_lower=(low,), soft_upper=(high,))


def _given_names(root: Element, *tags: str) -> set[str]:
    names: set[str] = set()
    count = 0
    waiting = list(root.all("worldbody"))
    while waiting:
        element = waiting.pop()
        if element.tag in tags:
            names.add(element.text("name", ""))
            count += 1
        waiting.extend(element.children)
    if count > MAX_LINKS:
        raise DescriptionError(f"the MJCF has {count} elements <{tags[0]}>; at most {MAX_LINKS} are accepted.")
    return names


def _free_name(name: str, taken: set[str]) -> str:
    """A name for what the file does not name: this one, or with a number where it is taken. It is taken then."""
    unique, count = name, len(taken)  # starting there, thousands of nameless bodies take no time
    while unique in taken:
        unique = f"{name}_{count}"
        count += 1
    taken.add(unique)
    return unique


def _before_motion(
    origin: np.ndarray, kind: str, axis: tuple[float, float, float], anchor: tuple[float, float, float], value: float
) -> np.ndarray:
    """The origin after the joint has moved by a constant: origin T(anchor) M(value) T(-anchor)."""
    if value == 0.0:
        return origin
    if kind == "prismatic":
        return pose_of(origin @ pose(None, [value * v for v in axis]))
    turned = pose(rotation_about(axis, value), anchor) @ pose(None, [-v for v in anchor])
    return pose_of(origin @ turned)
