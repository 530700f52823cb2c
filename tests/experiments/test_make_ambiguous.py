"""The surrogate of Ambiguous-MNIST: how it is stored, counted and found again, with stand-ins for its makers."""

import json
import os

import pytest
import torch
from scipy.stats import chisquare
from scipy.stats import entropy as scipy_entropy

from hecka.data.catalogue import CATALOGUE
from hecka.data.download import DownloadError
from hecka.data.images import ImageData
from hecka.data.load import load
from hecka.errors import InputError
from hecka.experiments import ambiguous as module
from hecka.experiments.ambiguous import STATISTICS, make, read_statistics, statistics, store, table
from hecka.experiments.between_digits import Judged

COUNT = 400
FOLDER = "AmbiguousMNIST-surrogate"


def fake(name, split, root):
    count = {"train": 40, "test": 20}[split]
    images, labels = torch.zeros(count, 1, 28, 28, dtype=torch.uint8), torch.arange(count) % 10
    return ImageData(images, labels, name, split, CATALOGUE[name].classes, CATALOGUE[name].whitening)


def judged(generator, count=COUNT):
    images = torch.randint(256, (count, 1, 28, 28), generator=generator, dtype=torch.uint8)
    probs = torch.tensor([0.6, 0.3, 0.1] + [0.0] * 7).expand(count, 10)
    return Judged(images, probs, torch.full((count,), 0.02))


@pytest.fixture
def made_of(monkeypatch):
    """A tiny MNIST, of 40 and 20 images, and makers who only note what they were asked for."""
    asked = []
    monkeypatch.setattr(module, "load", fake)
    monkeypatch.setattr(module, "train_vae", lambda images, seed, epochs: asked.append(("vae", len(images), seed)))
    monkeypatch.setattr(
        module, "train_judges", lambda images, labels, seed, epochs: asked.append(("judges", len(images), seed))
    )

    def choose(vae, judges, digits, labels, count, generator):
        asked.append(("choose", len(digits), count))
        return judged(generator), 1234

    monkeypatch.setattr(module, "choose", choose)
    return asked


def test_what_is_made_is_what_load_reads(made_of, tmp_path):
    told = []
    place = make(str(tmp_path), seed=5, tell=told.append)
    assert place == tmp_path / FOLDER
    assert [line[:3] for line in told] == ["1/4", "2/4", "3/4", "4/4"]
    # The networks see MNIST's training images alone; each half lies between its own digits.
    assert made_of == [("vae", 40, 5), ("judges", 40, 5), ("choose", 40, 6000), ("choose", 20, 6000)]
    halves = [load("ambiguous-mnist-surrogate", split, tmp_path) for split in ("train", "test")]
    for number, data in enumerate(halves):
        generator = torch.Generator().manual_seed(2 * 5 + number)
        assert torch.equal(data.images[::10], judged(generator).images)
        assert data.notes[0] == "surrogate Ambiguous-MNIST"
        counts = data.labels.bincount()
        assert len(counts) == 3
        assert chisquare(counts, torch.tensor([0.6, 0.3, 0.1]) * 10 * COUNT).pvalue > 1e-3
    assert not torch.equal(halves[0].images, halves[1].images)


def test_one_seed_makes_the_same_files_and_another_others(made_of, tmp_path):
    files = []
    for folder, seed in (("a", 0), ("b", 0), ("c", 1)):
        place = make(str(tmp_path / folder), seed)
        files.append([(place / name).read_bytes() for name in sorted(path.name for path in place.iterdir())])
    assert files[0] == files[1]
    assert all(one != other for one, other in zip(files[0], files[2], strict=True))


def test_what_is_there_is_left_alone_and_another_seed_refused(made_of, tmp_path):
    place = make(str(tmp_path), seed=5)
    made_of.clear()
    assert make(str(tmp_path), seed=5) == place
    with pytest.raises(InputError, match=r"expected seed 5, with which .* was made, got 6; delete"):
        make(str(tmp_path), seed=6)
    assert made_of == []


def test_it_goes_to_the_first_folder_and_is_found_in_any(made_of, tmp_path):
    both = os.pathsep.join([str(tmp_path / "one"), str(tmp_path / "two")])
    place = make(both)
    assert place == tmp_path / "one" / FOLDER
    made_of.clear()
    assert make(os.pathsep.join(reversed(both.split(os.pathsep)))) == place
    assert made_of == []


def test_without_mnist_it_says_how_to_get_it(tmp_path):
    with pytest.raises(InputError, match="run `hecka data fetch mnist`"):
        make(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_statistics_are_those_of_numpy_and_scipy():
    generator = torch.Generator().manual_seed(0)
    probs = torch.rand(50, 10, generator=generator).double().mul(4).softmax(dim=1)
    labels = torch.randint(10, (50, 7), generator=generator)
    half = Judged(torch.zeros(50, 1, 28, 28, dtype=torch.uint8), probs, torch.rand(50, generator=generator))
    found = statistics(half, labels)
    array = probs.numpy()
    hits = [array[n].argmax() == label for n in range(50) for label in labels[n].tolist()]
    assert found == {
        "images": 50,
        "labels": 7,
        "entropy": pytest.approx(scipy_entropy(array, axis=1).mean()),
        "ceiling": pytest.approx(array.max(axis=1).mean()),
        "drawn": pytest.approx(sum(hits) / 350),
        "disagreement": pytest.approx(half.disagreement.mean().item()),
    }


def test_nothing_half_written_stays(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.torch, "save", full)
    with pytest.raises(DownloadError, match="disk is full"):
        store(tmp_path / FOLDER, torch.zeros(2, 1, 28, 28), torch.zeros(2, 10).long(), {})
    assert list(tmp_path.iterdir()) == []


def test_damaged_statistics_say_what_to_do(tmp_path):
    (tmp_path / STATISTICS).write_text("{")
    with pytest.raises(InputError, match=r"expected statistics\.json in .* delete the folder and make it again"):
        read_statistics(tmp_path)


def test_the_table_shows_what_is_published_beside_it(made_of, tmp_path):
    place = make(str(tmp_path), seed=5)
    lines = {line.split("|")[1].strip(): line for line in table(place).splitlines()}
    cells = {name: [cell.strip() for cell in line.split("|")[2:-1]] for name, line in lines.items()}
    expected = f"{scipy_entropy([0.6, 0.3, 0.1]):.3f}"
    assert cells["mean entropy of the labels' distribution, nats"] == [expected, expected, "about .43"]
    assert cells["its mean greatest probability: the best expected accuracy"] == ["0.600", "0.600", ".816 to .837"]
    assert cells["candidates to choose from"][:2] == ["1234", "1234"]
    assert json.loads((place / STATISTICS).read_text())["seed"] == 5
