"""The browser the other tests look through: it must see what is wrong with a page, or they prove nothing."""

from __future__ import annotations

import http.server
import threading

import pytest

from tests.browser import BrowserError
from tests.legibility import illegible

HEAD = '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>t</title>'


@pytest.fixture
def write(tmp_path):
    def page(body, head=HEAD):
        path = tmp_path / "a page #1.html"
        path.write_text(head + body, encoding="utf-8")
        return path

    return page


@pytest.fixture
def server():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            found = self.path == "/"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><p>here</p><img src='missing.png'>" if found else b"")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}/"
        listening.shutdown()
        thread.join()


def test_page_without_faults_has_no_complaints(browser, write):
    with browser.page(write("<h1>Größe</h1>")) as page:
        assert page.evaluate("document.querySelector('h1').textContent") == "Größe"
        assert page.console_errors == []
        assert page.overflow() == 0
        assert len(page.requests) == 1


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<script>console.error('no', 'good')</script>", "no good"),
        ("<script>nowhere.to.go()</script>", "nowhere is not defined"),
        ("<script>Promise.reject(new Error('late'))</script>", "late"),
        ("<img src='missing.png'>", "ERR_FILE_NOT_FOUND"),
        ("<link rel=stylesheet href='missing.css'>", "missing.css"),
    ],
)
def test_complaints_are_heard(browser, write, body, complaint):
    with browser.page(write(body)) as page:
        page.wait_for("true")
        assert complaint in "\n".join(page.console_errors)


def test_answers_of_a_server_that_say_no_are_heard(browser, server):
    with browser.page(server) as page:
        assert page.evaluate("document.body.innerText") == "here"
        assert any(error.startswith("404") and error.endswith("missing.png") for error in page.console_errors)


@pytest.mark.parametrize(("width", "overflow"), [(1280, 0), (390, 210)])
def test_overflow_is_what_does_not_fit(browser, write, width, overflow):
    with browser.page(write("<body style='margin:0'><div style='width:600px'>wide</div>"), width=width) as page:
        assert page.overflow() == overflow


def test_phone_without_a_viewport_declaration_overflows(browser, write):
    with browser.page(write("<p>small</p>", head="<!doctype html>"), width=390) as page:
        assert page.overflow() > 0


@pytest.mark.parametrize("dark", [True, False])
def test_colour_scheme_is_the_one_asked_for(browser, write, dark):
    with browser.page(write(""), dark=dark) as page:
        assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is dark


def test_hands_click_and_type(browser, write):
    body = """
        <div style="height:3000px"></div><input id="who" value="Ada "><button>go</button>
        <script>
            var done = null;
            document.querySelector("button").onclick = () => { done = document.getElementById("who").value; };
        </script>
    """
    with browser.page(write(body)) as page:
        page.type("#who", "Lovelace ö")
        page.click("button")
        page.wait_for("done !== null", 5)
        assert page.evaluate("done") == "Ada Lovelace ö"


def test_wishes_that_cannot_be_met_end(browser, write):
    with browser.page(write("<p>nothing</p>")) as page:
        with pytest.raises(BrowserError, match="No element matches"):
            page.click("#button")
        with pytest.raises(BrowserError, match="nonsense"):
            page.evaluate("nonsense")
        with pytest.raises(TimeoutError, match="Not true in time: false"):
            page.wait_for("false", 0.2)
    with pytest.raises(BrowserError, match="ERR_FILE_NOT_FOUND"), browser.page("nowhere.html"):
        pass


def test_pictures_and_prints_are_files_of_their_kind(browser, write, tmp_path):
    with browser.page(write("<div style='height:3000px'>long</div>")) as page:
        page.screenshot(tmp_path / "all.png")
        page.screenshot(tmp_path / "window.png", full=False)
        page.print_to_pdf(tmp_path / "page.pdf")
    heights = [int.from_bytes((tmp_path / name).read_bytes()[20:24]) for name in ("all.png", "window.png")]
    assert heights[0] > 3000
    assert heights[1] == 900
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF-")


def test_pages_share_no_storage(browser, server):
    with browser.page(server) as page:
        page.evaluate("localStorage.setItem('seen', 'yes')")
    with browser.page(server) as page:
        assert page.evaluate("localStorage.getItem('seen')") is None


@pytest.mark.parametrize(
    ("fault", "body"),
    [
        ("on top of each other", "<p>one</p><p style='margin-top: -2.4em'>two</p>"),
        ("10.0 pixels", "<p style='font-size: 10px'>one</p>"),
        ("9.0 pixels", "<svg viewBox='0 0 200 50' width=100><text y=20 font-size=18>one</text></svg>"),
        ("out of the window", "<p style='margin-left: 1270px; white-space: nowrap'>one word more</p>"),
        ("no words", "<p hidden>one</p>"),
    ],
)
def test_words_that_cannot_be_read_are_found(browser, write, fault, body):
    with browser.page(write(f"<main>{body}</main>")) as page:
        (found,) = illegible(page, "main")
    assert fault in found


def test_words_that_can_be_read_are_no_fault(browser, write):
    with browser.page(write("<main><p>one <b>two</b></p><p>three</p><svg><text y=20>four</text></svg></main>")) as page:
        assert illegible(page, "main") == []
