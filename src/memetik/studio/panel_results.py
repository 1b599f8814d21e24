"""The tab with results: benchmarks, reach studies, and how a search went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.studio.drawing import ball, fresh
from memetik.studio.evolution import Evolution, landscape, record_evolution
from memetik.studio.results import ReachPicture, RunResults, load_run, run_labels, study_reach
from memetik.studio.robot_view import Ghosts, fitness_colors
from memetik.studio.setup import State
from memetik.studio.solving import targets_of

if TYPE_CHECKING:
    from memetik.studio.app import Studio

NONE = "(none)"
STORE_SUFFIXES = (".sqlite", ".db")


class ResultsPanel:
    """Opens stores, shows targets, re-solves them; studies reach; replays a search."""

    def __init__(self, studio: Studio):
        self._studio = studio
        self._runs: dict[str, str] = {}
        self._run: RunResults | None = None
        self._evolution: Evolution | None = None
        self._ghosts: Ghosts | None = None
        self._marks: list[Any] = []
        self._heat: Any = None
        gui = studio.server.gui
        with gui.add_folder("Benchmark"):
            self._store = gui.add_dropdown("Store", self._stores(), hint="Files of `memetik bench run --store`.")
            self._open = gui.add_button("Open store", icon="database")
            self._choice = gui.add_dropdown("Run", (NONE,))
            self._show = gui.add_button("Show run", icon="eye", disabled=True)
            self._told = gui.add_markdown("Targets are green where they were solved, red where not.")
            self._target = gui.add_slider("Target", min=0, max=1, step=1, initial_value=0, disabled=True)
            self._again = gui.add_button_group("Target", ("Show solutions", "Solve again"))
            self._about = gui.add_markdown("")
        with gui.add_folder("Reach study", expand_by_default=False):
            self._surface = gui.add_dropdown("Object", (NONE,))
            self._count = gui.add_slider("Targets", min=50, max=2000, step=50, initial_value=200)
            self._study = gui.add_button("Study reach", icon="map")
            self._reach = gui.add_markdown("How much of an object's surface the tip gets at.")
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

    def use_robot(self, state: State) -> None:
        if self._run is None or self._run.scenario.robot is not state.robot:
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

    def _loaded(self, run: RunResults | None) -> None:
        """Scene and robot of the run, its targets as coloured balls that can be clicked."""
        if run is None:
            self._told.content = "That run could not be shown."
            return
        setup, scenario = self._studio.setup, run.scenario
        self._forget()
        setup.use_model(scenario.robot, scenario.scene, scenario.goals, scenario.self_collision)
        self._run = run
        self._studio.see_through_scene(True)
        self._told.content = run.sentence()
        points = scenario.poses[:, :3, 3]
        vertices, faces = ball(8)
        node = self._studio.server.scene.add_batched_meshes_simple(
            fresh("/results/targets"),
            vertices,
            faces,
            np.tile([1.0, 0.0, 0.0, 0.0], (len(points), 1)),
            points,
            batched_scales=np.full(len(points), 0.012),
            batched_colors=run.colors,
            lod="off",
            cast_shadow=False,
        )

        @node.on_click
        async def _(event: Any) -> None:
            number = event.instance_index
            self._studio.do(event, lambda: self._clicked(number))

        self._marks.append(node)
        self._target.max = max(1, len(points) - 1)
        self._target.disabled = False
        self.show_target(0)

    def _clicked(self, number: int | None) -> None:
        if number is not None:
            self._target.value = number
            self.show_target(number)

    def show_target(self, number: int, again: bool = False) -> None:
        """The solutions of one target as ghosts, the robot in the first of them; or the target solved again."""
        run = self._run
        if run is None:
            raise InvalidInputError("show a run first.")
        number = min(max(number, 0), len(run.statuses) - 1)
        setup = self._studio.setup
        setup.aim(run.scenario.of(number))
        found = run.postures.get(number, [])
        count = "1 posture" if len(found) == 1 else f"{len(found)} postures"
        self._about.content = f"Target {number}: {run.statuses[number] or 'not asked'}, {count}."
        if again:
            self._studio.solve_again()
            self._about.content += " Solved again, as it is shown."
            self._hide_ghosts()
            return
        if found:
            setup.follow(np.array(found[0]))
            colors = np.tile([59, 130, 246], (len(found[:20]), 1))
            self._all_ghosts().show(np.array(found[:20]), colors, 0.3)
            self._studio.solve_again()
        else:
            self._hide_ghosts()

    # reach

    def _study_reach(self, event: Any) -> None:
        from memetik.scene.scene import Scene

        state, name, count = self._studio.state, self._surface.value, int(self._count.value)
        if name == NONE:
            raise InvalidInputError("add an object to the scene first: its surface is studied.")
        scene = Scene(state.scene.objects.values(), allowed=state.scene.allowed)
        link = next((w.goal.links[0] for w in state.goals if w.goal.links), state.robot.links[-1])
        self._reach.content = "Studying…"
        self._study.disabled = True
        self._studio.in_background(lambda: study_reach(state.robot, scene, name, link, count), self._studied, event)

    def _studied(self, picture: ReachPicture | None) -> None:
        self._study.disabled = False
        if picture is None:
            self._reach.content = "The study failed."
            return
        import trimesh

        self._reach.content = picture.sentence
        colors = (255 * picture.colors).astype(np.uint8)
        mesh = trimesh.Trimesh(picture.vertices, picture.faces, vertex_colors=colors, process=False)
        if self._heat is not None:
            self._heat.remove()
        self._heat = self._studio.server.scene.add_mesh_trimesh(fresh("/results/heat"), mesh, scale=1.0)

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
        if self._heat is not None:
            self._heat.remove()
            self._heat = None
        if self._run is not None:
            self._studio.see_through_scene(False)
        self._run, self._evolution = None, None
        self._target.disabled = self._generation.disabled = True
        self._picture.visible = False

    def _stores(self) -> tuple[str, ...]:
        return tuple(self._studio.folder.files(STORE_SUFFIXES)) or (NONE,)
