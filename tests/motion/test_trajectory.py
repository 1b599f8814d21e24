"""Trajectories: their polynomials, bounds, parts, files and messages."""

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline, CubicSpline

from memetik.errors import InvalidInputError
from memetik.motion.timing.trajectory import Trajectory, join

NAMES = ("a", "b", "c")


@pytest.fixture
def curve() -> Trajectory:
    rng = np.random.default_rng(3)
    times = np.concatenate([[0.0], np.cumsum(rng.uniform(0.1, 0.6, 8))])
    values, slopes = rng.normal(size=(9, 3)), rng.normal(size=(9, 3))
    return Trajectory.from_points(NAMES, times, values, slopes)


def test_cubic_pieces_are_those_of_scipy(curve):
    truth = CubicHermiteSpline(curve.times, curve.positions, curve.velocities)
    t = np.linspace(0.0, curve.duration, 500)
    for order, method in enumerate((curve.at, curve.velocity, curve.acceleration)):
        inner = t[:-1] if order == 2 else t
        np.testing.assert_allclose(method(inner), truth(inner, order), atol=1e-9)
    assert curve.at(0.3).shape == (3,)


def test_fifth_degree_pieces_meet_their_accelerations():
    rng = np.random.default_rng(0)
    times, rows = np.array([0.0, 0.4, 1.5]), rng.normal(size=(3, 3, 3))
    curve = Trajectory.from_points(NAMES, times, *rows)
    for row, method in zip(rows, (curve.at, curve.velocity, curve.acceleration), strict=True):
        np.testing.assert_allclose(method(times), row, atol=1e-9)
        np.testing.assert_allclose(method(times[1:] - 1e-9), row[1:], atol=1e-5)


def test_it_stands_still_before_the_start_and_after_the_end(curve):
    np.testing.assert_array_equal(curve.at(-1.0), curve.start)
    np.testing.assert_array_equal(curve.at(curve.duration + 1.0), curve.end)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_peaks_are_never_exceeded_and_nearly_attained(curve, order):
    t = np.linspace(0.0, curve.duration, 200_000)
    seen = np.abs((curve.velocity, curve.acceleration, curve.jerk)[order - 1](t)).max(axis=0)
    peaks = curve.peaks(order)
    assert (peaks >= seen - 1e-9).all()
    assert (peaks <= 1.01 * seen).all()


def test_stretching_scales_velocities_and_accelerations(curve):
    slow = curve.stretched(2.0)
    t = np.linspace(0.0, curve.duration, 50)
    np.testing.assert_allclose(slow.at(2.0 * t), curve.at(t), atol=1e-9)
    np.testing.assert_allclose(slow.peaks(1), curve.peaks(1) / 2.0)
    np.testing.assert_allclose(slow.peaks(2), curve.peaks(2) / 4.0)


def test_parts_join_to_the_whole(curve):
    whole = curve.between(0.0, 0.77).then(curve.between(0.77, curve.duration))
    t = np.linspace(0.0, curve.duration, 333)
    np.testing.assert_allclose(whole.at(t), curve.at(t), atol=1e-9)
    np.testing.assert_allclose(whole.velocity(t), curve.velocity(t), atol=1e-8)


def test_joining_what_does_not_meet_names_the_joint(curve):
    with pytest.raises(InvalidInputError, match=r"joint '[abc]' jumps"):
        join([curve, curve])


def test_resampling_keeps_a_fixed_interval_and_ends_at_rest():
    spline = CubicSpline([0.0, 1.0, 2.0025], np.random.default_rng(1).normal(size=(3, 3)), bc_type="clamped")
    curve = Trajectory.from_points(NAMES, spline.x, spline(spline.x), spline(spline.x, 1))
    sampled = curve.resampled(100.0)
    np.testing.assert_allclose(np.diff(sampled.times), 0.01)
    np.testing.assert_allclose(sampled.end, curve.end)
    t = np.linspace(0.0, 2.0, 777)
    off = np.abs(sampled.at(t + 0.01) - curve.at(t))
    assert (off <= curve.peaks(2) / 6e4 + 1e-9).all()


def test_files_bring_it_back(curve, tmp_path):
    curve.save(tmp_path / "curve.json")
    assert Trajectory.load(tmp_path / "curve.json") == curve
    curve.save(tmp_path / "curve.csv")
    t = np.linspace(0.0, curve.duration, 99)
    np.testing.assert_allclose(Trajectory.load(tmp_path / "curve.csv").at(t), curve.at(t), atol=1e-12)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["curve.csv", "curve.json"]


def test_ros_fields_bring_it_back(curve):
    message = curve.to_ros("world")
    assert list(message) == ["header", "joint_names", "points"]
    point = message["points"][3]
    assert list(point) == ["positions", "velocities", "accelerations", "effort", "time_from_start"]
    stamp = point["time_from_start"]
    assert stamp["sec"] + 1e-9 * stamp["nanosec"] == pytest.approx(curve.times[3])
    t = np.linspace(0.0, curve.duration, 99)
    np.testing.assert_allclose(Trajectory.from_ros(message).at(t), curve.at(t), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "text"),
    [("x.json", "{}"), ("x.json", "no"), ("x.csv", "a,b\n1,2\n"), ("x.csv", "time,position:a\n0,x\n"), ("x.txt", "")],
)
def test_files_of_other_kinds_are_refused(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInputError):
        Trajectory.load(tmp_path / name)


def test_times_that_do_not_rise_are_refused():
    with pytest.raises(InvalidInputError, match="rise"):
        Trajectory.from_points(NAMES, [0.0, 1.0, 1.0], np.zeros((3, 3)))
