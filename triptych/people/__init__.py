"""Who there is and how they come in: accounts, passcodes, invitations, memberships. Nothing they annotate."""
