"""MNIST and its kin: small grey images of ten classes.

Checksums are MD5 sums as the publishers, or the common tools for all of them, have pinned them for years; nobody
published any for notMNIST.  Means and standard deviations are those of the training pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hecka.data import class_names, layouts
from hecka.data.dataset import DataSet
from hecka.data.files import File, Split
from hecka.data.images import Whitening


def _idx_files(place: str, mirrors: tuple[str, ...], published: Mapping[str, tuple[str, int]]) -> tuple[File, ...]:
    """MNIST's four files under another roof: start of the name -> MD5 and size."""
    return tuple(
        File(
            f"{place}/{start}-ubyte.gz",
            f"md5:{md5}",
            size,
            tuple(f"{mirror}{start}-ubyte.gz" for mirror in mirrors),
            ("train",) if start.startswith("train") else ("test",),
        )
        for start, (md5, size) in published.items()
    )


MNIST = DataSet(
    name="mnist",
    title="MNIST",
    about="handwritten digits",
    licence="CC BY-SA 3.0",
    citation="LeCun, Bottou, Bengio and Haffner, Gradient-based learning applied to document recognition, 1998",
    classes=class_names.DIGITS,
    shape=(1, 28, 28),
    whitening=Whitening((0.1307,), (0.3081,)),
    sizes={"train": 60_000, "test": 10_000},
    files=_idx_files(
        "MNIST/raw",
        (
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
        {
            "train-images-idx3": ("f68b3c2dcbeaaa9fbdd348bbdeb94873", 9_912_422),
            "train-labels-idx1": ("d53e105ee54ea40749a09fcbcd1e9432", 28_881),
            "t10k-images-idx3": ("9fb629c4189551a2d022fa330f9573f3", 1_648_877),
            "t10k-labels-idx1": ("ec29112dd5afa0611ce80d1b7f02629c", 4_542),
        },
    ),
    layout=layouts.idx_pair("MNIST/raw"),
)

FASHION_MNIST = DataSet(
    name="fashion-mnist",
    title="Fashion-MNIST",
    about="articles of clothing, in MNIST's format; the usual outliers for it",
    licence="MIT",
    citation="Xiao, Rasul and Vollgraf, Fashion-MNIST: a novel image dataset for benchmarking, 2017",
    classes=class_names.FASHION,
    shape=(1, 28, 28),
    whitening=Whitening((0.2860,), (0.3530,)),
    sizes={"train": 60_000, "test": 10_000},
    files=_idx_files(
        "FashionMNIST/raw",
        ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
        {
            "train-images-idx3": ("8d4fb7e6c68d591d4c3dfef9ec88bf0d", 26_421_880),
            "train-labels-idx1": ("25c81989df183df01b3e8a0aad5dffbe", 29_515),
            "t10k-images-idx3": ("bef4ecab320f06d8554ea6380940ec79", 4_422_102),
            "t10k-labels-idx1": ("bb300cfdad3c16e7a12a480ee83cd310", 5_148),
        },
    ),
    layout=layouts.idx_pair("FashionMNIST/raw"),
)

KMNIST = DataSet(
    name="kmnist",
    title="Kuzushiji-MNIST",
    about="handwritten hiragana, in MNIST's format",
    licence="CC BY-SA 4.0",
    citation="Clanuwat et al., Deep learning for classical Japanese literature, 2018",
    classes=class_names.HIRAGANA,
    shape=(1, 28, 28),
    whitening=Whitening((0.1918,), (0.3483,)),
    sizes={"train": 60_000, "test": 10_000},
    files=_idx_files(
        "KMNIST/raw",
        ("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",),
        {
            "train-images-idx3": ("bdb82020997e1d708af4cf47b453dcf7", 18_165_135),
            "train-labels-idx1": ("e144d726b3acfaa3e44228e80efcd344", 29_497),
            "t10k-images-idx3": ("5c965bf0a639b31b8f53240b1b52f4d7", 3_041_136),
            "t10k-labels-idx1": ("7320c461ea6c1c855c0b718fb2a4b134", 5_120),
        },
    ),
    layout=layouts.idx_pair("KMNIST/raw"),
)

NOT_MNIST_ARCHIVES: tuple[tuple[Split, str, int], ...] = (
    ("train", "notMNIST_large", 247_336_696),
    ("test", "notMNIST_small", 8_458_043),
)

NOT_MNIST = DataSet(
    name="notmnist",
    title="notMNIST",
    about="letters A to J in many typefaces, 28 x 28; 7 damaged images of the published archives are left out",
    licence="none stated",
    citation="Bulatov, notMNIST dataset, 2011",
    classes=class_names.LETTERS,
    shape=(1, 28, 28),
    whitening=Whitening((0.4183,), (0.4542,)),
    sizes={"train": 529_114, "test": 18_724},
    files=tuple(
        File(
            f"notMNIST/{name}.tar.gz",
            None,
            size,
            (
                f"http://yaroslavvb.com/upload/notMNIST/{name}.tar.gz",
                f"https://commondatastorage.googleapis.com/books1000/{name}.tar.gz",
            ),
            (split,),
            f"notMNIST/{name}",
        )
        for split, name, size in NOT_MNIST_ARCHIVES
    ),
    layout=layouts.not_mnist,
)

AMBIGUOUS_MNIST = DataSet(
    name="ambiguous-mnist",
    title="Ambiguous-MNIST",
    about="made-up digits between two classes, each 10 times, one after another, with 10 drawn labels: hold out whole "
    "tens; its label noise caps the accuracy on Dirty-MNIST's test at about .84 to .86",
    licence="none stated with the files",
    citation="Mukhoti, Kirsch, van Amersfoort, Torr and Gal, Deep deterministic uncertainty, CVPR 2023",
    classes=class_names.DIGITS,
    shape=(1, 28, 28),
    whitening=MNIST.whitening,
    sizes={"train": 60_000, "test": 60_000},
    files=tuple(
        File(
            f"AmbiguousMNIST/{name}",
            f"md5:{md5}",
            urls=(f"https://github.com/BlackHC/ddu_dirty_mnist/releases/download/data-v1.0.0/{name}",),
        )
        for name, md5 in zip(
            layouts.AMBIGUOUS_FILES,
            ("4f7865093b1d28e34019847fab917722", "3bfc055a9f91a76d8d493e8b898c3c95"),
            strict=True,
        )
    ),
    layout=layouts.ambiguous_mnist("AmbiguousMNIST"),
    stand_in_by="hecka data make-ambiguous",
)

SURROGATE_FOLDER = "AmbiguousMNIST-surrogate"

SURROGATE_AMBIGUOUS_MNIST = replace(
    AMBIGUOUS_MNIST,
    name="ambiguous-mnist-surrogate",
    title="Ambiguous-MNIST (surrogate)",
    about="made here, in the published set's layout and to its labels' entropy, where the files cannot be had: "
    "digits between two classes, each 10 times, one after another, with 10 drawn labels: hold out whole tens",
    licence="made from MNIST, as MNIST's",
    citation="made by hecka after " + AMBIGUOUS_MNIST.citation,
    files=tuple(File(f"{SURROGATE_FOLDER}/{name}") for name in layouts.AMBIGUOUS_FILES),
    layout=layouts.ambiguous_mnist(SURROGATE_FOLDER),
    made_by=AMBIGUOUS_MNIST.stand_in_by,
    stand_in_by="",
    note="surrogate Ambiguous-MNIST",
)

DIRTY_MNIST = DataSet(
    name="dirty-mnist",
    title="Dirty-MNIST",
    about=f"MNIST, then Ambiguous-MNIST: {AMBIGUOUS_MNIST.about}",
    licence="as MNIST's and Ambiguous-MNIST's",
    citation=AMBIGUOUS_MNIST.citation,
    classes=class_names.DIGITS,
    shape=(1, 28, 28),
    whitening=MNIST.whitening,
    sizes={"train": 120_000, "test": 70_000},
    files=MNIST.files + AMBIGUOUS_MNIST.files,
    layout=None,
    parts=(MNIST, AMBIGUOUS_MNIST),
)

SURROGATE_DIRTY_MNIST = replace(
    DIRTY_MNIST,
    name="dirty-mnist-surrogate",
    title="Dirty-MNIST (surrogate)",
    about=f"MNIST, then the surrogate of Ambiguous-MNIST: {SURROGATE_AMBIGUOUS_MNIST.about}",
    licence=SURROGATE_AMBIGUOUS_MNIST.licence,
    citation=SURROGATE_AMBIGUOUS_MNIST.citation,
    files=MNIST.files + SURROGATE_AMBIGUOUS_MNIST.files,
    parts=(MNIST, SURROGATE_AMBIGUOUS_MNIST),
)

DIGITS = DataSet(
    name="digits",
    title="scikit-learn digits",
    about="handwritten digits of 8 x 8 pixels that come with scikit-learn, no download; the split is hecka's own",
    licence="CC BY 4.0",
    citation="Alpaydin and Kaynak, Optical recognition of handwritten digits, UCI, 1998",
    classes=class_names.DIGITS,
    shape=(1, 8, 8),
    whitening=Whitening((0.3059,), (0.3754,)),
    sizes={"train": 1_297, "test": 500},
    files=(),
    layout=layouts.bundled_digits,
)
