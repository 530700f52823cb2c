import re

import pytest

from hecka.data.catalogue import CATALOGUE, describe, find, names
from hecka.data.files import File
from hecka.errors import InputError

EVERY = pytest.mark.parametrize("dataset", CATALOGUE.values(), ids=list(CATALOGUE))


def test_the_paper_s_sets_are_there():
    paper = {"mnist", "fashion-mnist", "ambiguous-mnist", "dirty-mnist", "cifar10", "cifar100", "svhn", "tinyimagenet"}
    surrogates = {"ambiguous-mnist-surrogate", "dirty-mnist-surrogate"}
    assert paper | surrogates | {"dtd", "kmnist", "notmnist", "digits"} == set(names())


@EVERY
def test_an_entry_is_complete(dataset):
    assert all((dataset.title, dataset.about, dataset.licence, dataset.citation))
    assert len(dataset.whitening.mean) == len(dataset.whitening.std) == dataset.shape[0]
    assert all(0 < value < 1 for value in dataset.whitening.mean + dataset.whitening.std)
    assert len(set(dataset.classes)) == len(dataset.classes)
    assert bool(dataset.classes) != bool(dataset.class_list)
    assert len({file.path for file in dataset.files}) == len(dataset.files)
    assert all(dataset.files_of(split) for split in ("train", "test")) or dataset.name == "digits"


@EVERY
def test_every_file_can_be_had_and_checked(dataset):
    archives = [file for file in dataset.files if file.unpacks_to]
    made = {file.path for part in dataset.whole_parts if part.made_by for file in part.files}
    for file in dataset.files:
        if file.path in made:
            assert file == File(file.path)
            continue
        inside = [packed for packed in archives if file.path.startswith(f"{packed.unpacks_to}/")]
        assert bool(file.urls) != bool(inside)
        assert all(url.startswith(("https://", "http://")) and "\\" not in url for url in file.urls)
        assert file.checksum is None or re.fullmatch("md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}", file.checksum)
        # Without a checksum the size is all there is to tell half a file by; without both, https would not help.
        assert file.checksum or file.size


def test_only_not_mnist_and_what_is_made_here_lack_checksums():
    lacking = {name for name, entry in CATALOGUE.items() if any(not file.checksum for file in entry.files)}
    assert lacking == {"notmnist", "ambiguous-mnist-surrogate", "dirty-mnist-surrogate"}


def test_only_a_union_has_parts_and_is_their_sum():
    for entry in CATALOGUE.values():
        assert (entry.layout is None) == bool(entry.parts)
        if entry.parts:
            assert entry.files == tuple(file for part in entry.parts for file in part.files)
            assert entry.sizes == {split: sum(part.sizes[split] for part in entry.parts) for split in entry.sizes}
            assert {part.classes for part in entry.parts} == {entry.classes}


def test_no_two_files_have_one_checksum():
    checksums = {file.path: file.checksum for entry in CATALOGUE.values() for file in entry.files if file.checksum}
    assert len(set(checksums.values())) == len(checksums)


@pytest.mark.parametrize(("name", "count"), [("cifar10", 10), ("cifar100", 100), ("dtd", 47), ("mnist", 10)])
def test_classes_are_as_many_as_published(name, count):
    assert len(find(name).classes) == count


def test_names_of_many_classes_are_sorted_as_their_labels_are():
    assert all(list(find(name).classes) == sorted(find(name).classes) for name in ("cifar10", "cifar100", "dtd"))


def test_a_mistyped_name_is_met_with_the_nearest():
    with pytest.raises(InputError, match=r"no set is called 'cifar1'; did you mean 'cifar10'\?.*'folder:PATH'"):
        find("cifar1")


@pytest.mark.parametrize(
    ("name", "download"),
    [
        ("mnist", "11.6 MB"),
        ("digits", "none"),
        ("dirty-mnist", "11.6 MB, and files of unknown size"),
        ("ambiguous-mnist-surrogate", "none; made by `hecka data make-ambiguous`"),
        ("dirty-mnist-surrogate", "11.6 MB; made by `hecka data make-ambiguous`"),
    ],
)
def test_a_description_tells_what_a_download_costs(name, download):
    assert describe(name)["download"] == download


@EVERY
def test_a_description_is_lines_of_text(dataset):
    lines = describe(dataset.name)
    assert lines["title"] == dataset.title
    assert all(isinstance(line, str) and line for line in lines.values())
