// The texts of the page, all from one file for each language.

export const LANGUAGES = [["en", "English"], ["de", "Deutsch"]];
let texts = {};
let language = "en";
let sayings = []; // patterns of English sentences of the program, with their translations

const SAID = "said: ";

// A sentence with places {0}, {1}, … as a pattern that finds what stands there; a translation has {said 0} where that is
// to be translated, too.
function patternOf(sentence) {
  const escaped = sentence.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replace(/\{\d\}/g, "(.+?)")}$`);
}

export async function load(wanted) {
  language = LANGUAGES.some(([code]) => code === wanted) ? wanted : "en";
  texts = await (await fetch(`texts/${language}.json`)).json();
  sayings = Object.entries(texts).filter(([key]) => key.startsWith(SAID)).map(([key, text]) => [patternOf(key.slice(SAID.length)), text]);
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

// A text that the program gives in English; the file of another language has its own.
export function translated(key, english) {
  return texts[key] ?? english;
}

// What the program says in English; sentences that the file of a language knows are translated, one by one.
export function said(text) {
  return text.split(/(?<=\.) (?=[A-Z0-9“])/).map(saidOne).join(" ");
}

function saidOne(sentence) {
  for (const [pattern, translation] of sayings) {
    const found = sentence.match(pattern);
    if (found) return translation.replace(/\{(said )?(\d)\}/g, (_, isSaid, place) => (isSaid ? saidOne : String)(found[Number(place) + 1]));
  }
  return sentence;
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
