"""ClipCap (Mokady et al. 2021): an image embedding becomes a prefix that GPT-2 continues with a caption."""
