"""The study itself, before anyone annotates: rows, settings, plan, launch. Nothing about assignments or ratings."""
