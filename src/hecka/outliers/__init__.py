"""Made-up inputs that no network should be sure about."""

from hecka.outliers.border import Border

__all__ = ["Border"]
