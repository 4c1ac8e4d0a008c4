"""Tables as files, with a module for each format: CSV for programs; Markdown, LaTeX and HTML for readers.

Names and labels come from configs and data sets, so every format escapes all texts.
"""
