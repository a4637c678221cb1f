"""What the server answers beside Streamlit's pages: session cookie, drafts, assets, health, security headers."""
