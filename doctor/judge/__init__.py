"""Derives a verdict from facts and findings: compatibility, hypotheses, ranking."""
