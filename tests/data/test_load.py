import hashlib
import pickle

import numpy as np
import pytest
import torch
from scipy.io import savemat

from hecka.data import load as module
from hecka.data.load import load
from hecka.errors import InputError

RANDOM = np.random.default_rng(0)


def pixels(*shape):
    return RANDOM.integers(0, 256, shape, dtype=np.uint8)


@pytest.fixture
def mnist(tmp_path, write_idx):
    """Three training images in MNIST's place."""
    content = pixels(3, 28, 28)
    raw = tmp_path / "MNIST" / "raw"
    write_idx(raw / "train-images-idx3-ubyte.gz", content)
    write_idx(raw / "train-labels-idx1-ubyte.gz", np.array([5, 0, 4]))
    return content


def test_a_set_is_found_read_and_marked(mnist, tmp_path):
    data = load("mnist", root=tmp_path)
    assert np.array_equal(data.images[:, 0].numpy(), mnist)
    assert data.labels.tolist() == [5, 0, 4]
    assert (data.name, data.split, data.classes) == ("mnist", "train", tuple("0123456789"))
    path = "MNIST/raw/train-images-idx3-ubyte.gz"
    found = hashlib.md5((tmp_path / path).read_bytes()).hexdigest()
    count, images, labels = data.notes
    assert count == "MNIST train: 3 of 60 000 images"
    assert images == f"{path}: checksum differs (md5:{found}, published md5:f68b3c2dcbeaaa9fbdd348bbdeb94873)"
    assert labels.startswith("MNIST/raw/train-labels-idx1-ubyte.gz: checksum differs")


def test_unpacked_files_are_read_and_marked(tmp_path, write_idx):
    raw = tmp_path / "FashionMNIST" / "raw"
    write_idx(raw / "t10k-images-idx3-ubyte", pixels(2, 28, 28), packed=False)
    write_idx(raw / "t10k-labels-idx1-ubyte", np.array([9, 1]), packed=False)
    data = load("fashion-mnist", "test", tmp_path)
    assert data.labels.tolist() == [9, 1]
    assert "t10k-images-idx3-ubyte: no published checksum to compare with (sha256:" in data.notes[1]


def test_the_variable_says_where(mnist, tmp_path, monkeypatch):
    monkeypatch.setenv("HECKA_DATA", str(tmp_path))
    assert len(load("mnist")) == 3


