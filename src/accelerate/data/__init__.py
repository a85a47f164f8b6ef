"""Loaders that are prepared for training: which samples they give, in which order, and where they stand."""
