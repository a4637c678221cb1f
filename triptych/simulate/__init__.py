"""Simulated annotators: demo studies, dry runs, the planner. No real annotation is stored here."""
