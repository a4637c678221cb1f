"""The screens around the workbench: consent, entry test, and what is shown when there is no item."""
