"""Checkpoints: what is in them, how they reach the disk whole, and how a run goes on from one."""
