"""Reports that only state an environment: a generator, and what an expert with the tables would answer."""
