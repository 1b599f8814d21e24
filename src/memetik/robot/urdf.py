"""URDF becomes a Description.

All of URDF's joint types are read, and beyond the standard, so that any robot of memetik can be written and read back:

- joint types "spherical" and "cylindrical";
- on any <joint>: rotation_order="xyz", swing_twist="true", reversed="true", and a child <anchor xyz="..."/>,
  with the meaning they have in `memetik.robot.description.Joint`;
- in <limit>: an attribute `acceleration`, and one number per axis in each attribute where the joint has several;
- <memetik version="1"> below <robot>: joints in the form above, each with <replaces joint="..." link="..."/> entries
  for the chain of plain joints that stands for it for the sake of other programs; and <base><origin .../></base>,
  the pose of the root link in the world.

What the standard leaves open: numbers of 1e9 and beyond in limits mean no limit; a velocity of 0 means none is stated,
as exporters write it; a <limit> with neither lower nor upper leaves the position free. A planar joint without <axis>
moves in its x-y plane, as every other program has it, although the standard's default axis is x.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

import numpy as np

from memetik.errors import DescriptionError, GeometryError, suggest
from memetik.robot.description import AXIS_NAMES, Description, Geometry, Inertial, Joint, Link, Mimic
from memetik.robot.meshes import MeshFinder, SearchPath
from memetik.robot.rotations import pose, rotation_from_quaternion, rotation_from_rpy, unit
from memetik.robot.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from memetik.robot.validate import MAX_LINKS
from memetik.robot.xmltree import Element, parse_xml

EXTENSION_VERSION = "1"

logger = logging.getLogger(__name__)

Color = tuple[float, float, float, float]


def read_urdf(
    text: str | bytes, *, folder: str | None = None, search_path: SearchPath = (), source: str = ""
) -> Description:
    """Read URDF text. Meshes are looked for from `folder` (of the file) and in `search_path`.

    The result says what the text says; whether that is a robot is the business of `memetik.robot.validate`.
    """
    root = parse_xml(text, source or "the URDF text")
    return read_urdf_element(root, folder=folder, search_path=search_path, source=source)


def read_urdf_element(
    root: Element, *, folder: str | None = None, search_path: SearchPath = (), source: str = ""
) -> Description:
    """Read a parsed URDF."""
    what = source or "the URDF text"
    if root.tag != "robot":
        raise DescriptionError(f"{what} starts with <{root.tag}>; a URDF starts with <robot>.")
    count = sum(child.tag in ("link", "joint") for child in root.children)
    if count > 2 * MAX_LINKS:
        raise DescriptionError(f"{what} has {count} links and joints; at most {MAX_LINKS} of each are accepted.")
    meshes = MeshFinder(folder, search_path)
    dropped: list[str] = []
    colors = _materials(root)
    links, joints = [], []
    for child in root.children:
        if child.tag == "link":
            links.append(_link(child, colors, meshes, dropped))
        elif child.tag == "joint":
            joints.append(read_joint(child))
        elif child.tag.startswith("xacro:"):
            raise DescriptionError(
                f"{what} holds {child.label}: it is xacro, not URDF. Load it from a file that ends in .xacro."
            )
    if not links:
        hint = " It may only define macros, for another file to include." if source.endswith(".xacro") else ""
        raise DescriptionError(f"{what} has no <link>.{hint}")
    name = root.text("name", "robot")
    extension = root.first("memetik")
    base = pose()
    if extension is not None:
        links, joints = _restore_extended_joints(extension, links, joints)
        placed = extension.first("base")
        base = _origin(placed) if placed is not None else base
    meshes.report(name)
    if dropped:
        shown = "; ".join(dropped[:6]) + (f"; and {len(dropped) - 6} more" if len(dropped) > 6 else "")
        logger.warning("robot %r: left out %s.", name, shown)
    return Description(name=name, links=tuple(links), joints=tuple(joints), base=base, source=source)


def read_joint(element: Element) -> Joint:
    """A <joint>, in standard URDF or in the extended form."""
    name = element.text("name")
    kind = element.text("type")
    if kind not in AXIS_NAMES:
        raise DescriptionError(f"{element.label} has type {kind!r}; {suggest(kind, AXIS_NAMES)}")
    axis_element = element.first("axis") if kind != "fixed" else None
    default = (0.0, 0.0, 1.0) if kind == "planar" else (1.0, 0.0, 0.0)
    axis = axis_element.numbers("xyz", 3, default) if axis_element is not None else default
    anchor = element.first("anchor")
    return Joint(
        name=name,
        kind=kind,  # type: ignore[arg-type]
        parent=_joint_end(element, "parent"),
        child=_joint_end(element, "child"),
        origin=_origin(element),
        axis=unit(axis) or (0.0, 0.0, 0.0),
        anchor=anchor.numbers("xyz", 3) if anchor is not None else (0.0, 0.0, 0.0),  # type: ignore[arg-type]
        mimic=_mimic(element) if kind != "fixed" else None,
        rotation_order=element.text("rotation_order", "xyz"),
        swing_twist=element.flag("swing_twist"),
        reversed=element.flag("reversed"),
        **_limits(element, kind),
    )


def _joint_end(element: Element, tag: str) -> str:
    end = element.first(tag)
    if end is None:
        raise DescriptionError(f"{element.label} has no <{tag} link=...>.")
    return end.text("link")


def _mimic(element: Element) -> Mimic | None:
    mimic = element.first("mimic")
    if mimic is None:
        return None
    return Mimic(mimic.text("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0))


def _limits(element: Element, kind: str) -> dict[str, tuple[float, ...]]:
    count = len(AXIS_NAMES[kind])
    limits: dict[str, tuple[float, ...]] = {}
    limit, safety = element.first("limit"), element.first("safety_controller")
    if count == 0:
        return limits
    if limit is not None:
        # A single number for a joint that moves freely in several ways is an exporter's filler, not a limit.
        free = kind in ("planar", "floating")
        lower, upper = (_per_axis(limit, attribute, count) for attribute in ("lower", "upper"))
        if free and all(len(limit.attributes.get(a, "").split()) <= 1 for a in ("lower", "upper")):
            lower = upper = None
        if kind != "continuous" and (lower is not None or upper is not None):
            limits["lower"] = lower if lower is not None else (0.0,) * count
            limits["upper"] = upper if upper is not None else (0.0,) * count
        for attribute in ("velocity", "acceleration"):
            values = _per_axis(limit, attribute, count)
            if values is not None:
                limits[attribute] = tuple(v if v != 0.0 else math.inf for v in values)
        effort = _per_axis(limit, "effort", count)
        if effort is not None:
            limits["effort"] = effort
    if safety is not None:
        lower, upper = (_per_axis(safety, attribute, count) for attribute in ("soft_lower_limit", "soft_upper_limit"))
        if lower is not None and upper is not None and all(a < b for a, b in zip(lower, upper, strict=True)):
            limits["soft_lower"], limits["soft_upper"] = lower, upper
    return limits


def _per_axis(element: Element, attribute: str, count: int) -> tuple[float, ...] | None:
    values = element.limits(attribute)
    if values is None or len(values) == count:
        return values
    if len(values) == 1:
        return values * count
    raise DescriptionError(
        f"{element.label} has {len(values)} numbers in {attribute!r}; one, or one for each of {count} axes, is needed."
    )


def _link(element: Element, colors: dict[str, Color], meshes: MeshFinder, dropped: list[str]) -> Link:
    name = element.text("name")
    return Link(
        name=name,
        inertial=_inertial(element, dropped),
        collisions=_geometries(element, "collision", colors, meshes, dropped),
        visuals=_geometries(element, "visual", colors, meshes, dropped),
    )


def _inertial(link: Element, dropped: list[str]) -> Inertial | None:
    element = link.first("inertial")
    if element is None:
        return None
    mass, inertia = element.first("mass"), element.first("inertia")
    if mass is None:
        dropped.append(f"the <inertial> without <mass> of {link.label}")
        return None
    placement = _origin(element)
    matrix = np.zeros((3, 3))
    if inertia is not None:
        xx, xy, xz, yy, yz, zz = (inertia.number(f"i{pair}", 0.0) for pair in ("xx", "xy", "xz", "yy", "yz", "zz"))
        matrix[:] = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    rotation = placement[:3, :3]
    matrix = rotation @ matrix @ rotation.T
    matrix = 0.5 * (matrix + matrix.T)
    matrix.setflags(write=False)
    x, y, z = (float(v) for v in placement[:3, 3])
    return Inertial(mass=mass.number("value"), com=(x, y, z), inertia=matrix)


def _geometries(
    link: Element, tag: str, colors: dict[str, Color], meshes: MeshFinder, dropped: list[str]
) -> tuple[Geometry, ...]:
    geometries = []
    for element in link.all(tag):
        holder = element.first("geometry")
        shapes = holder.children if holder is not None else []
        if not shapes:
            dropped.append(f"a <{tag}> without geometry of {link.label}")
            continue
        try:
            shape = _shape(shapes[0], meshes)
        except GeometryError as error:
            dropped.append(f"a <{tag}> of {link.label}: {str(error).rstrip('.')}")
            continue
        geometries.append(
            Geometry(
                shape=shape,
                origin=_origin(element),
                name=element.text("name", ""),
                color=_color(element.first("material"), colors),
            )
        )
    return tuple(geometries)


def _shape(element: Element, meshes: MeshFinder) -> Shape:
    readers: dict[str, Callable[[], Shape]] = {
        "box": lambda: Box(element.numbers("size", 3)),  # type: ignore[arg-type]
        "sphere": lambda: Sphere(element.number("radius")),
        "cylinder": lambda: Cylinder(element.number("radius"), element.number("length")),
        "capsule": lambda: Capsule(element.number("radius"), element.number("length")),
        "mesh": lambda: _mesh(element, meshes),
    }
    if element.tag not in readers:
        raise GeometryError(f"shape <{element.tag}> in line {element.line} is unknown; {suggest(element.tag, readers)}")
    return readers[element.tag]()


def _mesh(element: Element, meshes: MeshFinder) -> Mesh:
    uri = element.text("filename")
    scale = element.numbers("scale", None, (1.0, 1.0, 1.0))
    if len(scale) == 1:
        scale = scale * 3
    if len(scale) != 3:
        raise DescriptionError(f"{element.label} has {len(scale)} numbers in 'scale'; one or three are needed.")
    return Mesh(uri=uri, path=meshes.find(uri), scale=scale)  # type: ignore[arg-type]


def _materials(root: Element) -> dict[str, Color]:
    """Colours by material name: those of the robot, and those that links define in passing."""
    colors: dict[str, Color] = {}
    holders = [root, *(visual for link in root.all("link") for visual in link.all("visual"))]
    for holder in holders:
        for material in holder.all("material"):
            color = material.first("color")
            name = material.text("name", "")
            if color is not None and name:
                colors.setdefault(name, _rgba(color))
    return colors


def _color(material: Element | None, colors: dict[str, Color]) -> Color | None:
    if material is None:
        return None
    color = material.first("color")
    return _rgba(color) if color is not None else colors.get(material.text("name", ""))


def _rgba(element: Element) -> Color:
    values = element.numbers("rgba", None)
    if len(values) not in (3, 4):
        raise DescriptionError(f"{element.label} has {len(values)} numbers in 'rgba'; four are needed.")
    r, g, b, a = (*values, 1.0)[:4]
    return (r, g, b, a)


def _origin(element: Element) -> np.ndarray:
    origin = element.first("origin")
    if origin is None:
        return pose()
    position = origin.numbers("xyz", 3, (0.0, 0.0, 0.0))
    if "quat_xyzw" in origin.attributes:
        x, y, z, w = origin.numbers("quat_xyzw", 4)
        length = math.sqrt(x * x + y * y + z * z + w * w)
        if length < 1e-6:
            raise DescriptionError(f"{origin.label} of {element.label} has a quaternion of length zero.")
        rotation = rotation_from_quaternion(w / length, x / length, y / length, z / length)
    else:
        roll, pitch, yaw = origin.numbers("rpy", 3, (0.0, 0.0, 0.0))
        rotation = rotation_from_rpy(roll, pitch, yaw)
    return pose(rotation, position)


def _restore_extended_joints(
    extension: Element, links: list[Link], joints: list[Joint]
) -> tuple[list[Link], list[Joint]]:
    """Put the joints of a <memetik> block in the place of the plain joints and links that stand for them."""
    version = extension.text("version")
    if version != EXTENSION_VERSION:
        raise DescriptionError(
            f"{extension.label} has version {version!r}; this memetik reads version {EXTENSION_VERSION!r}."
        )
    at: dict[str, Joint] = {}
    gone_joints: set[str] = set()
    gone_links: set[str] = set()
    for element in extension.all("joint"):
        replaced = list(element.all("replaces"))
        if not replaced:
            raise DescriptionError(f"{element.label} in <memetik> needs a <replaces joint=...>.")
        at[replaced[0].text("joint")] = read_joint(element)
        gone_joints.update(entry.text("joint") for entry in replaced)
        gone_links.update(entry.text("link") for entry in replaced if "link" in entry.attributes)
    restored = [at.get(joint.name, joint) for joint in joints if joint.name in at or joint.name not in gone_joints]
    return [link for link in links if link.name not in gone_links], restored
