"""VizWiz-Captions."""
