"""Looking at a machine: files, processes and libraries in, facts out."""
