"""A study's annotators as leads and viewers see them: progress, and what needs attention. No statistic."""
