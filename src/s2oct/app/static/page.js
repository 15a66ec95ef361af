// The page and its steps.

import { fill, select } from "./elements.js";
import { LANGUAGES, load, preferred, t } from "./texts.js";
import { look, onLook, openSession, state, trouble } from "./state.js";
import { showStart } from "./start.js";
import { showTable } from "./table_step.js";
import { showColumns, showLabel } from "./columns_step.js";
import { showTotals } from "./totals_step.js";
import { followJobs, forgetJobs, showFit } from "./fit_step.js";
import { showResultAnew } from "./result.js";

const STEPS = ["table", "label", "columns", "totals", "fit"];

function showSteps() {
  for (const name of STEPS) document.getElementById(name).hidden = state.view === null;
  document.getElementById("start").hidden = state.session !== null;
  if (state.view === null) return;
  const isRead = state.view.columns.length > 0 || state.view.n_rows !== undefined;
  for (const name of STEPS.slice(1)) document.getElementById(name).hidden = !isRead;
  showTable();
  if (!isRead) return;
  showLabel();
  showColumns();
  showTotals();
  showFit();
}

async function go(id) {
  forgetJobs();
  trouble(null);
  if (!id) {
    Object.assign(state, { session: null, view: null, shown: null });
    document.title = t("title");
    showSteps();
    document.getElementById("result").hidden = true;
    await showStart();
    return;
  }
  try {
    await openSession(id);
  } catch (error) {
    history.replaceState(null, "", "#");
    await go("");
    trouble(error.message);
    return;
  }
  document.title = `${state.name} – s2oct`;
  document.getElementById("start").hidden = true;
  fill(document.getElementById("result"));
  await look();
  await followJobs();
}

async function changeLanguage(code) {
  localStorage.setItem("s2oct-language", code);
  await load(code);
  if (state.session === null) await showStart();
  else {
    showSteps();
    await showResultAnew();
  }
}

async function begin() {
  const language = await load(preferred());
  const place = document.getElementById("language");
  place.replaceWith(select({ id: "language", onchange: (event) => changeLanguage(event.target.value) }, LANGUAGES, language));
  document.getElementById("home").addEventListener("click", () => { location.hash = ""; });
  onLook(showSteps);
  addEventListener("hashchange", () => go(location.hash.slice(1)));
  await go(location.hash.slice(1));
  document.documentElement.dataset.ready = "yes";
}

begin();
