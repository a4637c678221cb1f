"""Maintenance of an installation: verify, doctor, backup, move, capsule, logs. Nothing a running study depends on."""
