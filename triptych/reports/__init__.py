"""Reports of a study, frozen at one event. No statistic of its own: it prints those of stats/analysis/."""
