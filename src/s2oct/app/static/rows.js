// Single rows: those of a leaf, and the path of one row through the rules, also with edited cells.

import { post } from "./api.js";
import { fill, h, table } from "./elements.js";
import { number, translate, t } from "./texts.js";
import { state } from "./state.js";
import { shownResult, shownTree } from "./result.js";

const here = () => `sessions/${state.session}/jobs/${state.shown}`;

export async function showLeaf(part, first) {
  const place = document.getElementById("leaf");
  const found = await post(`${here()}/rows`, { tree: shownTree(), leaves: part.leaves, first });
  const pick = (row) => h("button", { type: "button", class: "small", "aria-label": t("path_of_row", { n: row.number }), onclick: () => showPath({ row: row.number }) }, number(row.number));
  const last = first + found.rows.length;
  fill(place,
    h("h3", {}, t("leaf_heading", { name: part.class_name, leaf: part.label })),
    h("p", { id: "leaf-conditions" }, part.conditions?.length ? part.conditions.map((condition, i) => [i ? ` ${t("and")} ` : null, h("code", {}, condition)]) : t("all_rows"), ": ", t("leaf_sum", { name: part.class_name, n: number(part.labeled + part.unlabeled) })),
    part.sentences.map((sentence) => h("p", {}, translate(sentence))),
    found.rows.length ? table(t("leaf_caption"), [t("row"), ...found.columns], found.rows.map((row) => [pick(row), ...row.cells.map((cell) => cell ?? "")]), { id: "leaf-rows" }) : null,
    h("p", {}, t("leaf_shown", { first: number(found.n_rows ? first + 1 : 0), last: number(last), of: number(found.n_rows) }), " ",
      first > 0 ? h("button", { type: "button", id: "leaf-before", onclick: () => showLeaf(part, Math.max(first - 25, 0)) }, t("before")) : null, " ",
      last < found.n_rows ? h("button", { type: "button", id: "leaf-after", onclick: () => showLeaf(part, last) }, t("after")) : null));
}

export async function showPath(row, cells = {}) {
  const place = document.getElementById("path");
  const found = await post(`${here()}/path`, { tree: shownTree(), cells, ...row });
  if (found.complaints) {
    fill(place, h("p", { class: "complaint", role: "alert" }, found.complaints.map((one) => one.message).join(" ")));
    return;
  }
  for (const marked of document.querySelectorAll("#tree .on-path")) marked.classList.remove("on-path");
  for (const leaf of document.querySelectorAll("#tree .leaf")) leaf.classList.toggle("on-path", leaf.dataset.leaves.split(" ").includes(String(found.leaf)));
  const used = shownResult().rule_columns;
  const shown = Object.keys(found.cells).filter((name) => used.includes(name) || shownTree());
  const inputs = new Map(shown.map((name, i) => [name, h("input", { type: "text", id: `path-cell-${i}`, value: found.cells[name], size: 12 })]));
  const again = (event) => {
    event.preventDefault();
    showPath({ row: found.row }, Object.fromEntries([...inputs].map(([name, input]) => [name, input.value])));
  };
  fill(place,
    h("h4", {}, t("path_heading", { n: number(found.row), name: found.predicted })),
    h("ol", { id: "path-steps" }, found.steps.map((step) => h("li", {}, step.sentence))),
    h("p", { id: "path-class" }, t("path_class", { name: found.predicted })),
    h("form", { class: "fields", onsubmit: again },
      [...inputs].map(([name, input]) => h("div", { class: "field" }, h("label", { for: input.id }, name), input)),
      h("button", { type: "submit", id: "path-again" }, t("path_again"))),
    found.changed.length ? h("p", { class: "muted small" }, t("path_changed", { names: found.changed.join(", ") })) : null);
}
