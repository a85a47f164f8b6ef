"""In which floating-point format a model computes."""
