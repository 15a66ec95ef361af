"""The HTML report of one fit: one file, without scripts, that opens anywhere and prints."""

from s2oct.report.page import report_html, write_report

__all__ = ["report_html", "write_report"]
