"""What is asked and which answers are valid: the rubric, its scales, and checks of answers. No database."""
