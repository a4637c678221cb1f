// Comes first in account.js and in sign_in.js: Streamlit runs each as a module that can import nothing.

/** The channel on which tabs of a browser announce that a login began or ended. */
const LOGIN_CHANNEL = `triptych-login ${new URL(".", document.baseURI).href}`;
