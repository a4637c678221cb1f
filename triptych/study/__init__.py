"""The study itself: rows, settings, plans, launch, log. No work, but where a plan or an amendment counts it."""
