"""A page shows what the files say, for whatever words stand in them."""

import base64
import io
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from hecka.report.charts import entropy_chart, reliability_chart, similarity_chart
from hecka.report.drawing import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axis, round_axis
from hecka.report.markup import VOID
from hecka.report.page import page
from hecka.report.page_examples import data_uri
from hecka.report.page_pictures import roc_curves
from hecka.report.page_tables import flattened

ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "nav", "section", "aside", "footer"),
    *("h1", "h2", "h3", "h4", "p", "a", "ul", "li", "dl", "dt", "dd", "div", "span", "strong", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "img"),
    *("svg", "path", "rect", "circle", "text"),
}


class Reader(HTMLParser):
    """Elements with their attributes, and the text in each chapter; fails on any that is not closed."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open, self.chapter = [], {}, [], "head"
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.chapter = dict(attrs)["id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.setdefault(self.chapter, []).append(data)

    def count(self, tag):
        return sum(name == tag for name, _ in self.elements)


def places(markup, style):
    """The pixels of every path of that class."""
    found = re.findall(rf'<path class="{style}" d="M([^"]*)"', markup)
    return [np.array([point.split() for point in each.split("L")], float) for each in found]


def along_x(pixels):
    return (pixels - LEFT) / (WIDTH - LEFT - RIGHT)


def along_y(pixels):
    return 1 - (pixels - TOP) / (HEIGHT - TOP - BOTTOM)


def test_every_chapter_is_there_and_every_picture_has_its_sentence(make_run):
    read = Reader(page([make_run("first", 0), make_run("second", 1)]))
    chapters = [
        "scores",
        "outliers",
        "entropy",
        "detection",
        "calibration",
        "diversity",
        "images",
        "training",
        "settings",
    ]
    assert [attrs["id"] for tag, attrs in read.elements if tag == "section"] == chapters
    links = [attrs["href"] for tag, attrs in read.elements if tag == "a"]
    assert links == [f"#{name}" for name in chapters]
    # Entropy, calibration and diversity show each run, detection each of 2 scores, training each of 2 curves.
    assert read.count("figure") == read.count("figcaption") == read.count("svg") == 2 + 2 + 2 + 2 + 2
    assert read.count("img") == 2 * 2 * 2 * 3  # runs, sets, sides, shown
    labels = [attrs["aria-label"] for tag, attrs in read.elements if tag == "svg"]
    assert all(label.endswith(".") for label in labels)


def test_words_of_users_stay_words(make_run):
    run = make_run('"><script>alert(1)</script>', notes=["<u>note</u>"])
    text = page([run, make_run("second", 1)])
    read = Reader(text)
    assert {tag for tag, _ in read.elements} <= ALLOWED
    shown = " ".join(each for chapter in read.texts.values() for each in chapter)
    for word in (
        '"><script>alert(1)</script>',
        "<u>note</u>",
        "<i>odd</i>",
        "<b>bold</b>",
        "a & b",
        "layer<1>",
        "set<1>",
    ):
        assert word in shown, word
    assert "own<part>" in shown


def test_nothing_is_asked_of_anybody(make_run):
    text = page([make_run()])
    read = Reader(text)
    sources = [
        value for _, attrs in read.elements for name, value in attrs.items() if name in ("src", "href", "srcset")
    ]
    assert sources
    assert all(value.startswith(("data:image/png;base64,", "#")) for value in sources)
    assert "http://" not in text
    assert "https://" not in text
    assert "url(" not in text
    assert not any(name.startswith("on") for _, attrs in read.elements for name in attrs)
    policy = next(attrs for _, attrs in read.elements if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"].startswith("default-src 'none'")


def test_tables_hold_the_numbers_of_the_evaluation(make_run):
    runs = [make_run("first", 0), make_run("second", 1, density=True)]
    texts = Reader(page(runs)).texts
    for run in runs:
        start = texts["scores"].index(run.name)
        names = ["accuracy", "nll", "nll_of_mean", "brier", "ece"]
        names += ["mean_entropy", "mean_mutual_information", "disagreement"]
        row = [float(cell) for cell in texts["scores"][start + 1 : start + 10]]
        expected = [*(run.evaluation["scores"][name] for name in names), run.evaluation["cka"]["mean"]]
        assert row == pytest.approx(expected, abs=6e-4)
    found = runs[1].outliers["<i>odd</i>"]
    start = max(at for at, cell in enumerate(texts["outliers"]) if cell == "density of features")
    row = [float(cell.split("\u202f")[0]) / 100 for cell in texts["outliers"][start + 1 : start + 4]]
    assert row == pytest.approx([found["density"][key] for key in ("auroc", "aupr", "fpr95")], abs=6e-5)
    assert texts["outliers"].count("second") == 3  # entropy, mutual information, density
    assert texts["outliers"].count("first") == 2


def test_the_area_below_a_drawn_roc_curve_is_the_auroc(make_run):
    run = make_run()
    drawn = places(roc_curves([run]), "line s0")
    for score, pixels in zip(("entropy", "mutual_information"), drawn, strict=True):
        alarms, found = along_x(pixels[:, 0]) ** 2, along_y(pixels[:, 1])
        assert (alarms[0], found[0], alarms[-1], found[-1]) == pytest.approx((0, 0, 1, 1))
        area = np.sum(np.diff(alarms) * (found[1:] + found[:-1]) / 2)
        auroc = run.outliers["<i>odd</i>"][score]["auroc"]
        assert 0.55 < auroc < 0.95  # else any curve would do
        assert area == pytest.approx(auroc, abs=0.005)


def test_a_curve_of_many_points_is_thinned_to_what_can_be_seen(make_run):
    run = make_run()
    rng = np.random.default_rng(0)
    arrays = {**run.arrays, "inliers/entropy": rng.random(20_000), "<i>odd</i>/entropy": rng.random(20_000) ** 0.5}
    crowded = type(run)(run.name, run.config, run.evaluation, arrays, run.records, run.parts)
    pixels = places(roc_curves([crowded]), "line s0")[0]
    assert len(pixels) < 2000
    alarms, found = along_x(pixels[:, 0]) ** 2, along_y(pixels[:, 1])
    assert np.sum(np.diff(alarms) * (found[1:] + found[:-1]) / 2) == pytest.approx(2 / 3, abs=0.01)


def test_histograms_have_the_heights_of_their_shares():
    rng = np.random.default_rng(0)
    sets = {"one": rng.random(500), "two": rng.random(50) ** 3}
    markup = entropy_chart(sets, {"one": "s0", "two": "s1"}, Axis("", 0.0, 1.0, ()), "")
    for style, values in (("s0", sets["one"]), ("s1", sets["two"])):
        (pixels,) = places(markup, f"area {style}")
        heights = along_y(pixels[1:-1:2, 1]) ** 2  # square-root scale
        expected = np.histogram(values, 40, (0, 1))[0] / len(values)
        assert heights == pytest.approx(expected, abs=2e-3)
        (median,) = places(markup, f"line {style} median")
        assert along_x(median[0, 0]) == pytest.approx(np.median(values), abs=1e-3)


def test_bars_of_a_reliability_diagram_end_at_the_accuracy(make_run):
    rows = make_run().evaluation["reliability"]
    markup = reliability_chart(rows, "")
    heights = [float(each) for each in re.findall(r'<rect class="bar s0"[^>]* height="([^"]*)"', markup)]
    expected = [row["accuracy"] for row in rows if row["accuracy"] is not None]
    assert np.array(heights) / (HEIGHT - TOP - BOTTOM) == pytest.approx(expected, abs=1e-3)
    (outline,) = places(markup, "area share")
    assert along_y(outline[1:-1:2, 1]) == pytest.approx([0.0] + [0.25] * 4, abs=1e-3)


def test_similar_is_bright_and_written_out_where_there_is_room():
    few = similarity_chart([[0.0, 0.25], [0.5, 1.0]], ["first", "a.very.long.name.of.a.layer"], "")
    assert re.findall(r">(0\.00|0\.25|0\.50|1\.00)<", few) == ["0.00", "0.25", "0.50", "1.00"]
    colours = re.findall(r'<path fill="#(..)(..)(..)"', few)[:4]
    brightness = [sum(int(part, 16) for part in colour) for colour in colours]
    assert brightness == sorted(brightness)
    assert brightness[0] < 30 < 600 < brightness[-1]
    assert "…ame.of.a.layer"[-12:] in few
    many = similarity_chart(np.full((20, 20), 0.5).tolist(), [f"name{i}" for i in range(20)], "")
    assert ">0.50<" not in many
    assert many.count(">name") == 2 * 10  # every second, beside and below


def test_what_keeps_results_from_being_compared_stands_on_top(make_run):
    noted = page([make_run(budget=0.05, notes=["surrogate Ambiguous-MNIST"])])
    head = noted.partition("<main")[0]
    assert "0.05 of the recipe" in head
    assert "surrogate Ambiguous-MNIST" in head
    assert "<aside" not in page([make_run()])


def test_one_network_has_no_members_to_compare(make_run):
    read = Reader(page([make_run(members=1)]))
    assert "diversity" not in read.texts
    assert not any("by mutual information" in each for each in read.texts["detection"])
    assert any("by entropy" in each for each in read.texts["detection"])


def test_what_is_not_finite_is_not_drawn(make_run):
    run = make_run(epochs=3)
    run.records[1]["loss"] = math.inf
    for line in run.records:
        line["validation_nll"] = math.nan
    text = page([run])
    assert "validation nll" not in text
    assert [len(each) for each in places(text[text.index('id="training"') :], "line s0")] == [2, 3]


def test_no_entropy_is_less_than_nothing(make_run):
    run = make_run()
    run.arrays["inliers/least/entropy"][:] = run.arrays["inliers/entropy"][:] = -1e-7
    assert "-0.0" not in "".join(each for texts in Reader(page([run])).texts.values() for each in texts)


def test_settings_that_differ_are_shown_side_by_side(make_run):
    texts = Reader(page([make_run("first", 0), make_run("second", 7)])).texts["settings"]
    table = texts[texts.index("What differs") : texts.index("All settings of first")]
    assert table == [
        "What differs",
        "setting",
        "first",
        "second",
        "recipe.name",
        "first",
        "second",
        "recipe.seed",
        "0",
        "7",
    ]
    assert "What differs" not in Reader(page([make_run()])).texts["settings"]


def test_all_settings_are_listed():
    nested = {"recipe": {"settings": "Recipe", "taps": ["a", "b"], "data": {"settings": "DataSettings", "root": None}}}
    assert flattened(nested) == {
        "recipe": "Recipe",
        "recipe.taps": "a, b",
        "recipe.data": "DataSettings",
        "recipe.data.root": "None",
    }


def test_pictures_survive_their_way_into_the_page():
    colour = np.random.default_rng(0).integers(256, size=(3, 5, 4), dtype=np.uint8)
    for image, expected in ((colour, colour.transpose(1, 2, 0)), (colour[:1], colour[0])):
        content = base64.b64decode(data_uri(image).partition(",")[2])
        np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(content))), expected)


def test_photographs_are_made_smaller():
    content = base64.b64decode(data_uri(np.full((3, 600, 300), 200, np.uint8)).partition(",")[2])
    picture = Image.open(io.BytesIO(content))
    assert picture.size == (64, 128)
    assert picture.getpixel((30, 60)) == (200, 200, 200)


def test_a_wrong_first_guess_is_marked_and_the_second_is_named(make_run):
    run = make_run()
    run.arrays["inliers/least/probs"][:] = [0.1, 0.6, 0.298, 0.002]
    run.arrays["inliers/least/labels"][:] = [0, 1, 2]
    text = page([run])
    assert 'a &amp; b 60\u202f%</span><span>&quot;quoted&quot; 30\u202f%</span><span class="wrong">is &lt;b&gt;' in text
    sheet = text[text.index("is surest of these") :].partition("is least sure of these")[0]
    assert sheet.count('class="wrong"') == 2


@pytest.mark.parametrize(
    "values", [(0.0, 1.0), (1.0, 60.0), (2.22, 2.27), (-3.0, 1e-3), (5.0, 5.0), (0.0, 0.0), (1e-5, 3e-5)]
)
def test_axes_hold_all_values_between_round_ticks(values):
    axis = round_axis("", values)
    assert axis.low <= min(values) <= max(values) <= axis.high
    assert 2 <= len(axis.ticks) <= 6
    assert (axis.ticks[0][0], axis.ticks[-1][0]) == pytest.approx((axis.low, axis.high))
    assert all(float(text) == pytest.approx(tick, rel=1e-3, abs=1e-12) for tick, text in axis.ticks)
    assert len({text for _, text in axis.ticks}) == len(axis.ticks)
    assert not math.isclose(axis.low, axis.high)
