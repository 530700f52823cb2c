import pytest
import torch

from hecka.data.images import ImageData, Whitening
from hecka.errors import InputError
from hecka.experiments import outlier_figure as module
from hecka.experiments.outlier_figure import FINISHED, KINDS_SHOWN, OF_COLOURS, outlier_figure, sheet_rows
from hecka.outliers.channels import KINDS


def photographs(*shape):
    """Smooth images between -1 and 1, so that a blur leaves most of them and noise does not."""
    coarse = torch.rand(shape[0], shape[1], 4, 4, generator=torch.Generator().manual_seed(0)) * 2 - 1
    return torch.nn.functional.interpolate(coarse, size=shape[2:], mode="bilinear")


def made(images, seed=0):
    return dict(zip(KINDS_SHOWN, sheet_rows(images, seed), strict=False))


@pytest.mark.parametrize("shape", [(4, 1, 28, 28), (4, 3, 32, 32)])
def test_every_row_holds_as_many_images_of_the_same_shape(shape):
    rows = sheet_rows(photographs(*shape), seed=0)
    assert len(rows) == len(KINDS_SHOWN) + FINISHED
    blank = {name for name, row in zip(KINDS_SHOWN, rows, strict=False) if row is None}
    assert blank == (OF_COLOURS if shape[1] == 1 else set())
    assert all(row.shape == shape and row.isfinite().all() for row in rows if row is not None)


def test_there_is_a_row_for_every_kind_of_noise():
    shown = [name for name in KINDS_SHOWN if name not in OF_COLOURS][: len(KINDS)]
    flat = {name: made(photographs(50, 1, 32, 32))[name].flatten(1) for name in shown}
    values = {name: max(len(image.unique()) for image in images) for name, images in flat.items()}
    assert values.pop("constants") == 1
    assert [values.pop(name) for name in shown if "line" in name or name == "checkerboard"] == [2, 2, 2, 2]
    assert min(values.values()) > 4  # blocks, Perlin, simplex


def test_rows_show_what_their_names_say():
    images = photographs(40, 3, 32, 32)
    rows = made(images)
    assert torch.equal(rows["training images"], images)
    assert torch.equal(rows["broken: inverted"], -images)
    assert (rows["one channel repeated"] == rows["one channel repeated"][:, :1]).all()
    erased = (rows["erased"] != images).any(dim=1)
    assert 0.1 <= erased.double().mean() <= 0.5
    assert rows["erased"][erased[:, None].expand_as(images)].unique().tolist() == [-1, 0, 1]
    for row, image in zip(rows["flipped"], images, strict=True):
        flips = [image.flip(dims) for dims in ((), (1,), (2,), (1, 2))]
        assert any(torch.allclose(row, flipped, atol=1e-4) for flipped in flips)
    change = {name: (row - images).square().mean().item() for name, row in rows.items()}
    assert 0 < change["blurred"] < change["bent"]
    assert rows["roughened"].sub(images).mean().abs() < 0.01


def test_one_seed_repeats_and_two_differ():
    images = photographs(3, 3, 16, 16)
    first, again, other = (torch.stack(sheet_rows(images, seed)) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_figure_is_written(tmp_path, monkeypatch):
    def tiny(name, split, data):
        shape = {"mnist": (200, 1, 28, 28), "cifar10": (5, 3, 32, 32)}[name]
        images = ((photographs(*shape) + 1) * 127.5).byte()
        channels = (0.5,) * shape[1]
        return ImageData(images, torch.zeros(len(images)).long(), name, split, ("a",), Whitening(channels, channels))

    monkeypatch.setattr(module, "load", tiny)
    text = outlier_figure(tmp_path / "out", columns=2)
    assert str(tmp_path / "out" / "outliers.png") in text
    assert (tmp_path / "out" / "outliers.png").read_bytes().startswith(b"\x89PNG")


def test_no_column_is_refused():
    with pytest.raises(InputError, match="at least 1 column, got 0"):
        outlier_figure(columns=0)
