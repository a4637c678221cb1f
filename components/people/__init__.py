"""Who takes part: invitations, leads, annotators and their pay. No ratings."""
