"""A study's annotators as leads manage them: progress, and what needs a lead's attention. No statistic."""
