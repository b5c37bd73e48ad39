"""Reads wheels in a package index: `tables refresh` and `verify` here, and the scripts that build the bundled
tables.

Data flows one way: registry, releases (which files exist) -> remote, archive (the bytes of one member) ->
window (a stream of them) -> metadata, elf, pe, macho, fatbin, dlopened, dllnames (the facts in those bytes)
-> wheeltexts, binaries (all facts of one wheel, cached by its sha256) -> builtwith, rows (what a row says,
with its evidence) -> table (the file). nvidia reads NVIDIA's wheels by the same means.
"""
