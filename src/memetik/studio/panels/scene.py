"""The tab with the scene: objects to add, drag and remove; what is near; a slice of the distances around them."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from memetik.bench.scenarios.surroundings import SURROUNDINGS, make_surroundings
from memetik.errors import InvalidInputError
from memetik.files.atomic import temporary_folder
from memetik.geometry.formats import MESH_FORMATS
from memetik.geometry.mesh_files import load_mesh
from memetik.geometry.shapes import Box, Capsule, Cone, Cylinder, Plane, Sphere
from memetik.geometry.transforms import rpy_from_rotation, transform
from memetik.scene.scene import Scene
from memetik.studio.panels.forms import number_of, numbers_of, short
from memetik.studio.panels.panel import NONE, Panel
from memetik.studio.session.session import State

MAX_MESH_BYTES = 100_000_000
"""Mesh files below the folder may be as large as this."""

_SCENE_SUFFIXES = (".toml", ".scene")
_KINDS = {
    "Box": ("0.2, 0.2, 0.2", 3, lambda n: Box((n[0], n[1], n[2]))),
    "Sphere": ("0.1", 1, lambda n: Sphere(n[0])),
    "Cylinder": ("0.1, 0.3", 2, lambda n: Cylinder(n[0], n[1])),
    "Capsule": ("0.1, 0.3", 2, lambda n: Capsule(n[0], n[1])),
    "Cone": ("0.1, 0.3", 2, lambda n: Cone(n[0], n[1])),
    "Plane": ("", 0, lambda n: Plane()),
}


class ScenePanel(Panel):
    """Objects, collisions, slices."""

    TITLE: ClassVar[str] = "Scene"

    def _build(self, state: State) -> None:
        gui, studio, session = self._gui, self._studio, self._session
        self._names: tuple[str, ...] = ()
        self._sliced: Any = None
        self._shown_margin = 0.0
        self._shown_pose: np.ndarray | None = None
        with gui.add_folder("Add"):
            self._kind = self._wired(gui.add_dropdown("Shape", tuple(_KINDS)), self._propose_size)
            self._size = gui.add_text("Size (m)", _KINDS["Box"][0], hint="Box: edges; others: radius, length.")
            self._place = gui.add_text("Position (m)", "0.5, 0.3, 0.2")
            self._button("Add object", "plus", self._add_object)
        with gui.add_folder("Object"):
            self._object = self._wired(gui.add_dropdown("Object", (NONE,)), self._choose)
            self._position = gui.add_text("Position", "", hint="x, y, z in metres.")
            self._rotation = gui.add_text("Rotation", "", hint="Roll, pitch, yaw in degrees.")
            self._button("Place it there", "check", self._place_chosen)
            self._remove = self._button("Remove object", "trash", self._remove_chosen, gray=True)
        with gui.add_folder("Collision"):
            self._self = self._wired(
                gui.add_checkbox("Self-collision", state.self_collision, hint="Links must not touch each other."),
                lambda on: session.change("self-collision", self_collision=on),
            )
            self._margin = gui.add_text("Margin (mm)", "0")
            self._button("Apply margin", "check", self._set_margin, gray=True)
            self._contacts = gui.add_html("")
        with gui.add_folder("Distances", expand_by_default=False):
            self._slice = gui.add_checkbox("Slice", False)
            self._axis = gui.add_dropdown("Across", ("z", "y", "x"))
            self._height = gui.add_slider("At", min=-1.5, max=2.0, step=0.01, initial_value=0.3)
            for field in (self._slice, self._axis, self._height):
                studio.when(field.on_update, lambda: None, key="slice")
        with gui.add_folder("From files", expand_by_default=False):
            self._button("Add mesh", "cube-plus", self.add_mesh, studio.add_file_list("Mesh", tuple(MESH_FORMATS)))
            upload = gui.add_upload_button("Upload a mesh", icon="upload")  # type: ignore[arg-type]
            studio.when(upload.on_upload, lambda file: self._uploaded(file.name, file.content), upload)
            self._button("Load scene", "folder-open", self.load_scene, studio.add_file_list("Scene", _SCENE_SUFFIXES))
            scenario = gui.add_dropdown("Scenario", tuple(SURROUNDINGS))
            self._button("Load scenario", "building-warehouse", self._load_scenario, scenario)
            self._button("Clear scene", None, lambda: session.use_scene(Scene(), "clear scene"), gray=True)

    def refresh(self, state: State, q: np.ndarray) -> None:
        studio, names = self._studio, tuple(state.scene.objects)
        if names != self._names:
            added = [name for name in names if name not in self._names]
            self._names = names
            if len(added) == 1 and (self._session.undoable or "").startswith("add "):
                studio.chosen_object = added[0]
            if studio.chosen_object not in names:
                studio.chosen_object = ""
            self._object.options = (NONE, *names)
        self._object.value = studio.chosen_object or NONE
        self._self.value = state.self_collision
        if state.margin != self._shown_margin:
            self._shown_margin, self._margin.value = state.margin, f"{1e3 * state.margin:g}"
        self._show_chosen(state)
        self._show_contacts()
        self._show_slice(state)

    def use_robot(self, state: State) -> None:
        self._sliced = None

    def _choose(self, name: str) -> None:
        """Makes an object the chosen one: it gets a gizmo."""
        self._studio.chosen_object = "" if name == NONE else name

    def _show_chosen(self, state: State) -> None:
        item = state.scene.objects.get(self._studio.chosen_object)
        self._studio.gizmos.hold_object(item)
        self._remove.disabled = item is None
        if item is not None and self._shown_pose is not item.pose:
            self._shown_pose = item.pose
            self._position.value = short(item.pose[:3, 3])
            self._rotation.value = short(np.degrees(rpy_from_rotation(item.pose[:3, :3])))

    def _show_contacts(self) -> None:
        clearances = self._studio.clearances
        lines = [
            f'<div style="color:#dc2626">{html.escape(c.first)} &ndash; {html.escape(c.second)}: '
            f"{1e3 * c.depth:.1f} mm deep</div>"
            for c in clearances.contacts[:8]
        ]
        if not lines and clearances.pair is not None:
            closest = " &ndash; ".join(html.escape(name) for name in clearances.pair)
            lines = [f"<div>Nothing touches. Closest: {closest}, {1e3 * clearances.clearance:.1f} mm</div>"]
        text = "".join(lines) or "<div>Nothing to collide with.</div>"
        self._contacts.content = f'<div style="padding:0.2em 0.9em;font-size:0.8em">{text}</div>'

    def _show_slice(self, state: State) -> None:
        view = self._studio.scene_view
        entry = (state.scene, self._axis.value, self._height.value) if self._slice.value else None
        if entry == self._sliced:
            return
        self._sliced = entry
        if entry is None or not state.scene.objects:
            view.hide_slice()
            return
        poses = state.robot.pose(state.robot.links, state.q)[:, :3, 3]
        centre = 0.5 * (poses.min(axis=0) + poses.max(axis=0))
        extent = max(0.5, 0.6 * self._studio.robot_view.extent())
        view.show_slice(state.scene, "xyz".index(entry[1]), entry[2], centre, extent)

    def _propose_size(self, kind: str) -> None:
        self._size.value = _KINDS[kind][0]

    def _add_object(self) -> None:
        kind = self._kind.value
        _, count, make = _KINDS[kind]
        sizes = numbers_of(self._size.value, f"the size of a {kind}", count) if count else []
        pose = self._middle()
        if kind == "Plane":
            pose[:2, 3] = 0.0
        self._session.add_object(make(sizes), pose)

    def _place_chosen(self) -> None:
        chosen = self._studio.chosen_object
        if chosen:
            position = numbers_of(self._position.value, "the position", 3)
            angles = np.radians(numbers_of(self._rotation.value, "the rotation", 3))
            self._session.move_object(chosen, transform(position, rpy=angles))
            self._session.settle()

    def _remove_chosen(self) -> None:
        if self._studio.chosen_object:
            self._session.remove_object(self._studio.chosen_object)

    def _set_margin(self) -> None:
        self._session.change("margin", margin=1e-3 * number_of(self._margin.value, "the margin", 0.0, 1000.0))

    def add_mesh(self, name: str) -> None:
        """A mesh from a file below the folder."""
        if name == NONE:
            raise InvalidInputError("there is no mesh below this folder.")
        path = self._studio.folder.path(name, tuple(MESH_FORMATS))
        if path.is_file() and path.stat().st_size > MAX_MESH_BYTES:
            size = path.stat().st_size / 1e6
            raise InvalidInputError(f"{name!r:.80} has {size:.0f} MB; {MAX_MESH_BYTES / 1e6:.0f} MB are accepted.")
        self._session.add_object(load_mesh(path), self._middle(), path.stem)

    def _uploaded(self, name: str, content: bytes) -> None:
        """A mesh that came through the page: read from a file that is gone afterwards."""
        suffix = Path(name).suffix.lower()
        if suffix not in MESH_FORMATS:
            raise InvalidInputError(f"{Path(name).name!r:.80} does not end in {' or '.join(MESH_FORMATS)}.")
        with temporary_folder() as folder:
            path = folder / f"mesh{suffix}"
            path.write_bytes(content)
            mesh = load_mesh(path)
        self._session.add_object(mesh, self._middle(), Path(name).stem[:40] or "mesh")

    def load_scene(self, name: str) -> None:
        """A scene from a file below the folder."""
        if name == NONE:
            raise InvalidInputError("there is no scene below this folder.")
        path = self._studio.folder.path(name, _SCENE_SUFFIXES)
        self._session.use_scene(Scene.load(path), f"scene {name}")

    def _load_scenario(self, name: str) -> None:
        self._session.use_scene(make_surroundings(name).scene, f"scenario {name}")

    def _middle(self) -> np.ndarray:
        return transform(numbers_of(self._place.value, "the position", 3))
