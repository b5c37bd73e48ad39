"""How the project's genuine logs are recorded: what is run, how, and how the text is made the same on every
machine."""
