"""The tab with the scene: objects to add, drag and remove; what is near; a slice of the distances around them."""

from __future__ import annotations

import html
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.robot.rotations import rpy_from_rotation
from memetik.robot.shapes import Box, Capsule, Cylinder, Sphere
from memetik.robot.transforms import transform
from memetik.scene.mesh_files import MESH_FORMATS, load_mesh
from memetik.scene.objects import Cone, Plane
from memetik.scene.scene import Scene
from memetik.studio.files import NONE
from memetik.studio.forms import number_of, numbers_of, short
from memetik.studio.setup import State

if TYPE_CHECKING:
    from memetik.studio.app import Studio

MAX_MESH_BYTES = 100_000_000
"""Mesh files below the folder may be as large as this."""

_KINDS = {
    "Box": ("0.2, 0.2, 0.2", 3, lambda n: Box((n[0], n[1], n[2]))),
    "Sphere": ("0.1", 1, lambda n: Sphere(n[0])),
    "Cylinder": ("0.1, 0.3", 2, lambda n: Cylinder(n[0], n[1])),
    "Capsule": ("0.1, 0.3", 2, lambda n: Capsule(n[0], n[1])),
    "Cone": ("0.1, 0.3", 2, lambda n: Cone(n[0], n[1])),
    "Plane": ("", 0, lambda n: Plane()),
}


