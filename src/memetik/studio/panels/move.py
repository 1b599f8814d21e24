"""The tab with motion: waypoints, a plan through them, a timeline to play it on, curves; and teleoperation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from memetik.errors import InvalidInputError
from memetik.motion.timing.trajectory import Trajectory
from memetik.studio.panels.panel import NONE, Panel, offer
from memetik.studio.session.motion import WaypointPlan, curves, plan_waypoints
from memetik.studio.session.session import State

if TYPE_CHECKING:
    from viser import GuiSliderHandle, GuiUplotHandle

_SAMPLES = 240
_NO_WAYPOINTS = "None yet: the motion passes them in order."


class MovePanel(Panel):
    """Waypoints, plan, play."""

    TITLE: ClassVar[str] = "Move"

    def _build(self, state: State) -> None:
        gui, player = self._gui, self._studio.player
        self.plan: WaypointPlan | None = None
        self._plots: list[GuiUplotHandle] = []
        with gui.add_folder("Waypoints"):
            self._waypoints = gui.add_markdown(_NO_WAYPOINTS)
            self._button("Add current configuration", "map-pin-plus", self._add_current)
            self._configuration = gui.add_dropdown("Configuration", (NONE,), hint="Those kept under Joints.")
            self._button("Add this configuration", "plus", self._add, self._configuration, gray=True)
            self._waypoint = self._wired(gui.add_dropdown("Waypoint", (NONE,), hint="The one to edit."), self._go_to)
            self._buttons("Order", ("Earlier", "Later", "Remove"), self._edit, self._waypoint)
            self._button("Set to current configuration", "edit", self._overwrite, self._waypoint, gray=True)
        self._planning = gui.add_folder("Plan")
        with self._planning:
            self._make = self._button("Plan", "route", self._start_plan)
            self._told = gui.add_markdown("Collision-free, within limits of velocity and acceleration.")
            self._buttons("Play", ("Play", "Pause", "Stop"), self._run)
            self._timeline_order = self._told.order + 1.5
            self._time = self._timeline(1.0, ())
            self._insert = self._button("Insert a waypoint here", "map-pin-plus", self._insert_here, disabled=True)
            speed = gui.add_slider("Speed", min=0.1, max=3.0, step=0.1, initial_value=1.0)
            self._wired(speed, lambda value: setattr(player, "speed", value))
            self._wired(gui.add_checkbox("Repeat", False), lambda on: setattr(player, "repeats", on))
            file = gui.add_text("Export to", "motion.csv", hint="A file below the studio's folder; .csv or .json.")
            self._export = self._button("Export", "download", self.export, file, disabled=True)
        self._curves = gui.add_folder("Curves", expand_by_default=False)
        with self._curves:
            self._joint = gui.add_dropdown("Joint", ("all", *state.robot.joint_names))
            self._studio.when(self._joint.on_update, self._draw_curves)
        with gui.add_folder("Teleoperation", expand_by_default=False):
            self._teleoperation = gui.add_checkbox(
                "Follow targets", False, hint="Within speed and acceleration limits."
            )
            self._limit = gui.add_slider("Speed limit (%)", min=5, max=100, step=5, initial_value=50)
            for field in (self._teleoperation, self._limit):
                self._studio.when(field.on_update, self._set_teleoperation)

    def refresh(self, state: State, q: np.ndarray) -> None:
        self._waypoints.content = " → ".join(state.waypoints) or _NO_WAYPOINTS
        offer(self._waypoint, [f"{k}: {name}" for k, name in enumerate(state.waypoints, 1)])
        offer(self._configuration, tuple(state.configurations))
        player = self._studio.player
        if player.is_active and abs(self._time.value - player.time) > 0.005:
            self._time.value = min(round(player.time, 3), self._time.max)

    def use_robot(self, state: State) -> None:
        self._joint.options = ("all", *state.robot.joint_names)
        self._clear_curves()
        self.plan, self._studio.player.trajectory = None, None
        self._time.disabled = self._export.disabled = self._insert.disabled = True

    def _add_current(self) -> None:
        self._session.set_waypoints((*self._session.state.waypoints, self._session.keep_configuration()))

    def _add(self, name: str) -> None:
        if name == NONE:
            raise InvalidInputError("keep a configuration first, or add the current configuration.")
        self._session.set_waypoints((*self._session.state.waypoints, name))

    def _edit(self, what: str, shown: str) -> None:
        """Moves a waypoint in the order, or takes it out."""
        names = list(self._session.state.waypoints)
        at = _number(shown, names)
        name = names.pop(at)
        if what != "Remove":
            at = min(max(0, at + (1 if what == "Later" else -1)), len(names))
            names.insert(at, name)
        self._session.set_waypoints(tuple(names))
        self.refresh(self._studio.state, self._studio.shown)
        if names:
            at = min(at, len(names) - 1)
            self._waypoint.value = f"{at + 1}: {names[at]}"

    def _go_to(self, shown: str) -> None:
        names = list(self._session.state.waypoints)
        name = names[_number(shown, names)]
        self._studio.player.stop()
        self._session.set_configuration(self._session.configuration(name), f"go to {name}")

    def _overwrite(self, shown: str) -> None:
        names = list(self._session.state.waypoints)
        self._session.keep_configuration(names[_number(shown, names)])

    def _start_plan(self) -> None:
        state = self._studio.state
        if len(state.waypoints) < 2:
            raise InvalidInputError("a motion needs two waypoints at least: where it begins, and where it ends.")
        self._make.disabled = True
        self._told.content = "Planning…"
        through = f"planning through {len(state.waypoints)} waypoints"
        self._studio.in_background(lambda: plan_waypoints(state), self._planned, through)

    def _planned(self, plan: WaypointPlan | None) -> None:
        self._make.disabled = False
        if plan is None:
            self._told.content = "There is no plan."
            return
        self.plan = plan
        if plan.trajectory is None:
            self._told.content = f"**Not planned**, {plan.stage}: {plan.reason}"
            return
        duration = float(plan.trajectory.duration)
        self._told.content = f"**Planned**: {duration:.2f} s"
        self._studio.player.load(plan.trajectory)
        self._time.remove()
        with self._planning:
            self._time = self._timeline(duration, plan.times)
        self._export.disabled = self._insert.disabled = False
        self._draw_curves()
        self._draw_path(plan.trajectory)

    def _timeline(self, duration: float, times: Sequence[float]) -> GuiSliderHandle[float]:
        """The slider of time, with a mark for each waypoint; stopping near one chooses it."""
        end = max(0.02, round(duration, 2))
        marks = tuple((min(round(time, 2), end), str(k)) for k, time in enumerate(times, 1))
        slider = self._gui.add_slider(
            "Time (s)", 0.0, end, 0.01, 0.0, marks=marks or None, disabled=not marks, order=self._timeline_order
        )
        return self._wired(slider, self._seek, "seek")

    def _seek(self, moment: float) -> None:
        self._studio.player.seek(moment)
        times, names = (self.plan.times if self.plan else ()), self._session.state.waypoints
        if len(times) != len(names):
            return  # they changed since the plan
        at = int(np.argmin(np.abs(np.array(times) - moment)))
        if abs(times[at] - moment) <= 0.02 * max(times):
            self._waypoint.value = f"{at + 1}: {names[at]}"

    def _insert_here(self) -> None:
        """The configuration at this time, as a waypoint between those before and after it."""
        player, names = self._studio.player, list(self._session.state.waypoints)
        if self.plan is None or player.trajectory is None or len(self.plan.times) != len(names):
            raise InvalidInputError("plan a motion first.")
        at = int(np.searchsorted(self.plan.times, player.time, side="right"))
        shown = np.asarray(player.trajectory.at(player.time), dtype=float)
        player.stop()
        self._session.set_configuration(shown, "go to a time of the motion")
        names.insert(at, self._session.keep_configuration())
        self._session.set_waypoints(tuple(names))

    def _draw_path(self, trajectory: Trajectory) -> None:
        """The path of the first goal's link, with the waypoints."""
        state = self._studio.state
        link = state.first_link
        times = np.linspace(0.0, float(trajectory.duration), _SAMPLES)
        places = state.robot.pose(link, trajectory.at(times))[:, :3, 3]
        passed = [(name, state.robot.pose(link, state.configurations[name])[:3, 3]) for name in state.waypoints]
        self._studio.path_marks.show(places, passed)

    def _run(self, what: str) -> None:
        player = self._studio.player
        if player.trajectory is None:
            raise InvalidInputError("plan a motion first.")
        getattr(player, what.lower())()
        if what == "Stop":
            player.time = 0.0

    def export(self, name: str) -> None:
        """Writes the motion below the folder: a table of positions, velocities and accelerations (.csv), or as it is
        (.json)."""
        if self.plan is None or self.plan.trajectory is None:
            raise InvalidInputError("plan a motion first.")
        self.plan.trajectory.save(self._studio.folder.path(name, (".csv", ".json")))
        self._studio.say(f"{name} is written.")

    def _set_teleoperation(self) -> None:
        studio = self._studio
        studio.teleoperation = self._limit.value / 100.0 if self._teleoperation.value else None
        studio.solver.stop_tracking()
        studio.tracked = None
        studio.solve_again()

    def _clear_curves(self) -> None:
        for plot in self._plots:
            plot.remove()
        self._plots = []

    def _draw_curves(self) -> None:
        """Position within its range, velocity and acceleration as shares of their limits."""
        self._clear_curves()
        if self.plan is None or self.plan.trajectory is None:
            return
        robot, chosen = self._studio.state.robot, self._joint.value
        names = robot.joint_names if chosen == "all" else (chosen,)
        times, groups = curves(self.plan.trajectory, robot, names, _SAMPLES)
        hues = [f"hsl({int(360 * k / len(names))}, 65%, 45%)" for k in range(len(names))]
        with self._curves:
            for title, rows, bounds in groups:
                series: list[dict[str, Any]] = [{"label": "t"}]
                series += [{"label": name, "stroke": hue, "width": 2} for name, hue in zip(names, hues, strict=True)]
                marks = ("lower limit", "upper limit") if len(bounds) == 2 else ("limit",) * len(bounds)
                series += [{"label": mark, "stroke": "#dc2626", "width": 1, "dash": (6, 4)} for mark in marks]
                plot = self._gui.add_uplot(
                    (times, *rows, *(np.full(len(times), bound) for bound in bounds)),
                    tuple(series),  # type: ignore[arg-type]
                    title=title,
                    scales={"x": {"time": False}},
                    legend={"show": True},
                    aspect=1.9,
                )
                self._plots.append(plot)


def _number(shown: str, names: Sequence[str]) -> int:
    """The place of the waypoint that a list shows as "2: name"."""
    place = int(shown.split(":")[0]) - 1 if shown != NONE else -1
    if not 0 <= place < len(names):
        raise InvalidInputError("choose a waypoint first.")
    return place
