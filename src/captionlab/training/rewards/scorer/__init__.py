"""The reward of Ma et al. (2022, section 3.3): the matching score of a frozen vision-language model."""
