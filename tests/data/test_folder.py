import numpy as np
import pytest
import torch
from PIL import Image

from hecka.data.readers import folder
from hecka.errors import InputError

RANDOM = np.random.default_rng(0)


def pixels(*shape):
    return RANDOM.integers(0, 256, shape, dtype=np.uint8)


def test_labels_follow_the_names_of_folders_and_files(tmp_path, write_picture):
    names = ["dog/2.png", "dog/10.png", "cat/b.png", "cat/deep/a.bmp", "ant/x.png"]
    content = {name: pixels(4, 5) for name in names}
    for name in names:
        write_picture(tmp_path / name, content[name])
    (tmp_path / "cat" / ".hidden").write_bytes(b"no picture")
    images, labels = folder.read(tmp_path)
    assert folder.subfolders(tmp_path) == ("ant", "cat", "dog")
    assert labels.tolist() == [0, 1, 1, 2, 2]
    expected = [content[name] for name in ("ant/x.png", "cat/b.png", "cat/deep/a.bmp", "dog/10.png", "dog/2.png")]
    assert np.array_equal(images[:, 0].numpy(), np.stack(expected))


def test_colour_keeps_its_channels_and_makes_grey_ones_colour(tmp_path, write_picture):
    red, grey = pixels(4, 5, 3), pixels(4, 5)
    write_picture(tmp_path / "a" / "red.png", red)
    write_picture(tmp_path / "b" / "grey.png", grey)
    images, _ = folder.read(tmp_path)
    assert np.array_equal(images[0].numpy(), red.transpose(2, 0, 1))
    assert all(np.array_equal(images[1, channel].numpy(), grey) for channel in range(3))


def test_sizes_are_brought_to_one_about_the_centre(tmp_path, write_picture):
    write_picture(tmp_path / "a" / "exact.png", exact := pixels(8, 8))
    write_picture(tmp_path / "a" / "high.png", high := pixels(14, 8))
    write_picture(tmp_path / "a" / "large.png", np.arange(16)[:, None].repeat(16, 1) * 10)
    write_picture(tmp_path / "a" / "wide.png", wide := pixels(8, 16))
    images, _ = folder.read(tmp_path, size=8)
    assert images.shape == (4, 1, 8, 8)
    for number, expected in {0: exact, 1: high[3:11], 3: wide[:, 4:12]}.items():
        assert np.array_equal(images[number, 0].numpy(), expected)
    rows = images[2, 0].float()
    assert (rows == rows[:, :1]).all()
    # Two rows of 10 (2 i) and 10 (2 i + 1) become one of their mean, but at the edges of the picture.
    assert (rows[1:-1, 0] - (20 * torch.arange(8.0) + 5)[1:-1]).abs().max() <= 1


def test_many_pictures_keep_their_order(tmp_path, write_picture):
    paths = [write_picture(tmp_path / f"{number}.png", np.full((2, 2), number)) for number in range(100)]
    assert torch.equal(folder.decode(paths, (1, 2, 2))[:, 0, 0, 0], torch.arange(100, dtype=torch.uint8))


def test_different_sizes_without_a_size_are_refused(tmp_path, write_picture):
    write_picture(tmp_path / "a" / "1.png", pixels(4, 5))
    write_picture(tmp_path / "a" / "2.png", pixels(6, 5))
    with pytest.raises(InputError, match=r"got 2 sizes, among them \(5, 4\) and \(5, 6\); give a size"):
        folder.read(tmp_path)


@pytest.mark.parametrize("size", [None, 4])
@pytest.mark.parametrize("content", [b"", b"no picture", b"\x89PNG\r\n\x1a\n broken"])
def test_a_file_that_is_no_picture_is_named(tmp_path, content, size):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "odd.png").write_bytes(content)
    with pytest.raises(InputError, match=r"expected a picture at .*odd\.png"):
        folder.read(tmp_path, size)


def test_half_a_picture_is_refused(tmp_path, write_picture):
    path = write_picture(tmp_path / "a" / "half.png", pixels(40, 40))
    path.write_bytes(path.read_bytes()[:800])
    with pytest.raises(InputError, match=r"half\.png"):
        folder.read(tmp_path)


def test_sixteen_bits_are_refused_not_clipped(tmp_path):
    (tmp_path / "a").mkdir()
    Image.fromarray(np.full((4, 4), 5000, np.uint16)).save(tmp_path / "a" / "deep.png")
    with pytest.raises(InputError, match="8 bits a channel, got mode I;16"):
        folder.read(tmp_path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "got nothing at"),
        (lambda path: path.mkdir(), "one subfolder a class"),
        (lambda path: (path / "empty").mkdir(parents=True), "pictures of class 'empty'"),
    ],
)
def test_a_folder_without_pictures_is_refused(tmp_path, make, message):
    make(tmp_path / "mine")
    with pytest.raises(InputError, match=message):
        folder.read(tmp_path / "mine")