def test_half_of_a_pair_is_refused(mnist, tmp_path):
    (tmp_path / "MNIST" / "raw" / "train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(InputError, match=r"expected a file at .*train-labels-idx1-ubyte\.gz, found none"):
        load("mnist", root=tmp_path)


@pytest.mark.parametrize("name", ["mnist", "cifar10", "svhn", "tinyimagenet", "dtd", "notmnist", "dirty-mnist"])
def test_a_missing_set_says_how_to_get_it(tmp_path, name):
    with pytest.raises(InputError, match=rf"below .*, found nothing of it; run `hecka data fetch {name}`"):
        load(name, "test", tmp_path)


def test_another_set_under_the_name_is_refused(tmp_path, write_idx):
    raw = tmp_path / "MNIST" / "raw"
    write_idx(raw / "train-images-idx3-ubyte.gz", pixels(2, 8, 8))
    write_idx(raw / "train-labels-idx1-ubyte.gz", np.array([1, 2]))
    with pytest.raises(InputError, match=r"expected images \(1, 28, 28\) for 'mnist', got \(1, 8, 8\)"):
        load("mnist", root=tmp_path)


def test_an_unknown_split_is_refused():
    with pytest.raises(InputError, match="split 'train' or 'test', got 'val'"):
        load("mnist", "val")


def test_fetch_is_asked_for_the_split_alone(mnist, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(module.net, "fetch", lambda *arguments: asked.append(arguments))
    load("mnist", root=tmp_path)
    assert asked == []
    load("mnist", root=tmp_path, fetch=True)
    assert asked == [("mnist", tmp_path, "train")]


def test_some_of_cifar_s_batches_are_a_part_of_it(tmp_path):
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for number, labels in ((4, [4, 5]), (2, [2])):
        content = {b"data": pixels(len(labels), 3072), b"labels": labels}
        (folder / f"data_batch_{number}").write_bytes(pickle.dumps(content, protocol=4))
    data = load("cifar10", root=tmp_path)
    assert data.labels.tolist() == [2, 4, 5]
    assert data.notes[0] == "CIFAR-10 train: 2 of 5 files found, 3 of 50 000 images"
    assert [note.partition(":")[0] for note in data.notes[1:]] == [
        "cifar-10-batches-py/data_batch_2",
        "cifar-10-batches-py/data_batch_4",
    ]


def test_cifar_100_has_its_fine_labels(tmp_path):
    (tmp_path / "cifar-100-python").mkdir()
    content = {b"data": pixels(2, 3072), b"fine_labels": [99, 1], b"coarse_labels": [0, 1]}
    (tmp_path / "cifar-100-python" / "test").write_bytes(pickle.dumps(content, protocol=4))
    data = load("cifar100", "test", tmp_path)
    assert data.labels.tolist() == [99, 1]
    assert data.classes[99] == "worm"


def test_svhn_lies_in_its_folder(tmp_path):
    (tmp_path / "svhn").mkdir()
    savemat(tmp_path / "svhn" / "test_32x32.mat", {"X": pixels(32, 32, 3, 2), "y": np.array([[10], [3]])})
    data = load("svhn", "test", tmp_path)
    assert data.labels.tolist() == [0, 3]
    assert data.notes[0] == "SVHN test: 2 of 26 032 images"


def test_dirty_mnist_is_mnist_and_then_the_ambiguous(mnist, tmp_path):
    (tmp_path / "AmbiguousMNIST").mkdir()
    torch.save(torch.rand(4, 1, 28, 28), tmp_path / "AmbiguousMNIST" / "amnist_samples.pt")
    torch.save(torch.full((4, 10), 7), tmp_path / "AmbiguousMNIST" / "amnist_labels.pt")
    data, ambiguous = (load(name, root=tmp_path) for name in ("dirty-mnist", "ambiguous-mnist"))
    assert data.labels.tolist() == [5, 0, 4] + [7] * 20
    assert torch.equal(data.images, torch.cat((torch.from_numpy(mnist)[:, None], ambiguous.images)))
    assert data.notes[0] == "Dirty-MNIST train: 23 of 120 000 images"
    assert len(data.notes) == 5


def test_not_mnist_leaves_out_what_was_published_damaged(tmp_path, write_picture):
    place = tmp_path / "notMNIST" / "notMNIST_small"
    for number, letter in enumerate("ABCDEFGHIJ"):
        write_picture(place / letter / "font.png", np.full((28, 28), number))
    (place / "A" / "RGVtb2NyYXRpY2FCb2xkT2xkc3R5bGUgQm9sZC50dGY=.png").write_bytes(b"")
    data = load("notmnist", "test", tmp_path)
    assert data.labels.tolist() == list(range(10))
    assert data.images[:, 0, 0, 0].tolist() == list(range(10))
    (place / "B" / "new.png").write_bytes(b"")
    with pytest.raises(InputError, match=r"new\.png"):
        load("notmnist", "test", tmp_path)


@pytest.fixture
def tiny_imagenet(tmp_path, write_picture):
    place = tmp_path / "tiny-imagenet-200"
    for number, name in enumerate(["n02", "n01", "n03"]):
        write_picture(place / "train" / name / "images" / f"{name}_0.JPEG", np.full((64, 64, 3), 40 * number))
        (place / "train" / name / f"{name}_boxes.txt").write_text("no picture")
    (place / "wnids.txt").write_text("n02\nn01\nn03\n")
    for number, shade in enumerate((200, 100)):
        write_picture(place / "val" / "images" / f"val_{number}.JPEG", np.full((64, 64), shade))
    (place / "val" / "val_annotations.txt").write_text("val_1.JPEG\tn03\t0\t0\t9\t9\nval_0.JPEG\tn01\t0\t0\t9\t9\n")
    return place


def test_tiny_imagenet_s_labels_follow_its_sorted_list(tiny_imagenet, tmp_path):
    train, test = load("tinyimagenet", "train", tmp_path), load("tinyimagenet", "test", tmp_path)
    assert train.classes == test.classes == ("n01", "n02", "n03")
    assert train.labels.tolist() == [0, 1, 2]
    assert train.images[:, 0, 0, 0].tolist() == [40, 0, 80]
    assert test.labels.tolist() == [0, 2]
    assert test.images.shape == (2, 3, 64, 64)
    assert test.images[:, 2, 9, 9].tolist() == [200, 100]
    assert test.notes == ("Tiny ImageNet test: 2 of 10 000 images",)


def test_a_class_that_the_list_lacks_is_refused(tiny_imagenet, tmp_path):
    (tiny_imagenet / "wnids.txt").write_text("n02\nn01\n")
    with pytest.raises(InputError, match=r"only the set's 2 classes in .*, got 'n03'"):
        load("tinyimagenet", "train", tmp_path)


def test_textures_follow_their_first_partition(tmp_path, write_picture):
    place = tmp_path / "dtd" / "dtd"
    lists = {"train1": "woven/a.png", "val1": "banded/b.png", "test1": "zigzagged/c.png", "test2": "dotted/d.png"}
    (place / "labels").mkdir(parents=True)
    for name, picture in lists.items():
        (place / "labels" / f"{name}.txt").write_text(picture + "\n")
        write_picture(place / "images" / picture, pixels(70, 90, 3))
    train, test = load("dtd", "train", tmp_path), load("dtd", "test", tmp_path)
    assert [train.classes[label] for label in train.labels] == ["banded", "woven"]
    assert [test.classes[label] for label in test.labels] == ["zigzagged"]
    assert train.images.shape == (2, 3, 64, 64)


def test_one_s_own_folder_is_whitened_to_plus_and_minus_one(tmp_path, write_picture):
    for split, shade in (("train", 0), ("test", 255)):
        for name in ("cat", "dog"):
            write_picture(tmp_path / split / name / "1.png", np.full((4, 4, 3), shade))
    train, test = load(f"folder:{tmp_path}"), load(f"folder:{tmp_path}", "test")
    assert train.classes == ("cat", "dog")
    assert test.labels.tolist() == [0, 1]
    assert train.whitened().unique().tolist() == [-1]
    assert test.whitened().unique().tolist() == [1]
    assert test.notes == ()


def test_a_label_means_the_same_class_in_both_splits(tmp_path, write_picture):
    for name in ("train/cat", "train/dog", "test/dog"):
        write_picture(tmp_path / name / "1.png", pixels(4, 4))
    with pytest.raises(InputError, match=r"the same classes in train and test of .*, got \['cat'\]"):
        load(f"folder:{tmp_path}", "test")


def test_outliers_need_no_training_folder(tmp_path, write_picture):
    write_picture(tmp_path / "test" / "odd" / "1.png", pixels(4, 4))
    assert load(f"folder:{tmp_path}", "test").classes == ("odd",)
    with pytest.raises(InputError, match=r"got nothing at .*train"):
        load(f"folder:{tmp_path}")


def test_one_s_own_arrays_have_numbers_for_classes(tmp_path):
    images = pixels(2, 4, 5)
    np.savez(tmp_path / "mine.npz", train_images=images, train_labels=[0, 2], test_images=images, test_labels=[1, 0])
    data = load(f"npz:{tmp_path / 'mine.npz'}", "test")
    assert np.array_equal(data.images[:, 0].numpy(), images)
    assert data.classes == ("0", "1", "2")
    assert (data.name, data.notes) == (f"npz:{tmp_path / 'mine.npz'}", ())


def test_the_digits_are_scikit_learn_s():
    from sklearn.datasets import load_digits

    bundle = load_digits()
    splits = [load("digits", split) for split in ("train", "test")]
    images = torch.cat([data.images for data in splits])[:, 0]
    assert torch.equal((images.double() * 16 / 255).round(), torch.from_numpy(bundle.images))
    assert torch.cat([data.labels for data in splits]).tolist() == bundle.target.tolist()
    assert [len(data) for data in splits] == [1297, 500]
