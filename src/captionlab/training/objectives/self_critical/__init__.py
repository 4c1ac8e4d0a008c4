"""Self-critical training (Rennie et al. 2017): captions that earn more than the captioner's own best guess."""
