"""The parts of a training loop: accumulation, optimizer, scheduler, compilation."""
