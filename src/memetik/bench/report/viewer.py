"""Things to look at in three dimensions: meshes of a robot, of a scene and of targets, for a page or a picture.

A part is a set of triangles with a colour for each vertex. `parts_html` puts parts into a page that needs no network;
`memetik.bench.report.viewer_image` draws them into an array. Metres, in the world's frame.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

import numpy as np

from memetik.errors import GeometryError
from memetik.geometry.shapes import Plane, PointCloud, SceneShape, Shape
from memetik.geometry.tessellate import cloud_mesh, surface_mesh
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene

ROBOT_COLOR = (0.93, 0.60, 0.24, 1.0)
SCENE_COLOR = (0.62, 0.68, 0.74, 1.0)

AZIMUTH = -0.9
"""Of the camera, radians, where nothing speaks for another."""

_PLANE_EDGE = 3.0  # metres of an endless plane that are drawn
_SECTIONS = 24  # facets around a round shape
_MOST_POINTS = 20_000  # of a point cloud
_MOST_FACES = 250_000  # of a robot's visible shapes


@dataclass(frozen=True, slots=True)
class Part:
    """Triangles that are shown or hidden together.

    vertices (V, 3), faces (F, 3); colors (4,) or (V, 4), each number from 0 to 1.
    variants: other colours (V, 4) by name, of which the page offers a choice.
    link: index of the link that moves it, where configurations are given; vertices are then in the link's frame.
    """

    name: str
    vertices: np.ndarray
    faces: np.ndarray
    colors: np.ndarray
    variants: Mapping[str, np.ndarray] = field(default_factory=dict)
    link: int | None = None

    def vertex_colors(self) -> np.ndarray:
        """(V, 4), whatever way they were given."""
        return np.broadcast_to(np.asarray(self.colors, dtype=float), (len(self.vertices), 4))


def robot_parts(robot: Robot, color: Sequence[float] | None = None) -> list[Part]:
    """The robot's links, each in its own frame: what is visible of them, or their collision shapes where there is
    nothing visible or far too much of it. Without a colour, in those of its description."""
    links = robot.description.links
    shown = _shapes_of(robot, [link.visuals or link.collisions for link in links], color)
    if sum(len(part.faces) for part in shown) > _MOST_FACES:
        plain = _shapes_of(robot, [link.collisions for link in links], color)
        if plain and sum(len(part.faces) for part in plain) < sum(len(part.faces) for part in shown):
            return plain
    return shown


def _shapes_of(robot: Robot, shapes: Sequence[Sequence[Any]], color: Sequence[float] | None) -> list[Part]:
    parts = []
    for index, geometries in enumerate(shapes):
        for geometry in geometries:
            try:
                vertices, faces = shape_triangles(geometry.shape)
            except GeometryError:  # a mesh that was not found does not keep the others from being seen
                continue
            origin = np.asarray(geometry.origin)
            own = vertices @ origin[:3, :3].T + origin[:3, 3]
            shown = np.asarray(color or geometry.color or ROBOT_COLOR, dtype=float)
            parts.append(Part(robot.name, own, faces, shown, link=index))
    return parts


def link_poses(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Poses (links, 4, 4) of all links in the world, in the order that `Part.link` counts."""
    return robot.pose(tuple(link.name for link in robot.description.links), np.asarray(q, dtype=float))


def placed(parts: Sequence[Part], poses: np.ndarray) -> list[Part]:
    """Parts on links, moved into the world."""
    return [
        part
        if part.link is None
        else replace(part, vertices=part.vertices @ poses[part.link, :3, :3].T + poses[part.link, :3, 3], link=None)
        for part in parts
    ]


def scene_parts(scene: Scene | None, robot: Robot | None = None) -> list[Part]:
    """What stands in the world, and what is attached to links of the robot, as one group."""
    parts = []
    for item in scene or ():
        if item.link is not None and robot is None:
            continue
        vertices, faces = shape_triangles(item.shape)
        vertices = vertices @ item.pose[:3, :3].T + item.pose[:3, 3]
        link = None if item.link is None or robot is None else robot.link_index(item.link)
        parts.append(Part("scene", vertices, faces, np.asarray(item.color or SCENE_COLOR), link=link))
    return parts


def opened(parts: Sequence[Part], axis: int, coordinate: float) -> list[Part]:
    """Parts without the triangles that lie wholly above a coordinate: a look inside."""
    return [replace(p, faces=p.faces[p.vertices[p.faces][:, :, axis].min(axis=1) < coordinate]) for p in parts]


