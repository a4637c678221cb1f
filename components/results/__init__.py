"""Draws results: comparisons, agreement, annotators, texts, reports. Nothing that changes a study."""