class ScenePanel:
    """Objects, collisions, slices."""

    def __init__(self, studio: Studio):
        self._studio = studio
        self._chosen: str | None = None
        self._names: tuple[str, ...] = ()
        self._sliced: Any = None
        self._shown_margin = 0.0
        self._shown_pose: Any = None
        gui = studio.server.gui
        with gui.add_folder("Add"):
            self._kind = gui.add_dropdown("Shape", tuple(_KINDS))
            self._size = gui.add_text("Size (m)", _KINDS["Box"][0], hint="Box: edges; others: radius, length.")
            self._place = gui.add_text("Position (m)", "0.5, 0.3, 0.2")
            self._add = gui.add_button("Add object", icon="plus")
        with gui.add_folder("Object"):
            self._object = gui.add_dropdown("Object", (NONE,))
            self._position = gui.add_text("Position", "", hint="x, y, z in metres.")
            self._rotation = gui.add_text("Rotation", "", hint="Roll, pitch, yaw in degrees.")
            self._apply = gui.add_button("Place it there", icon="check")
            self._remove = gui.add_button("Remove object", color="gray", icon="trash")
        with gui.add_folder("Collision"):
            self._self = gui.add_checkbox(
                "Self-collision", studio.state.self_collision, hint="Links must not touch each other."
            )
            self._margin = gui.add_text("Margin (mm)", "0")
            self._apply_margin = gui.add_button("Apply margin", icon="check", color="gray")
            self._contacts = gui.add_html("")
        with gui.add_folder("Distances", expand_by_default=False):
            self._slice = gui.add_checkbox("Slice", False)
            self._axis = gui.add_dropdown("Across", ("z", "y", "x"))
            self._height = gui.add_slider("At", min=-1.5, max=2.0, step=0.01, initial_value=0.3)
        with gui.add_folder("From files", expand_by_default=False):
            self._meshes = studio.add_file_list("Mesh", MESH_FORMATS)
            self._add_mesh = gui.add_button("Add mesh", icon="cube-plus")
            self._upload = gui.add_upload_button("Upload a mesh", icon="upload")
            self._scenes = studio.add_file_list("Scene", (".toml", ".scene"))
            self._load = gui.add_button("Load scene", icon="folder-open")
            self._scenario = gui.add_dropdown("Scenario", _scenarios())
            self._make = gui.add_button("Load scenario", icon="building-warehouse")
            self._clear = gui.add_button("Clear scene", color="gray")
        self._wire()

    def refresh(self, state: State, q: np.ndarray) -> None:
        names = tuple(state.scene.objects)
        if names != self._names:
            added = [name for name in names if name not in self._names]
            self._names = names
            if len(added) == 1 and (self._studio.setup.undoable or "").startswith("add "):
                self._chosen = added[0]
            if self._chosen not in names:
                self._chosen = None
            self._object.options = (NONE, *names)
            self._object.value = self._chosen or NONE
        self._self.value = state.self_collision
        if state.margin != self._shown_margin:
            self._shown_margin, self._margin.value = state.margin, f"{1e3 * state.margin:g}"
        self._show_chosen(state)
        self._show_contacts()
        self._show_slice(state)

    def use_robot(self, state: State) -> None:
        self._sliced = None

    def choose(self, name: str | None) -> None:
        """Makes an object the chosen one: it gets a gizmo."""
        self._chosen = name
        self._object.value = name or NONE

    def _show_chosen(self, state: State) -> None:
        self._studio.gizmos.hold_object(self._chosen, state)
        self._remove.disabled = self._chosen is None
        item = state.scene.objects.get(self._chosen) if self._chosen else None
        if item is not None and self._shown_pose is not item.pose:
            self._shown_pose = item.pose
            self._position.value = short(item.pose[:3, 3])
            self._rotation.value = short(np.degrees(rpy_from_rotation(item.pose[:3, :3])))

    def _show_contacts(self) -> None:
        nearness = self._studio.nearness
        lines = [
            f'<div style="color:#dc2626">{html.escape(c.first)} &ndash; {html.escape(c.second)}: '
            f"{1e3 * c.depth:.1f} mm deep</div>"
            for c in nearness.contacts[:8]
        ]
        if not lines and nearness.pair is not None:
            first, second = (html.escape(name) for name in nearness.pair)
            lines = [
                f"<div>Nothing touches. Closest: {first} &ndash; {second}, {1e3 * nearness.clearance:.1f} mm</div>"
            ]
        if not lines:
            lines = ["<div>Nothing to collide with.</div>"]
        self._contacts.content = f'<div style="padding:0.2em 0.9em;font-size:0.8em">{"".join(lines)}</div>'

    def _show_slice(self, state: State) -> None:
        view = self._studio.scene_view
        wanted = (state.scene, self._axis.value, self._height.value) if self._slice.value else None
        if wanted == self._sliced:
            return
        self._sliced = wanted
        if wanted is None or not state.scene.objects:
            view.hide_slice()
            return
        poses = state.robot.pose(state.robot.links, state.q)[:, :3, 3]
        centre = 0.5 * (poses.min(axis=0) + poses.max(axis=0))
        extent = max(0.5, 0.6 * self._studio.robot_view.extent())
        view.show_slice(state.scene, "xyz".index(wanted[1]), wanted[2], centre, extent)

    def _wire(self) -> None:
        studio, setup = self._studio, self._studio.setup

        @self._kind.on_update
        async def _(event: Any) -> None:
            studio.do(event, lambda: setattr(self._size, "value", _KINDS[self._kind.value][0]))

        @self._add.on_click
        async def _(event: Any) -> None:
            studio.do(event, self._add_object)

        @self._object.on_update
        async def _(event: Any) -> None:
            name = self._object.value
            studio.do(event, lambda: self.choose(None if name == NONE else name))

        @self._apply.on_click
        async def _(event: Any) -> None:
            studio.do(event, self._place_chosen)

        @self._remove.on_click
        async def _(event: Any) -> None:
            studio.do(event, lambda: self._chosen is not None and setup.remove_object(self._chosen))

        @self._self.on_update
        async def _(event: Any) -> None:
            studio.do(event, lambda: setup.change("self-collision", self_collision=self._self.value))

        @self._apply_margin.on_click
        async def _(event: Any) -> None:
            studio.do(event, self._set_margin)

        for field in (self._slice, self._axis, self._height):

            @field.on_update
            async def _(event: Any) -> None:
                studio.do(event, lambda: None, "slice")

        @self._add_mesh.on_click
        async def _(event: Any) -> None:
            name = self._meshes.value
            studio.do(event, lambda: self.add_mesh(name))

        @self._upload.on_upload
        async def _(event: Any) -> None:
            file = self._upload.value
            studio.do(event, lambda: self._uploaded(file.name, file.content))

        @self._load.on_click
        async def _(event: Any) -> None:
            name = self._scenes.value
            studio.do(event, lambda: self.load_scene(name))

        @self._make.on_click
        async def _(event: Any) -> None:
            studio.do(event, self._load_scenario)

        @self._clear.on_click
        async def _(event: Any) -> None:
            studio.do(event, lambda: setup.use_scene(Scene(), "clear scene"))

    def _add_object(self) -> None:
        kind = self._kind.value
        _, count, make = _KINDS[kind]
        sizes = numbers_of(self._size.value, f"the size of a {kind}", count) if count else []
        position = numbers_of(self._place.value, "the position", 3)
        if kind == "Plane":
            position = [0.0, 0.0, position[2]]
        self._studio.setup.add_object(make(sizes), transform(position))

    def _place_chosen(self) -> None:
        if self._chosen is None:
            return
        position = numbers_of(self._position.value, "the position", 3)
        turn = np.radians(numbers_of(self._rotation.value, "the rotation", 3))
        self._studio.setup.move_object(self._chosen, transform(position, rpy=turn))
        self._studio.setup.settle()

    def _set_margin(self) -> None:
        margin = 1e-3 * number_of(self._margin.value, "the margin", 0.0, 1000.0)
        self._studio.setup.change("margin", margin=margin)

    def add_mesh(self, name: str) -> None:
        """A mesh from a file below the folder."""
        if name == NONE:
            raise InvalidInputError("there is no mesh below this folder.")
        path = self._studio.folder.path(name, MESH_FORMATS)
        if path.is_file() and path.stat().st_size > MAX_MESH_BYTES:
            size = path.stat().st_size / 1e6
            raise InvalidInputError(f"{name!r:.80} has {size:.0f} MB; {MAX_MESH_BYTES / 1e6:.0f} MB are accepted.")
        self._studio.setup.add_object(load_mesh(path), self._middle(), path.stem)

    def _uploaded(self, name: str, content: bytes) -> None:
        """A mesh that came through the page: read from a file that is gone afterwards."""
        suffix = Path(name).suffix.lower()
        if suffix not in MESH_FORMATS:
            raise InvalidInputError(f"{Path(name).name!r:.80} does not end in {' or '.join(MESH_FORMATS)}.")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"mesh{suffix}"
            path.write_bytes(content)
            mesh = load_mesh(path)
        self._studio.setup.add_object(mesh, self._middle(), Path(name).stem[:40] or "mesh")

    def load_scene(self, name: str) -> None:
        """A scene from a file below the folder."""
        if name == NONE:
            raise InvalidInputError("there is no scene below this folder.")
        path = self._studio.folder.path(name, (".toml", ".scene"))
        self._studio.setup.use_scene(Scene.load(path), f"scene {name}")

    def _load_scenario(self) -> None:
        from memetik.scene.surroundings import make_surroundings

        made = make_surroundings(self._scenario.value)
        self._studio.setup.use_scene(made.scene, f"scenario {self._scenario.value}")

    def _middle(self) -> np.ndarray:
        return transform(numbers_of(self._place.value, "the position", 3))


def _scenarios() -> tuple[str, ...]:
    from memetik.scene.surroundings import SURROUNDINGS

    return tuple(SURROUNDINGS)
