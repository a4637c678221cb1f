"""The API for scripts, identical over HTTP and on a data folder. No rule of a study and no route."""
