"""The toy world: pictures, captions, objects and scenes that the workflow makes itself.

`domains` says which domains there are, `world` what a picture consists of, `backdrops`, `sprites` and `drawing` how it
is drawn, `captions` and `lookalikes` what people say about it, and `render` makes a corpus.
"""
