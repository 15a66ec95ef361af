// The table: its name, its dialect, and how to correct the dialect.

import { field, fill, h, select } from "./elements.js";
import { number, t } from "./texts.js";
import { choose, complaintsAt, state } from "./state.js";

const DELIMITERS = [",", ";", "\t", "|"];
const CHARSETS = ["UTF-8", "latin-1", "cp1252", "utf-16"];

export function showTable() {
  const view = state.view;
  const complaint = complaintsAt("table");
  const found = view.dialect;
  fill(document.getElementById("table"),
    h("h2", { id: "table-heading" }, t("table_heading", { name: state.name })),
    view.n_rows === undefined ? null : h("p", { id: "table-size" }, t("table_size", { rows: number(view.n_rows), columns: number(view.columns.length) })),
    found?.format === "CSV" ? h("p", { id: "dialect" }, t("dialect_found", { delimiter: called(found.delimiter), charset: found.charset, decimal: found.decimal })) : null,
    found && found.format !== "CSV" ? h("p", { id: "dialect" }, t("dialect_format", { format: found.format })) : null,
    complaint ? h("p", { class: "complaint", role: "alert", id: "complaint-table" }, complaint) : null,
    corrections(complaint, found?.sheets ?? []));
}

function called(delimiter) {
  return { ",": t("comma"), ";": t("semicolon"), "\t": t("tab"), "|": t("bar") }[delimiter] ?? delimiter;
}

function corrections(complaint, sheets) {
  const wanted = state.choices.dialect ?? {};
  const change = (name) => (event) => choose({ dialect: { ...state.choices.dialect, [name]: event.target.value || null } });
  const others = (known, given) => (given && !known.includes(given) ? [...known, given] : known);
  const details = h("details", { id: "dialect-details" },
    h("summary", {}, t("dialect_correct")),
    h("div", { class: "fields" },
      sheets.length > 1 ? field(t("sheet"), select({ id: "sheet", onchange: change("sheet") },
        sheets.map((name, i) => [i ? name : "", name]), wanted.sheet)) : null,
      field(t("delimiter"), select({ id: "delimiter", onchange: change("delimiter") },
        [["", t("detected")], ...others(DELIMITERS, wanted.delimiter).map((sign) => [sign, called(sign)])], wanted.delimiter)),
      field(t("charset"), select({ id: "charset", onchange: change("charset") },
        [["", t("detected")], ...others(CHARSETS, wanted.charset).map((name) => [name, name])], wanted.charset)),
      field(t("decimal"), select({ id: "decimal", onchange: change("decimal") },
        [["", t("detected")], [".", t("point")], [",", t("comma")]], wanted.decimal)),
      field(t("missing"), h("input", {
        type: "text", id: "missing", value: (wanted.missing ?? []).map((mark) => mark || '""').join(" "),
        onchange: (event) => choose({ dialect: { ...state.choices.dialect, missing: event.target.value.split(/\s+/).filter(Boolean).map((mark) => (mark === '""' ? "" : mark)) } }),
      }), { help: t("missing_help") })));
  if (complaint) details.open = true;
  return details;
}
