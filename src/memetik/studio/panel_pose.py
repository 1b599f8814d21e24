"""The tab with the goals: what is asked of the robot, and how it is solved."""

from __future__ import annotations

import html
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.solve.methods.named import DEFAULT, method_of
from memetik.solve.problem_file import goal_classes
from memetik.studio.files import NONE
from memetik.studio.forms import form_of, goal_of, number_of
from memetik.studio.methods import parameters_from, parameters_text
from memetik.studio.setup import State
from memetik.studio.solving import LIVE_TIMEOUT, method_names
from memetik.studio.status import goals_html

if TYPE_CHECKING:
    from memetik.studio.app import Studio


class PosePanel:
    """Goals: a list with errors, a form for the chosen one, and one to add another."""

    def __init__(self, studio: Studio):
        self._studio = studio
        self._chosen = studio.state.goals[0].name if studio.state.goals else NONE
        self._form: list[Any] = []
        self._shown: Any = None
        self._names: tuple[str, ...] = ()
        self._shown_options: Any = None
        gui = studio.server.gui
        self._list = gui.add_html("")
        with gui.add_folder("Goal"):
            self._choice = gui.add_dropdown("Goal", self._options(studio.state), initial_value=self._chosen)
            self._enabled = gui.add_checkbox("Enabled", True)
            self._remove = gui.add_button("Remove goal", color="gray", icon="trash")
            self._edit = gui.add_folder("Parameters", expand_by_default=False)
        with gui.add_folder("Add a goal"):
            kinds = tuple(goal_classes())
            self._kind = gui.add_dropdown("Type", kinds, initial_value="Pose", hint="What is asked for.")
            self._link = gui.add_dropdown(
                "Link",
                studio.state.robot.links,
                initial_value=_first_link(studio.state),
                hint="Or click a link in the view.",
            )
            self._add = gui.add_button("Add goal", icon="plus")
        with gui.add_folder("Solver", expand_by_default=False):
            self._live = gui.add_checkbox("Live", True, hint="Solve whenever something changes.")
            self._method = gui.add_dropdown("Method", tuple(method_names()))
            self._parameters = gui.add_text("Its parameters", "", hint="NAME=VALUE, ...; empty: its own defaults.")
            self._timeout = gui.add_text("Time limit (ms)", "")
            self._threads = gui.add_text("Threads", "")
            self._rng = gui.add_text("Random seed", "")
            self._apply_options = gui.add_button("Apply", icon="check", color="gray")
            self._again = gui.add_button("Another posture", icon="refresh", hint="Solves from a random posture.")
        with gui.add_folder("Explanation", expand_by_default=False):
            self._explanation = gui.add_html("")
        self._wire()
        self._rebuild(studio.state)

    def refresh(self, state: State, q: np.ndarray) -> None:
        """Shows the goals as they are."""
        names = tuple(wanted.name for wanted in state.goals)
        if names != self._names:
            added = [name for name in names if name not in self._names]
            if self._chosen not in names:
                self._chosen = names[0] if names else NONE
            if added and self._names:
                self._chosen = added[-1]
            self._names = names
            self._choice.options = self._options(state)
            self._choice.value = self._chosen
        self._list.content = goals_html(self._studio, self._chosen)
        self._show_options(state)
        self._rebuild(state)

    def use_robot(self, state: State) -> None:
        self._link.options = state.robot.links
        self._link.value = _first_link(state)
        self._shown = None

    def choose_link(self, link: str) -> None:
        self._link.value = link

    def explain(self, text: str) -> None:
        """What `explain()` says."""
        lines = "".join(f'<p style="margin:0.3em 0">{html.escape(line)}</p>' for line in text.splitlines())
        self._explanation.content = f'<div style="padding:0.2em 0.9em;font-size:0.8em">{lines}</div>'

    def _wire(self) -> None:
        studio, setup = self._studio, self._studio.setup

        @self._choice.on_update
        async def _(event: Any) -> None:
            studio.do(event, self._chose)

        @self._enabled.on_update
        async def _(event: Any) -> None:
            enabled = self._enabled.value
            studio.do(event, lambda: self._chosen != NONE and setup.enable(self._chosen, enabled))

        @self._remove.on_click
        async def _(event: Any) -> None:
            studio.do(event, lambda: self._chosen != NONE and setup.remove_goal(self._chosen))

        @self._add.on_click
        async def _(event: Any) -> None:
            kind, link = self._kind.value, self._link.value
            studio.do(event, lambda: setup.add_goal(kind, link))

        @self._live.on_update
        async def _(event: Any) -> None:
            studio.do(event, self._set_live)

        @self._again.on_click
        async def _(event: Any) -> None:
            studio.do(event, self._another)

        @self._apply_options.on_click
        async def _(event: Any) -> None:
            studio.do(event, self._set_options)

    def _chose(self) -> None:
        self._chosen = self._choice.value

    def _set_live(self) -> None:
        self._studio.live = self._live.value
        self._studio.solve_again()

    def _set_options(self) -> None:
        options: dict[str, Any] = {
            **self._studio.state.options,
            "method": self._method.value,
            "parameters": parameters_from(self._parameters.value),
            "timeout": 1e-3 * number_of(self._timeout.value, "the time limit", 0.01, 10_000.0),
            "threads": int(number_of(self._threads.value, "the number of threads", 1, 64)),
            "rng": int(number_of(self._rng.value, "the random seed", 0, 2**31)),
        }
        method_of(options)
        self._studio.setup.change("solver", options=MappingProxyType(options))

    def _show_options(self, state: State) -> None:
        """The fields of the solver as the set-up has them, once they change: what is being typed is left alone."""
        if state.options is self._shown_options:
            return
        self._shown_options = options = state.options
        self._method.value = options.get("method", DEFAULT)
        self._parameters.value = parameters_text(options.get("parameters") or {})
        self._timeout.value = f"{1e3 * options.get('timeout', LIVE_TIMEOUT):g}"
        self._threads.value = str(options.get("threads", 1))
        rng = options.get("rng", 0)
        self._rng.value = str(rng if isinstance(rng, int) else rng[0])

    def _another(self) -> None:
        """Solves from postures drawn at random until one is solved that differs."""
        studio, state = self._studio, self._studio.state
        rng = np.random.default_rng()
        for _ in range(20):
            seed = state.robot.random(rng)
            for name in state.held:
                seed[state.robot.joint_index(name)] = state.q[state.robot.joint_index(name)]
            found = studio.solver.solve(replace(state, q=seed), timeout=0.1)
            if found is not None and found.success:
                studio.setup.change("another posture", q=found.q.copy())
                studio.solution = found
                return
        studio.notify("Nothing found", "No other posture was found that meets the goals.", color="orange")

    def _options(self, state: State) -> tuple[str, ...]:
        return tuple(wanted.name for wanted in state.goals) or (NONE,)

    def _rebuild(self, state: State) -> None:
        """The form of the chosen goal, made anew when the goal is another."""
        wanted = next((w for w in state.goals if w.name == self._chosen), None)
        self._enabled.value = wanted.enabled if wanted else False
        self._enabled.disabled = self._remove.disabled = wanted is None
        if wanted is None:
            self._clear_form()
            self._shown = None
            return
        if self._shown is not None and self._shown[0] is wanted.goal:
            self._update_target(wanted)
            return
        self._clear_form()
        lines = form_of(wanted.stated)
        fields: dict[str, Any] = {}
        gui = self._studio.server.gui
        with self._edit:
            for line in lines:
                if line.choices:
                    field = gui.add_dropdown(line.label, line.choices, initial_value=line.text or line.choices[0])
                else:
                    field = gui.add_text(line.label, line.text, hint=line.hint or None)
                fields[line.name] = field
            apply = gui.add_button("Apply", icon="check")
        self._form = [*fields.values(), apply]
        self._shown = (wanted.goal, wanted.target, fields)
        name = wanted.name

        @apply.on_click
        async def _(event: Any) -> None:
            texts = {label: str(field.value) for label, field in fields.items()}
            self._studio.do(event, lambda: self._apply(name, texts))

    def _apply(self, name: str, texts: dict[str, str]) -> None:
        studio = self._studio
        before = studio.state.goal(name).stated
        goal = goal_of(before, texts)
        for link in goal.links:
            studio.state.robot.link_index(link)
        self._chosen = studio.setup.replace_goal(name, goal)

    def _update_target(self, wanted: Any) -> None:
        """Texts of the target follow it while it is dragged."""
        goal, target, fields = self._shown
        if target is wanted.target:
            return
        for line in form_of(wanted.stated):
            if line.name in fields and line.name.split(".")[0] == goal.open_target:
                fields[line.name].value = line.text
        self._shown = (goal, wanted.target, fields)

    def _clear_form(self) -> None:
        for field in self._form:
            field.remove()
        self._form = []


def _first_link(state: State) -> str:
    """The link of the first goal that has one."""
    return next((wanted.goal.links[0] for wanted in state.goals if wanted.goal.links), state.robot.links[-1])
