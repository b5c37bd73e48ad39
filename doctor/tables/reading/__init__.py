"""Reads wheels in a package index, for `tables refresh`, for `tables verify`, and for the scripts that build
the bundled tables.

Data flows in one direction: registry, releases (which files exist) -> remote, archive (the bytes of one
member) -> window (a stream of these bytes) -> metadata, elf, pe, macho, fatbin, dlopened, dllnames (the facts
in these bytes) -> wheeltexts, binaries (all facts of one wheel, cached by its sha256) -> builtwith, rows (the
values of a row, with their evidence) -> table (the file). nvidia reads NVIDIA's wheels by the same means.
"""
