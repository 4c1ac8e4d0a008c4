"""The toy world: pictures, captions, objects and scenes that the workflow makes itself.

Its objects and scenes are described in resources/toyworld. `domains` says which domains there are, `world` what a
picture consists of, `pen`, `backdrops`, `sprites` and `drawing` how it is drawn, `captions` and `lookalikes` what is
said about it, and `render` makes a corpus.
"""
