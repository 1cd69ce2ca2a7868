"""The report: complete, self-contained, and with the figures of the JSON."""

import contextlib
import io
import json
import re
import sys
from html.parser import HTMLParser

import pytest

pytest.importorskip("matplotlib")

from yacht_env.cli import main


class Page(HTMLParser):
    """Collects the figures, and every address that a browser would fetch."""

    def __init__(self, text):
        super().__init__()
        self.figures, self.addresses, self.inside, self.open = [], [], None, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "data":
            self.inside = [attrs["data-of"], float(attrs["value"]), ""]
        for name in ("src", "href", "xlink:href", "data", "action", "poster"):
            if name in attrs:
                self.addresses.append(attrs[name])

    def handle_data(self, data):
        if self.inside:
            self.inside[2] += data

    def handle_endtag(self, tag):
        if tag == "data":
            self.figures.append(tuple(self.inside))
            self.inside = None


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    arguments = ["evaluate", "greedy", "random", "--ruleset", "yacht-bonus", "--games", "2000", "--json"]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main([*arguments, "--report", str(folder / "report.html"), "--pictures", str(folder / "pictures")])
    return folder, json.loads(out.getvalue())


def test_every_figure_is_that_of_the_json(made):
    folder, results = made
    figures = Page((folder / "report.html").read_text()).figures
    by_name = {result["policy"]: result for result in results}
    assert len(figures) > 300
    for source, value, text in figures:
        policy, *path = source.split("/")
        found = by_name[policy]
        for key in path:
            found = found[int(key)] if isinstance(found, list) else found[key]
        assert value == found
        shown = float(text.rstrip("%").replace(",", ""))
        assert shown == pytest.approx(100 * found if text.endswith("%") else found, abs=0.06)


def test_no_request_leaves_the_page(made):
    folder, _ = made
    text = (folder / "report.html").read_text()
    assert all(address.startswith("#") for address in Page(text).addresses)
    assert "<script" not in text and "@import" not in text
    assert not re.findall(r"url\((?!#)", text)


def test_the_page_names_everything(made):
    folder, results = made
    text = (folder / "report.html").read_text()
    for heading in ("Box by box", "Against each other", "The costliest decisions", "Pictures"):
        assert f"<h2>{heading}</h2>" in text
    assert text.count("<figure>") == 6 and "estimate, 2,000 games" in text
    assert results[0]["anatomy"]["costliest"][0]["best_text"] in text


def test_pictures_are_png(made):
    folder, _ = made
    pictures = sorted(path.name for path in (folder / "pictures").iterdir())
    assert pictures == [
        f"{name}.png"
        for name in ("at-least", "distribution", "gap-by-box", "gap-by-kind", "gap-by-roll", "gap-by-turn")
    ]
    for path in (folder / "pictures").iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_command_to_install_it_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", "greedy", "--method", "estimate", "--games", "10", "--report", str(tmp_path / "r.html")])
    assert stop.value.code == 2
    assert 'pip install "yacht-env[report]"' in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


def test_a_report_that_cannot_be_written_is_said_so(tmp_path, capsys):
    (tmp_path / "no").write_text("no folder")
    with pytest.raises(SystemExit) as stop:
        main(
            ["evaluate", "greedy", "--method", "estimate", "--games", "10", "--report", str(tmp_path / "no" / "r.html")]
        )
    assert stop.value.code == 2 and "no" in capsys.readouterr().err
