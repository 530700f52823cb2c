"""hecka in a LightningModule: the ensemble is a module, the term is a callable, so there is nothing else to do.

Run it: ``pip install lightning && python examples/lightning_module.py``.
"""

import lightning
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import hecka


class DiverseEnsemble(lightning.LightningModule):
    """Five members that fit the data and keep their distance."""

    def __init__(self, gamma: float = 0.1) -> None:
        super().__init__()
        self.ensemble = hecka.Ensemble(lambda: nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3)), members=5)
        self.diversity = hecka.HECKA(kernel="cosine", normalized=True)
        self.gamma = gamma

    def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Tensor:
        """Fit and repulsion."""
        inputs, labels = batch
        logits, features = self.ensemble(inputs)
        fit = F.cross_entropy(logits.flatten(0, 1), labels.repeat(self.ensemble.members))
        energy = self.diversity(features)
        self.log_dict({"fit": fit, "energy": energy}, prog_bar=True)
        return fit + self.gamma * energy

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Any optimizer: the parameters are ordinary ones."""
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def main(epochs: int = 5) -> DiverseEnsemble:
    """Train on three made-up classes."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(300, 8, generator=generator)
    labels = inputs[:, :3].argmax(1)
    module = DiverseEnsemble()
    trainer = lightning.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
    )
    trainer.fit(module, DataLoader(TensorDataset(inputs, labels), batch_size=50))
    accuracy = (module.ensemble.predict(inputs).labels == labels).float().mean()
    print(f"accuracy {accuracy:.3f}")
    return module


if __name__ == "__main__":
    main()
