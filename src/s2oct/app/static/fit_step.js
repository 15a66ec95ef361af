// The fit: its options, its progress, and a button to stop it.

import { ask, listen, post, Refusal } from "./api.js";
import { announce, field, fill, h, select } from "./elements.js";
import { number, translate, t, translated } from "./texts.js";
import { choose, complaintsAt, state, trouble } from "./state.js";
import { showJobResult, showResult } from "./result.js";

const running = new Map(); // number of a job -> its state while it runs

export function forgetJobs() {
  for (const job of running.values()) job.close();
  running.clear();
}

// Listens to all running jobs of the session and shows the result of the last fit.
export async function followJobs() {
  for (const job of state.jobs) if (!job.ending) follow(job);
  const fits = state.jobs.filter((job) => job.job === "fit" && job.has_result);
  if (fits.length) state.shown = fits[fits.length - 1].number;
  showFit();
  await showResult();
}

export function jobOfKind(kind, of) {
  return [...running.values()].find((job) => job.kind === kind && (of === undefined || job.of === of));
}

export async function startMore(of, question) {
  const job = await post(`sessions/${state.session}/jobs/${of}/more`, question);
  state.jobs.push(job);
  follow(job);
  await showResult();
}

export async function stopJob(number) {
  const job = running.get(number);
  if (job) {
    job.isStopping = true;
    drawProgress(job);
  }
  try {
    await post(`sessions/${state.session}/jobs/${number}/stop`, {});
  } catch (error) {
    trouble(error.message);
  }
}

async function start() {
  try {
    const job = await post(`sessions/${state.session}/fits`, state.choices);
    if (job.complaints) {
      state.view = { ...state.view, complaints: job.complaints, ready: false };
      showFit();
      return;
    }
    state.jobs.push(job);
    follow(job);
    showFit();
    document.getElementById("stop")?.focus();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    trouble(error.message);
  }
}

function follow(job) {
  const session = state.session;
  const known = { number: job.number, kind: job.job, of: job.of, began: Date.now(), stage: "starting", words: "", cost: null, bound: null, off: null, rules: "", isLost: false, isStopping: false };
  known.timer = setInterval(() => drawProgress(known), 500);
  const leave = listen(`sessions/${session}/jobs/${job.number}/events`, {
    event: (event) => hear(known, event),
    lost: () => { known.isLost = true; drawProgress(known); },
    back: () => { known.isLost = false; drawProgress(known); },
  });
  known.close = () => { clearInterval(known.timer); leave(); };
  running.set(job.number, known);
}

async function hear(job, event) {
  if (event.kind === "stage") {
    job.stage = event.stage;
    job.words = event.words ?? "";
    if (job.kind === "fit") announce(stageText(job));
  }
  if (event.kind === "progress") Object.assign(job, { cost: event.cost, bound: event.bound });
  if (event.kind === "tree") Object.assign(job, { rules: event.rules, off: event.rows_off });
  if (event.kind === "replicates") job.words = t("replicates_done", { done: number(event.done), of: number(event.of) });
  if (event.kind === "folds") job.words = t("folds_done", { done: number(event.done), of: number(event.of) });
  if (event.kind === "result") await arrived(job);
  if (event.kind === "prepared") await refreshJob(job.number);
  if (event.kind === "end") await ended(job, event);
  drawProgress(job);
}

async function refreshJob(number) {
  const found = await ask(`sessions/${state.session}/jobs/${number}`);
  const place = state.jobs.findIndex((job) => job.number === number);
  state.jobs[place] = { number, ...found };
  if (state.shown === number) await showJobResult();
}

async function arrived(job) {
  job.hasResult = true;
  if (job.kind === "fit") {
    state.shown = job.number;
    announce(t("result_there"));
  }
  await refreshJob(job.number);
  showFit();
  await showResult();
}

async function ended(job, event) {
  job.close();
  running.delete(job.number);
  await refreshJob(job.number);
  if (event.how !== "done") announce(endText(event));
  showFit();
  await showResult();
}

export function endText(event) {
  if (event.how === "failed") return t("fit_failed", { message: event.message });
  return t(`fit_${event.how}`);
}

const STAGES = {
  starting: "stage_starting", reading: "stage_reading", preparing: "stage_preparing", "asking the guide": "stage_guide", searching: "stage_searching",
  "choosing between trees of equal cost": "stage_ties", "searching and solving": "stage_solving", "looking for other trees of this cost": "stage_others",
  "simpler trees": "stage_simpler", assessing: "stage_assessing", "assessing simpler trees": "stage_assessing_path", "writing the report": "stage_report", "fitting again": "stage_again", replicates: "stage_replicates", comparing: "stage_comparing",
};

