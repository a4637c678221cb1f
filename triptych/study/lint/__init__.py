"""Findings for a lead before launch: texts and plans that would produce wrong data. Nothing is changed."""
