"""What is watched while a load runs: the engine's own gauges, the GPUs and the host."""
