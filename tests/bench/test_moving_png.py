"""Animated PNG, read back by Pillow."""

import numpy as np
import pytest

from memetik.bench.report.viewer_image import draw_parts, save_moving_png, save_png

Image = pytest.importorskip("PIL.Image")


def test_pictures_come_back_as_they_went_in(tmp_path):
    rng = np.random.default_rng(0)
    frames = [rng.random((12, 17, 3)) for _ in range(3)]
    frames.append(frames[-1].copy())  # nothing changes
    frames.append(frames[-1].copy())
    frames[-1][3:5, 6:9] = 0.0  # a part does
    save_moving_png(tmp_path / "x.png", frames, rate=20.0)
    read = Image.open(tmp_path / "x.png")
    assert read.n_frames == 5
    assert read.info["duration"] == pytest.approx(50.0)
    for k, frame in enumerate(frames):
        read.seek(k)
        np.testing.assert_array_equal(np.asarray(read.convert("RGB")), np.round(255 * frame).astype(np.uint8))


def test_a_single_picture_is_a_plain_png(tmp_path):
    image = np.random.default_rng(1).random((9, 5, 3))
    save_png(tmp_path / "x.png", image)
    read = Image.open(tmp_path / "x.png")
    assert getattr(read, "n_frames", 1) == 1
    np.testing.assert_array_equal(np.asarray(read), np.round(255 * image).astype(np.uint8))


def test_a_floor_shows_a_shadow_and_leaves_things_alone():
    from memetik.bench.report.viewer import Part

    half = 0.1
    corners = np.array([[x, y, z] for x in (-half, half) for y in (-half, half) for z in (0.3, 0.5)])
    faces = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6],
                      [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])  # fmt: skip
    box = Part("box", corners, faces, np.array((0.9, 0.1, 0.1, 1.0)))
    view = {"size": (120, 120), "elevation": 0.6, "frame": np.array([[-0.5, -0.5, 0.0], [0.5, 0.5, 0.6]])}
    plain, floored = draw_parts([box], **view), draw_parts([box], **view, floor=0.0)
    red = plain[..., 1] < 0.2  # edges mix with what is behind them
    assert red.sum() > 100
    np.testing.assert_allclose(plain[red], floored[red])
    ground = floored[plain[..., 1] > 0.99].mean(axis=1)
    assert ground.min() < 0.85  # the shadow
    assert np.median(ground) > 0.9
