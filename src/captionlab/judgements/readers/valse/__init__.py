"""VALSE (Parcalabescu et al. 2022): captions and foils for six linguistic phenomena, and for noun phrases."""
