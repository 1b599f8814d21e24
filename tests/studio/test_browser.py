"""What a person does with the studio, in a real browser. Screenshots are kept in out/studio."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Person, chromium_path, drawn_pose, launch, panel_of, wait_for

import memetik as mk
from memetik.studio.app import Studio
from memetik.studio.panels.results import ResultsPanel
from memetik.studio.panels.scene import ScenePanel
from memetik.studio.views.drawing import surface_of

pytestmark = [
    pytest.mark.unsanitized,
    pytest.mark.skipif(chromium_path() is None, reason="Chromium is not installed (Debian: apt-get install chromium)"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        opened = launch(playwright)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studio")


@pytest.fixture(scope="module")
def studio(folder: Path) -> Iterator[Studio]:
    with Studio("panda", port=0, folder=folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def person(browser: Any, studio: Studio) -> Iterator[Person]:
    someone = Person(browser, studio)
    yield someone
    assert someone.errors == []
    someone.close()


def test_the_page_opens_with_a_solved_robot(person: Person) -> None:
    assert "panda" in person.status()
    wait_for(lambda: "Solved" in person.status(), "the robot is solved")
    person.shot("open")


def test_the_robot_follows_a_dragged_gizmo(person: Person, studio: Studio) -> None:
    name = "pose_panda_hand_tcp"
    before, q = np.array(studio.state.goal(name).target), studio.state.q.copy()
    along = before[:3, 0]
    arrow = before[:3, 3] + 0.17 * along
    person.drag(arrow, arrow + 0.12 * along)
    wait_for(lambda: not studio.gizmos.dragging, "the gizmo is let go")
    assert studio.loop.wait_idle(600.0)
    moved = studio.state.goal(name).target[:3, 3] - before[:3, 3]
    assert moved @ along > 0.05
    assert np.abs(studio.state.q - q).max() > 0.05
    reached = studio.state.robot.pose("panda_hand_tcp", studio.state.q)
    np.testing.assert_allclose(reached, studio.state.goal(name).target, atol=2e-5)
    assert studio.solution is not None
    assert studio.solution.success
    # What the browser shows is where the robot is.
    robot = studio.state.robot
    drawn = drawn_pose(studio.robot_view, robot.link_index("panda_hand"))
    np.testing.assert_allclose(drawn, robot.pose("panda_hand", studio.state.q), atol=1e-5)
    wait_for(lambda: "Solved" in person.status(), "the page says so")
    person.shot("dragged")


def test_undo_brings_the_target_back(person: Person, studio: Studio) -> None:
    before = studio.state.goals[0].target[0, 3]
    person.open_tab("File")
    person.press("Undo")
    wait_for(lambda: abs(studio.state.goals[0].target[0, 3] - before) > 0.01, "undone")
    person.press("Redo")
    wait_for(lambda: abs(studio.state.goals[0].target[0, 3] - before) < 1e-9, "done again")


def test_goals_are_added_edited_disabled_and_removed(person: Person, studio: Studio) -> None:
    person.open_tab("Pose")
    person.choose("Type", "AlignAxis")
    person.choose("Link", "panda_link5")
    person.press("Add goal")
    wait_for(lambda: len(studio.state.goals) == 2, "a goal more")
    name = studio.state.goals[1].name
    assert name == "alignaxis_panda_link5"
    wait_for(lambda: studio.chosen_goal == name, "the new goal is the one that is edited")
    small, large = (studio.gizmos._nodes[goal.name][0] for goal in studio.state.goals)
    wait_for(lambda: small.scale < 0.7 * large.scale and small.opacity < large.opacity, "gizmos are told apart")
    person.page.wait_for_selector(f"[data-goal={name}]")
    person.unfold("Parameters")
    person.write("weight", "0.5")
    person.page.get_by_role("button", name="Apply", exact=True).first.click()
    wait_for(lambda: studio.state.goal(name).goal.weight == 0.5, "another weight")
    person.shot("goals")
    person.write("weight", "heavy")
    person.page.get_by_role("button", name="Apply", exact=True).first.click()
    person.page.get_by_text("must be a number").first.wait_for()
    assert studio.state.goal(name).goal.weight == 0.5
    person.page.get_by_role("checkbox").first.click()
    wait_for(lambda: not studio.state.goal(name).enabled, "disabled")
    person.press("Remove goal")
    wait_for(lambda: len(studio.state.goals) == 1, "a goal less")


def test_a_link_is_chosen_by_clicking_it(person: Person, studio: Studio) -> None:
    pose = studio.state.robot.pose("panda_link0", studio.state.q)
    person.click_at(pose[:3, 3] + [0.0, 0.0, 0.05])
    wait_for(lambda: studio.chosen_link == "panda_link0", "the link is chosen")
    person.click_at(pose[:3, 3] + [0.0, 0.0, 0.05])
    wait_for(lambda: studio.chosen_link == "", "and let go")


def test_joints_follow_sliders(person: Person, studio: Studio) -> None:
    person.open_tab("Joints")
    value = float(studio.state.q[0])
    person.write("joint1 (°)", f"{np.degrees(0.4):.2f}")
    wait_for(lambda: abs(studio.state.q[0] - 0.4) < 2e-3, "the joint moves")
    assert abs(value - 0.4) > 1e-2
    assert studio.loop.wait_idle(600.0)
    assert studio.solution is not None
    assert studio.solution.success
    person.press("Keep this configuration")
    wait_for(lambda: len(studio.state.configurations) == 1, "a configuration is kept")


def test_a_box_in_the_way_is_shown_as_a_collision(person: Person, studio: Studio) -> None:
    person.open_tab("Scene")
    shoulder = studio.state.robot.pose("panda_link2", studio.state.q)[
        :3, 3
    ]  # which no configuration moves out of the way
    person.write("Position (m)", ", ".join(f"{v:.3f}" for v in shoulder))
    person.press("Add object")
    wait_for(lambda: "box" in studio.state.scene.objects, "a box")
    person.page.wait_for_selector("[data-studio=collision]")
    assert "box" in person.status()
    assert "box" in studio.clearances.touching
    assert studio.gizmos._object is not None
    person.shot("collision")
    person.write("Position", "0.55, -0.35, 0.1")
    person.press("Place it there")
    wait_for(lambda: not studio.clearances.contacts, "it is out of the way")
    wait_for(lambda: "Solved" in person.status(), "solved again")


def test_an_object_is_dragged(person: Person, studio: Studio) -> None:
    pose = np.array(studio.state.scene.objects["box"].pose)
    studio.loop.wait_idle(600.0)
    size = studio.gizmos._object[1].scale
    arrow = pose[:3, 3] + 0.9 * size * pose[:3, 1]
    person.drag(arrow, arrow - 0.1 * pose[:3, 1])
    wait_for(lambda: studio.state.scene.objects["box"].pose[1, 3] < pose[1, 3] - 0.03, "the box moves")


def test_slices_spheres_skeleton_and_axes_are_drawn(person: Person, studio: Studio) -> None:
    person.open_tab("Scene")
    person.unfold("Distances")
    person.page.locator("label:has-text('Slice')").first.wait_for()
    checkbox(person, "Slice").click()
    wait_for(lambda: studio.scene_view._slice is not None, "a slice")
    person.shot("slice")
    checkbox(person, "Slice").click()
    wait_for(lambda: studio.scene_view._slice is None, "no slice")
    person.open_tab("File")
    for label in ("See-through", "Skeleton", "Joint axes and limits", "Collision model"):
        checkbox(person, label).click()
    wait_for(lambda: studio.robot_view._collision_nodes, "the collision model")
    person.shot("overlays")
    for label in ("See-through", "Skeleton", "Joint axes and limits", "Collision model"):
        checkbox(person, label).click()


def test_what_is_saved_is_loaded_again(person: Person, studio: Studio, folder: Path) -> None:
    person.open_tab("File")
    person.write("File", "cell.json")
    person.press("Save")
    wait_for(lambda: (folder / "cell.json").is_file(), "the file")
    box = np.array(studio.state.scene.objects["box"].pose)
    person.open_tab("Scene")
    person.press("Remove object")
    wait_for(lambda: not studio.state.scene.objects, "the box is gone")
    person.open_tab("File")
    person.choose("Saved", "cell.json")
    person.press("Load")
    wait_for(lambda: "box" in studio.state.scene.objects, "the box is back")
    np.testing.assert_allclose(studio.state.scene.objects["box"].pose, box, atol=1e-12)


def test_paths_outside_the_folder_are_refused(person: Person, folder: Path) -> None:
    person.open_tab("File")
    person.write("File", "../escape.json")
    person.press("Save")
    person.page.get_by_text("outside the folder").first.wait_for()
    assert not (folder.parent / "escape.json").exists()
    person.write("File", "cell.json")


def test_the_script_is_shown(person: Person) -> None:
    person.open_tab("File")
    person.press("Copy as Python")
    person.page.get_by_text("load_robot").first.wait_for()
    person.shot("script")
    person.context.grant_permissions(["clipboard-read", "clipboard-write"])
    person.press("Copy to the clipboard")
    person.page.get_by_text("Copied", exact=True).wait_for()
    assert person.page.evaluate("navigator.clipboard.readText()") == person.studio.session.script()
    person.press("Close")


def test_colours_and_views_are_chosen(person: Person, studio: Studio) -> None:
    person.open_tab("File")
    position = person.client.camera.position.copy()
    person.press("top")
    wait_for(lambda: person.client.camera.position[2] > position[2] + 0.1, "it is seen from above")
    person.press("corner")
    light = studio.grid.cell_color
    checkbox(person, "Dark colours").click()
    wait_for(lambda: tuple(studio.grid.cell_color) != tuple(light), "dark")
    checkbox(person, "Dark colours").click()
    wait_for(lambda: tuple(studio.grid.cell_color) == tuple(light), "light")


def test_a_link_is_pulled(person: Person, studio: Studio) -> None:
    """A soft goal on the grabbed point: the hand's pose still holds."""
    elbow = studio.state.robot.pose("panda_link4", studio.state.q)[:3, 3]
    person.page.keyboard.down("Shift")
    person.drag(elbow, elbow + np.array([0.0, 0.15, 0.0]))
    person.page.keyboard.up("Shift")
    wait_for(lambda: any(goal.name.startswith("pull_") for goal in studio.state.goals), "a goal on the link")
    assert studio.loop.wait_idle(600.0)
    goal = next(goal for goal in studio.state.goals if goal.name.startswith("pull_"))
    assert goal.goal.priority == 1
    studio.do(None, lambda: studio.session.remove_goal(goal.name))
    wait_for(lambda: len(studio.state.goals) == 1, "it is removed")


