"""The tab with results: benchmarks, reach studies, and how a search went."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from memetik.errors import InvalidInputError, counted
from memetik.studio.panels.panel import NONE, Panel, offer
from memetik.studio.session.evolution import Evolution, fitness_colors, landscape, record_evolution
from memetik.studio.session.results import Results, load_reach, load_run, run_labels, study_reach
from memetik.studio.session.session import State, open_goals, scene_of
from memetik.studio.session.solving import targets_of
from memetik.studio.session.targets import GoalEntry
from memetik.studio.views.drawing import add_copies, ball, fresh
from memetik.studio.views.robot_view import Ghosts

if TYPE_CHECKING:
    from viser import SceneNodeHandle

    from memetik.scene.scene_object import SceneObject

STORE_SUFFIXES = (".sqlite", ".db")
STUDY_SUFFIXES = (".npz",)

KEY = "Targets are green where they were solved or reached, grey out of reach, red where missed. Click one."

AGAIN_TIMEOUT = 0.2
"""Seconds for solving a target again where the session says nothing."""

MOST_GHOSTS = 20


class ResultsPanel(Panel):
    """Opens stores and reach studies, shows their targets, solves them again; studies reach; replays a search."""

    TITLE: ClassVar[str] = "Results"

    def _build(self, state: State) -> None:
        gui, studio = self._gui, self._studio
        self._path = Path()
        self._runs: dict[str, str] = {}
        self._results: Results | None = None
        self._goals: tuple[GoalEntry, ...] = ()
        self._covered: SceneObject | None = None
        self._evolution: Evolution | None = None
        self._ghosts: Ghosts | None = None
        self._marks: list[SceneNodeHandle] = []
        with gui.add_folder("Benchmark"):
            store = studio.add_file_list("Store", STORE_SUFFIXES, "Files of `memetik bench run --store`.")
            self._button("Open store", "database", self.open_store, store)
            self._choice = gui.add_dropdown("Run", (NONE,))
            self._show = self._button("Show run", "eye", self._load, self._choice, disabled=True)
        with gui.add_folder("Reach study"):
            self._file = studio.add_file_list("Study", STUDY_SUFFIXES, "Files of `memetik reach -o FILE.npz`.")
            self._button("Open study", "map-search", self.open_study, self._file)
            self._surface = gui.add_dropdown("Object", (NONE,), hint="The object whose surface the tip has to reach.")
            self._count = gui.add_slider("Targets", min=50, max=2000, step=50, initial_value=200)
            self._study = self._button("Study reach", "map", self._study_reach)
        with gui.add_folder("Targets"):
            self._told = gui.add_markdown(KEY)
            self._target = gui.add_slider("Target", min=0, max=1, step=1, initial_value=0, disabled=True)
            self._wired(self._target, self.show_target, "target")
            self._buttons("Target", ("Show solutions", "Solve again"), self._show_or_solve, self._target)
            self._about = gui.add_markdown("")
        with gui.add_folder("Evolution", expand_by_default=False):
            self._button("Record a search", "player-record", self.record)
            self._generation = gui.add_slider("Generation", min=0, max=1, step=1, initial_value=0, disabled=True)
            self._wired(self._generation, self._show_generation, "generation")
            self._state = gui.add_markdown("The population of a search as ghosts, green for good, red for bad.")
            blank = np.full((8, 8, 3), 255, dtype=np.uint8)
            self._picture = gui.add_image(blank, label="Range of each joint over time", visible=False)
        self._button("Hide all of this", "eye-off", self._forget, gray=True)

    def refresh(self, state: State, q: np.ndarray) -> None:
        offer(self._surface, tuple(state.scene.objects))
        if self._results is not None and self._studied_object(self._results) is not self._covered:
            self._forget()  # the surface is no longer where its heat map is

    def use_robot(self, state: State) -> None:
        if self._results is None or self._results.robot is not state.robot:
            self._forget()

    # benchmark

    def open_store(self, name: str) -> None:
        """Lists the runs of a store below the folder."""
        if name == NONE:
            raise InvalidInputError("there is no store below this folder; `memetik bench run --store FILE` makes one.")
        self._path = self._studio.folder.path(name, STORE_SUFFIXES)
        runs = run_labels(self._path)
        if not runs:
            raise InvalidInputError(f"{name!r} has no runs.")
        self._runs = {label: key for key, label in runs}
        self._choice.options = tuple(self._runs)
        self._choice.value = next(iter(self._runs))
        self._show.disabled = False

    def _load(self, label: str) -> None:
        key = self._runs.get(label)
        if key is None:
            raise InvalidInputError("open a store and choose a run first.")
        self._told.content = "Making the scenario again…"
        self._studio.in_background(lambda: load_run(self._path, key, self._studio.folder), self._loaded)

    # reach

    def open_study(self, name: str) -> None:
        """Shows a reach study from a file below the folder."""
        if name == NONE:
            raise InvalidInputError(
                "there is no study below this folder; `memetik reach ROBOT MESH -o FILE.npz` makes one."
            )
        path = self._studio.folder.path(name, STUDY_SUFFIXES)
        self._told.content = "Opening…"
        self._studio.in_background(lambda: load_reach(path, self._studio.folder), self._loaded)

    def _study_reach(self) -> None:
        state, name, count = self._studio.state, self._surface.value, int(self._count.value)
        if name == NONE:
            raise InvalidInputError("add an object to the scene first: its surface is studied.")
        self._told.content = "Studying…"
        self._study.disabled = True
        self._studio.in_background(
            lambda: study_reach(state.robot, scene_of(state), name, state.first_link, count), self._studied
        )

    def _studied(self, results: Results | None) -> None:
        self._study.disabled = False
        self._told.content = "The study failed."
        if results is not None and results.robot is self._studio.state.robot:
            self._draw(results)

    # targets

    def _loaded(self, results: Results | None) -> None:
        """Takes over robot, scene and goals, and shows the first target that has a configuration."""
        if results is None:
            self._told.content = "That could not be shown."
            return
        goals = open_goals(results.goals)
        self._session.use_model(results.source, results.robot, results.scene, goals, results.self_collision)
        self._draw(results)
        self._clicked(min(results.configurations, default=0))

    def _draw(self, results: Results) -> None:
        """Targets as coloured balls that can be clicked, the surface in the colours of its heat map."""
        self._forget()
        self._goals = open_goals(results.goals)
        self._results, self._covered = results, self._studied_object(results)
        self._studio.see_through_scene(True, results.heat.name if results.heat else "")
        self._told.content = f"{results.sentence} {KEY}"
        server, count, name = self._studio.server, len(results), fresh("/results/targets")
        node = add_copies(server, name, ball(8), results.points, results.colors, scales=np.full(count, 0.012))
        node.on_click(lambda event: self._studio.do(event, partial(self._clicked, event.instance_index)))
        self._marks.append(node)
        if results.heat is not None:
            import trimesh

            heat = results.heat
            colors = (255 * heat.vertex_colors()).astype(np.uint8)
            mesh = trimesh.Trimesh(heat.vertices, heat.faces, vertex_colors=colors, process=False)
            self._marks.append(self._studio.server.scene.add_mesh_trimesh(fresh("/results/heat"), mesh))
        self._target.max = max(1, count - 1)
        self._target.value = 0
        self._target.disabled = False

    def _studied_object(self, results: Results) -> SceneObject | None:
        return None if results.heat is None else self._studio.state.scene.objects.get(results.heat.name)

    def _clicked(self, number: int | None) -> None:
        if number is not None:
            self._target.value = number
            self.show_target(number)

    def _show_or_solve(self, what: str, number: int) -> None:
        self.show_target(int(number), what == "Solve again")

    def show_target(self, number: int, again: bool = False) -> None:
        """The solutions of one target as ghosts, the robot in the first of them; or the target solved again."""
        results = self._results
        if results is None:
            raise InvalidInputError("show a run or a reach study first.")
        number = min(max(number, 0), len(results) - 1)
        self._session.aim(self._goals, results.of(number))
        found = results.configurations.get(number, [])
        count = counted(len(found), "configuration")
        self._about.content = f"Target {number}: {results.statuses[number]}, {count}."
        if again:
            self._about.content += f" {self._solve_again()}"
        if again or not found:
            self._hide_ghosts()
            return
        self._session.follow(np.array(found[0]))
        shown = np.array(found[:MOST_GHOSTS])
        self._show_ghosts(shown, np.tile([59, 130, 246], (len(shown), 1)), 0.3)
        self._studio.solve_again()

    def _solve_again(self) -> str:
        """Solves the current goals from the middle of the limits, not from what is shown; what came of it."""
        studio, state = self._studio, self._studio.state
        timeout = None if "timeout" in state.options else AGAIN_TIMEOUT
        found = studio.solver.solve(replace(state, q=state.robot.neutral), timeout)
        if found is None:
            return ""
        self._session.follow(found.q.copy())
        return f"Solved again: {found.reason}, in {1e3 * found.time:.3g} ms."

    # evolution

    def record(self) -> None:
        """Solves the current goals from a random configuration and keeps the whole population."""
        studio, state = self._studio, self._studio.state
        problem = studio.solver.problem(state)
        if problem is None:
            raise InvalidInputError("add a goal first: there is nothing to search for.")
        seed = state.robot.random(np.random.default_rng(0))
        self._evolution = record_evolution(problem, targets_of(state, problem), seed)
        count = len(self._evolution)
        if not count:
            raise InvalidInputError("the search ended before its first generation.")
        self._generation.max = max(1, count - 1)
        self._generation.disabled = False
        self._generation.value = count - 1
        self._picture.image = landscape(self._evolution)
        self._picture.visible = True
        self._show_generation(count - 1)

    def _show_generation(self, number: int) -> None:
        evolution = self._evolution
        if evolution is None:
            return
        number = min(max(number, 0), len(evolution) - 1)
        costs = evolution.costs[number]
        self._show_ghosts(evolution.configurations[number][::-1], fitness_colors(costs)[::-1], 0.25)
        self._state.content = (
            f"Generation {number + 1} of {len(evolution)}: {len(costs)} individuals, best cost {costs[0]:.2g}. "
            f"Joints: {', '.join(evolution.joints[:12])}{', …' if len(evolution.joints) > 12 else ''}"
        )

    def _show_ghosts(self, configurations: np.ndarray, colors: np.ndarray, opacity: float) -> None:
        if self._ghosts is None:
            self._ghosts = Ghosts(self._studio.server, self._studio.state.robot, "/ghosts")
        self._ghosts.show(configurations, colors, opacity)

    def _hide_ghosts(self) -> None:
        if self._ghosts is not None:
            self._ghosts.hide()

    def _forget(self) -> None:
        self._hide_ghosts()
        self._ghosts = None
        for node in self._marks:
            node.remove()
        self._marks = []
        if self._results is not None:
            self._studio.see_through_scene(False)
        self._results, self._evolution = None, None
        self._target.disabled = self._generation.disabled = True
        self._picture.visible = False
