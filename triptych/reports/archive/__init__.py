"""A finished study as pages and tables to be given away. No pseudonym, no script, nothing without consent."""
