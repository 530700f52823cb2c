from hecka.data.catalogue import CATALOGUE, find
from hecka.data.overview import on_disk, overview


def test_every_set_has_its_line(tmp_path):
    assert [line.name for line in overview(tmp_path)] == list(CATALOGUE)


def test_files_are_counted_not_their_splits_or_archives(tmp_path):
    cifar = find("cifar10")
    assert on_disk(cifar, [tmp_path]) == "-"
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(b"not unpacked")
    assert on_disk(cifar, [tmp_path]) == "-"  # nothing that could be read
    place = tmp_path / "cifar-10-batches-py"
    place.mkdir()
    for count, name in enumerate(["test_batch", *(f"data_batch_{number}" for number in range(1, 6))], start=1):
        (place / name).write_bytes(b"")
        assert on_disk(cifar, [tmp_path]) == ("all" if count == 6 else f"{count} of 6 files")


def test_parts_of_a_union_may_lie_in_two_folders(tmp_path):
    for part, place in zip(find("dirty-mnist-surrogate").parts, ("one", "two"), strict=True):
        for file in part.files:
            (tmp_path / place / file.path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / place / file.path).write_bytes(b"")
    roots = [tmp_path / "one", tmp_path / "two"]
    assert on_disk(find("dirty-mnist-surrogate"), roots) == "all"
    assert on_disk(find("dirty-mnist"), roots) == "4 of 6 files"
    assert on_disk(find("dirty-mnist-surrogate"), roots[:1]) == "4 of 6 files"
