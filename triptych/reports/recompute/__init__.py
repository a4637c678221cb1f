"""analysis.py of a report, in parts: every number made again from the ratings alone, with NumPy and SciPy alone.

The parts know nothing of the rest of the program, which they are there to check; `script` joins them to one file.
"""
