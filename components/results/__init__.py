"""Draws results: comparisons, agreement, annotators, texts, reports; unblinding. No other change of a study."""
