"""A study before its launch: its items as annotators will see them, and its rubric's form. No assignment, no answer."""
