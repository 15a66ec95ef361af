"""Nobody but the page itself, on this machine and with the token, is answered."""

from __future__ import annotations

import re

import pytest

from tests.app.asking import PORT

OWN = f"127.0.0.1:{PORT}"
ROUTES = [
    ("GET", ""),
    ("GET", "static/page.js"),
    ("GET", "texts/en.json"),
    ("GET", "api/sessions"),
    ("PUT", "api/sessions?name=a.csv"),
    ("GET", "api/sessions/{id}"),
    ("DELETE", "api/sessions/{id}"),
    ("PUT", "api/sessions/{id}/totals?name=t.csv"),
    ("POST", "api/sessions/{id}/look"),
    ("POST", "api/sessions/{id}/fits"),
    ("GET", "api/sessions/{id}/jobs/1"),
    ("POST", "api/sessions/{id}/jobs/1/more"),
    ("GET", "api/sessions/{id}/jobs/1/result"),
    ("POST", "api/sessions/{id}/jobs/1/rows"),
    ("POST", "api/sessions/{id}/jobs/1/path"),
    ("GET", "api/sessions/{id}/jobs/1/events"),
    ("POST", "api/sessions/{id}/jobs/1/stop"),
    ("GET", "api/sessions/{id}/jobs/1/files/model.json"),
]
FOREIGN = {
    "a foreign host": {"host": f"evil.example:{PORT}"},
    "another port": {"host": "127.0.0.1:80"},
    "no host": {},
    "a foreign origin": {"host": OWN, "origin": "http://evil.example"},
    "another port as origin": {"host": OWN, "origin": "http://127.0.0.1:1"},
    "a sandboxed page": {"host": OWN, "origin": "null"},
    "a link on another page": {"host": OWN, "sec-fetch-site": "cross-site"},
}


def test_every_route_is_attacked(asked):
    known = {(method, re.sub(r"\?.*", "", path)) for method, path in ROUTES}
    there = {
        (method, route.path.replace("{session}", "{id}").replace("{job}", "1").lstrip("/"))
        for route in asked.guard.app.routes
        for method in route.methods - {"HEAD"}
    }
    there = {
        (
            method,
            path.replace("{name}", {"static": "page.js", "texts": "en.json"}.get(path.split("/")[0], "model.json")),
        )
        for method, path in there
    }
    assert there == known


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_no_request_of_a_foreign_page_is_answered_though_it_knows_the_token(asked, session, headers):
    for method, path in ROUTES:
        answer = asked.raw(method, f"/{asked.guard.token}/{path.format(id=session)}", b"{}", headers)
        assert answer.status == 403, (method, path)
        assert session not in answer.body.decode()
    assert (asked.workspace.session(session).folder / "table.csv").exists()


@pytest.mark.parametrize("token", ["", "x", "{token}x", "static", "{token}%00"], ids=repr)
def test_no_request_without_the_token_is_answered(asked, session, token):
    wrong = token.format(token=asked.guard.token)
    for method, path in ROUTES:
        assert asked.raw(method, f"/{wrong}/{path.format(id=session)}", b"{}").status == 403, (method, path)
        assert asked.raw(method, f"/{path.format(id=session)}", b"{}").status == 403, (method, path)
    assert (asked.workspace.session(session).folder / "table.csv").exists()


def test_the_page_itself_is_answered(asked, session):
    """Otherwise the tests above would hold for a server that refuses everything."""
    for host in (OWN, f"localhost:{PORT}"):
        headers = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
        assert asked.raw("GET", f"/{asked.guard.token}/api/sessions", headers=headers).status == 200


@pytest.mark.parametrize("path", ["", "static/page.css", "api/sessions", "no/such/page"])
def test_every_answer_forbids_scripts_frames_and_requests_of_others(asked, path):
    policy = asked("GET", path).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    headers = asked("GET", path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_two_servers_have_different_tokens_of_many_bits(asked, tmp_path):
    from tests.app.asking import Asked

    other = Asked(tmp_path / "other")
    assert other.guard.token != asked.guard.token
    assert len(asked.guard.token) >= 32


def test_the_page_and_its_scripts_name_no_address_of_the_network_and_write_no_markup():
    from importlib.resources import files

    for entry in files("s2oct.app").joinpath("static").iterdir():
        text = entry.read_text(encoding="utf-8")
        assert not re.search(r"https?://", text), entry.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|style=", text), entry.name
