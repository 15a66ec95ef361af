// Totals: estimated, by class, typed by domain into a grid, or in a file.

import { ask } from "./api.js";
import { bounds, checkSum } from "./amounts.js";
import { announce, field, fill, h, select } from "./elements.js";
import { number, share, t } from "./texts.js";
import { choose, complaintsAt, state, TABLE_FILES, trouble } from "./state.js";

const FORMS = ["none", "classes", "grid", "file"];
const MOST_DOMAINS = 500;

const totals = () => ({ form: "none", of_all: false, as_shares: false, amounts: {}, by: [], rows: [], ...state.choices.totals });

function change(changes, options) {
  choose({ totals: { ...totals(), ...changes } }, options);
}

export function showTotals() {
  const given = totals();
  const complaint = complaintsAt("totals");
  const isToDo = !complaint && state.view.complaints.some((one) => one.field === "totals");
  const body = { none: none, classes: byClass, grid: grid, file: upload }[given.form];
  fill(document.getElementById("totals"),
    h("h2", { id: "totals-heading" }, t("totals_heading")),
    h("p", {}, t("totals_words")),
    h("fieldset", { class: "choices" }, h("legend", {}, t("totals_form")), FORMS.map((form) => radio("form", form, given.form, t(`totals_${form}`)))),
    given.form === "none" ? null : counting(given),
    body(given),
    isToDo ? h("p", { class: "muted", id: "totals-to-do" }, t(given.form === "file" ? "totals_to_load" : "totals_to_type")) : null,
    complaint ? h("p", { class: "complaint", role: "alert", id: "complaint-totals" }, complaint) : null);
}

function radio(name, value, chosen, text) {
  const id = `totals-${name}-${value}`;
  return h("div", { class: "check" },
    h("input", { type: "radio", name: `totals-${name}`, id, value, checked: value === chosen, onchange: () => change({ [name]: value }) }),
    h("label", { for: id }, text));
}

function counting(given) {
  const of = select({ id: "totals-of", onchange: (event) => change({ of_all: event.target.value === "all" }) },
    [["unlabeled", t("of_unlabeled")], ["all", t("of_all")]], given.of_all ? "all" : "unlabeled");
  return h("div", { class: "fields" },
    field(t("totals_of"), of),
    h("div", { class: "field check" },
      h("input", { type: "checkbox", id: "as-shares", checked: given.as_shares, onchange: (event) => change({ as_shares: event.target.checked }) }),
      h("label", { for: "as-shares" }, t("as_shares"))));
}

function none(given) {
  return [h("p", { class: "muted" }, t("totals_none_words")), byField(given)];
}

const isShares = (given, texts) => given.as_shares || texts.some((text) => text.trim().endsWith("%"));

function wholeOf(given, texts, sizes) {
  return isShares(given, texts) ? 1 : sizes[given.of_all ? "all" : "unlabeled"];
}

// A line below a row of totals, updated while the user types.
function sumLine(id) {
  return h("span", { id, class: "sum small", "aria-live": "polite" });
}

function writeSum(place, check, given, texts) {
  const form = isShares(given, texts) ? share : number;
  place.className = `sum small ${["over", "under", "unreadable"].includes(check.state) ? "complaint" : "muted"}`;
  place.textContent = {
    empty: () => "",
    unreadable: () => t("sum_unreadable"),
    over: () => t("sum_over", { sum: form(check.sum), by: form(check.by) }),
    under: () => t("sum_under", { sum: form(check.sum), by: form(check.by) }),
    fits: () => t("sum_fits", { sum: form(check.sum) }),
    left: () => t(check.nLeft === 1 ? "sum_left_one" : "sum_left", { left: form(check.left) }),
  }[check.state]();
}

const isWrong = (text) => (bounds(text) === undefined ? "true" : null);

