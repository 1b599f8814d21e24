"""The tab with the goals: which the robot has to satisfy, and how they are solved."""

from __future__ import annotations

import html
import os
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from memetik.goals.base import Goal
from memetik.solve.methods import METHODS
from memetik.solve.methods.named import DEFAULT, method_of
from memetik.solve.problem_file import goal_classes
from memetik.studio.panels.forms import form_of, goal_of, number_of, parameters_from, parameters_text
from memetik.studio.panels.panel import NONE, Panel
from memetik.studio.session.session import State
from memetik.studio.session.solving import LIVE_TIMEOUT
from memetik.studio.session.status import goals_html

if TYPE_CHECKING:
    from viser import GuiButtonHandle, GuiDropdownHandle, GuiTextHandle

    from memetik.studio.session.targets import GoalEntry


class PosePanel(Panel):
    """Goals: a list with errors, a form for the chosen one, and one to add another."""

    TITLE: ClassVar[str] = "Pose"

    def _build(self, state: State) -> None:
        gui, session = self._gui, self._session
        self._choose(state.goals[0].name if state.goals else NONE)
        self._chosen_link = ""
        self._names: tuple[str, ...] = ()
        self._fields: dict[str, GuiDropdownHandle[str] | GuiTextHandle] = {}
        self._form: list[GuiDropdownHandle[str] | GuiTextHandle | GuiButtonHandle] = []
        self._shown: tuple[Goal | None, Any] = (None, None)
        """The goal and the target that the form is about."""
        self._shown_options: Any = None
        self._list = gui.add_html("")
        with gui.add_folder("Goal"):
            self._choice = gui.add_dropdown("Goal", _names(state) or (NONE,), initial_value=self._chosen)
            self._wired(self._choice, self._choose)
            self._enabled = self._wired(gui.add_checkbox("Enabled", True), self._enable)
            self._remove = self._button("Remove goal", "trash", self._remove_chosen, gray=True)
            self._edit = gui.add_folder("Parameters", expand_by_default=False)
        with gui.add_folder("Add a goal"):
            kind = gui.add_dropdown("Type", tuple(goal_classes()), initial_value="Pose")
            self._link = gui.add_dropdown(
                "Link",
                state.robot.links,
                initial_value=state.first_link,
                hint="Or click a link in the view. Shift-drag a link to pull at it: that adds a soft position goal.",
            )
            self._button("Add goal", "plus", session.add_goal, kind, self._link)
        with gui.add_folder("Solver", expand_by_default=False):
            self._wired(gui.add_checkbox("Live", True, hint="Solve whenever something changes."), self._set_live)
            self._method = gui.add_dropdown("Method", tuple(METHODS))
            self._parameters = gui.add_text(
                "Method parameters", "", hint="NAME=VALUE, ...; empty: the method's defaults."
            )
            self._timeout = gui.add_text("Time limit (ms)", "")
            self._threads = gui.add_slider("Threads", min=1, max=max(2, os.cpu_count() or 1), step=1, initial_value=1)
            self._rng = gui.add_number("Random seed", 0, min=0, max=2**31, step=1)
            self._button("Apply", "check", self._set_options, gray=True)
            hint = "Solves from a random configuration."
            self._button("Another configuration", "refresh", self._another, hint=hint)
        with gui.add_folder("Explanation", expand_by_default=False):
            self._explanation = gui.add_html("")
        self._rebuild(state)

    def refresh(self, state: State, q: np.ndarray) -> None:
        """Shows the goals as they are."""
        names = _names(state)
        if names != self._names:
            added = [name for name in names if name not in self._names]
            if self._chosen not in names:
                self._choose(names[0] if names else NONE)
            if added and self._names:
                self._choose(added[-1])
            self._names = names
            self._choice.options = names or (NONE,)
        self._choice.value = self._chosen
        self._list.content = goals_html(self._studio, self._chosen)
        if self._studio.chosen_link != self._chosen_link:
            self._chosen_link = self._studio.chosen_link
            self._link.value = self._chosen_link or self._link.value
        lines = (f'<p style="margin:0.3em 0">{html.escape(line)}</p>' for line in self._studio.explanation.splitlines())
        self._explanation.content = f'<div style="padding:0.2em 0.9em;font-size:0.8em">{"".join(lines)}</div>'
        self._show_options(state)
        self._rebuild(state)

    @property
    def _chosen(self) -> str:
        return self._studio.chosen_goal or NONE

    def _choose(self, name: str) -> None:
        self._studio.chosen_goal = "" if name == NONE else name

    def use_robot(self, state: State) -> None:
        self._link.options = state.robot.links
        self._link.value = state.first_link
        self._shown = (None, None)

    def _enable(self, enabled: bool) -> None:
        if self._chosen != NONE:
            self._session.enable(self._chosen, enabled)

    def _remove_chosen(self) -> None:
        if self._chosen != NONE:
            self._session.remove_goal(self._chosen)

    def _set_live(self, live: bool) -> None:
        self._studio.live = live
        self._studio.solve_again()

    def _set_options(self) -> None:
        options: dict[str, Any] = {
            **self._studio.state.options,
            "method": self._method.value,
            "parameters": parameters_from(self._parameters.value),
            "timeout": 1e-3 * number_of(self._timeout.value, "the time limit", 0.01, 10_000.0),
            "threads": int(self._threads.value),
            "rng": int(self._rng.value),
        }
        method_of(options)
        self._session.change("solver", options=MappingProxyType(options))

    def _show_options(self, state: State) -> None:
        """The fields of the solver as the session has them, once they change: what is being typed is left alone."""
        if state.options is self._shown_options:
            return
        self._shown_options = options = state.options
        self._method.value = options.get("method", DEFAULT)
        self._parameters.value = parameters_text(options.get("parameters") or {})
        self._timeout.value = f"{1e3 * options.get('timeout', LIVE_TIMEOUT):g}"
        self._threads.value = min(int(options.get("threads", 1)), int(self._threads.max))
        rng = options.get("rng", 0)
        self._rng.value = rng if isinstance(rng, int) else rng[0]

    def _another(self) -> None:
        """Solves from configurations drawn at random until one is solved that differs."""
        studio, state = self._studio, self._studio.state
        rng = np.random.default_rng()
        held = [state.robot.joint_index(name) for name in state.held]
        for _ in range(20):
            seed = state.robot.random(rng)
            seed[held] = state.q[held]
            found = studio.solver.solve(replace(state, q=seed), timeout=0.1)
            if found is not None and found.success:
                self._session.change("another configuration", q=found.q.copy())
                studio.solution = found
                return
        studio.notify("Nothing found", "No other configuration was found that satisfies the goals.", color="orange")

    def _rebuild(self, state: State) -> None:
        """The form of the chosen goal, made anew when the goal is another; its target's texts follow a drag."""
        entry = next((w for w in state.goals if w.name == self._chosen), None)
        self._enabled.value = entry.enabled if entry else False
        self._enabled.disabled = self._remove.disabled = entry is None
        (goal, target), self._shown = self._shown, (None, None) if entry is None else (entry.goal, entry.target)
        if entry is None or entry.goal is not goal:
            for field in self._form:
                field.remove()
            self._form, self._fields = [], {}
        if entry is None:
            return
        if entry.goal is not goal:
            self._add_form(entry)
        elif entry.target is not target:
            for line in form_of(entry.stated):
                if line.name in self._fields and line.name.split(".")[0] == entry.goal.open_target:
                    self._fields[line.name].value = line.text

    def _add_form(self, entry: GoalEntry) -> None:
        with self._edit:
            for line in form_of(entry.stated):
                if line.choices:
                    first = line.text or line.choices[0]
                    self._fields[line.name] = self._gui.add_dropdown(line.label, line.choices, initial_value=first)
                else:
                    self._fields[line.name] = self._gui.add_text(line.label, line.text, hint=line.hint or None)
            names, fields = tuple(self._fields), self._fields.values()
            apply = self._button("Apply", "check", lambda *texts: self._apply(entry.name, names, texts), *fields)
        self._form = [*fields, apply]

    def _apply(self, name: str, fields: tuple[str, ...], texts: tuple[str, ...]) -> None:
        state = self._studio.state
        goal = goal_of(state.goal(name).stated, dict(zip(fields, texts, strict=True)))
        for link in goal.links:
            state.robot.link_index(link)
        self._choose(self._session.replace_goal(name, goal))


def _names(state: State) -> tuple[str, ...]:
    return tuple(entry.name for entry in state.goals)
