"""A finished study as pages and tables for publication. No pseudonym, no script, nothing without consent."""
