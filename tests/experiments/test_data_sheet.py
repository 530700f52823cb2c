import pytest
import torch
from scipy.stats import entropy as scipy_entropy

from hecka.errors import InputError
from hecka.experiments.data_sheet import caption, data_sheet, entropy, evenly, without_copies


def test_copies_that_follow_one_another_are_counted_label_by_label():
    generator = torch.Generator().manual_seed(0)
    originals = torch.randint(256, (7, 1, 4, 4), generator=generator, dtype=torch.uint8)
    labels = torch.randint(3, (7, 10), generator=generator)
    unique = without_copies(originals.repeat_interleave(10, dim=0), labels.flatten(), classes=3)
    assert torch.equal(unique.images, originals)
    assert unique.counts.tolist() == [[row.count(label) for label in range(3)] for row in labels.tolist()]


def test_an_image_that_comes_again_later_is_another():
    images = torch.tensor([5, 5, 9, 5], dtype=torch.uint8).view(4, 1, 1, 1)
    unique = without_copies(images, torch.tensor([0, 1, 0, 1]), classes=2)
    assert unique.images.flatten().tolist() == [5, 9, 5]
    assert unique.counts.tolist() == [[1, 1], [1, 0], [0, 1]]


def test_entropy_of_labels_is_scipy_s():
    counts = torch.tensor([[10, 0, 0], [5, 5, 0], [1, 2, 7]])
    expected = [scipy_entropy(row) for row in counts.tolist()]
    torch.testing.assert_close(entropy(counts), torch.tensor(expected, dtype=torch.float64))


def test_images_go_from_the_clearest_to_the_least_clear_class_by_class():
    labels = torch.tensor([[0, 1], [1, 1], [0, 0], [1, 0], [1, 1], [0, 0]])
    images = torch.arange(6, dtype=torch.uint8).view(6, 1, 1, 1).repeat_interleave(2, dim=0)
    unique = without_copies(images, labels.flatten(), classes=2)
    assert evenly(unique, 6).tolist() == [2, 5, 1, 4, 0, 3]
    assert evenly(unique, 3).tolist() == [2, 1, 3]
    assert evenly(unique, 100).tolist() == [2, 5, 1, 4, 0, 3]


def test_captions_name_the_most_frequent_first_and_stay_short():
    assert caption(torch.tensor([2, 5, 0, 3]), tuple("abcd")) == "b (5) d (3)"
    assert caption(torch.tensor([0, 1]), ("a", "pickup_truck_and_more")) == "pickup_truck_…"


def test_a_sheet_of_any_shape_is_written(tmp_path):
    for rows, columns in ((1, 1), (2, 5), (3, 400)):  # more places than the 500 images there are
        text = data_sheet("digits", "test", tmp_path / "sheet.png", rows, columns)
        assert text == f"500 images of 10 classes\npicture: {tmp_path / 'sheet.png'}"
        assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")


def test_without_a_path_the_set_names_the_picture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data_sheet("digits", rows=1, columns=2)
    assert (tmp_path / "runs" / "data" / "digits-test.png").is_file()


def test_no_row_is_refused():
    with pytest.raises(InputError, match="at least 1 row and 1 column, got 0 and 3"):
        data_sheet("digits", rows=0, columns=3)
