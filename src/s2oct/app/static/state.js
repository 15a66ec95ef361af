// The state of the page: one session, the user's choices, and the server's view of them.

import { ask, post, Refusal } from "./api.js";

export const state = { session: null, name: "", choices: {}, view: null, jobs: [], totalsName: null, shown: null };

// File types that the chooser offers first; the server detects the format from the content.
export const TABLE_FILES = ".csv,.tsv,.txt,.tab,.gz,.parquet,.pq,.arrow,.arrows,.feather,.xlsx,.xlsm,.sav,.zsav,.dta,.sas7bdat,.xpt";

const listeners = new Set();
export const onLook = (listener) => listeners.add(listener);

let timer = null;
let latest = 0;

export function trouble(message) {
  const place = document.getElementById("trouble");
  place.textContent = message ?? "";
  place.hidden = !message;
}

// Changes choices, stores them, and asks the server about them; while the user types, only after a pause.
export function choose(changes, { soon = false } = {}) {
  Object.assign(state.choices, changes);
  clearTimeout(timer);
  timer = setTimeout(look, soon ? 350 : 0);
}

export async function look() {
  const number = ++latest;
  const session = state.session;
  try {
    const view = await post(`sessions/${session}/look`, state.choices);
    if (number !== latest || session !== state.session) return;
    state.view = view;
    trouble(null);
    if (state.choices.label === undefined && view.suggested_label) {
      choose({ label: view.suggested_label });
      return;
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    trouble(error.message);
    return;
  }
  for (const listener of listeners) listener();
}

export async function openSession(id) {
  const found = await ask(`sessions/${id}`);
  Object.assign(state, {
    session: id, name: found.name, choices: found.choices, jobs: found.jobs, totalsName: found.totals_name, view: null, shown: null,
  });
  return found;
}

export function complaintsAt(field, column = null) {
  const found = (state.view?.complaints ?? []).filter((complaint) => complaint.field === field && (column === null || complaint.column === column));
  return found.map((complaint) => complaint.message).filter(Boolean).join(" ") || null;
}
