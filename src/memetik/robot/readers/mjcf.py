"""MJCF, MuJoCo's format, becomes a Description.

Bodies become links, the world body the root link "world". Hinges, slides, balls and free joints become revolute or
continuous, prismatic, spherical and floating joints. Hinges and slides keep MJCF's own zero (`ref` included); the zero
of a ball or free joint is the pose that the file draws. A body with several joints gets massless links between them.
Masses come from <inertial>, else from geoms. Linear couplings in <equality> (of two joints, or of a fixed tendon over
two joints) become mimic joints, keyframes named states, <exclude> and neighbouring bodies disabled pairs.
Whatever else would restrain the motion is warned of.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from memetik.errors import DescriptionError
from memetik.files.xml_tree import Element, parse_xml
from memetik.geometry.transforms import pose, rotation_about, unit
from memetik.robot.description import Description, Inertial, Joint, Link, Semantics
from memetik.robot.joint_kinds import MJCF_KINDS
from memetik.robot.readers.mesh_paths import MeshFinder, SearchPath
from memetik.robot.readers.mjcf_couplings import actuator_efforts, couple, keyframe_states
from memetik.robot.readers.mjcf_geoms import Geom, GeomReader, pose_of
from memetik.robot.readers.mjcf_settings import Settings, read_settings, with_includes
from memetik.robot.readers.mjcf_solids import combined
from memetik.robot.validate import MAX_LINKS

logger = logging.getLogger(__name__)

WORLD = "world"
_UNSUPPORTED = ("composite", "flexcomp", "replicate", "attach", "plugin")


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
    if root.tag != "mujoco":
        raise DescriptionError(f"{source or 'the text'} starts with <{root.tag}>; an MJCF starts with <mujoco>.")
    root = with_includes(root, folder)
    name = root.text("model", "robot")
    reader = _Reader(root, read_settings(root), MeshFinder(folder, search_path))
    description = reader.description(name, source)
    reader.meshes.report(name)
    if reader.notes:
        shown = "; ".join(reader.notes[:8]) + (f"; and {len(reader.notes) - 8} more" if len(reader.notes) > 8 else "")
        logger.warning("robot %r: not all of the MJCF is honoured: %s.", name, shown)
    return description


@dataclass(frozen=True, slots=True)
class _Part:
    """An element inside a body, with the frame its coordinates start in and the default class it inherits."""

    element: Element
    frame: np.ndarray
    childclass: str


class _Reader:
    def __init__(self, root: Element, settings: Settings, meshes: MeshFinder):
        self.root, self.settings, self.meshes = root, settings, meshes
        self.notes: list[str] = []
        self.geoms = GeomReader(root, settings, meshes, self.notes)
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        self.adjacent: list[tuple[str, str, str]] = []
        # The value of each hinge and slide at which its body is where the file draws it.
        self.references: dict[str, float] = {}
        self.link_names, self.joint_names = (
            _given_names(root, "body") | {WORLD},
            _given_names(root, "joint", "freejoint"),
        )
        self.efforts = actuator_efforts(root, settings)

    def description(self, name: str, source: str) -> Description:
        worlds = list(self.root.all("worldbody"))
        if not worlds:
            raise DescriptionError(f"{source or 'the MJCF text'} has no <worldbody>.")
        world = Element("worldbody", {}, worlds[0].line)
        world.children = [child for element in worlds for child in element.children]
        waiting = [(part, WORLD) for part in reversed(self._link(WORLD, _Part(world, np.eye(4), "main")))]
        while waiting:
            part, parent = waiting.pop()
            body, inner = self._body(part, parent)
            waiting.extend((child, body) for child in reversed(inner))
        links = _with_total_mass(self.links, self.settings.total_mass)
        joints = couple(self.root, self.joints, self.references, self.notes)
        description = Description(name=name, links=tuple(links), joints=tuple(joints), source=source)
        states = keyframe_states(self.root, description, self.notes)
        return replace(description, semantics=Semantics(states=states, disabled_pairs=self._disabled_pairs()))

    def _body(self, part: _Part, parent: str) -> tuple[str, list[_Part]]:
        """Append the joints and links of a body; gives its name and the bodies inside it."""
        element = part.element
        name = element.text("name", "") or _free_name("body", self.link_names)
        part = replace(part, childclass=element.text("childclass", part.childclass))
        if parent != WORLD:
            self.adjacent.append((parent, name, "Adjacent"))
        origin = pose_of(part.frame @ self.settings.placement(element))
        joints = [inner for inner in self._parts(part) if inner.element.tag in ("joint", "freejoint")]
        for index, inner in enumerate(joints):
            joint_name = inner.element.text("name", "") or _free_name(f"{name}_joint", self.joint_names)
            child = name
            if index < len(joints) - 1:
                child = _free_name(f"{name}/{joint_name}", self.link_names)
                self.links.append(Link(child))
            self.joints.append(self._joint(inner, joint_name, parent, child, origin))
            parent, origin = child, pose()
        if not joints:
            self.joints.append(
                Joint(_free_name(f"{name}_fixed", self.joint_names), "fixed", parent, name, origin=origin)
            )
        return name, self._link(name, part)

    def _link(self, name: str, part: _Part) -> list[_Part]:
        """Append the link of a body; gives the bodies inside it."""
        geoms: list[Geom] = []
        bodies: list[_Part] = []
        for inner in self._parts(part):
            if inner.element.tag == "body":
                bodies.append(inner)
            elif inner.element.tag == "geom":
                geom = self.geoms.read(self.settings.complete(inner.element, inner.childclass), inner.frame)
                geoms.extend([geom] if geom is not None else [])
            elif inner.element.tag in _UNSUPPORTED:
                self.notes.append(f"{inner.element.label} is left out")
        self.links.append(
            Link(
                name,
                inertial=self._inertial(part.element, geoms) if name != WORLD else None,
                collisions=tuple(geom.geometry for geom in geoms if geom.collides),
                visuals=tuple(geom.geometry for geom in geoms if geom.visible),
            )
        )
        return bodies

    def _parts(self, part: _Part) -> Iterator[_Part]:
        """What is inside a body, in the order of the file, <frame> elements looked through."""
        start = _Part(part.element, np.eye(4), part.childclass)
        stack = [(start, iter(part.element.children))]
        while stack:
            holder, rest = stack[-1]
            child = next(rest, None)
            if child is None:
                stack.pop()
            elif child.tag == "frame":
                frame = holder.frame @ self.settings.placement(child)
                inner = _Part(child, frame, child.text("childclass", holder.childclass))
                stack.append((inner, iter(child.children)))
            else:
                yield _Part(child, holder.frame, holder.childclass)

    def _joint(self, part: _Part, name: str, parent: str, child: str, origin: np.ndarray) -> Joint:
        if part.element.tag == "freejoint":
            return Joint(name, "floating", parent, child, origin=origin)
        element = self.settings.complete(part.element, part.childclass)
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
        lower, upper = self._range(element, kind)
        effort = self._effort(element, name)
        if kind == "spherical":
            if math.isfinite(upper):
                self.notes.append(f"the cone of {upper:.3g} rad of {element.label} becomes that range about each axis")
            lowest, highest, efforts = (-upper,) * 3, (upper,) * 3, (effort,) * 3
            return Joint(name, kind, parent, child, origin, anchor=anchor, lower=lowest, upper=highest, effort=efforts)
        axis = unit(tuple(turn @ np.array(element.numbers("axis", 3, (0.0, 0.0, 1.0)))))
        if axis is None:
            raise DescriptionError(f"{element.label} has an axis of length zero.")
        reference = element.number("ref", 0.0)
        if kind == "revolute":
            reference = self.settings.angle(reference)
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

    def _range(self, element: Element, kind: str) -> tuple[float, float]:
        limits = element.numbers("range", 2, (0.0, 0.0))
        limited = element.text("limited", "auto").lower()
        if limited == "auto":
            limited = "true" if self.settings.automatic_limits and limits != (0.0, 0.0) else "false"
        if limited not in ("true", "false"):
            raise DescriptionError(f"{element.label} has limited={limited!r}; 'true', 'false' or 'auto' is needed.")
        if limited == "false":
            return -math.inf, math.inf
        lower, upper = (
            limits if kind == "prismatic" else (self.settings.angle(limits[0]), self.settings.angle(limits[1]))
        )
        return lower, upper

    def _effort(self, element: Element, name: str) -> float:
        limit = self.efforts.get(name, math.inf)
        if "actuatorfrcrange" in element.attributes and element.text("actuatorfrclimited", "auto") != "false":
            limit = min(limit, max(abs(v) for v in element.numbers("actuatorfrcrange", 2)))
        return limit

    def _inertial(self, body: Element, geoms: list[Geom]) -> Inertial | None:
        stated = body.first("inertial")
        if stated is not None and self.settings.inertia_from_geoms != "true":
            inertial = self._stated_inertial(stated)
        else:
            shares = (
                [self.geoms.inertial(geom) for geom in geoms] if self.settings.inertia_from_geoms != "false" else []
            )
            inertial = combined([share for share in shares if share is not None])
        if inertial is None:
            return None
        mass = max(inertial.mass, self.settings.smallest_mass)
        inertia = inertial.inertia
        if self.settings.smallest_inertia > 0.0:
            values, vectors = np.linalg.eigh(inertia)
            inertia = vectors @ np.diag(np.maximum(values, self.settings.smallest_inertia)) @ vectors.T
        return Inertial(mass, inertial.com, inertia)

    def _stated_inertial(self, element: Element) -> Inertial:
        placement = self.settings.placement(element)
        if "fullinertia" in element.attributes:
            xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            rotation = placement[:3, :3]
            inertia = rotation @ np.diag(element.numbers("diaginertia", 3, (0.0, 0.0, 0.0))) @ rotation.T
        inertia.setflags(write=False)
        x, y, z = (float(v) for v in placement[:3, 3])
        return Inertial(element.number("mass"), (x, y, z), inertia)

    def _disabled_pairs(self) -> tuple[tuple[str, str, str], ...]:
        links = {link.name for link in self.links}
        pairs = {tuple(sorted(pair[:2])): pair[2] for pair in self.adjacent}
        for contact in self.root.all("contact"):
            for element in contact.all("exclude"):
                first, second = element.text("body1"), element.text("body2")
                if {first, second} <= links:
                    pairs[tuple(sorted((first, second)))] = "Excluded"
                else:
                    self.notes.append(f"{element.label} names an unknown body")
        return tuple((first, second, reason) for (first, second), reason in pairs.items())


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


def _with_total_mass(links: list[Link], total: float) -> list[Link]:
    """The links scaled so that their masses sum up to `total`, where that is positive (settotalmass)."""
    present = sum(link.inertial.mass for link in links if link.inertial is not None)
    if total <= 0.0 or present <= 0.0:
        return links
    scale = total / present
    return [
        replace(link, inertial=Inertial(link.inertial.mass * scale, link.inertial.com, link.inertial.inertia * scale))
        if link.inertial is not None
        else link
        for link in links
    ]
