"""Tests the tables that are kept by hand: each row names its source and the day on which somebody read the
source."""

from __future__ import annotations

import re

import pytest

from doctor.tables import Tables
from doctor.tables.ordering import order


@pytest.mark.parametrize("name", ["images", "conda", "systems"])
def test_each_row_names_its_source_and_the_day_it_was_looked_at(tables: Tables, name: str) -> None:
    for row in tables.store.all(name):
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", row["seen"]), row
        assert len(row["source"]) > 20, row


@pytest.mark.parametrize("name", ["images", "conda"])
def test_each_row_states_whether_the_registry_confirmed_it(tables: Tables, name: str) -> None:
    assert all(isinstance(row["verified"], bool) for row in tables.store.all(name))


def test_images_with_another_cudnn_than_their_tensorflow_loads_are_left_out(tables: Tables) -> None:
    """These are the images from 2.18.0 on (tensorflow/build#217 and #221)."""
    assert not [
        row["image"] for row in tables.store.all("images") if order(row["version"]) >= order("2.18.0")
    ]


def test_each_image_is_of_a_release_with_cuda(tables: Tables) -> None:
    for row in tables.store.all("images"):
        build = tables.tensorflow(row["version"], None, "linux-x86_64")
        assert build is not None
        assert build.gpu, row
        assert build.version == row["version"]
