"""Diagnoses for people and programs: text, JSON, Markdown, HTML."""
