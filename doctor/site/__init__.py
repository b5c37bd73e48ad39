"""The web page on which a user pastes a log and reads the cause of the problem.

`judge` answers the page's calls, both in the browser (with Pyodide) and in `tfgpu-doctor serve`. `pages`
creates the files of the site: those in `web/`, the tables and the pages of the finding codes.
scripts/build_site writes these files and the runtime into a folder; `serve` keeps the files in memory.
"""
