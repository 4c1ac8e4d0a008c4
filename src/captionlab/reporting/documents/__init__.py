"""Model cards, the checklist for reviewers, costs, plans and comparisons of runs."""
