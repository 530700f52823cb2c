import numpy as np
import pytest

from hecka.data.readers import idx
from hecka.errors import InputError

PIXELS = np.arange(2 * 3 * 4).reshape(2, 3, 4)


@pytest.mark.parametrize("packed", [True, False])
def test_what_was_written_is_read(tmp_path, write_idx, packed):
    images, labels = idx.read(
        write_idx(tmp_path / "images", PIXELS, packed), write_idx(tmp_path / "labels", np.array([7, 255]), packed)
    )
    assert images.shape == (2, 1, 3, 4)
    assert np.array_equal(images[:, 0].numpy(), PIXELS)
    assert labels.tolist() == [7, 255]


def test_an_empty_array_is_an_empty_tensor(tmp_path, write_idx):
    assert idx.read_array(write_idx(tmp_path / "none", np.zeros((0, 3, 4))), rank=3).shape == (0, 3, 4)


def test_images_and_labels_of_different_sets_are_refused(tmp_path, write_idx):
    images, labels = write_idx(tmp_path / "images", PIXELS), write_idx(tmp_path / "labels", np.zeros(3))
    with pytest.raises(InputError, match=r"got 2 images in .*images and 3 labels in .*labels"):
        idx.read(images, labels)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-1], "expected 24 values after the header .* got 23"),
        (lambda content: content + b"x", "expected 24 values .* got 25"),
        (lambda content: content[:10], "begin with 0 0 8 3 and 3 lengths"),
        (lambda content: b"", "got an empty file"),
        (lambda content: b"\x00\x00\x0d\x03" + content[4:], "got 0 0 13 3"),
        (lambda content: b"<html>", "got 60 104 116 109"),
        (lambda content: b"\x1f\x8b" + content, "expected to read"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, write_idx, damage, message):
    path = write_idx(tmp_path / "images", PIXELS, packed=False)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=message):
        idx.read_array(path, rank=3)


def test_half_a_gzip_file_is_refused(tmp_path, write_idx):
    path = write_idx(tmp_path / "images.gz", PIXELS)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match="fetch the file again"):
        idx.read_array(path, rank=3)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        idx.read_array(tmp_path / "nowhere", rank=3)
