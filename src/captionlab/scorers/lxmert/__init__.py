"""LXMERT (Tan and Bansal 2019), the class of transformers, taken apart so that images are encoded once."""
