"""The toy world: pictures, captions, objects and scenes that the workflow generates itself.

Its objects and scenes are described in resources/toyworld. `domains` lists the domains. `world` composes pictures.
`pen`, `backdrops`, `sprites` and `drawing` draw them. `captions` and `lookalikes` describe them in words. `render`
makes a corpus.
"""
