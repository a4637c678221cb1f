"""What a script may ask of a study, the same by HTTP and on the data folder. No rule of a study and no route."""
