"""The studio: a session, kept solved, shown in every browser that looks at it, and changed by each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from memetik.geometry.transforms import transform
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene
from memetik.solve.solution import Solution
from memetik.solve.tracker import TrackerStep
from memetik.studio.panels.file import FilePanel
from memetik.studio.panels.joints import JointsPanel
from memetik.studio.panels.move import MovePanel
from memetik.studio.panels.panel import NONE, Panel, offer
from memetik.studio.panels.pose import PosePanel
from memetik.studio.panels.results import ResultsPanel
from memetik.studio.panels.scene import ScenePanel
from memetik.studio.server import close_server, limit_uploads, open_server
from memetik.studio.session.files import Folder
from memetik.studio.session.loop import Loop
from memetik.studio.session.motion import Player
from memetik.studio.session.session import Session, State
from memetik.studio.session.solving import ClearanceReport, LiveSolver, explained
from memetik.studio.session.status import status_html
from memetik.studio.views.drawing import VIEWS, add_floor, view_of
from memetik.studio.views.gizmos import Gizmos
from memetik.studio.views.goal_marks import GoalMarks, PathMarks
from memetik.studio.views.robot_view import CHOSEN, NEAR, TOUCHING, RobotView
from memetik.studio.views.scene_view import SceneView

if TYPE_CHECKING:
    from viser import ClientHandle, GuiDropdownHandle, MeshHandle, SceneNodeDragEvent

    from memetik.studio.panels.panel import Event, Field

Color = Literal["red", "orange", "green"]
T = TypeVar("T")

PANELS: tuple[type[Panel], ...] = (PosePanel, JointsPanel, ScenePanel, MovePanel, ResultsPanel, FilePanel)
"""The tabs, in their order."""

BRAND = (37, 99, 235)
GRID = {False: ((225, 228, 233), (190, 197, 207)), True: ((52, 58, 68), (84, 92, 105))}
"""Colours of the floor's cells and sections, in light and dark."""
TRACKING_STEP = 1.0 / 60.0
TRIES = 4
"""Solves of one state, each as long as a live solve may be, before it stays unsolved."""


