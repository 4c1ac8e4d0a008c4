"""CaMEL (Barraco et al. 2022): a memory-augmented encoder over patch features, a meshed or plain decoder."""
