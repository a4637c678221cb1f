"""What may be asked and what may be answered: the rubric, its scales, and answers checked against it. No database."""
