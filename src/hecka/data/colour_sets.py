"""Small colour photographs: CIFAR, street numbers, Tiny ImageNet, textures.

Checksums are MD5 sums as the publishers, or the common tools for all of them, have pinned them for years.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hecka.data import class_names, layouts
from hecka.data.dataset import DataSet
from hecka.data.files import File, Split
from hecka.data.images import Whitening


def _cifar_files(
    archive: tuple[str, str, int], place: str, batches: Mapping[Split, Sequence[tuple[str, str]]]
) -> tuple[File, ...]:
    """An archive (name, MD5, size) and the batch files (name, MD5) that it unpacks to."""
    name, md5, size = archive
    packed = File(name, f"md5:{md5}", size, (f"https://www.cs.toronto.edu/~kriz/{name}",), unpacks_to=place)
    unpacked = (
        File(f"{place}/{batch}", f"md5:{batch_md5}", splits=(split,))
        for split, files in batches.items()
        for batch, batch_md5 in files
    )
    return (packed, *unpacked)


CIFAR10_BATCHES: Mapping[Split, tuple[tuple[str, str], ...]] = {
    "train": (
        ("data_batch_1", "c99cafc152244af753f735de768cd75f"),
        ("data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"),
        ("data_batch_3", "54ebc095f3ab1f0389bbae665268c751"),
        ("data_batch_4", "634d18415352ddfa80567beed471001a"),
        ("data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"),
    ),
    "test": (("test_batch", "40351d587109b95175f43aff81a1287e"),),
}

CIFAR10 = DataSet(
    name="cifar10",
    title="CIFAR-10",
    about="photographs of animals and vehicles",
    licence="none stated",
    citation="Krizhevsky, Learning multiple layers of features from tiny images, 2009",
    classes=class_names.CIFAR10,
    shape=(3, 32, 32),
    # The std that publications use is the mean of the images' own; that of all pixels is .247 .243 .262, so that
    # whitened pixels have a standard deviation of about 1.2.
    whitening=Whitening((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
    sizes={"train": 50_000, "test": 10_000},
    files=_cifar_files(
        ("cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a", 170_498_071),
        "cifar-10-batches-py",
        CIFAR10_BATCHES,
    ),
    layout=layouts.cifar_batches(
        "cifar-10-batches-py",
        {split: [name for name, _ in batches] for split, batches in CIFAR10_BATCHES.items()},
        "labels",
    ),
)

CIFAR100 = DataSet(
    name="cifar100",
    title="CIFAR-100",
    about="photographs of 100 kinds; near outliers for CIFAR-10",
    licence="none stated",
    citation="Krizhevsky, Learning multiple layers of features from tiny images, 2009",
    classes=class_names.CIFAR100,
    shape=(3, 32, 32),
    whitening=Whitening((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
    sizes={"train": 50_000, "test": 10_000},
    files=_cifar_files(
        ("cifar-100-python.tar.gz", "eb9058c3a382ffc7106e4002c42a8d85", 169_001_437),
        "cifar-100-python",
        {
            "train": (("train", "16019d7e3df5f24257cddd939b257f8d"),),
            "test": (("test", "f0ef6b0ae62326f3e7ffdfab6717acfc"),),
        },
    ),
    layout=layouts.cifar_batches("cifar-100-python", {"train": ["train"], "test": ["test"]}, "fine_labels"),
)

SVHN_FILES: tuple[tuple[Split, str, int], ...] = (
    ("train", "e26dedcc434d2e4c54c9b2d4a06d8373", 182_040_794),
    ("test", "eb5a983be6a315427106f1b164d9cef3", 64_275_384),
)

SVHN = DataSet(
    name="svhn",
    title="SVHN",
    about="house numbers cropped to one digit; far outliers for CIFAR",
    licence="for non-commercial use only",
    citation="Netzer et al., Reading digits in natural images with unsupervised feature learning, 2011",
    classes=class_names.DIGITS,
    shape=(3, 32, 32),
    whitening=Whitening((0.4377, 0.4438, 0.4728), (0.1980, 0.2010, 0.1970)),
    sizes={"train": 73_257, "test": 26_032},
    files=tuple(
        File(
            f"svhn/{split}_32x32.mat",
            f"md5:{md5}",
            size,
            (f"http://ufldl.stanford.edu/housenumbers/{split}_32x32.mat",),
            (split,),
        )
        for split, md5, size in SVHN_FILES
    ),
    layout=layouts.svhn,
)

TINY_IMAGENET = DataSet(
    name="tinyimagenet",
    title="Tiny ImageNet",
    about="200 kinds of ImageNet at 64 x 64; test = the official validation images, for the official test has no "
    "labels; train takes 1.2 GB in memory",
    licence="ImageNet's: for non-commercial research only",
    citation="Le and Yang, Tiny ImageNet visual recognition challenge, 2015",
    classes=(),
    class_list="tiny-imagenet-200/wnids.txt",
    shape=(3, 64, 64),
    whitening=Whitening((0.4802, 0.4481, 0.3975), (0.2770, 0.2691, 0.2821)),
    sizes={"train": 100_000, "test": 10_000},
    files=(
        File(
            "tiny-imagenet-200.zip",
            "md5:90528d7ca1a48142e341f4ef8d21d0de",
            248_100_043,
            ("http://cs231n.stanford.edu/tiny-imagenet-200.zip",),
            unpacks_to="tiny-imagenet-200",
        ),
    ),
    layout=layouts.tiny_imagenet,
)

TEXTURES = DataSet(
    name="dtd",
    title="DTD",
    about="textures of 47 kinds, cut and resampled to 64 x 64, as outliers for Tiny ImageNet; first partition, train = "
    "its training and validation images",
    licence="for research only",
    citation="Cimpoi et al., Describing textures in the wild, CVPR 2014",
    classes=class_names.TEXTURES,
    shape=(3, 64, 64),
    whitening=TINY_IMAGENET.whitening,  # of the inliers that it is shown beside
    sizes={"train": 3_760, "test": 1_880},
    files=(
        File(
            "dtd/dtd-r1.0.1.tar.gz",
            "md5:fff73e5086ae6bdbea199a49dfb8a4c1",
            625_239_812,
            ("https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz",),
            unpacks_to="dtd/dtd",
        ),
    ),
    layout=layouts.textures(class_names.TEXTURES, size=64),
)