def test_two_browsers_see_the_same_state(browser: Any, person: Person, studio: Studio) -> None:
    other = Person(browser, studio)
    try:
        assert "panda" in other.status()
        person.open_tab("Pose")
        person.choose("Type", "AvoidLimits")
        person.press("Add goal")
        other.page.wait_for_selector("[data-goal=avoidlimits]")
        other.open_tab("File")
        other.press("Undo")
        person.page.wait_for_selector("[data-goal=avoidlimits]", state="detached")
        assert other.errors == []
    finally:
        other.close()


def test_broken_meshes_and_scenes_give_a_message_and_the_page_lives(
    person: Person, studio: Studio, folder: Path
) -> None:
    broken = folder / "broken.stl"
    broken.write_bytes(b"solid nothing\nfacet normal oops\n")
    person.open_tab("Scene")
    person.unfold("From files")
    person.page.locator("input[type=file]").first.set_input_files(broken)
    person.page.get_by_text("That cannot be done").first.wait_for()
    wrong = folder / "wrong.toml"
    wrong.write_text("schema = 99\n")
    studio.do(None, lambda: panel_of(studio, ScenePanel).load_scene("wrong.toml"))
    person.page.get_by_text("schema is 99").first.wait_for()
    person.write("Size (m)", "big, bigger, biggest")
    person.press("Add object")
    person.page.get_by_text("must be 3 numbers").first.wait_for()
    assert studio.loop.wait_idle(600.0)
    assert "panda" in person.status()


