"""The tab with results: benchmarks, reach studies, and how a search went."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.studio.drawing import ball, fresh
from memetik.studio.evolution import Evolution, landscape, record_evolution
from memetik.studio.files import NONE
from memetik.studio.results import HeatMap, Results, load_reach, load_run, run_labels, study_reach
from memetik.studio.robot_view import Ghosts, fitness_colors
from memetik.studio.setup import State, open_goals
from memetik.studio.solving import targets_of
from memetik.studio.targets import Wanted

if TYPE_CHECKING:
    from memetik.studio.app import Studio

STORE_SUFFIXES = (".sqlite", ".db")
STUDY_SUFFIXES = (".npz",)

KEY = "Targets are green where they were solved or reached, grey out of reach, red where missed. Click one."

AGAIN_TIMEOUT = 0.2
"""Seconds for solving a target again where the set-up says nothing."""


class ResultsPanel:
    """Opens stores and reach studies, shows their targets, solves them again; studies reach; replays a search."""

    def __init__(self, studio: Studio):
        self._studio = studio
        self._runs: dict[str, str] = {}
        self._results: Results | None = None
        self._goals: tuple[Wanted, ...] = ()
        self._covered: Any = None
        self._evolution: Evolution | None = None
        self._ghosts: Ghosts | None = None
        self._marks: list[Any] = []
        gui = studio.server.gui
        with gui.add_folder("Benchmark"):
            self._store = studio.add_file_list("Store", STORE_SUFFIXES, "Files of `memetik bench run --store`.")
            self._open = gui.add_button("Open store", icon="database")
            self._choice = gui.add_dropdown("Run", (NONE,))
            self._show = gui.add_button("Show run", icon="eye", disabled=True)
        with gui.add_folder("Reach study"):
            self._file = studio.add_file_list("Study", STUDY_SUFFIXES, "Files of `memetik reach -o FILE.npz`.")
            self._open_study = gui.add_button("Open study", icon="map-search")
            self._surface = gui.add_dropdown("Object", (NONE,), hint="Whose surface the tip is to get at.")
            self._count = gui.add_slider("Targets", min=50, max=2000, step=50, initial_value=200)
            self._study = gui.add_button("Study reach", icon="map")
        with gui.add_folder("Targets"):
            self._told = gui.add_markdown(KEY)
            self._target = gui.add_slider("Target", min=0, max=1, step=1, initial_value=0, disabled=True)
            self._again = gui.add_button_group("Target", ("Show solutions", "Solve again"))
            self._about = gui.add_markdown("")
        with gui.add_folder("Evolution", expand_by_default=False):
            self._record = gui.add_button("Record a search", icon="player-record")
            self._generation = gui.add_slider("Generation", min=0, max=1, step=1, initial_value=0, disabled=True)
            self._state = gui.add_markdown("The population of a search as ghosts, green for good, red for bad.")
            self._picture = gui.add_image(
                np.full((8, 8, 3), 255, dtype=np.uint8), label="Range of each joint over time"
            )
            self._picture.visible = False
        self._hide = gui.add_button("Hide all of this", color="gray", icon="eye-off")
        self._wire()

    def refresh(self, state: State, q: np.ndarray) -> None:
        names = tuple(state.scene.objects) or (NONE,)
        if tuple(self._surface.options) != names:
            self._surface.options = names
        if self._results is not None and self._studied_object(self._results) is not self._covered:
            self._forget()  # the surface is no longer where its heat map is

    def use_robot(self, state: State) -> None:
        if self._results is None or self._results.robot is not state.robot:
            self._forget()

    def _wire(self) -> None:
        studio = self._studio

        @self._open.on_click
        async def _(event: Any) -> None:
            name = self._store.value
            studio.do(event, lambda: self.open_store(name))

        @self._show.on_click
        async def _(event: Any) -> None:
            studio.do(event, lambda: self._load(event))

        @self._target.on_update
        async def _(event: Any) -> None:
            studio.do(event, lambda: self.show_target(int(self._target.value)), "target")

        @self._again.on_click
        async def _(event: Any) -> None:
            again = self._again.value == "Solve again"
            studio.do(event, lambda: self.show_target(int(self._target.value), again))

        @self._open_study.on_click
        async def _(event: Any) -> None:
            name = self._file.value
            studio.do(event, lambda: self.open_study(name, event))

        @self._study.on_click
        async def _(event: Any) -> None:
            studio.do(event, lambda: self._study_reach(event))

        @self._record.on_click
        async def _(event: Any) -> None:
            studio.do(event, self.record)

        @self._generation.on_update
        async def _(event: Any) -> None:
            studio.do(event, lambda: self._show_generation(int(self._generation.value)), "generation")

        @self._hide.on_click
        async def _(event: Any) -> None:
            studio.do(event, self._forget)

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

    def _load(self, event: Any) -> None:
        label = self._choice.value
        key = self._runs.get(label)
        if key is None:
            raise InvalidInputError("open a store and choose a run first.")
        self._told.content = "Making the scenario again…"
        self._studio.in_background(lambda: load_run(self._path, key, self._studio.folder), self._loaded, event)

    # reach

    def open_study(self, name: str, event: Any = None) -> None:
        """Shows a reach study from a file below the folder."""
        if name == NONE:
            raise InvalidInputError(
                "there is no study below this folder; `memetik reach ROBOT MESH -o FILE.npz` makes one."
            )
        path = self._studio.folder.path(name, STUDY_SUFFIXES)
        self._told.content = "Opening…"
        self._studio.in_background(lambda: load_reach(path, self._studio.folder), self._loaded, event)

    def _study_reach(self, event: Any) -> None:
        from memetik.scene.scene import Scene

        state, name, count = self._studio.state, self._surface.value, int(self._count.value)
        if name == NONE:
            raise InvalidInputError("add an object to the scene first: its surface is studied.")
        scene = Scene(state.scene.objects.values(), allowed=state.scene.allowed)
        link = next((w.goal.links[0] for w in state.goals if w.goal.links), state.robot.links[-1])
        self._told.content = "Studying…"
        self._study.disabled = True
        self._studio.in_background(lambda: study_reach(state.robot, scene, name, link, count), self._studied, event)

    def _studied(self, results: Results | None) -> None:
        self._study.disabled = False
        self._told.content = "The study failed."
        if results is not None and results.robot is self._studio.state.robot:
            self._goals = open_goals(results.goals)
            self._draw(results)

    # targets

    def _loaded(self, results: Results | None) -> None:
        """Takes over robot, scene and goals, and shows the first target that has a posture."""
        if results is None:
            self._told.content = "That could not be shown."
            return
        self._goals = open_goals(results.goals)
        self._studio.setup.use_model(results.source, results.robot, results.scene, self._goals, results.self_collision)
        self._draw(results)
        self._clicked(min(results.postures, default=0))

    def _draw(self, results: Results) -> None:
        """Targets as coloured balls that can be clicked, the surface in the colours of its heat map."""
        self._forget()
        self._results, self._covered = results, self._studied_object(results)
        self._studio.see_through_scene(True, results.heat.name if results.heat else "")
        self._told.content = f"{results.sentence} {KEY}"
        vertices, faces = ball(8)
        count = len(results)
        node = self._studio.server.scene.add_batched_meshes_simple(
            fresh("/results/targets"),
            vertices,
            faces,
            np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
            results.points,
            batched_scales=np.full(count, 0.012),
            batched_colors=results.colors,
            lod="off",
            cast_shadow=False,
        )

        @node.on_click
        async def _(event: Any) -> None:
            number = event.instance_index
            self._studio.do(event, lambda: self._clicked(number))

        self._marks.append(node)
        if results.heat is not None:
            self._marks.append(self._painted(results.heat))
        self._target.max = max(1, count - 1)
        self._target.value = 0
        self._target.disabled = False

    def _painted(self, heat: HeatMap) -> Any:
        import trimesh

        colors = (255 * heat.colors).astype(np.uint8)
        mesh = trimesh.Trimesh(heat.vertices, heat.faces, vertex_colors=colors, process=False)
        return self._studio.server.scene.add_mesh_trimesh(fresh("/results/heat"), mesh, scale=1.0)

    def _studied_object(self, results: Results) -> Any:
        return results.heat and self._studio.state.scene.objects.get(results.heat.name)

    def _clicked(self, number: int | None) -> None:
        if number is not None:
            self._target.value = number
            self.show_target(number)

    def show_target(self, number: int, again: bool = False) -> None:
        """The solutions of one target as ghosts, the robot in the first of them; or the target solved again."""
        results = self._results
        if results is None:
            raise InvalidInputError("show a run or a reach study first.")
        number = min(max(number, 0), len(results) - 1)
        setup = self._studio.setup
        setup.aim(self._goals, results.of(number))
        found = results.postures.get(number, [])
        count = "1 posture" if len(found) == 1 else f"{len(found)} postures"
        self._about.content = f"Target {number}: {results.statuses[number]}, {count}."
        if again:
            self._hide_ghosts()
            self._about.content += f" {self._solve_again()}"
        elif found:
            setup.follow(np.array(found[0]))
            colors = np.tile([59, 130, 246], (len(found[:20]), 1))
            self._all_ghosts().show(np.array(found[:20]), colors, 0.3)
            self._studio.solve_again()
        else:
            self._hide_ghosts()

    def _solve_again(self) -> str:
        """Solves the goals of now from the middle of the limits, not from what is shown; what came of it."""
        studio, state = self._studio, self._studio.state
        timeout = None if "timeout" in state.options else AGAIN_TIMEOUT
        found = studio.solver.solve(replace(state, q=state.robot.neutral), timeout)
        if found is None:
            return ""
        studio.setup.follow(found.q.copy())
        return f"Solved again: {found.reason}, in {1e3 * found.time:.3g} ms."

    # evolution

    def record(self) -> None:
        """Solves the goals of now from a random posture and keeps the whole population."""
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
        self._all_ghosts().show(evolution.postures[number][::-1], fitness_colors(costs)[::-1], 0.25)
        self._state.content = (
            f"Generation {number + 1} of {len(evolution)}: {len(costs)} individuals, best cost {costs[0]:.2g}. "
            f"Joints: {', '.join(evolution.joints[:12])}{', …' if len(evolution.joints) > 12 else ''}"
        )

    def _all_ghosts(self) -> Ghosts:
        if self._ghosts is None:
            self._ghosts = Ghosts(self._studio.server, self._studio.state.robot, "/ghosts")
        return self._ghosts

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
