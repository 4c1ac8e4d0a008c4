"""REINFORCE: the captioner captions images, and a caption that earned more than the baseline becomes more likely."""
