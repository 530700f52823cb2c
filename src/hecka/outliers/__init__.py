"""Made-up inputs that no network should be sure about."""

from hecka.outliers.border import Border
from hecka.outliers.images import Images

__all__ = ["Border", "Images"]
