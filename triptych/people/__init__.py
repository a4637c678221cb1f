"""People and how they get in: accounts, passcodes, invitations, memberships. Nothing they annotate.

Leads have a name and a passcode. Annotators use a name and a return code (open study), a personal link (invited) or an
id in the address (panel). All of these result in a ticket, which becomes a login. Every function works in the caller's
transaction; those that hash, and therefore must not, are in `signing_in`.
"""
