"""The core's door: whatever is passed in, the answer is a result or an error, never a crash."""

from __future__ import annotations

import gc
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from axis_trees import Batch, random_tree
from hypothesis import given, settings
from hypothesis import strategies as st

from memetik import _core

RNG = np.random.default_rng(0)
TREE = random_tree(RNG, axes=6, links=5)
CORE = _core.Tree(_core.TreeArrays(**TREE))
DOF = CORE.dof


def changed(name: str, value: Any) -> dict[str, Any]:
    return {**TREE, name: value}


def with_entry(name: str, index: Any, value: Any) -> dict[str, Any]:
    array = TREE[name].copy()
    array[index] = value
    return changed(name, array)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (with_entry("parents", 2, 2), "The parent of axis 2 is 2; it must be -1 .the base. or an axis before it."),
        (with_entry("parents", 0, -2), "The parent of axis 0 is -2"),
        (with_entry("variables", 1, DOF), f"The variable of axis 1 is {DOF}; it must lie in 0..{DOF - 1}"),
        (with_entry("variables", 1, -1), "The variable of axis 1 is -1"),
        (with_entry("link_axes", 3, 6), "The axis of link 3 is 6; it must be -1 .the base. or lie in 0..5"),
        (with_entry("link_axes", 3, -2), "The axis of link 3 is -2"),
        (with_entry("placements", (4, 0, 3), np.nan), "The placement of axis 4 must hold finite numbers"),
        (with_entry("placements", (4, 0, 0), 2.0), "The placement of axis 4 must have a right-handed orthonormal"),
        (with_entry("placements", 4, -np.eye(4)[:3]), "The placement of axis 4 must have a right-handed orthonormal"),
        (with_entry("link_placements", (0, 1, 1), np.inf), "The placement of link 0 must hold finite numbers"),
        (with_entry("multipliers", 0, np.nan), "The multiplier and offset of axis 0 must be finite"),
        (with_entry("offsets", 5, -np.inf), "The multiplier and offset of axis 5 must be finite"),
        (with_entry("masses", 4, np.nan), "The mass, centre of mass and inertia of link 4 must be finite"),
        (with_entry("coms", (1, 2), np.inf), "The mass, centre of mass and inertia of link 1 must be finite"),
        (with_entry("inertias", (2, 0, 1), np.nan), "The mass, centre of mass and inertia of link 2 must be finite"),
        (changed("dof", -1), "A tree has 0 to 10000 degrees of freedom, not -1"),
        (changed("dof", 2**31 - 1), "A tree has 0 to 10000 degrees of freedom"),
        (changed("offsets", np.zeros(5)), r"offsets must have shape \(6,\), not \(5,\)"),
        (changed("placements", np.zeros((6, 4, 4))), r"placements must have shape \(6,3,4,\)"),
        (changed("inertias", np.zeros((5, 9))), r"inertias must have shape \(5,3,3,\)"),
        (changed("masses", np.zeros(0)), r"masses must have shape \(5,\), not \(0,\)"),
    ],
)
def test_a_tree_that_is_not_one_is_refused_with_a_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        _core.Tree(_core.TreeArrays(**arguments))


