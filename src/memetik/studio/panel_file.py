"""The tab with files: the robot, saving and loading, undo and redo, the script; and what is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.studio.files import NONE, SUFFIX
from memetik.studio.setup import State

if TYPE_CHECKING:
    from memetik.studio.app import Studio

ROBOT_SUFFIXES = (".urdf", ".xacro", ".xml")


class FilePanel:
    """Robot, set-up files, history, script, and display."""

    def __init__(self, studio: Studio):
        self._studio = studio
        gui = studio.server.gui
        with gui.add_folder("History"):
            self._history = gui.add_button_group("History", ("Undo", "Redo"))
            self._last = gui.add_markdown("")
        with gui.add_folder("Set-up"):
            self._name = gui.add_text("File", "setup.json", hint="Below the folder that the studio was started in.")
            self._save = gui.add_button("Save", icon="device-floppy")
            self._files = studio.add_file_list("Saved", (SUFFIX,))
            self._load = gui.add_button("Load", icon="folder-open")
            self._script = gui.add_button("Copy as Python", icon="brand-python")
        with gui.add_folder("Robot"):
            self._robot = gui.add_dropdown(
                "Robot", self._robots(_shown(studio.state)), initial_value=_shown(studio.state)
            )
            self._open = gui.add_button("Open robot", icon="robot")
        with gui.add_folder("Display"):
            self._meshes = gui.add_checkbox("Links", True)
            self._see_through = gui.add_checkbox("See-through", False)
            self._skeleton = gui.add_checkbox("Skeleton", False)
            self._axes = gui.add_checkbox("Joint axes and limits", False)
            self._spheres = gui.add_checkbox("Sphere model", False, hint="What the search takes for the links.")
            self._grid = gui.add_checkbox("Floor grid", True)
            self._camera = gui.add_button("Look at the robot", icon="camera")
        self._wire()
        undo = gui.add_command("Undo", hotkey="Z", modifier="cmd/ctrl")
        redo = gui.add_command("Redo", hotkey="Y", modifier="cmd/ctrl")
        undo.on_trigger(self._on_undo)
        redo.on_trigger(self._on_redo)

    def refresh(self, state: State, q: np.ndarray) -> None:
        setup = self._studio.setup
        undo = f"Undo takes back: {setup.undoable}" if setup.undoable else "Nothing to undo"
        redo = f". Redo: {setup.redoable}." if setup.redoable else "."
        self._last.content = undo + redo

    def use_robot(self, state: State) -> None:
        self._robot.options = self._robots(_shown(state))
        self._robot.value = _shown(state)
        self._draw()

    async def _on_undo(self, event: Any) -> None:
        self._studio.do(event, self._studio.setup.undo)

    async def _on_redo(self, event: Any) -> None:
        self._studio.do(event, self._studio.setup.redo)

    def _wire(self) -> None:
        studio = self._studio

        @self._history.on_click
        async def _(event: Any) -> None:
            studio.do(event, studio.setup.undo if self._history.value == "Undo" else studio.setup.redo)

        @self._save.on_click
        async def _(event: Any) -> None:
            name = self._name.value
            studio.do(event, lambda: self._saved_as(name))

        @self._load.on_click
        async def _(event: Any) -> None:
            name = self._files.value
            studio.do(event, lambda: self.load(name))

        @self._script.on_click
        async def _(event: Any) -> None:
            studio.do(event, lambda: self._show_script(event.client))

        @self._open.on_click
        async def _(event: Any) -> None:
            name = self._robot.value
            studio.do(event, lambda: self.open_robot(name))

        @self._camera.on_click
        async def _(event: Any) -> None:
            studio.do(event, studio._camera)

        for box in (self._meshes, self._see_through, self._skeleton, self._axes, self._spheres, self._grid):

            @box.on_update
            async def _(event: Any) -> None:
                studio.do(event, self._draw)

    def _saved_as(self, name: str) -> None:
        path = self._studio.folder.path(name, (SUFFIX,))
        if not path.parent.is_dir():
            raise InvalidInputError(f"there is no folder {str(path.parent.name)!r} to save {path.name!r} in.")
        self._studio.setup.save(path)
        self._studio.list_files()
        self._studio.say(f"{name} is saved.")

    def load(self, name: str) -> None:
        """Takes over a file below the folder."""
        if name == NONE:
            raise InvalidInputError("there is no set-up below this folder yet; save one first.")
        from memetik.solve.problem_file import load_problem

        path = self._studio.folder.path(name, (SUFFIX,))
        problem = load_problem(path)
        self._check_robot(problem.robot)
        if problem.scene is not None:
            self._studio.folder.path(problem.scene)
        self._studio.setup.load(path)
        self._name.value = name

    def open_robot(self, source: str) -> None:
        """Another robot: bundled, or a file below the folder."""
        self._check_robot(source)
        self._studio.setup.use_robot(source)

    def _check_robot(self, source: str) -> None:
        """Robots that the page may name: bundled ones, files below the folder, and the one the studio began with."""
        from memetik.robot import bundled

        if bundled.known(source) or (source and source == self._studio.state.source):
            return
        self._studio.folder.path(source, ROBOT_SUFFIXES)

    def _show_script(self, client: Any) -> None:
        script = self._studio.setup.script()
        gui = client.gui
        modal = gui.add_modal("This set-up in Python")
        with modal:
            gui.add_markdown(f"```python\n{script}```")
            download = gui.add_button("Download", icon="download")
            close = gui.add_button("Close", color="gray")

        @download.on_click
        async def _(_: Any) -> None:
            client.send_file_download("setup.py", script.encode())

        @close.on_click
        async def _(_: Any) -> None:
            modal.close()

    def _draw(self) -> None:
        studio, view = self._studio, self._studio.robot_view
        view.show_meshes(self._meshes.value, 0.35 if self._see_through.value else None)
        view.show_skeleton(self._skeleton.value, studio.shown)
        view.show_axes(self._axes.value)
        view.show_spheres(self._spheres.value)
        studio.grid.visible = self._grid.value

    def _robots(self, source: str) -> tuple[str, ...]:
        from memetik.robot import bundled

        files = self._studio.folder.files(ROBOT_SUFFIXES)
        return tuple(dict.fromkeys([*bundled.names(), *files, source]))


def _shown(state: State) -> str:
    return state.source or state.robot.name
