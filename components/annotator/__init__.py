"""An annotator's screens around the workbench: consent, entry test, endings. Nothing that leads see."""
