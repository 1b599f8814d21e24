"""The tab with files: the robot, saving and loading, undo and redo, the script; and what is drawn."""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np

from memetik.errors import InvalidInputError
from memetik.robot import bundled
from memetik.solve.problem_file import load_problem
from memetik.studio.panels.panel import NONE, Panel
from memetik.studio.session.files import SUFFIX
from memetik.studio.session.session import State
from memetik.studio.session.status import notes_html
from memetik.studio.views.drawing import VIEWS

ROBOT_SUFFIXES = (".urdf", ".xacro", ".xml")


class FilePanel(Panel):
    """Robot, session files, history, script, and display."""

    TITLE: ClassVar[str] = "File"

    def _build(self, state: State) -> None:
        gui, studio, session = self._gui, self._studio, self._session
        with gui.add_folder("History"):
            self._buttons("History", ("Undo", "Redo"), lambda which: getattr(session, which.lower())())
            self._last = gui.add_markdown("")
        with gui.add_folder("Session"):
            self._name = gui.add_text("File", "session.json", hint="Below the folder that the studio was started in.")
            self._button("Save", "device-floppy", self._saved_as, self._name)
            self._button("Load", "folder-open", self.load, studio.add_file_list("Saved", (SUFFIX,)))
            self._button("Copy as Python", "brand-python", self._show_script)
        with gui.add_folder("Robot"):
            self._robot = gui.add_dropdown("Robot", self._robots(_shown(state)), initial_value=_shown(state))
            self._button("Open robot", "robot", self.open_robot, self._robot)
        with gui.add_folder("Left out or filled in", expand_by_default=False):
            self._notes = gui.add_html(notes_html(state.robot.notes))
        with gui.add_folder("Display"):
            self._meshes = gui.add_checkbox("Links", True)
            self._see_through = gui.add_checkbox("See-through", False)
            self._skeleton = gui.add_checkbox("Skeleton", False)
            self._axes = gui.add_checkbox("Joint axes and limits", False)
            hint = "Exact shapes, what the search takes for them, and how far that reaches beyond."
            self._collision = gui.add_checkbox("Collision model", False, hint=hint)
            self._grid = gui.add_checkbox("Floor grid", True)
            self._marks = gui.add_checkbox("Goal names and shapes", True)
            drawn = (self._meshes, self._see_through, self._skeleton, self._axes, self._collision)
            for box in (*drawn, self._grid, self._marks):
                studio.when(box.on_update, self._draw)
            self._wired(gui.add_checkbox("Dark colours", False), studio.set_dark)
            self._buttons("Look from", tuple(VIEWS), studio.reset_camera)
        studio.when(gui.add_command("Undo", hotkey="Z", modifier="cmd/ctrl").on_trigger, session.undo)
        studio.when(gui.add_command("Redo", hotkey="Y", modifier="cmd/ctrl").on_trigger, session.redo)

    def refresh(self, state: State, q: np.ndarray) -> None:
        session = self._session
        undo = f"Undo takes back: {session.undoable}" if session.undoable else "Nothing to undo"
        redo = f". Redo: {session.redoable}." if session.redoable else "."
        self._last.content = undo + redo

    def use_robot(self, state: State) -> None:
        self._robot.options = self._robots(_shown(state))
        self._robot.value = _shown(state)
        self._notes.content = notes_html(state.robot.notes)
        self._draw()

    def _saved_as(self, name: str) -> None:
        path = self._studio.folder.path(name, (SUFFIX,))
        if not path.parent.is_dir():
            raise InvalidInputError(f"there is no folder {str(path.parent.name)!r} to save {path.name!r} in.")
        self._session.save(path)
        self._studio.list_files()
        self._studio.say(f"{name} is saved.")

    def load(self, name: str) -> None:
        """Takes over a file below the folder."""
        if name == NONE:
            raise InvalidInputError("there is no session below this folder yet; save one first.")
        path = self._studio.folder.path(name, (SUFFIX,))
        problem = load_problem(path)
        self._check_robot(problem.robot)
        if problem.scene is not None:
            self._studio.folder.path(problem.scene)
        self._session.load(path)
        self._name.value = name

    def open_robot(self, source: str) -> None:
        """Another robot: bundled, or a file below the folder; whoever asks says what becomes of a scene."""
        self._check_robot(source)
        client = self._studio.client
        if client is None or not self._session.state.scene.objects:
            self._session.use_robot(source)
            return
        gui = client.gui
        modal = gui.add_modal("Keep the scene?")
        with modal:
            gui.add_markdown("Its objects: " + ", ".join(self._session.state.scene.objects))
            for label, keep in (("Keep the scene", True), ("Start with an empty scene", False)):
                button = gui.add_button(label)
                self._studio.when(button.on_click, partial(self._answer, modal.close, source, keep))

    def _answer(self, close: Callable[[], None], source: str, keep_scene: bool) -> None:
        close()
        self._session.use_robot(source, keep_scene)

    def _check_robot(self, source: str) -> None:
        """Robots that the page may name: bundled ones, files below the folder, and the one the studio began with."""
        if not bundled.known(source) and not (source and source == self._studio.state.source):
            self._studio.folder.path(source, ROBOT_SUFFIXES)

    def _show_script(self) -> None:
        from viser import Icon

        client = self._studio.client
        if client is None:
            return
        script = self._session.script()
        gui = client.gui
        modal = gui.add_modal("This session in Python")
        with modal:
            gui.add_markdown(f"```python\n{script}```")
            gui.add_html(_copy_button(script))
            download = gui.add_button("Download", icon=Icon.DOWNLOAD)
            close = gui.add_button("Close", color="gray")
        download.on_click(lambda _: client.send_file_download("session.py", script.encode()))
        close.on_click(lambda _: modal.close())

    def _draw(self) -> None:
        studio, view = self._studio, self._studio.robot_view
        view.show_meshes(self._meshes.value, 0.35 if self._see_through.value else None)
        view.show_skeleton(self._skeleton.value, studio.shown)
        view.show_axes(self._axes.value)
        view.show_collision(self._collision.value)
        studio.grid.visible = self._grid.value
        studio.goal_marks.visible = self._marks.value

    def _robots(self, source: str) -> tuple[str, ...]:
        files = self._studio.folder.files(ROBOT_SUFFIXES)
        return tuple(dict.fromkeys([*bundled.names(), *files, source]))


def _copy_button(text: str) -> str:
    """A button that puts a text into the clipboard of whoever presses it."""
    style = "margin:0.4em 0.9em;padding:0.4em 1em;border:0;border-radius:4px;background:#2563eb;color:white"
    action = "navigator.clipboard.writeText(this.dataset.text).then(() => { this.textContent = 'Copied'; })"
    return (
        f'<button data-studio="copy" style="{style}" data-text="{html.escape(text)}" onclick="{action}">'
        "Copy to the clipboard</button>"
    )


def _shown(state: State) -> str:
    return state.source or state.robot.name