def arrows(name: str, points: np.ndarray, directions: np.ndarray, length: float, colors: np.ndarray) -> Part:
    """A slim pyramid for each point (N, 3), its tip there, pointing in its unit direction; colours (N, 4)."""
    points, directions = np.asarray(points, dtype=float), np.asarray(directions, dtype=float)
    helper = np.where(np.abs(directions[:, :1]) < 0.9, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    u = np.cross(directions, helper)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = np.cross(directions, u)
    back = points - length * directions
    corners = [back + 0.16 * length * (np.cos(a) * u + np.sin(a) * v) for a in 2.0 * np.pi * np.arange(4) / 4]
    vertices = np.stack([points, *corners], axis=1).reshape(-1, 3)
    one = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [1, 3, 2], [1, 4, 3]])
    faces = (one[None] + 5 * np.arange(len(points))[:, None, None]).reshape(-1, 3)
    return Part(name, vertices, faces, per_arrow(colors))


def per_arrow(colors: np.ndarray) -> np.ndarray:
    """Colours (N, 4) of arrows as colours of their vertices."""
    return np.repeat(np.asarray(colors, dtype=float), 5, axis=0)


def shape_triangles(shape: Shape | SceneShape) -> tuple[np.ndarray, np.ndarray]:
    """A shape's surface: vertices (V, 3) and faces (F, 3); endless planes and large clouds in part."""
    if isinstance(shape, Plane):
        h = 0.5 * _PLANE_EDGE
        return np.array([[-h, -h, 0.0], [h, -h, 0.0], [h, h, 0.0], [-h, h, 0.0]]), np.array([[0, 1, 2], [0, 2, 3]])
    mesh = cloud_mesh(shape, _MOST_POINTS) if isinstance(shape, PointCloud) else surface_mesh(shape, _SECTIONS)
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def parts_html(
    parts: Sequence[Part],
    configurations: Sequence[tuple[str, np.ndarray] | tuple[str, np.ndarray, str]] = (),
    *,
    azimuth: float = AZIMUTH,
    legend: Sequence[tuple[str, str]] = (),
    height: int = 520,
    cut: str = "",
    there: set[str] | None = None,
) -> str:
    """A viewer of these parts as a piece of a page; the page has to contain `viewer_script()` once.

    configurations  (label, poses of links) among which a slider chooses; a third entry names their variant.
    azimuth   of the camera to begin with, radians.
    legend    (label, colour of CSS) shown beside the picture.
    cut       "x", "y" or "z": opened in the middle of that axis to begin with.
    there     names of meshes that the page has already, which are not written again; those written are added.
    """
    groups: dict[str, dict[str, Any]] = {}
    for part in parts:
        group = groups.setdefault(part.name, {"name": part.name, "meshes": []})
        colors = np.asarray(part.colors, dtype=float)
        group["meshes"].append(
            {
                **_surface(part, there if there is not None else set()),
                "colors": _packed_colors(colors),
                "variants": {name: _packed_colors(own) for name, own in part.variants.items()},
                "link": -1 if part.link is None else part.link,
            }
        )
    poses = [
        {"label": label, "poses": _packed(np.swapaxes(pose, -1, -2), np.float32), "variant": "".join(variant)}
        for label, pose, *variant in configurations
    ]
    data = {"groups": list(groups.values()), "configurations": poses, "cut": cut, "azimuth": azimuth}
    key = "".join(
        f'<span class="key"><i style="background:{html.escape(color)}"></i>{html.escape(label)}</span>'
        for label, color in legend
    )
    return (
        f'<div class="viewer" style="height:{height}px"><script type="application/json">{embedded_json(data)}</script>'
        f'<div class="viewer-keys">{key}</div></div>'
    )


def _surface(part: Part, there: set[str]) -> dict[str, str]:
    """Vertices and faces under a name made of their content; the name alone where they are there."""
    positions, indices = _packed(part.vertices, np.float32), _packed(part.faces, np.uint32)
    key = hashlib.blake2b((positions + "/" + indices).encode("ascii"), digest_size=9).hexdigest()
    if key in there:
        return {"key": key}
    there.add(key)
    return {"key": key, "positions": positions, "indices": indices}


def viewer_script() -> str:
    """The script and style that pages with `parts_html` need, once."""
    folder = files("memetik.bench.report")
    script = folder.joinpath("viewer.js").read_text(encoding="utf-8")
    style = folder.joinpath("viewer.css").read_text(encoding="utf-8")
    return f"<style>{style}</style><script>{script}</script>"


def embedded_json(data: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can end that element."""
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _packed(array: np.ndarray, dtype: Any) -> str:
    little = np.dtype(dtype).newbyteorder("<")
    return base64.b64encode(np.ascontiguousarray(array, dtype=little).tobytes()).decode("ascii")


def _packed_colors(colors: np.ndarray) -> str:
    return _packed(np.clip(np.round(np.asarray(colors) * 255.0), 0, 255), np.uint8)
