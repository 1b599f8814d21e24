"""A studio without a browser: its loop, its messages, its explanation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from browser import panel_of

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.studio.app import Studio
from memetik.studio.panels.file import FilePanel
from memetik.studio.panels.joints import JointsPanel
from memetik.studio.panels.move import MovePanel
from memetik.studio.panels.pose import PosePanel
from memetik.studio.session.loop import Loop


@pytest.fixture
def studio(tmp_path) -> Iterator[Studio]:
    with Studio("panda", port=0, folder=tmp_path) as opened:
        yield opened


def ask(studio: Studio, action) -> None:
    studio.loop.post(action)
    assert studio.loop.wait_idle(600.0)


def test_a_target_out_of_reach_is_explained_and_the_nearest_posture_shown(studio: Studio) -> None:
    far = np.array(studio.state.goals[0].target)
    far[0, 3] = 3.0
    ask(studio, lambda: studio.session.drag(studio.state.goals[0].name, far))
    assert studio.solution is not None
    assert not studio.solution.success
    end = time.monotonic() + 600.0
    while "misses" not in panel_of(studio, PosePanel)._explanation.content and time.monotonic() < end:
        time.sleep(0.05)
    assert "Proved" in panel_of(studio, PosePanel)._explanation.content
    assert "Not solved" in studio.status.content
    reached = studio.state.robot.pose("panda_hand_tcp", studio.state.q)[0, 3]
    assert reached > 0.6  # stretched towards it


def test_errors_in_actions_become_messages_and_the_loop_goes_on(studio: Studio, monkeypatch) -> None:
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(studio, "notify", lambda title, text, *_, **__: told.append((title, text)))
    event = SimpleNamespace(client=None, client_id=0)
    studio.do(event, lambda: studio.session.remove_goal("nothing"))
    studio.do(event, lambda: 1 / 0)
    ask(studio, lambda: studio.session.add_goal("CenterJoints"))
    assert "nothing" in told[0][1]
    assert "ZeroDivisionError" in told[1][1]
    assert [entry.name for entry in studio.state.goals][-1] == "center"


def test_values_that_the_studio_sets_itself_ask_for_nothing(studio: Studio) -> None:
    before = studio.state
    studio.do(SimpleNamespace(client=None, client_id=None), lambda: studio.session.add_goal("CenterJoints"))
    assert studio.loop.wait_idle(600.0)
    assert studio.state.goals is before.goals


def test_sliders_show_what_was_solved(studio: Studio) -> None:
    target = np.array(studio.state.goals[0].target)
    target[:3, 3] += (0.05, 0.1, 0.0)
    ask(studio, lambda: studio.session.drag(studio.state.goals[0].name, target))
    values = [slider.value for slider in panel_of(studio, JointsPanel)._sliders]
    shown = np.where(studio.state.robot.turning, np.degrees(studio.state.q), studio.state.q)
    np.testing.assert_allclose(values, shown, atol=0.051)


def test_another_robot_has_its_own_sliders_and_gizmos(studio: Studio) -> None:
    ask(studio, lambda: panel_of(studio, FilePanel).open_robot("pr2"))
    assert len(panel_of(studio, JointsPanel)._sliders) == mk.load_robot("pr2").dof
    assert set(studio.gizmos._nodes) == {entry.name for entry in studio.state.goals}
    ask(studio, studio.session.undo)
    assert len(panel_of(studio, JointsPanel)._sliders) == 8
    assert studio.robot_view.robot.name == "panda"


def test_what_a_reader_left_out_is_shown(studio: Studio, tmp_path) -> None:
    text = '<robot name="arm"><link name="base"/><link name="a"><collision/></link>'
    joint = '<joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint></robot>'
    (tmp_path / "arm.urdf").write_text(text + joint)
    ask(studio, lambda: studio.session.use_robot(str(tmp_path / "arm.urdf")))
    shown = panel_of(studio, FilePanel)._notes.content
    assert "A &lt;collision&gt; of &lt;link&gt;" in shown
    assert "does not collide" in shown


def test_the_solver_that_was_chosen_is_saved_loaded_and_copied(studio: Studio, tmp_path, monkeypatch) -> None:
    panel = panel_of(studio, PosePanel)
    assert (panel._method.value, panel._timeout.value) == ("memetic", "20")
    fields = (panel._method, panel._parameters, panel._timeout, panel._threads, panel._rng)
    chosen = ["bio2_memetic", "population=3", "35", 2, 7]
    for field, text in zip(fields, chosen, strict=True):
        field.value = text
    ask(studio, panel._set_options)
    ask(studio, lambda: panel_of(studio, FilePanel)._saved_as("cell.json"))
    script = studio.session.script()
    assert "method=mk.methods.Bio2(population=3), timeout=0.035, threads=2, rng=7" in script
    names: dict = {}
    exec(script, names)
    assert names["solution"].success

    ask(studio, studio.session.undo)
    assert (panel._method.value, panel._timeout.value) == ("memetic", "20")
    asked: list[dict] = []
    solve = mk.Problem.solve
    monkeypatch.setattr(mk.Problem, "solve", lambda *args, **given: asked.append(given) or solve(*args, **given))
    ask(studio, lambda: panel_of(studio, FilePanel).load("cell.json"))
    assert [field.value for field in fields] == chosen
    expected = [mk.methods.Bio2(population=3), 0.035, 2, 7]
    assert [asked[-1][name] for name in ("method", "timeout", "threads", "rng")] == expected

    ask(studio, lambda: panel_of(studio, FilePanel).open_robot("ur5"))
    assert panel._method.value == "bio2_memetic"  # another robot, the same solver
    problem = mk.load_problem(tmp_path / "cell.json")
    assert problem.arguments["method"] == mk.methods.Bio2(population=3)
    assert problem.compile(mk.load_robot("panda")).solve(seed=problem.seed, **problem.arguments).success


def test_a_setup_with_a_method_that_is_not_there_is_refused(studio: Studio, tmp_path) -> None:
    studio.session.change("solver", options={"method": "bio2"})
    path = tmp_path / "cell.json"
    studio.session.save(path)
    path.write_text(path.read_text().replace("bio2", "bio3"))
    with pytest.raises(InvalidInputError, match="'bio3'"):
        studio.session.load(path)


def test_teleoperation_holds_before_what_is_in_the_way_and_goes_on(studio: Studio) -> None:
    name = studio.state.goals[0].name
    start = np.array(studio.state.goals[0].target)
    wall = mk.transform(start[:3, 3] + (0.2, 0.0, 0.0))
    ask(studio, lambda: studio.session.add_object(mk.Box((0.01, 0.6, 0.6)), wall, "wall"))
    exact = mk.CollisionModel(studio.state.robot, mk.Scene(studio.state.scene.objects.values()))
    configurations: list[np.ndarray] = []
    follow = studio.session.follow
    studio.session.follow = lambda q: (configurations.append(q), follow(q))[1]  # type: ignore[method-assign]
    panel_of(studio, MovePanel)._teleoperation.value, panel_of(studio, MovePanel)._limit.value = True, 100
    ask(studio, panel_of(studio, MovePanel)._set_teleoperation)

    through = start.copy()
    through[0, 3] += 0.3
    ask(studio, lambda: studio.session.drag(name, through))
    assert len(configurations) > 10
    assert "Held" in studio.status.content
    assert "wall" in studio.status.content
    held = studio.state.robot.pose("panda_hand_tcp", studio.state.q)[0, 3]
    assert start[0, 3] + 0.01 < held < wall[0, 3]

    back = start.copy()
    back[1, 3] += 0.1
    ask(studio, lambda: studio.session.drag(name, back))
    assert "Following" in studio.status.content
    np.testing.assert_allclose(studio.state.robot.pose("panda_hand_tcp", studio.state.q), back, atol=1e-4)

    ask(studio, lambda: studio.session.drag(name, through))
    assert "Held" in studio.status.content
    assert not exact.collides(np.array(configurations)).any()
    ask(studio, lambda: studio.session.remove_object("wall"))
    np.testing.assert_allclose(studio.state.robot.pose("panda_hand_tcp", studio.state.q), through, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "said"),
    [("popul=3", "no parameter 'popul'"), ("population", "NAME=VALUE"), ("population=many", "does not take")],
)
def test_wrong_parameters_of_a_method_are_told_and_change_nothing(studio: Studio, monkeypatch, text, said) -> None:
    told: list[str] = []
    monkeypatch.setattr(studio, "notify", lambda title, text, *_, **__: told.append(text))
    panel_of(studio, PosePanel)._parameters.value = text
    before = studio.state.options
    studio.do(SimpleNamespace(client=None, client_id=0), panel_of(studio, PosePanel)._set_options)
    assert studio.loop.wait_idle(600.0)
    assert said in told[0]
    assert studio.state.options is before


def test_of_drags_that_wait_only_the_newest_counts() -> None:
    done: list[int] = []
    loop = Loop(lambda: False, lambda: None, lambda *_: None)
    for number in range(50):
        loop.post(lambda number=number: done.append(number), "drag")
    loop.post(lambda: done.append(-1))
    loop.start()
    assert loop.wait_idle(600.0)
    loop.stop()
    assert done == [49, -1]


def test_a_quiet_loop_does_nothing(studio: Studio) -> None:
    assert studio.loop.wait_idle(600.0)
    steps = len(studio.loop.pulse.steps)
    time.sleep(0.3)
    assert len(studio.loop.pulse.steps) == steps


def test_closing_ends_all_threads(tmp_path) -> None:
    before = set(threading.enumerate())
    with Studio("ur5", port=0, folder=tmp_path):
        pass
    end = time.monotonic() + 600.0
    while set(threading.enumerate()) - before and time.monotonic() < end:
        time.sleep(0.05)
    assert set(threading.enumerate()) - before == set()