@pytest.mark.parametrize("value", [None, "text", {}, 3.5, [[1, 2], [3]], object()])
@pytest.mark.parametrize("name", [name for name in TREE if name != "dof"])
def test_a_tree_of_other_types_is_refused(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        _core.Tree(_core.TreeArrays(**changed(name, value)))


def test_an_empty_tree_is_a_tree() -> None:
    tree = random_tree(np.random.default_rng(1), axes=0, links=2)
    tree["dof"] = 0
    poses = Batch(tree).poses([0, 1], np.empty((3, 0)))
    np.testing.assert_array_equal(poses[:, :, :3], np.broadcast_to(tree["link_placements"], (3, 2, 3, 4)))


def q(count: int = 4) -> np.ndarray:
    return np.ones((count, DOF))


@pytest.mark.parametrize("link", [-1, 5, 2**31 - 1, -(2**31)])
def test_links_out_of_range_are_refused(link: int) -> None:
    with pytest.raises(ValueError, match=f"link {link} is out of range; the tree has 5 links"):
        CORE.jacobians(link, q(), np.empty((4, 6, DOF)))
    with pytest.raises(ValueError, match="out of range"):
        CORE.poses(np.array([0, link], dtype=np.int32), q(), np.empty((4, 2, 4, 4)))
    with pytest.raises(ValueError, match="out of range"):
        CORE.jacobians(0, q(), np.empty((4, 6, DOF)), reference=link)


def unaligned(shape: tuple[int, ...]) -> np.ndarray:
    return np.frombuffer(bytearray(8 * int(np.prod(shape)) + 1), dtype=np.uint8)[1:].view(np.float64).reshape(shape)


def frozen(shape: tuple[int, ...]) -> np.ndarray:
    array = np.empty(shape)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "bad",
    [
        np.empty((4, 6, DOF), dtype=np.float32),
        np.empty((4, 6, DOF), dtype=np.int64),
        np.empty((4, 6, DOF), dtype=">f8"),
        np.empty((4, 6, DOF), dtype=complex),
        np.empty((4, 6, DOF), dtype=object),
        np.empty((4, 6, DOF), order="F"),
        np.empty((8, 6, DOF))[::2],
        np.empty((4, 6, 2 * DOF))[..., ::2],
        np.empty((4, 6, DOF))[:, ::-1],
        np.broadcast_to(np.empty((6, DOF)), (4, 6, DOF)),
        np.empty((3, 6, DOF)),
        np.empty((5, 6, DOF)),
        np.empty((4, 6, DOF + 1)),
        np.empty((4, 6 * DOF)),
        np.empty(4 * 6 * DOF),
        np.empty((0, 6, DOF)),
        np.empty(()),
        unaligned((4, 6, DOF)),
        frozen((4, 6, DOF)),
        None,
        [[0.0]],
        "text",
    ],
    ids=lambda bad: f"{getattr(bad, 'dtype', type(bad).__name__)}{getattr(bad, 'shape', '')}",
)
def test_an_output_that_does_not_fit_is_refused(bad: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        CORE.jacobians(0, q(), bad)


@pytest.mark.parametrize(
    "bad",
    [
        np.ones((4, DOF), dtype=np.float32),
        np.ones((4, DOF), order="F"),
        np.ones((4, 2 * DOF))[:, ::2],
        np.ones((4, DOF + 1)),
        np.ones((4, DOF, 1)),
        np.ones(DOF),
        np.ones(()),
        np.ones((0, DOF)),
        unaligned((4, DOF)),
        None,
    ],
    ids=lambda bad: f"{getattr(bad, 'dtype', type(bad).__name__)}{getattr(bad, 'shape', '')}",
)
def test_configurations_that_do_not_fit_are_refused(bad: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        CORE.gravity_torques(bad, np.zeros(3), np.empty((4, DOF)))
    with pytest.raises((TypeError, ValueError)):
        CORE.inverse_dynamics(q(), bad, q(), np.zeros(3), np.empty((4, DOF)))
    with pytest.raises((TypeError, ValueError)):
        CORE.inverse_dynamics(q(), q(), bad, np.zeros(3), np.empty((4, DOF)))


def test_memory_that_is_read_and_written_is_refused() -> None:
    memory = np.zeros(1000)
    rows = memory[: 4 * DOF].reshape(4, DOF)
    for start in (0, 4 * DOF - 1):
        with pytest.raises(ValueError, match="out and q must not share memory"):
            CORE.gravity_torques(rows, np.zeros(3), memory[start : start + 4 * DOF].reshape(4, DOF))
    beside = memory[4 * DOF : 8 * DOF].reshape(4, DOF)
    CORE.gravity_torques(rows, np.zeros(3), beside)
    with pytest.raises(ValueError, match="out and velocities must not share memory"):
        CORE.inverse_dynamics(rows, beside, rows, np.zeros(3), beside)
    poses, jacobians = memory[100:116].reshape(1, 4, 4), memory[110 : 110 + 6 * DOF].reshape(1, 6, DOF)
    with pytest.raises(ValueError, match="poses and jacobians must not share memory"):
        CORE.poses_and_jacobians(0, rows[:1], poses, jacobians)


@pytest.mark.parametrize("threads", [0, -1, -(2**31)])
def test_less_than_one_thread_is_refused(threads: int) -> None:
    with pytest.raises(ValueError, match=f"threads must be at least 1, not {threads}"):
        CORE.gravity_torques(q(), np.zeros(3), np.empty((4, DOF)), threads)


@pytest.mark.parametrize("threads", [2**31, 1.5, "2", None])
def test_threads_that_are_no_small_integer_are_refused(threads: Any) -> None:
    with pytest.raises(TypeError):
        CORE.gravity_torques(q(), np.zeros(3), np.empty((4, DOF)), threads)


@pytest.mark.parametrize("vector", [np.zeros(2), np.zeros((1, 3)), np.zeros(0), np.array([np.nan, 0, 0]), "down", None])
def test_vectors_that_are_none_are_refused(vector: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        CORE.gravity_torques(q(), vector, np.empty((4, DOF)))
    if vector is not None:
        with pytest.raises((TypeError, ValueError)):
            CORE.jacobians(0, q(), np.empty((4, 6, DOF)), vector)


shapes = st.lists(st.integers(0, 9), min_size=0, max_size=4).map(tuple)
dtypes = st.sampled_from([np.float64] * 5 + [np.float32, np.int32, np.int64, np.uint8, bool, object])


@st.composite
def arrays(draw: Any) -> Any:
    """Arrays of the right shapes and of any other, contiguous, strided or reversed, with and without NaN."""
    count = draw(st.integers(0, 9))
    right = [(count, DOF), (count, 4, 4), (count, 6, DOF), (count, 3), (count, 3, DOF), (count, DOF, DOF), (3,)]
    shape = draw(st.sampled_from(right) | shapes)
    array = np.full(shape, draw(st.sampled_from([0.0, 1.0, 1e300, np.nan, np.inf])), dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        array = array.astype(draw(dtypes))
    if array.ndim and draw(st.integers(0, 9)) == 0:
        array = draw(st.sampled_from([array[::-1], array[::2], array.T, np.asfortranarray(array)]))
    return array


anything = arrays() | st.none() | st.integers(-3, 2**33) | st.text(max_size=3) | st.floats() | st.just(CORE)
links = st.integers(-2, 6) | anything
METHODS = {
    "poses": (arrays(), arrays(), arrays()),
    "jacobians": (links, arrays(), arrays(), anything, links),
    "poses_and_jacobians": (links, arrays(), arrays(), arrays(), anything, links),
    "centers_of_mass": (arrays(), arrays()),
    "center_of_mass_jacobians": (arrays(), arrays()),
    "gravity_torques": (arrays(), arrays(), arrays()),
    "inverse_dynamics": (arrays(), arrays(), arrays(), arrays(), arrays()),
    "mass_matrices": (arrays(), arrays()),
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@settings(max_examples=400, deadline=None)
@given(st.data())
def test_random_arguments_give_results_or_errors(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(list(METHODS)))
    arguments = [data.draw(strategy) for strategy in METHODS[name]]
    threads = data.draw(st.sampled_from([1, 1, 2, 3, 0, -1]))
    try:
        getattr(CORE, name)(*arguments, threads=threads)
    except (TypeError, ValueError):
        return
    assert threads >= 1


@pytest.mark.clock
def test_other_threads_run_while_a_batch_is_computed() -> None:
    rows = np.ones((400_000, DOF))
    out = np.empty((len(rows), 6, DOF))
    ticks = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    spans = []
    while not spans or spans[-1][1] - spans[0][0] < 0.1:
        begun = time.perf_counter()
        CORE.jacobians(0, rows, out)
        spans.append((begun, time.perf_counter()))
    done.set()
    ticker.join()
    assert any(begun < moment < ended for begun, ended in spans for moment in ticks)


def test_results_do_not_leak_memory_or_references() -> None:
    rows, out = q(64), np.empty((64, 6, DOF))
    before = sys.getrefcount(rows), sys.getrefcount(out)
    for _ in range(100):
        CORE.jacobians(0, rows, out)
        with pytest.raises(ValueError, match="range"):
            CORE.jacobians(99, rows, out)
    gc.collect()
    assert (sys.getrefcount(rows), sys.getrefcount(out)) == before
