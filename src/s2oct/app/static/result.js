// The result: the tree, its totals and bias, its quality, and further questions about it.

import { ask } from "./api.js";
import { fill, h, select, table } from "./elements.js";
import { number, translate, share, t } from "./texts.js";
import { choose, state } from "./state.js";
import { showLeaf, showPath } from "./rows.js";
import { estimates, rivals } from "./more.js";

let result = null; // of the fit that is shown
let resultOf = null;
let lastKey = null;
let chosen = 0; // number of the tree that is shown; 0 is the fitted one

// These are kept when the rest is redrawn: the user may be reading or typing there.
const leafPlace = h("div", { id: "leaf", "aria-live": "polite" });
const pathPlace = h("div", { id: "path", "aria-live": "polite" });
let question = null;

function showTree(number) {
  if (number !== chosen) fill(leafPlace);
  if (number !== chosen) fill(pathPlace);
  chosen = number;
}

export const shownTree = () => chosen;
export const shownResult = () => result;

// Asks the server again, because the result has grown or changed.
export async function showJobResult() {
  resultOf = null;
  await showResult();
}

// Redraws everything after a change of language.
export async function showResultAnew() {
  question = null;
  fill(leafPlace);
  fill(pathPlace);
  await showJobResult();
}

export async function showResult() {
  const place = document.getElementById("result");
  const fits = state.jobs.filter((job) => job.job === "fit" && job.has_result);
  if (!state.session || !fits.length) {
    fill(place);
    place.hidden = true;
    return;
  }
  const key = `${state.session} ${state.shown}`;
  if (resultOf !== key) {
    const found = await ask(`sessions/${state.session}/jobs/${state.shown}/result`);
    if (`${state.session} ${state.shown}` !== key) return;
    const isOther = lastKey !== key;
    result = found;
    resultOf = lastKey = key;
    if (isOther) {
      showTree(0);
      fill(leafPlace);
      fill(pathPlace);
    }
    if (isOther || question === null) question = pathForm();
  }
  place.hidden = false;
  draw(place, fits);
}

const trees = () => (result.trees.length ? result.trees : [result.tree]);
const tree = () => trees().find((one) => one.number === chosen) ?? result.tree;

function draw(place, fits) {
  fill(place,
    h("h2", { id: "result-heading", tabindex: "-1" }, t("result_heading")),
    fits.length > 1 ? chooseFit(fits) : null,
    chosen ? null : accuracy(),
    h("p", { id: "verdict" }, chosen ? t("verdict_other") : verdict()),
    chosen ? null : result.notes.map((note) => h("p", { class: "doubt" }, note)),
    picture(),
    slider(),
    leafPlace,
    h("details", { id: "rules-details", open: true }, h("summary", {}, t("rules")), h("pre", { class: "rules", id: "rules", tabindex: "0" }, tree().rules)),
    chosen ? null : [totals(), result.has_given_totals ? bias() : null, certificate()],
    h("h3", {}, t("path")), h("p", {}, t("path_words")), question, pathPlace,
    estimates(state.shown, result),
    rivals(state.shown),
    downloads());
}

function chooseFit(fits) {
  return h("p", {}, h("label", { for: "which-fit" }, t("which_fit")), " ", select({
    id: "which-fit", onchange: (event) => { state.shown = event.target.value; showJobResult(); },
  }, fits.map((job, i) => [job.number, t("fit_number", { n: i + 1 })]), state.shown));
}

// The expected accuracy comes first on the page, but arrives after the tree.
function accuracy() {
  const found = result.assessment;
  if (!found) return h("p", { id: "accuracy", class: "muted" }, t(accuracyMissing()));
  const rows = found.classes.map((line) => [line.name, number(line.n_labels), share(line.share), withError(line.recall, line.recall_se), withError(line.precision, line.precision_se)]);
  return [h("p", { id: "accuracy" }, h("strong", {}, t("accuracy_words", { accuracy: percent(found.accuracy), low: percent(found.low), high: percent(found.high), chance: percent(found.chance) }))),
    found.cautions.map((caution) => h("p", { class: "doubt" }, caution)),
    h("details", { id: "accuracy-details" }, h("summary", {}, t("accuracy_by_class")),
      table(t("accuracy_by_class"), [t("class"), t("accuracy_labels"), t("accuracy_share"), t("recall"), t("precision")], rows, { numbers: [1, 2, 3, 4], id: "accuracy-table" }),
      found.agreed_accuracy === null ? null : h("p", {}, t("accuracy_agreed", { agreed: percent(found.agreed), accuracy: withError(found.agreed_accuracy, found.agreed_accuracy_se) })),
      h("p", {}, t("accuracy_how", { n: number(found.n_labels), folds: number(found.n_folds) })))];
}

