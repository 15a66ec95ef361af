// The texts of the page, from one file per language.

export const LANGUAGES = [["en", "English"], ["de", "Deutsch"]];
let texts = {};
let language = "en";
let sentences = []; // patterns of English sentences, with their translations

const SAID = "said: ";

// Turns a sentence with placeholders {0}, {1}, … into a pattern that captures their values. In a translation, {said 0}
// stands for a value that is translated as well.
function patternOf(sentence) {
  const escaped = sentence.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replace(/\{\d\}/g, "(.+?)")}$`);
}

export async function load(wanted) {
  language = LANGUAGES.some(([code]) => code === wanted) ? wanted : "en";
  texts = await (await fetch(`texts/${language}.json`)).json();
  sentences = Object.entries(texts).filter(([key]) => key.startsWith(SAID)).map(([key, text]) => [patternOf(key.slice(SAID.length)), text]);
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = t(element.dataset.text);
  return language;
}

export function preferred() {
  return localStorage.getItem("s2oct-language") ?? (navigator.language || "en").slice(0, 2);
}

// Fills in the placeholders of a text; if n is 1, a singular form may exist.
export function t(key, values = {}) {
  const text = (String(values.n) === "1" ? texts[`${key}_one`] : undefined) ?? texts[key];
  if (text === undefined) {
    console.error(`no text ${key}`);
    return key;
  }
  return text.replace(/\{(\w+)\}/g, (_, name) => (values[name] ?? ""));
}

// Returns a text that the program provides in English, or its translation.
export function translated(key, english) {
  return texts[key] ?? english;
}

// Translates text that the program writes in English, one sentence at a time, as far as the language has translations.
export function translate(text) {
  return text.split(/(?<=\.) (?=[A-Z0-9“])/).map(translateSentence).join(" ");
}

function translateSentence(sentence) {
  for (const [pattern, translation] of sentences) {
    const found = sentence.match(pattern);
    if (found) return translation.replace(/\{(said )?(\d)\}/g, (_, isSaid, place) => (isSaid ? translateSentence : String)(found[Number(place) + 1]));
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
