"""What a study is before anyone annotates: its rows, settings, plan and launch. Nothing about assignments or ratings."""
