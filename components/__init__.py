"""Streamlit building blocks: values in, drawing out."""
