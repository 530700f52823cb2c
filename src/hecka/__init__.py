"""hecka: neural networks that know when they do not know.

Train several members of any PyTorch network that truly differ, and read off their disagreement what is familiar::

    ensemble = hecka.Ensemble(make_net, members=5, taps=["conv2", "fc*"])
    hecka.fit(ensemble, train_data, method=hecka.Repulsive(), outliers=outliers, epochs=20)
    ensemble.predict(x).entropy

Start at ``types`` (the contract), then ``diversity/energy`` (the idea), ``inference/repulsive`` (the loss),
``training/fit`` (the loop).
"""

from hecka import networks, outliers, scores
from hecka.data.batches import Batches
from hecka.diversity.energy import hyperspherical_energy
from hecka.diversity.layer_weights import EndsAndLine
from hecka.diversity.terms import HECKA, PairwiseCKA
from hecka.errors import CheckpointError, HeckaError, InputError, NonFiniteError
from hecka.inference.independent import Independent
from hecka.inference.posterior import Gaussian
from hecka.inference.repulsive import Repulsive
from hecka.inference.svgd import SVGD
from hecka.inference.wgd import WGD
from hecka.members.ddu import DDU
from hecka.members.ensemble import Ensemble
from hecka.members.hypernetwork import Hypernetwork
from hecka.scores.evaluate import Evaluation, evaluate
from hecka.scores.predictive import Prediction
from hecka.similarity.cka import CKAGrid, cka, pairwise_cka
from hecka.similarity.kernels import RBF, Cosine, Linear, gram
from hecka.training.checkpoint import load
from hecka.training.fit import Run, fit
from hecka.training.optimizers import decay_groups
from hecka.training.schedules import Constant, Milestones, WarmupCosine
from hecka.types import Batch, Features, Info, Members, Method, Output, Params, State, Step

__version__ = "0.1.0"

__all__ = [
    "DDU",
    "HECKA",
    "RBF",
    "SVGD",
    "WGD",
    "Batch",
    "Batches",
    "CKAGrid",
    "CheckpointError",
    "Constant",
    "Cosine",
    "EndsAndLine",
    "Ensemble",
    "Evaluation",
    "Features",
    "Gaussian",
    "HeckaError",
    "Hypernetwork",
    "Independent",
    "Info",
    "InputError",
    "Linear",
    "Members",
    "Method",
    "Milestones",
    "NonFiniteError",
    "Output",
    "PairwiseCKA",
    "Params",
    "Prediction",
    "Repulsive",
    "Run",
    "State",
    "Step",
    "WarmupCosine",
    "cka",
    "decay_groups",
    "evaluate",
    "fit",
    "gram",
    "hyperspherical_energy",
    "load",
    "networks",
    "outliers",
    "pairwise_cka",
    "scores",
]
