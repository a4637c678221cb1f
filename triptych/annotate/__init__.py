"""What annotators meet: the way in, assignments, drafts, submissions, checks. Nothing a lead reads afterwards."""