function accuracyMissing() {
  if (!result.can_be_assessed) return "accuracy_few";
  return state.jobs.find((job) => job.number === state.shown)?.ending ? "accuracy_none" : "accuracy_wait";
}

const percent = (value) => share(Math.round(100 * value) / 100);
const withError = (value, error) => (value === null ? t("not_known") : `${share(value)} ± ${share(error)}`);

function verdict() {
  const { certificate, sample } = result;
  const parts = [t("verdict_labels", { n: number(certificate.n_contradicted), of: number(sample.n_labeled) })];
  if (sample.has_total && result.has_given_totals) parts.push(t("verdict_totals", { n: number(sample.n_met), of: number(sample.n_totals) }));
  parts.push(t(certificate.verdict.word === "optimal" ? "verdict_proved" : `verdict_${certificate.ended.replace(" ", "_")}`, { depth: certificate.depth }));
  return parts.join(" ");
}

const LEAF_WIDTH = 104; // width of a leaf in pixels

// A tree that is wider than its place is drawn as an outline, one part below the other: nothing is ever out of sight.
const arranging = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    if (target.isConnected) target.classList.toggle("outline", contentRect.width < LEAF_WIDTH * target.querySelectorAll(".leaf").length);
  }
});

// The tree as boxes; a leaf is a button.
function picture() {
  const drawn = h("div", { class: "tree", id: "tree", role: "group", "aria-label": t("tree_picture") }, node(tree().root));
  arranging.disconnect();
  arranging.observe(drawn);
  return drawn;
}

function node(part) {
  if (part.rule === undefined) return leaf(part);
  return h("div", { class: "node" },
    h("div", { class: "split", title: part.whole_rule }, part.rule),
    h("div", { class: "branches" }, branch(t("if_so"), part.holds), branch(t("otherwise"), part.fails)));
}

// A branch is as wide as its leaves ask for.
function branch(way, part) {
  const drawn = h("div", { class: "branch" }, h("span", { class: "way small" }, way), node(part));
  drawn.style.flexGrow = leavesOf(part);
  return drawn;
}

const leavesOf = (part) => (part.rule === undefined ? 1 : leavesOf(part.holds) + leavesOf(part.fails));

function leaf(part) {
  const lines = [t("leaf_unlabeled", { n: number(part.unlabeled) }), t("leaf_labeled", { n: number(part.labeled) })];
  if (part.wrong) lines.push(t("leaf_wrong", { n: number(part.wrong) }));
  const name = h("strong", {}, part.class_name);
  name.style.cssText = `background: ${part.colour}; color: ${part.ink}`;
  const drawn = h("button", {
    type: "button", class: "leaf", title: part.conditions.join(` ${t("and")} `), "data-leaves": part.leaves.join(" "), onclick: () => showLeaf(part, 0),
  }, name, lines.map((line) => h("span", { class: "small" }, line)));
  drawn.style.borderColor = part.colour;
  return h("div", { class: "node" }, drawn);
}

function slider() {
  const steps = result.trees;
  if (steps.length < 2) return steps.length ? null : h("p", { class: "muted small", id: "simplicity-wait" }, t("simplicity_wait"));
  const here = Math.max(steps.findIndex((step) => step.number === chosen), 0);
  const step = steps[here];
  const words = [
    t("simplicity_step", { terms: number(step.n_terms), splits: number(step.n_splits), off: number(step.rows_off) }),
    step.accuracy === null ? null : t("simplicity_accuracy", { accuracy: withError(step.accuracy, step.accuracy_se) }),
    step.agreement === null ? null : t("simplicity_agreement", { agreement: percent(step.agreement) }),
    step.is_fitted ? t("simplicity_fitted") : null,
    step.is_recommended ? t("simplicity_recommended") : null,
  ].filter(Boolean).join(" ");
  return h("div", { class: "slider" },
    h("label", { for: "simplicity" }, t("simplicity")),
    h("input", {
      type: "range", id: "simplicity", min: 0, max: steps.length - 1, step: 1, value: here, "aria-valuetext": words,
      oninput: (event) => { showTree(steps[Number(event.target.value)].number); showResult(); },
    }),
    h("p", { id: "simplicity-words", "aria-live": "polite" }, words),
    step.is_fitted || step.term_price === null ? null : h("p", {}, h("button", { type: "button", id: "take-tree", onclick: () => take(step) }, t("take_tree")), " ", h("span", { class: "muted small" }, t("take_tree_words"))));
}

// A simpler tree becomes a fit of its own, with a certificate and files, by the price at which it was found.
function take(step) {
  choose({ options: { ...state.choices.options, term_price: String(step.term_price) } });
  document.getElementById("options").open = true;
  document.getElementById("start-fit").focus();
}

