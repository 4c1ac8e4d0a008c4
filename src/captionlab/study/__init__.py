"""Study: people, or a simulated participant, find an image by its caption among look-alikes."""
