"""Jobs: scripts, GPUs, failures, progress, provenance, and several processes."""
