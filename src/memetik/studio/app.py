"""The studio: a set-up, kept solved, shown in every browser that looks at it, and changed by each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from memetik.robot.robot import Robot
from memetik.scene.scene import Scene
from memetik.solve.solution import Solution
from memetik.solve.tracker import Step
from memetik.studio.files import NONE, Folder
from memetik.studio.gizmos import Gizmos
from memetik.studio.loop import Loop
from memetik.studio.motion import Player
from memetik.studio.panel_file import FilePanel
from memetik.studio.panel_joints import JointsPanel
from memetik.studio.panel_move import MovePanel
from memetik.studio.panel_pose import PosePanel
from memetik.studio.panel_results import ResultsPanel
from memetik.studio.panel_scene import ScenePanel
from memetik.studio.robot_view import CHOSEN, NEAR, TOUCHING, RobotView
from memetik.studio.scene_view import SceneView
from memetik.studio.server import close_server, limit_uploads, open_server
from memetik.studio.setup import SetUp, State
from memetik.studio.solving import LiveSolver, Nearness, explained
from memetik.studio.status import status_html

BRAND = (37, 99, 235)
TRACKING_STEP = 1.0 / 60.0
TRIES = 4
"""Solves of one state, each as long as a live solve may be, before it stays unsolved."""


VIEW = np.array([0.95, 0.8, 0.45])
"""From where things are looked at, in sizes of what is seen."""


class Studio:
    """Opens at once; `address` is what a browser opens, `close()` ends it.

    robot   bundled name, path, a Robot, or a whole SetUp.
    scene   a Scene to begin with.
    folder  where files are read and written; none outside it.
    host, port, token  see `memetik.studio.server.open_server`.
    """

    def __init__(
        self,
        robot: str | Robot | SetUp = "panda",
        scene: Scene | None = None,
        *,
        folder: Any = ".",
        host: str = "127.0.0.1",
        port: int | None = None,
        token: str | None = None,
    ):
        if isinstance(robot, SetUp):
            self.setup = robot
            if scene is not None:
                self.setup.use_scene(scene)
        else:
            self.setup = SetUp(robot, scene)
        self.folder = Folder(folder)
        self.solver = LiveSolver()
        self.player = Player()
        self.solution: Solution | None = None
        self.tracked: Step | None = None
        self.nearness = Nearness()
        self.live = True
        self.teleoperation: float | None = None
        """Share of the speed limits at which targets are followed; None: they are solved for at once."""
        self.chosen_link = ""
        self.server, self.address = open_server(host, port, token)
        try:
            self._begin()
        except BaseException:
            close_server(self.server)
            raise

    def _begin(self) -> None:
        self.loop = Loop(self._step, self._rest, self.notify)
        self._aim: Any = None
        self._explained: Any = None
        self._refreshed: Any = None
        self._forced, self._tries = False, 0
        self._opacity: float | None = None
        self._covered = ""
        self._file_lists: list[tuple[Any, tuple[str, ...]]] = []
        limit_uploads(self.server, self._upload_refused)
        self._style()
        self.robot_view = RobotView(self.server, self.setup.robot, "/robot", self._link_clicked)
        self.scene_view = SceneView(self.server, self.setup.robot, self._object_clicked)
        self.gizmos = Gizmos(self)
        self._build_panels()
        self._camera()
        self._step()
        self._rest()
        self.loop.start()
        self.server.on_client_connect(lambda _: self.list_files())

    # what panels use

    @property
    def state(self) -> State:
        return self.setup.state

    def do(self, event: Any, action: Callable[[], Any], key: Any = None) -> None:
        """Asks the loop for an action on behalf of whoever caused an event; errors are told to them."""
        client = getattr(event, "client", None)
        if getattr(event, "client_id", 0) is None:
            return  # the studio itself set a value: nobody asked for anything
        self.loop.post(action, key, lambda title, text: self.notify(title, text, client))

    def notify(self, title: str, text: str, client: Any = None, color: str = "red") -> None:
        """A message in one browser, or in all."""
        clients = [client] if client is not None else list(self.server.get_clients().values())
        for one in clients:
            one.add_notification(title, text[:600], auto_close_seconds=8.0, color=color)

    def say(self, text: str) -> None:
        """Good news for everyone."""
        self.notify("Done", text, color="green")

    def in_background(self, work: Callable[[], Any], then: Callable[[Any], Any], event: Any) -> None:
        """Runs something long beside the loop, and then what follows in it."""
        client = getattr(event, "client", None)

        def run() -> None:
            try:
                result = work()
            except Exception as error:
                self.notify("That did not work", str(error) or type(error).__name__, client)
                self.loop.post(lambda: then(None))
            else:
                self.loop.post(lambda: then(result))

        threading.Thread(target=run, name="memetik-studio-work", daemon=True).start()

    def add_file_list(self, label: str, suffixes: tuple[str, ...], hint: str | None = None) -> Any:
        """A dropdown of files below the folder; they are listed again for every browser that opens the page."""
        field = self.server.gui.add_dropdown(label, self._files(suffixes), hint=hint)
        self._file_lists.append((field, suffixes))
        return field

    def list_files(self) -> None:
        """Brings all lists of files up to date."""
        suffixes = [suffixes for _, suffixes in self._file_lists]
        self.in_background(lambda: [self._files(endings) for endings in suffixes], self._listed, None)

    def _listed(self, files: list[tuple[str, ...]] | None) -> None:
        for (field, _), options in zip(self._file_lists, files or (), strict=bool(files)):
            if tuple(field.options) != options:
                field.options = options

    def _files(self, suffixes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.folder.files(suffixes)) or (NONE,)

    def see_through_scene(self, shown: bool, covered: str = "") -> None:
        """Whether objects of the scene let what is inside them be seen; one may be left out, as something covers it."""
        self._opacity, self._covered = (0.3 if shown else None), covered
        self.scene_view.set_opacity(self._opacity)
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
        state = self.setup.state
        if self._aim_of(state) != self._aim:
            self.player.stop()
        posture = self.player.posture()
        if posture is not None:
            self._show(posture)
            return self.player.is_playing
        more = self._track(state) if self.teleoperation is not None and self.live else self._solve(state)
        self._show(self.setup.state.q)
        return more

    def _solve(self, state: State) -> bool:
        """Solves what is new; what was not solved in the time of a frame is tried again. Whether to go on with it."""
        aim = self._aim_of(state)
        if aim != self._aim or self._forced:
            self._tries = TRIES
        if not self.live or self._tries == 0:
            return False
        self._aim, self._forced = aim, False
        begin = time.perf_counter()
        self.solution = self.solver.solve(state, quick=bool(self.gizmos.dragging))
        pulse = self.loop.pulse
        pulse.solving += time.perf_counter() - begin
        pulse.solves += 1
        if self.solution is not None:
            self.setup.follow(self.solution.q.copy())
        solved = self.solution is None or self.solution.success
        self._tries = 0 if solved or self.gizmos.dragging else self._tries - 1
        return self._tries > 0

    @staticmethod
    def _aim_of(state: State) -> tuple[Any, ...]:
        """All of a state that a solution depends on, but for the posture it starts from."""
        return state.robot, state.goals, state.scene, state.held, state.self_collision, state.margin, state.options

    def _track(self, state: State) -> bool:
        begin = time.perf_counter()
        tracked = self.solver.track(state, TRACKING_STEP, self.teleoperation or 1.0)
        pulse = self.loop.pulse
        pulse.solving += time.perf_counter() - begin
        pulse.solves += 1
        if tracked is None:
            return False
        q, step = tracked
        self.setup.follow(q)
        self.solution, self.tracked = None, step
        if self.solver.blocked is not None:
            return False  # until the target or the scene is another
        return not step.within or float(np.abs(step.velocity).max()) > 1e-4

    def _show(self, q: np.ndarray) -> None:
        state = self.setup.state
        with self.server.atomic():
            self._use_robot(state)
            self.robot_view.show(q)
            self.scene_view.show(state.scene, q)
            self.gizmos.show(state, q)
        self.shown = q
        self.loop.pulse.updates += 1

    def _rest(self) -> None:
        """Texts, sliders, contacts: a few times a second."""
        state = self.setup.state
        q = self.shown
        asked = (state.scene, state.self_collision, q.tobytes())
        if asked != self._refreshed:
            self._refreshed = asked
            self.nearness = self.solver.look(_at(state, q))
            self.scene_view.mark(self.nearness)
        self._paint()
        self.status.content = status_html(self)
        for panel in self.panels:
            panel.refresh(state, q)
        self._explain()

    def _explain(self) -> None:
        """Says why, once nothing is in a hand: reasons of what is not solved take a while to find."""
        if self.solution is self._explained or self.gizmos.dragging:
            return
        self._explained = solution = self.solution
        if solution is None or solution.success:
            self.pose_panel.explain(explained(solution))
            return
        self.pose_panel.explain("Looking for the reason…")
        self.in_background(lambda: explained(solution), lambda text: self._tell_reason(solution, text), None)

    def _tell_reason(self, solution: Solution, text: str | None) -> None:
        if self.solution is solution and text is not None:
            self.pose_panel.explain(text)

    def _paint(self) -> None:
        colors = {self.chosen_link: CHOSEN} if self.chosen_link else {}
        objects = self.setup.state.scene.objects
        if any(name in objects for name in self.nearness.near):
            colors |= {name: NEAR for name in self.nearness.near if name not in objects}
        colors |= dict.fromkeys(self.nearness.touching, TOUCHING)
        self.robot_view.paint(colors)

    # inside

    def _use_robot(self, state: State) -> None:
        """Another robot's nodes and panels, where the state has another robot."""
        if state.robot is self.robot_view.robot:
            return
        self.robot_view.remove()
        self.scene_view.remove()
        self.gizmos.clear()
        self.robot_view = RobotView(self.server, state.robot, "/robot", self._link_clicked)
        self.scene_view = SceneView(self.server, state.robot, self._object_clicked)
        self.scene_view.set_opacity(self._opacity)
        self.scene_view.cover(self._covered)
        self.chosen_link = ""
        self.player.stop()
        for panel in self.panels:
            panel.use_robot(state)
        self._tell_problems()
        self._camera()

    def _tell_problems(self) -> None:
        if self.robot_view.problems:
            count = len(self.robot_view.problems)
            more = f" and {count - 1} more" if count > 1 else ""
            self.notify("Not all is drawn", self.robot_view.problems[0] + more, color="orange")

    def _style(self) -> None:
        server = self.server
        server.gui.configure_theme(
            control_width="large", brand_color=BRAND, show_logo=False, show_share_button=False, dark_mode=False
        )
        server.gui.set_panel_label("memetik studio")
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(430)
        server.scene.set_up_direction("+z")
        server.scene.world_axes.visible = False
        server.scene.configure_default_lights(True, cast_shadow=True)
        server.scene.configure_environment_map("city", background=False)
        self.grid = server.scene.add_grid(
            "/grid", width=8.0, height=8.0, cell_size=0.1, section_size=0.5, plane="xy",
            cell_color=(225, 228, 233), section_color=(190, 197, 207), fade_distance=9.0, shadow_opacity=0.2,
        )  # fmt: skip

    def _camera(self) -> None:
        """Looks at the robot and the world from the front, high enough to see depth."""
        robot, state = self.setup.robot, self.setup.state
        points = [robot.pose(robot.links, state.q)[:, :3, 3]]
        points += [item.pose[None, :3, 3] for item in state.scene.objects.values() if item.link is None]
        centre, size = view_of(np.concatenate(points))
        camera = self.server.initial_camera
        camera.look_at = centre
        camera.position = centre + size * VIEW
        for client in self.server.get_clients().values():
            # A tall window sees less to the sides.
            wide = min(1.0, client.camera.aspect)
            client.camera.position = centre + size / wide * VIEW
            client.camera.look_at = centre  # after the position, which takes it along

    def _build_panels(self) -> None:
        gui = self.server.gui
        self.status = gui.add_html("")
        tabs = gui.add_tab_group()
        with tabs.add_tab("Pose"):
            self.pose_panel = PosePanel(self)
        with tabs.add_tab("Joints"):
            self.joints_panel = JointsPanel(self)
        with tabs.add_tab("Scene"):
            self.scene_panel = ScenePanel(self)
        with tabs.add_tab("Move"):
            self.move_panel = MovePanel(self)
        with tabs.add_tab("Results"):
            self.results_panel = ResultsPanel(self)
        with tabs.add_tab("File"):
            self.file_panel = FilePanel(self)
        self.panels = (
            self.pose_panel,
            self.joints_panel,
            self.scene_panel,
            self.move_panel,
            self.results_panel,
            self.file_panel,
        )

    def _link_clicked(self, link: str, event: Any) -> None:
        self.do(event, lambda: self.choose_link(link))

    def choose_link(self, link: str) -> None:
        """Marks a link, where the next goal goes."""
        self.chosen_link = "" if link == self.chosen_link else link
        self.pose_panel.choose_link(self.chosen_link or link)

    def _object_clicked(self, name: str, event: Any) -> None:
        self.do(event, lambda: self.scene_panel.choose(name))

    def _upload_refused(self, client_id: int, text: str) -> None:
        self.notify("That file is refused", text, self.server.get_clients().get(client_id))


def view_of(points: np.ndarray) -> tuple[np.ndarray, float]:
    """The middle of points (N, 3) and how large they are together, at least half a metre."""
    low, high = points.min(axis=0), points.max(axis=0)
    return 0.5 * (low + high), max(0.5, float(np.linalg.norm(high - low)))


def _at(state: State, q: np.ndarray) -> State:
    return state if q is state.q else replace(state, q=q)