def test_a_good_mesh_is_taken(person: Person, studio: Studio, folder: Path) -> None:
    import trimesh

    good = folder / "wedge.stl"
    trimesh.creation.cone(0.1, 0.2).export(good)
    person.page.locator("input[type=file]").first.set_input_files(good)
    wait_for(lambda: "wedge" in studio.state.scene.objects, "the mesh is in the scene")


def test_a_mesh_of_a_gigabyte_is_refused(browser: Any, studio: Studio, folder: Path) -> None:
    large = folder / "large.stl"
    with large.open("wb") as file:
        file.truncate(1_000_000_000)
    someone = Person(browser, studio)
    studio.do(None, lambda: panel_of(studio, ScenePanel).add_mesh("large.stl"))
    someone.page.get_by_text("100 MB are accepted").first.wait_for()
    someone.open_tab("Scene")
    someone.page.locator("input[type=file]").first.set_input_files(large)
    someone.page.get_by_text("That file is refused").first.wait_for(timeout=60_000)
    assert studio.server.gui._current_file_upload_states == {}
    someone.close()


def test_closing_the_pages_leaves_nothing_running(browser: Any, folder: Path) -> None:
    threads = set(threading.enumerate())
    studio = Studio("ur5", port=0, folder=folder)
    someone = Person(browser, studio)
    someone.close()
    wait_for(lambda: not studio.server.get_clients(), "the page is gone")
    steps = len(studio.loop.pulse.steps)
    time.sleep(0.5)
    assert len(studio.loop.pulse.steps) == steps
    studio.close()
    wait_for(lambda: not [t for t in set(threading.enumerate()) - threads if t.is_alive()], "no threads are left")


