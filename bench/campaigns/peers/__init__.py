"""Compares Triptych with Potato and Label Studio: the same task and measures, one tool after the other."""
