"""Tiny data in the shape of every set, so that each recipe can run in a moment."""

import pytest
import torch

from hecka.data.catalogue import CATALOGUE
from hecka.data.images import ImageData, Whitening
from hecka.experiments import sources

SIZES = {"train": 40, "test": 20}


def fake(name, split="train", root=None):
    """Random images of the shape and classes of the set ``name``; copies in tens for Ambiguous-MNIST."""
    dataset = CATALOGUE[name]
    generator = torch.Generator().manual_seed(len(name) + (split == "test"))
    count, copies = SIZES[split], 10 if name == "ambiguous-mnist" else 1
    images = torch.randint(256, (count // copies, *dataset.shape), generator=generator, dtype=torch.uint8)
    classes = dataset.classes or tuple(f"class {label}" for label in range(200))
    return ImageData(
        images.repeat_interleave(copies, 0),
        torch.arange(count) % (5 if copies == 1 else 10),
        name,
        split,
        classes,
        dataset.whitening,
        (f"made-up {name}",),
    )


@pytest.fixture
def fake_data(monkeypatch):
    monkeypatch.setattr(sources, "load", fake)
    return fake


@pytest.fixture
def whitening():
    return Whitening((0.5,), (0.25,))
