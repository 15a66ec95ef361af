// Elements of the page. Everything from a table becomes an element here, as text only.

export function h(kind, attributes = {}, ...children) {
  const element = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "checked") element.checked = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Replaces the content of a place; a user who is typing there keeps focus and cursor.
export function fill(place, ...children) {
  const active = document.activeElement;
  const kept = active && active.id && place.contains(active) ? active.id : null;
  const [from, to] = kept && "selectionStart" in active ? [active.selectionStart, active.selectionEnd] : [null, null];
  const opened = new Set([...place.querySelectorAll("details[open][id]")].map((details) => details.id));
  place.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  for (const id of opened) {
    const details = document.getElementById(id);
    if (details) details.open = true;
  }
  const again = kept ? document.getElementById(kept) : null;
  if (again) {
    again.focus({ preventScroll: true });
    if (from !== null && again.setSelectionRange) try { again.setSelectionRange(from, to); } catch { /* no text field */ }
  }
}

export function select(attributes, options, chosen) {
  const element = h("select", attributes, options.map(([value, name]) => h("option", { value }, name)));
  element.value = chosen ?? "";
  return element;
}

let number = 0;
export function fresh(prefix) {
  number += 1;
  return `${prefix}-${number}`;
}

// A field with its label, help and complaint.
export function field(label, control, { help = null, complaint = null } = {}) {
  if (!control.id) control.id = fresh("field");
  const notes = [];
  if (help) notes.push(h("span", { id: `${control.id}-help`, class: "muted small" }, help));
  if (complaint) notes.push(h("span", { id: `${control.id}-complaint`, class: "complaint" }, complaint));
  if (notes.length) control.setAttribute("aria-describedby", notes.map((note) => note.id).join(" "));
  if (complaint) control.setAttribute("aria-invalid", "true");
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, notes);
}

export function table(caption, headings, rows, { numbers = [], id = null } = {}) {
  const kind = (column) => (numbers.includes(column) ? "number" : null);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { id },
      h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, headings.map((heading, i) => h("th", { scope: "col", class: kind(i) }, heading)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) => (i === 0
        ? h("th", { scope: "row" }, cell)
        : h("td", { class: kind(i) }, cell)
      )))))));
}

export function announce(text) {
  document.getElementById("announcement").textContent = text;
}
