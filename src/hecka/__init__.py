"""hecka: neural networks that know when they do not know."""
