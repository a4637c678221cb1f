"""Simulated annotators: demo studies, dry runs, what a plan is worth. No real annotation passes here."""
