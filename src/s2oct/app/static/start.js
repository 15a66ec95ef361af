// The start: choose or drop a table, or reopen an earlier session.

import { ask, Refusal } from "./api.js";
import { announce, fill, h } from "./elements.js";
import { TABLE_FILES } from "./state.js";
import { moment, t } from "./texts.js";

export async function showStart() {
  const place = document.getElementById("start");
  place.hidden = false;
  let sessions = [];
  let complaint = null;
  try {
    sessions = await ask("sessions");
  } catch (error) {
    complaint = error.message;
  }
  draw(place, sessions, complaint);
}

function draw(place, sessions, complaint = null) {
  const input = h("input", { type: "file", id: "file", accept: TABLE_FILES, onchange: () => send(input.files[0]) });
  const status = h("p", { id: "upload-status", class: complaint ? "complaint" : "muted", role: complaint ? "alert" : null }, complaint ?? "");
  if (complaint) input.setAttribute("aria-describedby", "upload-status");
  const zone = h("div", { class: "drop", id: "drop" },
    h("p", {}, t("drop")),
    h("label", { for: "file", class: "unseen" }, t("choose_file")),
    input,
    h("p", { class: "muted small" }, t("file_kinds")),
    status);
  const over = (event) => { event.preventDefault(); zone.classList.add("over"); };
  zone.addEventListener("dragover", over);
  zone.addEventListener("dragenter", over);
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
  });
  fill(place, h("h2", { id: "start-heading" }, t("start_heading")), h("p", {}, t("start_words")), zone,
    sessions.length ? earlier(sessions) : null);

  async function send(file) {
    if (!file) return;
    status.className = "muted";
    status.textContent = t("uploading", { name: file.name });
    try {
      const session = await ask(`sessions?name=${encodeURIComponent(file.name)}`, { method: "PUT", body: file });
      location.hash = session.id;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      draw(place, sessions, error.message);
    }
  }
}

function earlier(sessions) {
  return [
    h("h3", {}, t("earlier")),
    h("ul", { class: "sessions" }, sessions.map((session) => h("li", {},
      h("a", { href: `#${session.id}` }, session.name),
      h("span", { class: "muted small" }, ` ${moment(session.created)} · ${t(session.is_running ? "session_running" : "session_jobs", { n: session.n_jobs })} `),
      h("button", { type: "button", class: "small", "aria-label": t("delete_session", { name: session.name }), onclick: () => remove(session) }, t("delete")),
    ))),
  ];
}

async function remove(session) {
  if (!confirm(t("delete_really", { name: session.name }))) return;
  await ask(`sessions/${session.id}`, { method: "DELETE" });
  announce(t("deleted", { name: session.name }));
  await showStart();
}