export function stageText(job) {
  return STAGES[job.stage] ? t(STAGES[job.stage]) : job.stage;
}

export function drawProgress(job) {
  const place = document.getElementById(job.kind === "fit" ? "progress" : `progress-${job.kind}`);
  if (!place || place.dataset.job !== job.number) return;
  const seconds = Math.round((Date.now() - job.began) / 1000);
  const facts = [[t("progress_stage"), stageText(job) + (job.words ? ` – ${translate(job.words)}` : "")], [t("progress_time"), t("seconds", { n: number(seconds) })]];
  if (job.cost !== null) facts.push([t("progress_cost"), number(job.cost)], [t("progress_bound"), number(job.bound)]);
  if (job.off !== null) facts.push([t("progress_off"), number(job.off)]);
  fill(place,
    h("dl", { class: "facts" }, facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    job.isLost ? h("p", { class: "complaint", role: "alert" }, t("connection_lost")) : null,
    job.isStopping && !job.hasResult ? h("p", { class: "muted" }, t("stopping")) : null,
    job.rules && !job.hasResult ? [h("h3", {}, t("best_so_far")), h("pre", { class: "rules" }, job.rules)] : null);
}

export function progressPanel(job, { stopId }) {
  const place = h("div", { class: "progress", id: job.kind === "fit" ? "progress" : `progress-${job.kind}`, "data-job": job.number });
  const words = t(job.kind !== "fit" ? "stop" : job.hasResult ? "stop_preparing" : "stop_fit");
  queueMicrotask(() => drawProgress(job));
  return h("div", { class: "running" }, place, h("button", { type: "button", id: stopId, class: "stop", onclick: () => stopJob(job.number) }, words));
}

export function showFit() {
  if (!state.view) return;
  const job = jobOfKind("fit");
  const fits = state.jobs.filter((one) => one.job === "fit");
  const last = fits[fits.length - 1];
  const isReady = state.view.ready && !(job && !job.hasResult);
  const reasons = state.view.complaints.length;
  fill(document.getElementById("fit"),
    h("h2", { id: "fit-heading" }, t("fit_heading")),
    options(),
    h("p", {}, h("button", { type: "button", id: "start-fit", class: "main", disabled: !isReady, "aria-describedby": "fit-state", onclick: start }, t(fits.length ? "fit_again" : "fit_start"))),
    h("p", { id: "fit-state", class: reasons ? "complaint" : "muted" }, reasons ? t(reasons === 1 ? "not_ready_one" : "not_ready", { n: reasons }) : state.view.ready ? t("ready") : ""),
    job ? progressPanel(job, { stopId: "stop" }) : null,
    !job && last?.ending && last.ending.how !== "done" ? h("p", { class: last.ending.how === "stopped" ? "muted" : "complaint", id: "fit-ending", role: "status" }, endText(last.ending) + (last.has_result ? "" : ` ${t("fit_no_tree")}`)) : null,
    !job && last && !last.has_result && last.best ? [h("h3", {}, t("best_so_far")), h("pre", { class: "rules" }, last.best)] : null);
}

function options() {
  const change = (name) => (event) => choose({ options: { ...state.choices.options, [name]: event.target.value.trim() } }, { soon: true });
  const isWrong = state.view.complaints.some((one) => one.field.startsWith("option:"));
  const control = ({ name, choices, ...parameter }) => {
    const id = `option-${name}`;
    const given = state.choices.options?.[name] ?? parameter.default;
    if (!choices.length) return h("input", { type: "text", id, value: given, oninput: change(name) });
    return select({ id, onchange: change(name) }, choices.map((value) => [value, t(`${name}_${value}`)]), given);
  };
  return h("details", { id: "options", open: isWrong },
    h("summary", {}, t("options")),
    h("p", { class: "muted small" }, t("options_words")),
    h("div", { class: "fields" },
      state.view.parameters.map((parameter) => field(
        translated(`option_${parameter.name}`, parameter.called[0].toUpperCase() + parameter.called.slice(1)), control(parameter),
        { help: translated(`option_${parameter.name}_help`, parameter.help), complaint: complaintsAt(`option:${parameter.name}`) }))));
}
