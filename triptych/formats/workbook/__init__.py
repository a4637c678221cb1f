"""Workbooks for annotators: a study's items as a spreadsheet to fill in, and the check of a filled one. No database."""
