"""The ratings of a study as one tidy data frame, updated from the event log. No statistic."""
