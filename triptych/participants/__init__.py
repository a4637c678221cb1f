"""Who takes part in a study as its leads run it: where everybody is, and what a lead must know now. No statistic."""
