import numpy as np
import pytest

from hecka.data.readers import npz
from hecka.errors import InputError

GREY = np.random.default_rng(0).integers(0, 256, (2, 5, 6), dtype=np.uint8)
COLOUR = np.random.default_rng(1).integers(0, 256, (2, 3, 5, 6), dtype=np.uint8)
LABELS = np.array([0, 3])


def write(path, images=GREY, labels=LABELS, split="train", **more):
    np.savez_compressed(path, **{f"{split}_images": images, f"{split}_labels": labels}, **more)
    return path


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        (GREY, GREY[:, None]),
        (GREY[:, None], GREY[:, None]),
        (GREY[..., None], GREY[:, None]),
        (COLOUR, COLOUR),
        (COLOUR.transpose(0, 2, 3, 1), COLOUR),
    ],
)
@pytest.mark.parametrize("labels", [LABELS, LABELS[:, None], LABELS.astype(np.uint8)])
def test_every_layout_comes_out_alike(tmp_path, images, expected, labels):
    got, targets = npz.read(write(tmp_path / "mine.npz", images, labels), "train")
    assert np.array_equal(got.numpy(), expected)
    assert targets.tolist() == [0, 3]


def test_splits_are_kept_apart_and_share_their_classes(tmp_path):
    path = write(tmp_path / "mine.npz", test_images=GREY[:1], test_labels=np.array([5]))
    assert npz.read(path, "test")[1].tolist() == [5]
    assert npz.classes(path) == tuple("012345")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"split": "test"}, "hold the arrays train_images and train_labels"),
        ({"images": GREY.astype(np.float32)}, "expected uint8"),
        ({"images": np.zeros((2, 3, 5, 3), np.uint8)}, r"got uint8 \(2, 3, 5, 3\)"),
        ({"images": np.zeros((2, 4, 5, 6), np.uint8)}, r"got uint8 \(2, 4, 5, 6\)"),
        ({"labels": np.array([0.0, 1.0])}, "whole numbers"),
        ({"labels": np.eye(2, dtype=int)}, r"int64 \(2, 2\)"),
        ({"labels": np.array(["a", "b"], dtype=object)}, "allow_pickle"),
    ],
)
def test_other_arrays_are_refused(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        npz.read(write(tmp_path / "mine.npz", **changes), "train")


@pytest.mark.parametrize("content", [b"", b"no arrays", b"PK\x03\x04 broken"])
def test_what_is_no_npz_is_refused(tmp_path, content):
    path = tmp_path / "mine.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"mine\.npz"):
        npz.read(path, "train")


def test_a_single_array_is_refused(tmp_path):
    np.save(tmp_path / "mine.npy", GREY)
    with pytest.raises(InputError, match=r"mine\.npy"):
        npz.read(tmp_path / "mine.npy", "train")