def checkbox(person: Person, label: str) -> Any:
    return person.field(label)


def test_a_motion_is_planned_and_played(browser: Any, folder: Path) -> None:
    pytest.importorskip("memetik.motion.planning.pipeline")
    with Studio("panda", port=0, folder=folder) as studio:
        someone = Person(browser, studio)
        someone.open_tab("Move")
        someone.press("Add current configuration")
        wait_for(lambda: len(studio.state.waypoints) == 1, "a waypoint")
        studio.do(None, lambda: studio.session.set_joint("panda_joint1", 1.2))
        someone.press("Add current configuration")
        wait_for(lambda: len(studio.state.waypoints) == 2, "another waypoint")
        first, second = studio.state.waypoints
        someone.choose("Waypoint", f"2: {second}")
        someone.press("Earlier")
        wait_for(lambda: studio.state.waypoints == (second, first), "another order")
        someone.press("Later")
        wait_for(lambda: studio.state.waypoints == (first, second), "the order from before")
        someone.press("Plan")
        wait_for(lambda: studio.player.trajectory is not None, "a plan", 60.0)
        wait_for(lambda: len(studio.path_marks._nodes) == 4, "the path with two named waypoints")
        someone.page.get_by_text("Planned").first.wait_for()
        begin = studio.player.trajectory.at(0.0)
        someone.press("Play")
        wait_for(lambda: np.abs(studio.shown - begin).max() > 0.05 and studio.player.is_playing, "it moves")
        wait_for(lambda: not studio.player.is_playing, "it ends", 30.0)
        assert studio.loop.wait_idle(600.0)  # the player is at its end before that is shown
        np.testing.assert_allclose(studio.shown, studio.player.trajectory.end, atol=1e-6)
        someone.unfold("Curves")
        someone.shot("motion")
        middle = 0.5 * float(studio.player.trajectory.duration)
        someone.write("Time (s)", f"{middle:.2f}")
        wait_for(lambda: abs(studio.player.time - middle) < 0.02, "the timeline is where it was set")
        someone.press("Insert a waypoint here")
        wait_for(lambda: len(studio.state.waypoints) == 3, "a waypoint in the middle")
        assert (studio.state.waypoints[0], studio.state.waypoints[2]) == (first, second)
        someone.write("Export to", "motion.csv")
        someone.press("Export")
        wait_for(lambda: (folder / "motion.csv").is_file(), "the file")
        assert someone.errors == []
        someone.close()


def test_targets_are_followed_within_limits_of_speed(browser: Any, folder: Path) -> None:
    with Studio("panda", port=0, folder=folder) as studio:
        someone = Person(browser, studio)
        someone.open_tab("Move")
        someone.unfold("Teleoperation")
        checkbox(someone, "Follow targets").click()
        wait_for(lambda: studio.teleoperation == 0.5, "teleoperation")
        far = np.array(studio.state.goals[0].target)
        far[:3, 3] += (0.1, 0.2, 0.0)
        begin, q = time.monotonic(), studio.state.q.copy()
        studio.do(None, lambda: studio.session.drag(studio.state.goals[0].name, far))
        wait_for(lambda: studio.tracked is not None and studio.tracked.within and studio.loop.wait_idle(0.01), "there")
        took = time.monotonic() - begin
        fastest = 0.5 * studio.state.robot.velocity
        assert (np.abs(studio.state.q - q) <= fastest * took + 1e-6).all()
        np.testing.assert_allclose(studio.state.robot.pose("panda_hand_tcp", studio.state.q), far, atol=1e-4)
        someone.close()