function totals() {
  const { sample } = result;
  if (!sample.has_total && sample.cells === null) return h("p", { class: "muted" }, t("no_totals"));
  const rows = sample.classes.map((line) => [line.name, ...given(line), number(line.known), number(line.alone), number(line.achieved), number(line.missed)]);
  return [h("h3", {}, t("totals_met")), h("p", {}, result.has_given_totals ? translate(sample.met) : t("totals_assumed")),
    sample.given_of ? h("p", { id: "totals-given" }, t(`given_${sample.given_of.replaceAll(" ", "_")}`)) : null,
    sample.cells ? sample.cells.margins.map(cellTable) : totalsTable([t("class")], rows)];
}

function cellTable(margin) {
  const rows = margin.domains.flatMap((domain) => domain.lines.map((line) => [domain.name || t("all_rows"), line.class_name, ...given(line), line.known, line.alone, line.achieved, number(line.off)]));
  return totalsTable([margin.name || t("domain"), t("class")], rows);
}

// Totals as they were given stand in a column of their own, unless they are what the tree has to meet.
const given = (line) => (result.sample.given_of ? [line.given || "–"] : []);

function totalsTable(first, rows) {
  const known = result.sample.given_of ? [t("given"), t("known_unlabeled")] : [t(result.has_given_totals ? "known" : "assumed")];
  const headings = [...first, ...known, t("alone"), t("achieved"), t("off")];
  const numbers = headings.map((_, i) => i).slice(first.length);
  return table(t("totals_met"), headings, rows, { numbers, id: "totals-table" });
}

function bias() {
  const { sample } = result;
  return [h("h3", {}, t("bias")), sample.bias ? h("p", {}, sample.bias) : null,
    table(t("bias"), [t("class"), t("share_labeled"), t("share_known"), t("share_tree")],
      sample.classes.map((line) => [line.name, share(line.labeled_share), line.population_share === null ? "" : share(line.population_share), share(treeShare(line))]), { numbers: [1, 2, 3], id: "bias-table" })];
}

function treeShare(line) {
  const whole = result.sample.classes.reduce((sum, one) => sum + one.labeled + one.achieved, 0);
  return whole ? (line.labeled + line.achieved) / whole : 0;
}

function certificate() {
  const found = result.certificate;
  return [h("h3", {}, t("certificate")),
    h("ul", { id: "certificate" }, found.facts.map((fact) => h("li", {}, translate(fact)))),
    found.paragraphs.map((words) => h("p", {}, words)),
    found.in_p2.length ? h("details", { id: "p2-details" }, h("summary", {}, t("in_p2")), found.in_p2.map((words) => h("p", {}, words))) : null];
}

function pathForm() {
  const wanted = h("input", { type: "text", id: "path-row", inputmode: "numeric", value: "1", size: 10 });
  const byId = result.ids.length ? h("input", { type: "text", id: "path-id", size: 14 }) : null;
  const form = h("form", {
    class: "fields", onsubmit: (event) => {
      event.preventDefault();
      showPath(byId?.value.trim() ? { id: byId.value.trim() } : { row: Number(wanted.value) || 0 });
    },
  },
  h("div", { class: "field" }, h("label", { for: "path-row" }, t("path_row")), wanted),
  byId ? h("div", { class: "field" }, h("label", { for: "path-id" }, t("path_id", { name: result.ids[0] })), byId) : null,
  h("button", { type: "submit", id: "show-path" }, t("path_show")));
  return form;
}

const FILES = [
  ["report.html", "file_report"], ["completed.csv", "file_completed"], ["completed.parquet", "file_completed"], ["model.json", "file_model"],
  ["predict.sql", "file_sql"], ["predict.R", "file_r"], ["tree.svg", "file_svg"], ["typed-totals.csv", "file_totals"],
];

export function fileLink(job, name, text) {
  return h("a", { href: `api/sessions/${state.session}/jobs/${job}/files/${name}`, download: name, class: "download" }, text);
}

function downloads() {
  const job = state.jobs.find((one) => one.number === state.shown);
  const there = FILES.filter(([name]) => job.files.includes(name));
  const isWaiting = !job.ending;
  return [h("h3", {}, t("downloads")), chosen ? h("p", { class: "muted small" }, t("downloads_fitted")) : null,
    h("ul", { id: "downloads" }, there.map(([name, key]) => h("li", {}, fileLink(state.shown, name, t(key)), h("span", { class: "muted small" }, ` ${name}`)))),
    isWaiting ? h("p", { class: "muted small" }, t("downloads_wait")) : job.files.includes("report.html") ? null : h("p", { class: "doubt" }, t("downloads_missing")),
    h("details", { id: "command-details" }, h("summary", {}, t("command")), h("pre", { id: "command", class: "rules", tabindex: "0" }, result.command))];
}

