"""Triptych compared with Potato and Label Studio: the same task, the same measures, one tool after the other."""