class Studio:
    """Opens at once; `address` is what a browser opens, `close()` ends it.

    robot   bundled name, path, a Robot, or a whole Session.
    scene   a Scene to begin with.
    folder  where files are read and written; none outside it.
    host, port, token  see `memetik.studio.server.open_server`.
    """

    def __init__(
        self,
        robot: str | Robot | Session = "panda",
        scene: Scene | None = None,
        *,
        folder: str | PathLike[str] = ".",
        host: str = "127.0.0.1",
        port: int | None = None,
        token: str | None = None,
    ):
        if isinstance(robot, Session):
            self.session = robot
            if scene is not None:
                self.session.use_scene(scene)
        else:
            self.session = Session(robot, scene)
        self.folder = Folder(folder)
        self.solver = LiveSolver()
        self.player = Player()
        self.solution: Solution | None = None
        self.tracked: TrackerStep | None = None
        self.clearances = ClearanceReport()
        self.live = True
        self.teleoperation: float | None = None
        """Share of the speed limits at which targets are followed; None: they are solved for at once."""
        self.chosen_goal = ""
        """The goal that is edited: its gizmo is the large one."""
        self.chosen_link = ""
        """The link that was clicked: the next goal goes there."""
        self.chosen_object = ""
        """The object of the scene that has a gizmo."""
        self.explanation = ""
        """Why the last solve succeeded or failed."""
        self.busy: tuple[str, ...] = ()
        """What runs in the background now, in words."""
        self.server, self.address = open_server(host, port, token)
        try:
            self._begin()
        except BaseException:
            close_server(self.server)
            raise

    def _begin(self) -> None:
        self.loop = Loop(self._step, self._rest, self.notify)
        self.client: ClientHandle | None = None
        """Whose action the loop runs now; None where nobody asked for it."""
        self._aim: Any = None
        self._explained: Any = None
        self._refreshed: Any = None
        self._forced, self._tries = False, 0
        self._see_through, self._covered = False, ""
        self._file_lists: list[tuple[GuiDropdownHandle[str], tuple[str, ...]]] = []
        limit_uploads(self.server, self._upload_refused)
        self._style()
        self._add_views(self.session.robot)
        self.gizmos = Gizmos(self)
        self.goal_marks, self.path_marks = GoalMarks(self.server), PathMarks(self.server)
        self.status = self.server.gui.add_html("")
        tabs = self.server.gui.add_tab_group()
        self.panels: list[Panel] = []
        for kind in PANELS:
            with tabs.add_tab(kind.TITLE):
                self.panels.append(kind(self))
        self.reset_camera()
        self._step()
        self._rest()
        self.loop.start()
        self.server.on_client_connect(lambda _: self.list_files())

    # what panels use

    @property
    def state(self) -> State:
        return self.session.state

    def when(
        self,
        register: Callable[[Callable[[Event], Coroutine[None, None, None]]], object],
        action: Callable[..., object],
        *fields: Field,
        key: Hashable = None,
    ) -> None:
        """Runs an action at every event that `register` reports, with the values that fields have at that moment."""

        async def ask(event: Event) -> None:
            self.do(event, partial(action, *[field.value for field in fields]), key)

        register(ask)

    def do(self, event: Event | None, action: Callable[[], object], key: Hashable = None) -> None:
        """Asks the loop for an action on behalf of whoever caused an event; errors are told to them.

        Of the actions with one key that wait, the last is run.
        """
        if event is not None and event.client_id is None:
            return  # the studio itself set a value: nobody asked for anything
        client = None if event is None else event.client

        def act() -> None:
            self.client = client
            try:
                action()
            finally:
                self.client = None

        self.loop.post(act, key, lambda title, text: self.notify(title, text, client))

    def notify(self, title: str, text: str, client: ClientHandle | None = None, color: Color = "red") -> None:
        """A message in one browser, or in all."""
        clients = [client] if client is not None else list(self.server.get_clients().values())
        for one in clients:
            one.add_notification(title, text[:600], auto_close_seconds=8.0, color=color)

    def say(self, text: str) -> None:
        """Good news for everyone."""
        self.notify("Done", text, color="green")

    def in_background(self, work: Callable[[], T], then: Callable[[T | None], object], what: str = "") -> None:
        """Runs something long beside the loop, and then what follows in it, with None where it failed.

        what  shown at the top of the page while it runs.
        """
        client = self.client
        self.busy += (what,) if what else ()

        def done(result: T | None) -> None:
            if what:
                self.busy = tuple(other for k, other in enumerate(self.busy) if k != self.busy.index(what))
            then(result)

        def run() -> None:
            result = None
            try:
                result = work()
            except Exception as error:
                self.notify("That did not work", str(error) or type(error).__name__, client)
            self.loop.post(lambda: done(result))

        threading.Thread(target=run, name="memetik-studio-work", daemon=True).start()

    def add_file_list(self, label: str, suffixes: tuple[str, ...], hint: str | None = None) -> GuiDropdownHandle[str]:
        """A dropdown of files below the folder; they are listed again for every browser that opens the page."""
        field = self.server.gui.add_dropdown(label, self.folder.files(suffixes) or [NONE], hint=hint)
        self._file_lists.append((field, suffixes))
        return field

    def list_files(self) -> None:
        """Brings all lists of files up to date."""

        def listed(found: list[list[str]] | None) -> None:
            for (field, _), names in zip(self._file_lists, found or (), strict=found is not None):
                offer(field, names)

        self.in_background(lambda: [self.folder.files(suffixes) for _, suffixes in self._file_lists], listed)

    def see_through_scene(self, shown: bool, covered: str = "") -> None:
        """Whether objects of the scene let what is inside them be seen; one may be left out, as something covers it."""
        self._see_through, self._covered = shown, covered
        self.scene_view.set_opacity(0.3 if shown else None)
        self.scene_view.cover(covered)

    def solve_again(self) -> None:
        """Solves at the next step even if nothing changed."""
        self._forced = True

    def close(self) -> None:
        """Ends the server and every thread of the studio."""
        self.loop.stop()
        close_server(self.server)

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # the loop

    def _step(self) -> bool:
        """Solves what changed and shows it. Whether there is more to do without being asked."""
        state = self.session.state
        if self._aim_of(state) != self._aim:
            self.player.stop()
        configuration = self.player.configuration()
        if configuration is not None:
            self._show(configuration)
            return self.player.is_playing
        more = self._track(state) if self.teleoperation is not None and self.live else self._solve(state)
        self._show(self.session.state.q)
        return more

    def _solve(self, state: State) -> bool:
        """Solves what is new; what was not solved in the time of a frame is tried again. Whether to go on with it."""
        aim = self._aim_of(state)
        if aim != self._aim or self._forced:
            self._tries = TRIES
        if not self.live or self._tries == 0:
            return False
        self._aim, self._forced = aim, False
        with self.loop.pulse.solve():
            self.solution = self.solver.solve(state, quick=bool(self.gizmos.dragging))
        if self.solution is not None:
            self.session.follow(self.solution.q.copy())
        solved = self.solution is None or self.solution.success
        self._tries = 0 if solved or self.gizmos.dragging else self._tries - 1
        return self._tries > 0

    @staticmethod
    def _aim_of(state: State) -> tuple[Any, ...]:
        """All of a state that a solution depends on, but for the configuration it starts from."""
        return state.robot, state.goals, state.scene, state.held, state.self_collision, state.margin, state.options

    def _track(self, state: State) -> bool:
        with self.loop.pulse.solve():
            tracked = self.solver.track(state, TRACKING_STEP, self.teleoperation or 1.0)
        if tracked is None:
            return False
        q, step = tracked
        self.session.follow(q)
        self.solution, self.tracked = None, step
        if self.solver.blocked is not None:
            return False  # until the target or the scene is another
        return not step.within or float(np.abs(step.velocity).max()) > 1e-4

    def _show(self, q: np.ndarray) -> None:
        state = self.session.state
        with self.server.atomic():
            self._use_robot(state)
            self.robot_view.show(q)
            self.scene_view.show(state.scene, q)
            self.gizmos.show(state, q)
            self.goal_marks.show(state, q, self.chosen_goal)
        self.shown = q
        self.loop.pulse.updates += 1

    def _rest(self) -> None:
        """Texts, sliders, contacts: a few times a second."""
        state = self.session.state
        q = self.shown
        asked = (state.scene, state.self_collision, q.tobytes())
        if asked != self._refreshed:
            self._refreshed = asked
            self.clearances = self.solver.look(state if q is state.q else replace(state, q=q))
            self.scene_view.mark(self.clearances)
        self._paint()
        self.status.content = status_html(self)
        self._explain()
        for panel in self.panels:
            panel.refresh(state, q)
        self.gizmos.emphasise(self.chosen_goal)  # a new goal is chosen by its panel
        self.goal_marks.show(state, q, self.chosen_goal)

    def _explain(self) -> None:
        """Says why, once nothing is dragged: reasons of what is not solved take a while to find."""
        if self.solution is self._explained or self.gizmos.dragging:
            return
        self._explained = solution = self.solution
        if solution is None or solution.success:
            self.explanation = explained(solution)
            return
        self.explanation = "Looking for the reason…"

        def tell(text: str | None) -> None:
            if self.solution is solution and text is not None:
                self.explanation = text

        self.in_background(lambda: explained(solution), tell)

    def _paint(self) -> None:
        colors = {self.chosen_link: CHOSEN} if self.chosen_link else {}
        objects = self.session.state.scene.objects
        if any(name in objects for name in self.clearances.near):
            colors |= {name: NEAR for name in self.clearances.near if name not in objects}
        colors |= dict.fromkeys(self.clearances.touching, TOUCHING)
        self.robot_view.paint(colors)

    # inside

    def _use_robot(self, state: State) -> None:
        """Another robot's nodes and panels, where the state has another robot."""
        if state.robot is self.robot_view.robot:
            return
        self.robot_view.remove()
        self.scene_view.remove()
        self.gizmos.clear()
        self.goal_marks.clear()
        self.path_marks.hide()
        self._add_views(state.robot)
        self.see_through_scene(self._see_through, self._covered)
        self.chosen_link = ""
        self.player.stop()
        for panel in self.panels:
            panel.use_robot(state)
        problems = self.robot_view.problems
        if problems:
            more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
            self.notify("Not all is drawn", problems[0] + more, color="orange")
        self.reset_camera()

    def _add_views(self, robot: Robot) -> None:
        self.robot_view = RobotView(self.server, robot, "/robot", self._link_clicked, self._link_dragged)
        self.scene_view = SceneView(self.server, robot, self._object_clicked)
        lowest = self.robot_view.lowest(self.session.state.q)
        # Under the feet of a robot whose base is its pelvis.
        self.grid.position = (0.0, 0.0, min(0.0, round(lowest, 3)))

    def set_dark(self, dark: bool) -> None:
        """The page in light or dark colours."""
        self.server.gui.configure_theme(
            control_width="large", brand_color=BRAND, show_logo=False, show_share_button=False, dark_mode=dark
        )
        self.grid.cell_color, self.grid.section_color = GRID[dark]

    def _style(self) -> None:
        server = self.server
        server.gui.set_panel_label("memetik studio")
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(430)
        server.scene.set_up_direction("+z")
        server.scene.configure_default_lights(True, cast_shadow=True)
        self.grid = add_floor(server, 8.0)
        self.set_dark(False)

    def reset_camera(self, view: str = "corner") -> None:
        """Looks at the robot and the world from one of the directions of `VIEWS`."""
        robot, state = self.session.robot, self.session.state
        points = [robot.pose(robot.links, state.q)[:, :3, 3]]
        points += [item.pose[None, :3, 3] for item in state.scene.objects.values() if item.link is None]
        centre, offset = view_of(np.concatenate(points), VIEWS[view])
        self.server.initial_camera.look_at, self.server.initial_camera.position = centre, centre + offset
        for client in self.server.get_clients().values():
            # A tall window sees less to the sides.
            client.camera.position = centre + offset / min(1.0, client.camera.aspect)
            client.camera.look_at = centre  # after the position, which takes it along

    def _link_clicked(self, link: str, event: Event) -> None:
        self.do(event, lambda: setattr(self, "chosen_link", "" if link == self.chosen_link else link))

    def _link_dragged(self, link: str, event: SceneNodeDragEvent[MeshHandle]) -> None:
        """A hand pulls at a link: a soft position goal on the grabbed point, which goes with the hand."""
        start, end, phase = np.array(event.start_position), np.array(event.end_position), event.phase

        def pull() -> None:
            self.player.stop()
            name = f"pull_{link}"
            if phase == "start":
                self.session.pull(link, start, name)
            if any(entry.name == name for entry in self.state.goals):
                self.session.drag(name, transform(end))
            (self.gizmos.dragging.discard if phase == "end" else self.gizmos.dragging.add)(name)
            if phase == "end":
                self.session.settle()
                self.solve_again()

        self.do(event, pull, ("pull", link) if phase == "update" else None)

    def _object_clicked(self, name: str, event: Event) -> None:
        self.do(event, lambda: setattr(self, "chosen_object", name))

    def _upload_refused(self, client_id: int, text: str) -> None:
        self.notify("That file is refused", text, self.server.get_clients().get(client_id))
