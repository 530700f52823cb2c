import numpy as np
import pytest
from scipy.io import savemat

from hecka.data.readers import mat
from hecka.errors import InputError

PIXELS = np.random.default_rng(0).integers(0, 256, (4, 5, 3, 6), dtype=np.uint8)
LABELS = np.array([[1], [10], [9], [10], [2], [5]], dtype=np.uint8)


def write(path, **content):
    savemat(path, content, do_compression=True)
    return path


def test_pixels_keep_their_place_and_ten_is_zero(tmp_path):
    images, labels = mat.read(write(tmp_path / "test_32x32.mat", X=PIXELS, y=LABELS))
    assert images.shape == (6, 3, 4, 5)
    assert images.is_contiguous()
    assert labels.tolist() == [1, 0, 9, 0, 2, 5]
    for index in np.ndindex(6, 3, 4, 5):
        number, channel, row, column = index
        assert images[index] == PIXELS[row, column, channel, number]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"X": PIXELS}, "with X and y, got KeyError"),
        ({"X": PIXELS, "y": LABELS[:5]}, r"y \(5, 1\)"),
        ({"X": PIXELS.astype(float), "y": LABELS}, "float64"),
        ({"X": PIXELS[..., 0], "y": LABELS}, r"X \(4, 5, 3\)"),
    ],
)
def test_other_arrays_are_refused(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        mat.read(write(tmp_path / "test.mat", **content))


@pytest.mark.parametrize("keep", [0, 50, 200, -30])
def test_a_damaged_file_is_refused(tmp_path, keep):
    path = write(tmp_path / "test.mat", X=PIXELS, y=LABELS)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match="fetch it again"):
        mat.read(path)
