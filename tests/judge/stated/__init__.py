"""Generates reports that only state an environment, and the answers that an expert with the tables would
give."""
