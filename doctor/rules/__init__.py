"""Rules: facts and tables in, findings out. Each rule is one function; its docstring is the page of its code."""
