"""What the server answers besides pages: the gate, cookies, drafts, files, health, headers. No rule of a study."""
