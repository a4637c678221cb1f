// In front of account.js and sign_in.js, which Streamlit runs as modules of their own, without imports.

/** On which the tabs of a browser tell each other that a login of it began or ended. */
const LOGIN_CHANNEL = `triptych-login ${new URL(".", document.baseURI).href}`;