// Text that is not a total is marked immediately.
function mark(input) {
  if (isWrong(input.value)) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

function classNames() {
  const named = state.view.classes.map((one) => one.name);
  const extra = Object.keys(totals().amounts).filter((name) => !named.includes(name));
  return [...named, ...extra];
}

function byClass(given) {
  const names = classNames();
  const line = sumLine("sum-classes");
  const texts = () => names.map((name) => totals().amounts[name] ?? "");
  const sizes = state.view.sizes;
  const update = () => (sizes ? writeSum(line, checkSum(texts(), wholeOf(totals(), texts(), sizes)), totals(), texts()) : null);
  const inputs = names.map((name, i) => field(t("total_of", { name }), h("input", {
    type: "text", id: `total-${i}`, inputmode: "decimal", value: given.amounts[name] ?? "", "data-class": name,
    "aria-describedby": "sum-classes", "aria-invalid": isWrong(given.amounts[name] ?? ""),
    oninput: (event) => {
      mark(event.target);
      change({ amounts: { ...totals().amounts, [name]: event.target.value } }, { soon: true });
      update();
    },
  })));
  update();
  return [h("div", { class: "fields" }, inputs), h("p", {}, line), h("p", { class: "muted small" }, t("amount_help")), names.length < 2 ? otherClass() : null];
}

function otherClass() {
  const input = h("input", { type: "text", id: "other-class" });
  const add = () => {
    if (input.value.trim()) change({ amounts: { ...totals().amounts, [input.value.trim()]: "" } });
  };
  return h("div", { class: "fields" }, field(t("other_class"), input, { help: t("other_class_help") }), h("button", { type: "button", id: "add-class", onclick: add }, t("add")));
}

function domainColumns() {
  return state.view.columns.map((column) => column.name).filter((name) => name !== state.choices.label);
}

function byField(given) {
  const names = domainColumns();
  const chosen = (i) => (event) => {
    const by = [...given.by];
    if (event.target.value) by[i] = event.target.value;
    else by.splice(i);
    change({ by: [...new Set(by)], rows: [] });
  };
  const options = [["", t(given.form === "grid" ? "choose" : "by_none")], ...names.map((name) => [name, name])];
  return h("div", { class: "fields" },
    field(t("by"), select({ id: "by", onchange: chosen(0) }, options, given.by[0])),
    given.by.length ? field(t("by_and"), select({ id: "by-and", onchange: chosen(1) }, [["", t("by_alone")], ...options.slice(1).filter(([name]) => name !== given.by[0])], given.by[1])) : null,
    given.by.length ? h("div", { class: "field check" },
      h("input", { type: "checkbox", id: "keep-by", checked: Boolean(given.keeps_domains), onchange: (event) => change({ keeps_domains: event.target.checked }) }),
      h("label", { for: "keep-by" }, t("keep_by"))) : null);
}

function grid(given) {
  const domains = state.view.domains ?? [];
  if (!given.by.length) return byField(given);
  if (domains.length > MOST_DOMAINS) return [byField(given), h("p", { class: "complaint" }, t("too_many_domains", { n: MOST_DOMAINS }))];
  const names = classNames();
  return [byField(given), h("p", { class: "muted small" }, t("amount_help")), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("grid_caption") },
    h("table", { class: "grid", id: "grid" },
      h("caption", { class: "unseen" }, t("grid_caption")),
      h("thead", {}, h("tr", {}, [given.by.join(", "), t("grid_rows"), ...names, t("grid_sum")].map((heading, i) => h("th", { scope: "col", class: i ? "number" : null }, heading)))),
      h("tbody", {}, domains.map((domain, i) => gridRow(given, names, domain, i)))))];
}

const same = (one, other) => one.length === other.length && one.every((part, i) => part === other[i]);

function amountsOf(domain) {
  return totals().rows.find((row) => same(row.domain, domain))?.amounts ?? {};
}

function gridRow(given, names, domain, i) {
  const line = sumLine(`sum-${i}`);
  const texts = () => names.map((name) => amountsOf(domain.domain)[name] ?? "");
  const update = () => writeSum(line, checkSum(texts(), wholeOf(totals(), texts(), domain)), totals(), texts());
  const cells = names.map((name, k) => h("td", { class: "number" }, h("input", {
    type: "text", id: `cell-${i}-${k}`, inputmode: "decimal", size: 8, value: amountsOf(domain.domain)[name] ?? "",
    "aria-label": t("grid_cell", { domain: domain.domain.join(", "), name }), "aria-describedby": `sum-${i}`, "aria-invalid": isWrong(amountsOf(domain.domain)[name] ?? ""),
    oninput: (event) => {
      mark(event.target);
      const amounts = { ...amountsOf(domain.domain), [name]: event.target.value };
      const rows = [...totals().rows.filter((row) => !same(row.domain, domain.domain)), { domain: domain.domain, amounts }];
      change({ rows }, { soon: true });
      update();
    },
  })));
  update();
  return h("tr", {}, h("th", { scope: "row" }, domain.domain.join(", ")), h("td", { class: "number" }, number(domain[given.of_all ? "all" : "unlabeled"])), cells, h("td", {}, line));
}

function upload(given) {
  const input = h("input", { type: "file", id: "totals-file", accept: TABLE_FILES, onchange: () => send(input.files[0]) });
  return [
    field(t("totals_upload"), input, { help: state.totalsName ? t("totals_have", { name: state.totalsName }) : t("totals_upload_help") }),
    byField(given),
  ];
}

async function send(file) {
  if (!file) return;
  try {
    const found = await ask(`sessions/${state.session}/totals?name=${encodeURIComponent(file.name)}`, { method: "PUT", body: file });
    state.totalsName = found.totals_name;
    announce(t("totals_have", { name: found.totals_name }));
    change({ form: "file" });
  } catch (error) {
    trouble(error.message);
  }
}
