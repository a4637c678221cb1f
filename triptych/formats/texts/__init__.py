"""The texts of items as people read them: the format of each field, and which characters of Markdown are seen."""
