"""HTTP other than pages: the gate, cookies, drafts, files, health, headers. No rule of a study."""
