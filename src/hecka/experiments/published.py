"""The paper's numbers, as printed: every row and column of its tables.

A column is named as in an evaluation: ``SET/SCORE`` is the AUROC (in percent) of that score against that outlier set.
A star marks an AUROC by the density of features.  The paper's column "NLL" holds two different quantities: where it
can only be minus the logarithm of the MEAN probability it is called ``nll_of_mean`` here, and ``nll`` elsewhere.

Reference: Smerkous, Bai & Li, NeurIPS 2024, tables 1-3 and those of its appendices.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Number(NamedTuple):
    """A printed number: its value, its plus-minus where there is one, and the characters themselves."""

    value: float
    error: float | None
    text: str


Published: TypeAlias = dict[str, dict[str, Number]]
"""Row -> column -> number; a column that a row leaves open is missing."""


def read(text: str) -> Published:
    r"""Rows from lines whose cells are set apart by bars; the first line names the columns.

    >>> read("method | accuracy | a/entropy\nDDU | 82.1 ± .03 | 94*")["DDU"]["accuracy"]
    Number(value=82.1, error=0.03, text='82.1 ± .03')
    """
    header, *lines = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    return {
        name: {column: number(cell) for column, cell in zip(header[1:], cells, strict=True) if cell != "-"}
        for name, *cells in lines
    }


def number(text: str) -> Number:
    """One printed number.

    >>> number("94.168 ± 3.425*").error
    3.425
    """
    value, _, error = text.rstrip("*").partition("±")
    return Number(float(value), float(error) if error else None, text)


DIRTY_MNIST = read("""
method | nll_of_mean | accuracy | ece | fashion-mnist/entropy | fashion-mnist/mutual_information
DDU                 | 0.278 ± 0.001 | 82.177 ± 0.032 | 3.952 ± 0.317 | 94.168 ± 3.425*       | -
Single              | 0.272 ± 0.002 | 82.299 ± 0.166 | 2.908 ± 0.129 | 65.935 ± 10.669       | 50.000 ± 0.000
Ensemble            | 0.271 ± 0.001 | 83.915 ± 0.084 | 1.306 ± 0.098 | 86.095 ± 1.608        | 96.065 ± 0.798
SVGD+RBF            | 0.304 ± 0.001 | 83.560 ± 0.072 | 3.178 ± 0.076 | 91.003 ± 1.155        | 98.083 ± 0.516
SVGD+CKA            | 0.377 ± 0.003 | 82.351 ± 0.150 | 7.359 ± 0.211 | 89.195 ± 4.260        | 99.207 ± 0.160
SVGD+HE-CKA         | 0.298 ± 0.002 | 83.879 ± 0.110 | 2.846 ± 0.153 | 94.380 ± 1.332        | 99.213 ± 0.147
Hypernet            | 0.278 ± 0.003 | 81.157 ± 0.174 | 4.253 ± 0.092 | 46.393 ± 3.545        | 64.856 ± 2.768
Hypernet+OOD HE-CKA | 0.325 ± 0.014 | 82.398 ± 0.628 | 3.058 ± 0.665 | 98.073 ± 0.951        | 77.548 ± 9.526
Ensemble+HE-CKA     | 0.306 ± 0.001 | 83.684 ± 0.029 | 3.174 ± 0.120 | 94.656 ± 1.095        | 98.866 ± 0.148
Ensemble+OOD HE-CKA | 0.277 ± 0.001 | 84.090 ± 0.049 | 1.712 ± 0.061 | 99.996 ± 0.001        | 99.742 ± 0.506
""")

# The rows up to "Ensemble" are D'Angelo & Fortuin's, which the paper quotes.
CIFAR10_RESNET32 = read("""
method              | nll_of_mean   | accuracy        | ece           | svhn/entropy    | svhn/mutual_information
SVGD+RBF            | 0.287 ± 0.001 | 85.142 ± 0.017  | 5.200 ± 0.100 | 82.50 ± 0.100   | 71.00 ± 0.200
fSVGD+RBF           | 0.292 ± 0.001 | 85.510 ± 0.031  | 4.900 ± 0.100 | 78.30 ± 0.100   | 71.20 ± 0.100
kde-WGD+RBF         | 0.276 ± 0.001 | 85.904 ± 0.030  | 5.300 ± 0.100 | 83.80 ± 0.100   | 73.50 ± 0.400
sge-WGD+RBF         | 0.275 ± 0.001 | 85.792 ± 0.035  | 5.100 ± 0.100 | 83.70 ± 0.100   | 72.50 ± 0.400
kde-fWGD+RBF        | 0.282 ± 0.001 | 84.888 ± 0.030  | 4.400 ± 0.100 | 79.10 ± 0.100   | 75.80 ± 0.200
sge-fWGD+RBF        | 0.288 ± 0.001 | 84.766 ± 0.060  | 4.700 ± 0.100 | 79.50 ± 0.100   | 75.40 ± 0.200
Ensemble            | 0.277 ± 0.001 | 85.552 ± 0.076  | 4.900 ± 0.100 | 84.30 ± 0.400   | 73.60 ± 0.500
SVGD+HE-CKA         | 0.255 ± 0.008 | 85.890 ± 0.381  | 3.675 ± 0.089 | 89.232 ± 1.211  | 70.977 ± 1.445
SVGD+CKA            | 0.286 ± 0.002 | 84.833 ± 0.292  | 4.945 ± 0.185 | 88.893 ± 1.513  | 70.327 ± 1.763
DDU                 | 0.211 ± 0.002 | 84.695 ± 0.0361 | 4.26 ± 0.872  | 86.281 ± 0.020* | -
Ensemble+OOD HE-CKA | 0.275 ± 0.009 | 86.133 ± 0.482  | 5.436 ± 0.599 | 96.478 ± 0.413  | 96.606 ± 1.066
Hypernet+OOD HE-CKA | 0.259 ± 0.002 | 83.640 ± 0.046  | 1.115 ± 0.050 | 88.121 ± 0.182  | 88.811 ± 0.134
""")

CIFAR10_RESNET18 = read("""
method                   | nll   | accuracy | ece  | svhn/entropy
DDU (WideResNet28-10+SN) | -     | 95.97    | 0.85 | 97.86*
Ensemble                 | 0.122 | 96.34    | 1.08 | 96.18
SVGD+RBF                 | 0.143 | 95.71    | 1.19 | 95.37
SVGD+CKA                 | 0.125 | 96.25    | 0.41 | 96.07
SVGD+HE-CKA              | 0.124 | 96.23    | 0.63 | 96.01
Ensemble+HE-CKA          | 0.120 | 96.23    | 0.59 | 96.71
Ensemble+OOD HE-CKA      | 0.123 | 96.24    | 0.58 | 99.86
""")

CIFAR100 = read("""
method              | nll  | accuracy | ece  | svhn/entropy
Ensemble            | 0.74 | 81.81    | 5.77 | 89.62
Ensemble+HE-CKA     | 0.74 | 80.72    | 3.90 | 91.17
Ensemble+OOD HE-CKA | 0.76 | 80.61    | 4.11 | 99.44
""")

TINY_IMAGENET = read("""
method              | nll_of_mean | accuracy | ece   | svhn/entropy | cifar10/entropy | cifar100/entropy | dtd/entropy
Ensemble            | 0.775       | 62.95    | 8.90  | 89.81        | 66.85           | 67.33            | 68.96
SVGD+RBF            | 0.926       | 61.87    | 16.10 | 92.76        | 72.23           | 73.73            | 65.67
SVGD+CKA            | 0.835       | 60.15    | 8.26  | 94.08        | 78.40           | 79.48            | 66.48
SVGD+HE-CKA         | 0.732       | 61.36    | 3.71  | 94.10        | 72.05           | 72.86            | 70.75
Ensemble+HE-CKA     | 0.784       | 63.10    | 9.82  | 92.65        | 72.13           | 71.68            | 70.69
Ensemble+OOD HE-CKA | 0.786       | 61.88    | 8.02  | 99.31        | 81.56           | 87.64            | 90.94
""")

# For 2 particles the column "CIFAR-10/CIFAR-100" holds one number; the first of the two is taken to be meant.
PARTICLES = read("""
particles   | nll_of_mean | accuracy | ece  | svhn/entropy | cifar10/entropy | cifar100/entropy | dtd/entropy
2 particles | 0.791       | 59.21    | 5.21 | 89.87        | 67.34           | -                | 68.48
3 particles | 0.771       | 60.86    | 5.74 | 91.57        | 69.05           | 70.59            | 69.31
4 particles | 0.761       | 62.26    | 6.90 | 92.92        | 70.83           | 71.44            | 70.89
5 particles | 0.784       | 63.10    | 9.82 | 92.65        | 72.13           | 71.68            | 70.69
""")

CKA = read("""
method          | cka
Ensemble        | 0.955
SVGD+RBF        | 0.972
SVGD+CKA        | 0.870
SVGD+HE-CKA     | 0.816
Ensemble+HE-CKA | 0.479
""")

# A Quadro RTX 8000, ResNet18, batches of 128; time in ms with its spread over 50 batches, memory in GB.
COST = read("""
method            | memory | milliseconds | ratio
Deep Ensemble, 5  | 0.75   | 75 ± 33      | 1.00
SVGD+RBF, 5       | 1.13   | 163 ± 23     | 2.17
KDE-WGD+RBF, 5    | 1.14   | 165 ± 17     | 2.20
SSGE-WGD+RBF, 5   | 1.58   | 194 ± 22     | 2.59
HE-CKA, 5         | 1.65   | 163 ± 34     | 2.17
Deep Ensemble, 10 | 1.35   | 297 ± 36     | 1.00
SVGD+RBF, 10      | 2.18   | 346 ± 25     | 1.16
KDE-WGD+RBF, 10   | 2.19   | 346 ± 17     | 1.16
SSGE-WGD+RBF, 10  | 3.13   | 391 ± 22     | 1.32
HE-CKA, 10        | 3.29   | 395 ± 37     | 1.33
""")
