"""Claims of papers, the evidence for them, and the validity of a run."""
