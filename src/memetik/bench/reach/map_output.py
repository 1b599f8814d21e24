"""A map of a workspace to look at: projections as a picture, cells on a page, a coloured cloud as PLY."""

from __future__ import annotations

from typing import Any

import numpy as np

from memetik.bench.reach.map import PLANES, ReachMap
from memetik.bench.report.page import colormap, heading, new_figure, page, paragraph, picture, table
from memetik.bench.report.viewer import Part, link_poses, parts_html, robot_parts, scene_parts, viewer_script
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene

COLORMAP = "turbo"
_MOST_CELLS_SHOWN = 60_000


def map_figure(robot: Robot, found: ReachMap) -> Any:
    """The cloud of cells projected to XY, XZ and YZ: the best share of directions along each line of sight."""
    figure = new_figure(13.0, 4.3)
    axes = figure.subplots(1, 3)
    low, high = found.origin, found.origin + found.size * np.array(found.index.shape)
    shown: Any = None
    for axis, (name, along) in zip(axes, PLANES, strict=True):
        u, v = (k for k in range(3) if k != along)
        shown = axis.imshow(
            found.projection(along).T, origin="lower", extent=(low[u], high[u], low[v], high[v]), vmin=0.0, vmax=1.0,
            cmap=COLORMAP, interpolation="nearest",
        )  # fmt: skip
        axis.plot(*robot.base_pose[[u, v], 3], marker="+", color="black", markersize=9)
        axis.set_title(name)
        axis.set_xlabel(f"{'xyz'[u]} (m)")
        axis.set_ylabel(f"{'xyz'[v]} (m)")
    figure.colorbar(shown, ax=axes, shrink=0.85, label="share of directions")
    figure.suptitle(f"{robot.name}, {found.link}: {found.volume:.3g} m³ in cells of {found.size * 1e3:.0f} mm")
    return figure


def map_page(robot: Robot, found: ReachMap, scene: Scene | None = None) -> str:
    """The map as a page: the cells to turn about and to cut open, projections, figures."""
    summary = found.summary()
    words = (
        f"{found.link} of {robot.name} reaches {found.volume:.3g} cubic metres; on average from "
        f"{summary['mean_index']:.0%} of {summary['directions']} directions, and from all of them in "
        f"{summary['dexterous_volume']:.3g} cubic metres."
    )
    neutral = link_poses(robot, robot.neutral)
    parts = [*robot_parts(robot, (0.35, 0.38, 0.42, 1.0)), *scene_parts(scene, robot), cells_part(found)]
    body = [
        paragraph(words),
        paragraph("The cells are cut open; move the cut, or choose none, in the corner of the view.", "note"),
        parts_html(parts, [("middle of the limits", neutral)], legend=_legend(), height=600, cut="y"),
        heading("Projections"),
        picture(map_figure(robot, found), "projections of the map to XY, XZ and YZ", vector=False),
        heading("Figures"),
        table(("what", "value"), [(name.replace("_", " "), f"{value:.6g}") for name, value in summary.items()]),
    ]
    return page(f"Reach of {robot.name}", body, head=viewer_script())


def cells_part(found: ReachMap) -> Part:
    """A cube for each reached cell; only those that can be seen from outside or in a cut along an axis, if many."""
    centres, values = found.centres, found.values
    if len(centres) > _MOST_CELLS_SHOWN:
        kept = np.linspace(0, len(centres) - 1, _MOST_CELLS_SHOWN).astype(int)
        centres, values = centres[kept], values[kept]
    corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) * (0.42 * found.size)
    vertices = (centres[:, None] + corners[None]).reshape(-1, 3)
    cube = np.array(
        [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
         [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
    )  # fmt: skip
    faces = (cube[None] + 8 * np.arange(len(centres))[:, None, None]).reshape(-1, 3)
    return Part("cells", vertices, faces, np.repeat(_colors(values), 8, axis=0))


def map_ply(found: ReachMap) -> bytes:
    """The middles of reached cells as a binary PLY cloud with colours and the share of directions."""
    centres, values = found.centres, found.values
    header = (
        f"ply\nformat binary_little_endian 1.0\nelement vertex {len(centres)}\n"
        + "".join(f"property float {axis}\n" for axis in "xyz")
        + "".join(f"property uchar {channel}\n" for channel in ("red", "green", "blue"))
        + "property float reach\nend_header\n"
    )
    rows = np.zeros(len(centres), dtype=[("place", "<f4", 3), ("color", "u1", 3), ("reach", "<f4")])
    rows["place"], rows["color"], rows["reach"] = centres, np.round(255.0 * _colors(values)[:, :3]), values
    return header.encode("ascii") + rows.tobytes()


def _colors(values: np.ndarray) -> np.ndarray:
    return colormap(COLORMAP)(values)


def _legend() -> list[tuple[str, str]]:
    from matplotlib.colors import to_hex

    return [(f"{share:.0%} of directions", to_hex(colormap(COLORMAP)(share))) for share in (0.0, 0.5, 1.0)]
