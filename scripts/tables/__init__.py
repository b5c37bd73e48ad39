"""Builds compat_tables/tensorflow.json from the wheels that were shipped.

Data flows one way: registry (which files exist) -> remote, archive (bytes of one member) ->
metadata, elf, pe, macho, fatbin, dlopened (facts in those bytes) -> wheelfacts (all facts of one
wheel, cached by its sha256) -> rows (what a table row says, with its evidence) -> report (the file).
"""
