"""One tidy frame of ratings per study, kept up to date by the event log, and the rows read from it. No statistic."""
