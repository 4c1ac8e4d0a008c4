"""Files that people wrote: text, tables, and configs of models."""
