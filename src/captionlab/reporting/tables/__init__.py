"""Tables and figures: their data model, formats, and the tables that belong to no paper."""
