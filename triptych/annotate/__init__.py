"""Everything annotators do: onboarding, assignments, drafts, submissions, checks. Nothing for leads."""
