"""Tables as files, a module for each format: CSV for programs; Markdown, LaTeX and HTML for people.

Names and labels come from configs and data sets, so every text is escaped in the way of its format.
"""
