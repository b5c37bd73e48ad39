"""Reports that only state an environment: a generator for them, and the answers that an expert with the
tables would give."""
