"""The people of a study: invitations, leads, annotators and their pay. No ratings."""
