// Requests to the server. An error response becomes an error with the server's message.

import { t } from "./texts.js";

export class Refusal extends Error {}

export async function ask(path, { method = "GET", json = null, body = null } = {}) {
  const options = { method, body: json === null ? body : JSON.stringify(json) };
  let answer;
  try {
    answer = await fetch(`api/${path}`, options);
  } catch {
    throw new Refusal(t("server_gone"));
  }
  if (answer.status === 403) throw new Refusal(t("server_changed"));
  const content = await answer.json().catch(() => null);
  if (!answer.ok) throw new Refusal(content?.message ?? t("server_gone"));
  return content;
}

export const post = (path, json) => ask(path, { method: "POST", json });

// Listens to all events of a job; a lost connection is reopened until it works again.
export function listen(path, { event, lost, back }) {
  let source = null;
  let last = 0;
  let timer = null;
  let isOver = false;
  const open = () => {
    source = new EventSource(`api/${path}`);
    source.onopen = back;
    source.onmessage = (message) => {
      const number = Number(message.lastEventId);
      if (number <= last) return;
      last = number;
      const found = JSON.parse(message.data);
      if (found.kind === "end") close();
      event(found);
    };
    source.onerror = () => {
      if (isOver) return;
      lost();
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, 1500);
    };
  };
  const close = () => {
    isOver = true;
    clearTimeout(timer);
    source.close();
  };
  open();
  return close;
}
