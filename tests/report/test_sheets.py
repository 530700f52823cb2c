import numpy as np
import pytest
import torch
from PIL import Image

from hecka.errors import InputError
from hecka.report.sheets import EDGE, GAP, LABELS, TITLE, Panel, mosaic, sheet


def pictures(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


def test_each_image_is_enlarged_in_its_place_and_the_rest_is_white():
    images = pictures(3, 3, 20, 32)
    picture = mosaic(Panel("", [images[:2], None, images[2:]]), step=50)
    expected = np.ones((150, 2 * 64 + GAP, 3))
    for number, (top, left) in enumerate([(0, 0), (0, 64 + GAP), (100, 0)]):
        for row in range(40):
            for column in range(64):
                expected[top + row, left + column] = images[number, :, row // 2, column // 2]
    np.testing.assert_array_equal(picture, expected)


def test_grey_images_are_grey_and_values_beyond_the_ends_are_cut():
    picture = mosaic(Panel("", [torch.tensor([-1.0, 0.25, 7.0]).view(1, 1, 1, 3)]), step=21 + GAP)
    assert [picture[0, 21 * place].tolist() for place in range(3)] == [[0.0] * 3, [0.25] * 3, [1.0] * 3]


def test_every_pixel_is_a_square_of_whole_pixels_in_every_panel(tmp_path):
    """Read back from the file: images of two sizes and colours side by side, row beside row."""
    grey, colour = pictures(2, 1, 28, 28), pictures(2, 3, 32, 32)
    panels = [Panel("a", [grey, None, grey], [["x"] * 2] * 3), Panel("b", [colour] * 3)]
    sheet(panels, ["first", "second", "third"], tmp_path / "deep" / "sheet.png", title="title")
    found = np.asarray(Image.open(tmp_path / "deep" / "sheet.png").convert("RGB")) / 255
    step, left = panels[0].step, LABELS + 2 * 56 + GAP + EDGE
    for row in (0, 2):
        for column in range(2):
            for images, side, start in ((grey, 28, LABELS), (colour, 32, left)):
                x, y = start + column * (2 * side + GAP), TITLE + row * step
                square = found[y : y + 2 * side, x : x + 2 * side]
                large = images[column].permute(1, 2, 0).repeat_interleave(2, 0).repeat_interleave(2, 1)
                np.testing.assert_allclose(square, large.expand(-1, -1, 3).numpy(), atol=1 / 255)


def test_images_larger_than_a_cell_keep_their_size():
    assert Panel("", [pictures(1, 1, 100, 70)]).scale == 1


@pytest.mark.parametrize(
    ("panels", "labels", "message"),
    [
        ([Panel("", [pictures(1, 1, 8, 8)])], ["a", "b"], r"as many labels as every panel has rows, got \[1, 2\]"),
        ([Panel("", [pictures(1, 1, 8, 8), pictures(1, 3, 8, 8)])], [], r"one shape in a panel, got \[\(1, 8, 8\), "),
        ([Panel("", [None])], [], r"one shape in a panel, got \[\]"),
    ],
)
def test_rows_that_do_not_fit_are_refused(tmp_path, panels, labels, message):
    with pytest.raises(InputError, match=message):
        sheet(panels, labels, tmp_path / "sheet.png", title="")
