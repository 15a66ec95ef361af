// The label with its classes, and the columns with their roles and treatments.

import { field, fill, h, select } from "./elements.js";
import { number, translate, t } from "./texts.js";
import { choose, complaintsAt, state } from "./state.js";

const ROLES = ["feature", "id", "left out", "weight"];

export function showLabel() {
  const { view, choices } = state;
  const names = view.columns.map((column) => column.name);
  const complaint = complaintsAt("label");
  const shown = view.classes.map((one) => h("li", {}, h("strong", {}, one.name), ` ${t("class_rows", { n: number(one.labeled) })}`));
  fill(document.getElementById("label"),
    h("h2", { id: "label-heading" }, t("label_heading")),
    h("p", {}, t("label_words")),
    field(t("label"), select({ id: "label-column", onchange: (event) => choose({ label: event.target.value || null, totals: withoutAmounts() }) },
      [["", t("choose")], ...(choices.label && !names.includes(choices.label) ? [[choices.label, choices.label]] : []), ...names.map((name) => [name, name])], choices.label), { complaint }),
    choices.label && view.n_labeled !== undefined ? [
      h("p", { id: "label-counts" }, t("label_counts", { labeled: number(view.n_labeled), unlabeled: number(view.n_unlabeled), classes: number(view.n_classes) })),
      h("ul", { class: "classes", id: "classes" }, shown),
      view.n_classes > shown.length ? h("p", { class: "muted" }, t("more_classes", { n: number(view.n_classes - shown.length) })) : null,
    ] : null);
}

function withoutAmounts() {
  return { ...state.choices.totals, amounts: {}, rows: [] };
}

export function showColumns() {
  const { view, choices } = state;
  const general = view.complaints.filter((one) => one.field === "column" && !one.column).map((one) => one.message).join(" ");
  const aboutWeights = view.complaints.some((one) => one.remedies?.includes("NO_WEIGHTS"));
  fill(document.getElementById("columns"),
    h("h2", { id: "columns-heading" }, t("columns_heading")),
    h("p", {}, t("columns_words")),
    general ? h("p", { class: "complaint", role: "alert", id: "complaint-columns" }, general) : null,
    h("div", { class: "scroll" }, h("table", { class: "columns" },
      h("caption", { class: "unseen" }, t("columns_heading")),
      h("thead", {}, h("tr", {}, ["column", "role", "treatment", "what"].map((key) => h("th", { scope: "col" }, t(`column_${key}`))))),
      h("tbody", {}, view.columns.map(row)))),
    h("div", { class: "fields" },
      field(t("impute"), select({ id: "impute", onchange: (event) => choose({ impute: event.target.value }) },
        [["median", t("impute_median")], ["most-frequent", t("impute_most_frequent")]], choices.impute ?? "median")),
      aboutWeights || choices.unweighted ? h("div", { class: "field check" },
        h("input", { type: "checkbox", id: "unweighted", checked: Boolean(choices.unweighted), onchange: (event) => choose({ unweighted: event.target.checked }) }),
        h("label", { for: "unweighted" }, t("unweighted"))) : null));
}

function row(column, i) {
  const complaint = complaintsAt("column", column.name);
  const described = complaint ? `column-${i}-complaint` : null;
  const { choices } = state;
  const notes = [translate(column.treatment), column.n_missing ? t("missing_values", { n: number(column.n_missing), filling: translate(column.filling) }) : null].filter(Boolean).join(" · ");
  return h("tr", { class: described ? "wrong" : null },
    h("th", { scope: "row" }, column.name),
    h("td", { "data-label": t("column_role") }, roleOf(column, i, described)),
    h("td", { "data-label": t("column_treatment") }, column.role === "feature" ? treatmentOf(column, i) : null),
    h("td", {},
      notes ? h("div", {}, notes) : null,
      column.cells.length ? h("div", { class: "muted small cells" }, t("for_instance", { cells: column.cells.join(" · ") })) : null,
      column.doubt ? h("div", { class: "doubt" }, t("doubt", { why: translate(column.doubt) })) : null,
      complaint ? h("div", { class: "complaint", id: `column-${i}-complaint` }, complaint) : null,
      choices.kinds?.[column.name] === "ordinal" ? orderOf(column, i) : null));
}

function roleOf(column, i, described) {
  if (column.name === state.choices.label) return t("role_label");
  if (column.role === "domain") return t("role_domain");
  const element = select({
    id: `role-${i}`, "aria-label": t("role_of", { name: column.name }), "aria-describedby": described, "aria-invalid": described ? "true" : null,
    onchange: (event) => changeRole(column.name, event.target.value),
  }, ROLES.map((role) => [role, t(`role_${role.replace(" ", "_")}`)]), column.role);
  return element;
}

function changeRole(name, role) {
  const roles = { ...state.choices.roles, [name]: role };
  const kinds = { ...state.choices.kinds };
  const orders = { ...state.choices.orders };
  if (role === "feature") {
    const column = state.view.columns.find((one) => one.name === name);
    if (column.role === "id" && state.choices.roles?.[name] === undefined) kinds[name] = "onehot";
  } else {
    delete kinds[name];
    delete orders[name];
  }
  choose({ roles, kinds, orders });
}

function treatmentOf(column, i) {
  return select({
    id: `kind-${i}`, "aria-label": t("treatment_of", { name: column.name }),
    onchange: (event) => {
      const kinds = { ...state.choices.kinds };
      if (event.target.value) kinds[column.name] = event.target.value;
      else delete kinds[column.name];
      choose({ kinds });
    },
  }, [["", t(column.kind === "number" ? "kind_number" : "kind_automatic")], ["onehot", t("kind_onehot")], ["ordinal", t("kind_ordinal")]], state.choices.kinds?.[column.name]);
}

function orderOf(column, i) {
  const given = state.choices.orders?.[column.name] ?? [];
  return field(t("order_of", { name: column.name }), h("input", {
    type: "text", id: `order-${i}`, value: given.join(", "),
    onchange: (event) => {
      const values = event.target.value.split(",").map((value) => value.trim()).filter(Boolean);
      choose({ orders: { ...state.choices.orders, [column.name]: values } });
    },
  }), { help: t("order_help") });
}