def test_a_benchmark_and_a_search_are_looked_at(browser: Any, folder: Path) -> None:
    bench = pytest.importorskip("memetik.bench.run.store")
    make_store(bench, folder / "results.db")
    with Studio("panda", port=0, folder=folder) as studio:
        someone = Person(browser, studio)
        someone.open_tab("Results")
        someone.choose("Store", "results.db")
        someone.press("Open store")
        wait_for(lambda: not panel_of(studio, ResultsPanel)._show.disabled, "the runs are listed")
        someone.press("Show run")
        run = wait_for(lambda: panel_of(studio, ResultsPanel)._results, "the run is shown", 90.0)
        assert studio.loop.wait_idle(30.0)
        assert studio.state.robot.name == "elise"
        assert list(studio.state.scene.objects) == ["tank"]
        assert run.statuses[:2] == ("solved", "missed")
        np.testing.assert_allclose(studio.state.goals[0].target, run.of(0)[0], atol=1e-12)
        someone.shot("benchmark")
        someone.unfold("Evolution")
        someone.press("Record a search")
        wait_for(lambda: panel_of(studio, ResultsPanel)._evolution is not None, "a search")
        assert len(panel_of(studio, ResultsPanel)._evolution or ()) > 0
        someone.shot("evolution")
        assert someone.errors == []
        someone.close()


def test_a_target_of_a_reach_study_is_clicked(browser: Any, folder: Path) -> None:
    from memetik.bench.reach.file import ReachStudy, save_study
    from memetik.bench.reach.study import ReachSetup, reach_study
    from memetik.geometry.shapes import TriangleMesh
    from memetik.geometry.surface_points import sample_triangles

    vertices, faces = surface_of(mk.Box((0.05, 1.6, 0.8)))
    surface = TriangleMesh(vertices + np.array([0.7, 0.0, 0.4]), faces, "wall")
    scene = mk.Scene()
    scene.add_mesh("surface", surface)
    setup = ReachSetup(mk.load_robot("ur5"), scene, evaluations=500)
    points, normals = sample_triangles(surface.triangles, 60, 0)
    study = ReachStudy("ur5", setup, surface, reach_study(setup, points, normals, passes=1))
    with Studio("panda", port=0, folder=folder) as studio:
        save_study(study, folder / "wall.npz")  # while the studio runs: it is listed for whoever comes then
        someone = Person(browser, studio)
        someone.open_tab("Results")
        someone.choose("Study", "wall.npz")
        someone.press("Open study")
        results = wait_for(lambda: panel_of(studio, ResultsPanel)._results, "the study is shown", 90.0)
        assert studio.loop.wait_idle(30.0)
        someone.client.camera.position, someone.client.camera.look_at = (-1.6, -0.9, 1.3), (0.6, 0.0, 0.4)
        someone.shot("reach")
        seen = [k for k in results.configurations if normals[k][0] < -0.9 and points[k][1] < -0.3]
        # Far from the handles of the goal, which stand in the way of clicks.
        first = min(results.configurations)
        number = max(seen, key=lambda k: float(np.linalg.norm(points[k] - points[first])))
        shown = someone.page.get_by_text(f"Target {number}: reached, score").first

        def clicked() -> bool:
            """On a busy machine the page may still be drawing when it is clicked: as a person would, try again."""
            someone.click_at(points[number] - [0.006, 0.0, 0.0])
            time.sleep(2.0)
            return shown.is_visible()

        wait_for(clicked, "the target is shown")
        np.testing.assert_allclose(studio.state.q, results.configurations[number][0], atol=1e-6)
        someone.press("Solve again")
        someone.page.get_by_text("Solved again: solved").first.wait_for()
        someone.shot("reach-target")
        assert someone.errors == []
        someone.close()


def make_store(bench: Any, path: Path) -> None:
    """A store with one run on a real scenario: its first target solved by us, its second given as missed."""
    from memetik.bench.scenarios import scenario_from

    origin = {"scenario": "HydrogenTank", "robot": "elise", "targets": 6, "seed": 0, "reachability": "skip"}
    scenario = scenario_from({**origin, "tolerance": (1e-5, 1e-5), "options": {}})
    with bench.Store(path) as store:
        key = store.add_scenario(scenario)
        facts = {"machine": store.add_machine({}), "versions": store.add_versions({})}
        run = store.add_run(
            key, "memetic", label="memetic", timeout=0.1, seeding="given", settings={}, **facts
        )  # fmt: skip
        solution = scenario.problem.solve(*scenario.of(0), timeout=2.0)
        assert solution.success
        store.add_result(run, bench.Result(0, 0, "solved", True, True, solution.time, q=solution.q))
        store.add_result(run, bench.Result(1, 0, "missed", False, False, 0.1))
