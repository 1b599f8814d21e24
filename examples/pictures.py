"""Pictures and animations of the examples, written below out/examples/."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import memetik as mk
from memetik.bench.report.viewer import Part, link_poses, parts_html, placed, robot_parts, scene_parts, viewer_script
from memetik.bench.report.viewer_image import draw_parts
from memetik.geometry.tessellate import surface_mesh

FOLDER = Path("out/examples")
MOST_FRAMES = int(os.environ.get("MEMETIK_EXAMPLE_FRAMES", "30"))
"""Of an animation; tests ask for fewer."""


def save_picture(name: str, robot: mk.Robot, q: Any, scene: mk.Scene | None = None, **view: Any) -> Path:
    """A PNG of the robot in its scene. `view`: marks= (more parts), size=, and the camera's azimuth=, elevation=,
    cut=, frame= and floor= (see memetik.bench.report.viewer_image.draw_parts). Several configurations (N, dof) are
    drawn together."""
    import matplotlib.image

    path = _path(f"{name}.png")
    low = np.min([_bounds(robot, own, scene)[0, 2] for own in np.atleast_2d(q)])
    matplotlib.image.imsave(path, np.clip(_drawn(robot, np.atleast_2d(q), scene, **{"floor": low, **view}), 0.0, 1.0))
    print(f"picture: {path}")
    return path


def save_animation(
    name: str, robot: mk.Robot, configurations: Any, scene: mk.Scene | None = None, *, rate: float = 25.0, **view: Any
) -> Path:
    """A GIF of configurations (N, dof) one after the other, `rate` a second, and a page with a slider."""
    from PIL import Image

    configurations = np.asarray(configurations, dtype=float)
    shown = configurations[:: max(1, len(configurations) // MOST_FRAMES)]
    everywhere = np.concatenate([_bounds(robot, q, scene) for q in shown[:: max(1, len(shown) // 12)]])
    low, high = everywhere.min(axis=0), everywhere.max(axis=0)
    view = {"size": (360, 300), "frame": np.stack([low, high]), "floor": float(low[2]), **view}
    frames = [
        Image.fromarray((255 * np.clip(_drawn(robot, q[None], scene, **view), 0, 1)).astype(np.uint8)).quantize(96)
        for q in shown
    ]
    path = _path(f"{name}.gif")
    step = max(20, round(1000.0 / rate * len(configurations) / len(shown)))
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=step, loop=0)
    save_page(name, robot, shown, scene, marks=view.get("marks", ()))
    print(f"animation: {path}")
    return path


def save_page(
    name: str, robot: mk.Robot, configurations: Any, scene: mk.Scene | None = None, marks: Sequence[Part] = ()
) -> Path:
    """A page with the robot in its scene that needs no network; a slider goes through the configurations."""
    parts = [*robot_parts(robot), *scene_parts(scene, robot), *marks]
    labelled = [(f"configuration {k}", link_poses(robot, q)) for k, q in enumerate(np.atleast_2d(configurations))]
    page = f"<!doctype html><meta charset='utf-8'><title>{name}</title>{parts_html(parts, labelled, height=700)}"
    path = _path(f"{name}.html")
    path.write_text(page + viewer_script(), encoding="utf-8")
    return path


def save_plot(name: str, figure: Any) -> Path:
    """A matplotlib figure as PNG."""
    path = _path(f"{name}.png")
    figure.savefig(path, dpi=110, bbox_inches="tight")
    print(f"picture: {path}")
    return path


def ball(name: str, center: Any, radius: float, color: Sequence[float] = (0.85, 0.2, 0.2, 1.0)) -> Part:
    """A mark at a point."""
    mesh = surface_mesh(mk.Sphere(radius), 16)
    return Part(name, mesh.vertices + np.asarray(center), mesh.faces, np.asarray(color))


def _drawn(
    robot: mk.Robot, configurations: np.ndarray, scene: mk.Scene | None, *, marks: Sequence[Part] = (), **view: Any
) -> np.ndarray:
    fixed = [part for part in scene_parts(scene, robot) if part.link is None]
    carried = [part for part in scene_parts(scene, robot) if part.link is not None]
    moving = [part for q in configurations for part in placed([*robot_parts(robot), *carried], link_poses(robot, q))]
    return draw_parts([*moving, *fixed, *marks], **view)


def _bounds(robot: mk.Robot, q: np.ndarray, scene: mk.Scene | None) -> np.ndarray:
    parts = [*placed(robot_parts(robot), link_poses(robot, q)), *(p for p in scene_parts(scene) if p.link is None)]
    points = np.concatenate([part.vertices for part in parts])
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _path(name: str) -> Path:
    FOLDER.mkdir(parents=True, exist_ok=True)
    return FOLDER / name
