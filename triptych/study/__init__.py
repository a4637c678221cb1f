"""What a study is before anyone annotates: its rows, settings, plan, launch. Nothing about assignments or ratings."""
