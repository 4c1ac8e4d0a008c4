"""What the Snakefile needs: the config read as a graph, and fingerprints of code, config and library versions.

Nothing here is imported by a rule's script, so a change here runs nothing again unless a job's parameters change.
"""
