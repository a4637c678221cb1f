"""Setting up a study: its form, design, plan, dry run and launch. No results."""
