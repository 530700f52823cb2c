import os

import pytest
import torch

from hecka.data.readers import ambiguous
from hecka.errors import InputError

GENERATOR = torch.Generator().manual_seed(0)
SAMPLES = torch.rand(6, 1, 28, 28, generator=GENERATOR)
LABELS = torch.randint(0, 10, (6, 10), generator=GENERATOR)


def write(folder, samples=SAMPLES, labels=LABELS):
    torch.save(samples, folder / "samples.pt")
    torch.save(labels, folder / "labels.pt")
    return folder / "samples.pt", folder / "labels.pt"


@pytest.mark.parametrize(("split", "first"), [("train", 0), ("test", 3)])
def test_each_image_stands_ten_times_in_its_half(tmp_path, split, first):
    images, labels = ambiguous.read(*write(tmp_path), split)
    assert images.shape == (30, 1, 28, 28)
    for index in range(30):
        source, copy = first + index // 10, index % 10
        assert labels[index] == LABELS[source, copy]
        assert (images[index] - SAMPLES[source] * 255).abs().max() <= 0.5 + 1e-4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"samples": SAMPLES * 255}, "values from 0 to 1"),
        ({"samples": SAMPLES - 0.5}, "values from 0 to 1"),
        ({"samples": SAMPLES * float("nan")}, "values from 0 to 1"),
        ({"samples": SAMPLES[:, 0]}, r"got torch.float32 \(6, 28, 28\)"),
        ({"samples": SAMPLES[:4]}, r"\(4, 1, 28, 28\) and torch.int64 \(6, 10\)"),
        ({"labels": LABELS.float()}, "whole labels"),
        ({"labels": LABELS[:, 0]}, "whole labels"),
        ({"labels": [1, 2]}, "expected one tensor in .*labels.pt, got list"),
    ],
)
def test_other_tensors_are_refused(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        ambiguous.read(*write(tmp_path, **changes), "train")


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_code_in_a_file_is_not_run(tmp_path):
    with pytest.raises(InputError, match=r"expected one tensor in .*samples\.pt, got UnpicklingError"):
        ambiguous.read(*write(tmp_path, samples=Trap(tmp_path / "trap")), "train")
    assert not (tmp_path / "trap").exists()


@pytest.mark.parametrize("content", [b"", b"<html>"])
def test_a_damaged_file_is_named(tmp_path, content):
    samples, labels = write(tmp_path)
    labels.write_bytes(content)
    with pytest.raises(InputError, match=r"labels\.pt"):
        ambiguous.read(samples, labels, "train")
