"""Tests that `bench` draws the right conclusions from the measured times, and no conclusions that they do not
support."""

from __future__ import annotations

from doctor.bench.results import Bench, Measurement, pays_from
from doctor.charts import Chart, Line, svg, text, ticks


def taken(device: str, size: int, *milliseconds: float, transfer: bool = False) -> Measurement:
    return Measurement(
        "matmul", size, device, transfer, 1.0, tuple(t / 1000 for t in milliseconds), 2.0 * size**3
    )


def bench(*measured: Measurement, load: tuple[float, float] | None = None, simulated: bool = False) -> Bench:
    return Bench("TensorFlow 2.21.0", "a GPU", simulated, 2, load, measured, ())


def test_gpu_pays_from_the_size_at_which_it_stays_faster():
    rows = [taken("CPU", n, t, t, t) for n, t in ((64, 1), (128, 5), (256, 40), (512, 300))]
    rows += [taken("GPU", n, t, t, t) for n, t in ((64, 0.5), (128, 6), (256, 10), (512, 20))]
    assert pays_from(rows, "matmul", transfer=False) == 256  # the GPU is ahead at 64 too, but not at 128
    assert pays_from(rows, "matmul", transfer=True) is None
    assert pays_from(rows, "convolution", transfer=False) is None


def test_times_that_overlap_do_not_count_as_faster():
    rows = [taken("CPU", 64, 8, 10, 12), taken("GPU", 64, 7, 9, 11)]
    assert pays_from(rows, "matmul", transfer=False) is None


def test_the_median_does_not_move_with_one_slow_call():
    assert taken("CPU", 64, 1, 1, 1, 1, 500).median == 0.001


def test_a_wide_spread_is_called_noisy():
    (note,) = bench(taken("CPU", 64, 1, 2, 3, 4, 5)).notes()
    assert "1 of 1 measurements are noisy" in note
    assert bench(taken("CPU", 64, 1, 1, 1.05, 1, 1)).notes() == []


def test_a_busy_machine_is_noted():
    assert any("busy" in note for note in bench(taken("CPU", 64, 1), load=(0.1, 1.9)).notes())


def test_a_note_says_that_times_of_a_simulated_gpu_mean_nothing():
    assert any("mean nothing" in note for note in bench(taken("CPU", 64, 1), simulated=True).notes())


def test_operations_per_second_follow_from_the_median():
    assert round(taken("CPU", 1000, 100, 100, 100).gflops) == 20


def test_a_plot_shows_growth_from_bottom_left_to_top_right():
    chart = Chart("t", "size", "ms", (Line("CPU", ((1, 1), (10, 10), (100, 100))),), logarithmic=True)
    rows = text.drawn(chart, 40, 7, plain=True).splitlines()[1:8]
    places = [row.index("*") for row in rows if "*" in row]
    assert places == sorted(places, reverse=True)
    assert len(places) == 3
    assert max(map(len, text.drawn(chart, 40, 7).splitlines())) <= 42


def test_a_plot_without_points_says_so():
    assert text.drawn(Chart("t", "x", "y", ())) == "t: nothing was measured"


def test_svg_is_well_formed_and_escapes_names():
    import xml.etree.ElementTree as Tree

    chart = Chart("<a> & b", "x", "y", (Line("GPU <0>", ((0, 1), (1, 3))),), ((0.5, "a&b"),))
    root = Tree.fromstring(svg.drawn(chart))
    assert "<a> & b" in [element.text for element in root.iter() if element.text]


def test_the_values_on_an_axis_are_round():
    assert ticks(0, 8192, False) == [0, 2000, 4000, 6000, 8000]
    assert ticks(0, 0.63, False) == [0, 0.2, 0.4, 0.6000000000000001]
    assert ticks(5, 5, False) == [5]
    assert [round(10**t, 3) for t in ticks(-1.4, 2.7, True)] == [0.1, 1, 10, 100]
    assert [round(10**t) for t in ticks(0, 1.5, True)] == [1, 2, 5, 10, 20]
