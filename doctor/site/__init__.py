"""The web page on which one pastes a log and gets the cause, in a browser.

`judge` answers the page's questions, both in the browser (by Pyodide) and in `tfgpu-doctor serve`. `pages`
makes the files of the site: those in `web/`, the tables and the pages of the finding codes.
scripts/build_site writes them into a folder, beside the runtime; `serve` keeps them in memory.
"""
