import os
import pickle

import numpy as np
import pytest

from hecka.data.readers import cifar
from hecka.errors import InputError

PIXELS = np.random.default_rng(0).integers(0, 256, (2, 3072), dtype=np.uint8)


class Runs:
    """Unpickles to the result of a call."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def write(path, content, protocol=4):
    path.write_bytes(pickle.dumps(content, protocol))
    return path


def batch(pixels=PIXELS, labels=(3, 9)):
    return {b"data": pixels, b"labels": list(labels), b"filenames": [b"a.png", b"b.png"], b"batch_label": b"1 of 5"}


def test_pixels_are_red_then_green_then_blue_row_by_row(tmp_path):
    images, labels = cifar.read([write(tmp_path / "batch", batch())], "labels")
    assert images.shape == (2, 3, 32, 32)
    assert labels.tolist() == [3, 9]
    for channel, row, column in [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (2, 31, 31)]:
        assert images[:, channel, row, column].tolist() == PIXELS[:, 1024 * channel + 32 * row + column].tolist()


def test_python_2_wrote_names_and_bytes_alike(tmp_path):
    """The official files: protocol 2 of Python 2, where text and bytes are one type."""
    content = (
        b"\x80\x02}q\x01(U\x04dataq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04K\x00\x85U\x01b"
        b"\x87Rq\x05(K\x01K\x01M\x00\x0c\x86cnumpy\ndtype\nq\x06U\x02u1K\x00K\x01\x87Rq\x07(K\x03U\x01|NNNJ\xff\xff\xff\xff"
        b"J\xff\xff\xff\xffK\x00tb\x89T\x00\x0c\x00\x00" + PIXELS[0].tobytes() + b"tbU\x06labelsq\x08]K\x06au."
    )
    path = tmp_path / "data_batch_1"
    path.write_bytes(content)
    images, labels = cifar.read([path], "labels")
    assert np.array_equal(images.flatten().numpy(), PIXELS[0])
    assert labels.tolist() == [6]


def test_files_follow_one_another(tmp_path):
    paths = [write(tmp_path / name, batch(labels=labels)) for name, labels in (("a", (0, 1)), ("b", (2, 3)))]
    assert cifar.read(paths, "labels")[1].tolist() == [0, 1, 2, 3]
    assert cifar.read(paths[::-1], "labels")[1].tolist() == [2, 3, 0, 1]


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize(
    "make",
    [
        lambda trap: Runs(os.mkdir, str(trap)),
        lambda trap: Runs(eval, f"__import__('os').mkdir({str(trap)!r})"),
        lambda trap: batch() | {b"extra": [Runs(os.mkdir, str(trap))]},
        lambda trap: np.array([Runs(os.mkdir, str(trap))], dtype=object),
        lambda trap: Runs(np.save, str(trap), [1]),
        lambda trap: Runs(np.ndarray.tofile, PIXELS, str(trap)),
    ],
)
def test_a_pickle_that_runs_code_is_refused_before_it_does(tmp_path, make, protocol):
    trap = tmp_path / "trap"
    path = write(tmp_path / "batch", make(trap), protocol)
    with pytest.raises(InputError, match=r"cifar: .*batch: expected .* it was not loaded"):
        cifar.read([path], "labels")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "name", [b"numpy\ncore.os.system\n", b"numpy.core.multiarray\nfrombuffer\n", b"builtins\nset\n"]
)
def test_names_are_admitted_letter_by_letter(tmp_path, name):
    path = tmp_path / "batch"
    path.write_bytes(b"c" + name + b".")
    with pytest.raises(InputError, match="it asks for"):
        cifar.read([path], "labels")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>not here</html>",
        pickle.dumps(batch())[:500],
        pickle.dumps([1, 2]),
        pickle.dumps({b"labels": [1]}),
        pickle.dumps({b"data": [1], b"labels": [1]}),
        pickle.dumps(batch() | {b"labels": ["a", "b"]}),
        pickle.dumps(batch() | {b"labels": [2**70, 0]}),
        pickle.dumps(batch() | {b"labels": [0.5, 1.5]}),
        pickle.dumps(batch(labels=[1])),
        pickle.dumps(batch(pixels=PIXELS[:, :5])),
        pickle.dumps(batch(pixels=PIXELS.astype(np.int64))),
        pickle.dumps(batch(pixels=PIXELS.view(np.int8))),
        pickle.dumps(batch(pixels=np.asfortranarray(PIXELS))),
        b"cnumpy\nndarray\n.",
        b"cnumpy.core.multiarray\n_reconstruct\n)R.",
    ],
)
def test_what_is_no_batch_of_images_is_refused(tmp_path, content):
    path = tmp_path / "batch"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"cifar: .*batch.* fetch the official file"):
        cifar.read([path], "labels")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        cifar.read([tmp_path / "nowhere"], "labels")
