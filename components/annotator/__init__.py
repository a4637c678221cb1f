"""The screens around the workbench: consent, entry test, no item left. Nothing that leads see."""
