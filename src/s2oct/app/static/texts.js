// The texts of the page, all from one file for each language.

export const LANGUAGES = [["en", "English"], ["de", "Deutsch"]];
let texts = {};
let language = "en";

export async function load(wanted) {
  language = LANGUAGES.some(([code]) => code === wanted) ? wanted : "en";
  texts = await (await fetch(`texts/${language}.json`)).json();
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = t(element.dataset.text);
  return language;
}

export function preferred() {
  return localStorage.getItem("s2oct-language") ?? (navigator.language || "en").slice(0, 2);
}

// A text with its places filled in; where n is 1 there may be a text of its own.
export function t(key, values = {}) {
  const text = (String(values.n) === "1" ? texts[`${key}_one`] : undefined) ?? texts[key];
  if (text === undefined) {
    console.error(`no text ${key}`);
    return key;
  }
  return text.replace(/\{(\w+)\}/g, (_, name) => (values[name] ?? ""));
}

// A text that the program says in English; those that the file of a language knows are translated.
export function said(text) {
  return texts[`said: ${text}`] ?? text;
}

export function number(value, digits = 4) {
  if (value === null || value === undefined) return "";
  const rounded = Math.abs(value) >= 1000 ? Math.round(value * 10) / 10 : Number(value.toPrecision(digits));
  return new Intl.NumberFormat(language, { maximumFractionDigits: 6 }).format(rounded);
}

export function share(value) {
  return new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 }).format(value);
}

export function moment(seconds) {
  return new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(new Date(seconds * 1000));
}
