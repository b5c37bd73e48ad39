"""From facts and findings to a verdict: compatibility, hypotheses, rank."""
