"""People and how they get in: accounts, passcodes, invitations, memberships. Nothing they annotate."""
