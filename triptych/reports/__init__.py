"""Reports of a study, frozen at one event. No statistic is computed here that results/ does not have."""
