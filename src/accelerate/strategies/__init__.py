"""How the processes of a run share a model."""
