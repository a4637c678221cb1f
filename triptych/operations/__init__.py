"""Care of an installation: verify, doctor, backup, move, capsule, logs. Nothing that a study needs to run."""
