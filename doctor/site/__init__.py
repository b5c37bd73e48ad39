"""The page: paste a log, get the cause, in a browser.

`judge` answers what the page asks, in the browser (by Pyodide) and in `tfgpu-doctor serve` alike. `pages`
makes the files of the site: what is in `web/`, the tables and the pages of the finding codes.
scripts/build_site writes them into a folder, beside the runtime; `serve` keeps them in memory.
"""
