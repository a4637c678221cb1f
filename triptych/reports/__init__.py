"""Reports of a study, frozen at one event: tables, figures, datasheet, data, and a script that checks every number."""
