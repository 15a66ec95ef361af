// Work that takes longer than the fit: estimates by domain, and the comparison with other methods.

import { ask } from "./api.js";
import { field, h, select, table } from "./elements.js";
import { number, share, t } from "./texts.js";
import { state, trouble } from "./state.js";
import { endText, jobOfKind, progressPanel, startMore } from "./fit_step.js";
import { fileLink, showResult } from "./result.js";

const loaded = new Map(); // session and job -> result

function lastOf(kind, fit) {
  return state.jobs.filter((job) => job.job === kind && job.of === fit).pop();
}

function loadedResult(job) {
  const key = `${state.session} ${job.number}`;
  if (!loaded.has(key)) {
    loaded.set(key, null);
    ask(`sessions/${state.session}/jobs/${job.number}/result`).then((found) => { loaded.set(key, found); return showResult(); }).catch((error) => trouble(error.message));
  }
  return loaded.get(key);
}

function part(kind, fit, form, show) {
  const job = jobOfKind(kind, fit);
  const last = lastOf(kind, fit);
  const found = last?.has_result ? loadedResult(last) : null;
  return [
    form,
    job ? progressPanel(job, { stopId: `stop-${kind}` }) : null,
    !job && last?.ending && last.ending.how !== "done" ? h("p", { class: last.ending.how === "stopped" ? "muted" : "complaint" }, endText(last.ending)) : null,
    found ? show(found, last) : null,
  ];
}

const go = (fit, question) => startMore(fit, question).catch((error) => trouble(error.message));

export function estimates(fit, result) {
  const chosen = [...(state.choices.totals?.by ?? [])];
  const by = select({ id: "estimate-by" }, [["", t("estimate_all")], ...result.domain_columns.map((name) => [name, name])], estimateBy ?? chosen[0] ?? "");
  by.addEventListener("change", () => { estimateBy = by.value; });
  const replicates = h("input", { type: "text", id: "replicates", inputmode: "numeric", value: replicateText, size: 6, oninput: (event) => { replicateText = event.target.value; } });
  const form = h("div", { class: "fields" }, field(t("estimate_by"), by), field(t("replicates"), replicates, { help: t("replicates_help") }),
    h("button", { type: "button", id: "start-estimates", disabled: Boolean(jobOfKind("estimates", fit)), onclick: () => go(fit, { job: "estimates", by: by.value ? [by.value] : [], replicates: Number(replicates.value) }) }, t("estimate_start")));
  return [h("h3", {}, t("estimates")), h("p", {}, t("estimates_words")), part("estimates", fit, form, estimateTable)];
}

let estimateBy = null;
let replicateText = "200";

function estimateTable(found, job) {
  const name = ["estimates.csv", "estimates.parquet"].find((file) => job.files.includes(file));
  return [
    table(t("estimates"), [found.by || t("domain"), t("class"), t("estimate"), t("se"), t("interval"), t("estimate_share"), t("alone")],
      found.rows.map((row) => [row.domain, row.class, number(row.estimate), number(row.se, 3), `${number(row.low)} – ${number(row.high)}`, share(row.share), number(row.labeled_alone)]), { numbers: [2, 3, 4, 5, 6], id: "estimates-table" }),
    found.notes.map((note) => h("p", { class: "small" }, note)),
    name ? h("p", {}, fileLink(job.number, name, t("file_estimates"))) : null,
  ];
}

export function rivals(fit) {
  const form = h("p", {}, h("button", { type: "button", id: "start-rivals", disabled: Boolean(jobOfKind("rivals", fit)), onclick: () => go(fit, { job: "rivals" }) }, t("rivals_start")));
  return [h("h3", {}, t("rivals")), h("p", {}, t("rivals_words")), part("rivals", fit, form, rivalTable)];
}

function rivalTable(found) {
  return [
    table(t("rivals"), [t("method"), t("accuracy_sampled"), t("accuracy_shares"), t("mcc_shares"), t("terms")],
      found.scores.map((score) => [score.name, share(score.accuracy), `${share(score.weighted_accuracy)} ± ${share(score.standard_error)}`, number(score.weighted_mcc, 3), score.n_terms === null ? "–" : number(score.n_terms, 3)]), { numbers: [1, 2, 3, 4], id: "rivals-table" }),
    found.findings.map((words) => h("p", { class: "small" }, words)),
    found.notes.map((note) => h("p", { class: "doubt" }, note)),
  ];
}
