"""Tests what the scripts that train the models do if the packages that they need are not installed."""

from __future__ import annotations

import importlib
import sys

import pytest


@pytest.mark.parametrize("name", ["train_prose", "fit_weights"])
def test_a_script_that_cannot_learn_names_the_command_that_installs_what_it_needs(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It prints one sentence and no traceback."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])
    with pytest.raises(SystemExit, match=r"\.py needs scikit-learn and scipy: pip install scikit-learn=="):
        importlib.import_module(f"scripts.{name}").main()
