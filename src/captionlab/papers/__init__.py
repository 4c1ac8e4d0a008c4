"""Papers, each a plug-in: its tables, figures, measurements, claims and published numbers."""
