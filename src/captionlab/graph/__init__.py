"""What rules share of the library: fingerprints of code, versions, memory, and the files and modules of models.

Rules call the methods of `captionlab.graph.graph.Graph`. Their input functions stand in the rules (workflow/rules/).
"""
