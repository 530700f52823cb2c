import pytest
import torch
from torch import Tensor

from hecka.outliers.draws import Draws
from hecka.outliers.patterns import blocks, checkerboard, columns, grid, plain, rows

SIZES = [(28, 28), (32, 32), (64, 64), (17, 23), (1, 1)]


def runs(line: Tensor) -> list[tuple[float, int]]:
    """Value and length of each run of equal pixels, but for the first and the last, which the border may cut."""
    values, lengths = torch.unique_consecutive(line, return_counts=True)
    return list(zip(values.tolist(), lengths.tolist(), strict=True))[1:-1]


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_lines_are_even_and_keep_to_their_widths(height: int, width: int, draws: Draws) -> None:
    for planes, side, along in (
        (rows(draws, 50, height, width), height, 2),
        (columns(draws, 50, height, width), width, 1),
    ):
        assert planes.shape == (50, height, width)
        lines = planes.select(along, 0)
        assert (planes == lines.unsqueeze(along)).all()
        assert set(lines.unique().tolist()) <= {-1.0, 1.0}
        for line in lines:
            for value, share in ((1.0, 0.1), (-1.0, 0.2)):
                lengths = {length for of, length in runs(line) if of == value}
                assert len(lengths) <= 1
                assert lengths <= set(range(1, max(1, int(share * side)) + 1))


def test_lines_come_in_every_width_and_begin_anywhere(draws: Draws) -> None:
    lines = columns(draws, 2000, 1, 64)[:, 0]
    assert {length for line in lines for value, length in runs(line) if value == 1} == set(range(1, 7))
    covered = (lines > 0).double().mean(dim=0)
    assert covered.max() - covered.min() < 0.08  # no column is lined more often than another


def test_a_grid_is_lines_over_lines(draws: Draws) -> None:
    for plane in grid(draws, 50, 20, 30) > 0:
        assert (plane == (plane.all(dim=1, keepdim=True) | plane.all(dim=0, keepdim=True))).all()


@pytest.mark.parametrize(("height", "width"), [(28, 28), (17, 23)])
def test_a_checkerboards_neighbouring_fields_differ(height: int, width: int, draws: Draws) -> None:
    for plane in checkerboard(draws, 50, height, width):
        (field,) = {length for line in (*plane, *plane.T) for _, length in runs(line)}
        assert 1 <= field <= 0.2 * min(height, width)
        assert (plane[field:] == -plane[:-field]).all()
        assert (plane[:, field:] == -plane[:, :-field]).all()


@pytest.mark.parametrize(("height", "width"), [(32, 32), (17, 23)])
def test_blocks_are_even_and_keep_to_their_sides(height: int, width: int, draws: Draws) -> None:
    planes = blocks(draws, 50, height, width)
    assert planes.shape == (50, height, width)
    assert planes.abs().max() <= 1
    for plane in planes:
        for lines, side in ((plane, width), (plane.T, height)):
            (length,) = {length for line in lines for _, length in runs(line)}
            assert max(1, int(0.1 * side)) <= length <= 0.4 * side


def test_plain_planes_have_one_value_each(draws: Draws) -> None:
    planes = plain(draws, 50, 5, 6)
    assert (planes == planes[:, :1, :1]).all()
    assert len(planes[:, 0, 0].unique()) == 50
