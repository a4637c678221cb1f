"""Streamlit building blocks: functions that get values and draw them. No query, no statistic."""
