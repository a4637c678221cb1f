"""Previews before launch: items as annotators will see them, and the rubric form. No assignment, no answer."""
