"""Records the project's genuine logs: defines which programs to run, how to run them, and how to make the
text independent of the machine."""
