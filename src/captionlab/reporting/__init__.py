"""From summaries to tables that people read: published values, verdicts, claims, and one renderer for all of them."""
