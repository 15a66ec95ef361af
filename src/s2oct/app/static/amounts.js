// Totals as users type them: 1840, 38%, 1800..1880, 1840±20 or estimate. The server decides; this only adds them up.

const NUMBER = "\\d{1,18}(?:\\.\\d{1,18})?\\s*%?";
const FORMS = [
  [new RegExp(`^(${NUMBER})$`), (a) => [a, a]],
  [new RegExp(`^(${NUMBER})?\\s*\\.\\.\\s*(${NUMBER})?$`), (a, b) => [a ?? 0, b ?? Infinity]],
  [new RegExp(`^(${NUMBER})\\s*(?:±|\\+-|\\+/-)\\s*${NUMBER}$`), (a) => [a, a]],
];

// The bounds that a text states, with shares as fractions of 1; null if it is empty or to be estimated, undefined if
// it is not a total.
export function bounds(text) {
  const plain = text.trim();
  if (!plain || plain.toLowerCase() === "estimate") return null;
  for (const [form, read] of FORMS) {
    const found = plain.match(form);
    if (!found) continue;
    const isShare = plain.endsWith("%");
    const numbers = found.slice(1).map((part) => (part === undefined ? undefined : Number.parseFloat(part) / (isShare ? 100 : 1)));
    return read(...numbers);
  }
  return undefined;
}

// Compares a row of totals with the size of its domain: the difference, and the class that is left over.
export function checkSum(texts, whole) {
  const read = texts.map(bounds);
  if (read.every((pair) => pair === null)) return { state: "empty" };
  if (read.includes(undefined)) return { state: "unreadable" };
  const given = read.filter((pair) => pair !== null);
  const low = given.reduce((sum, pair) => sum + pair[0], 0);
  const high = given.reduce((sum, pair) => sum + pair[1], 0);
  const slack = 1e-6 * Math.max(whole, 1);
  if (low > whole + slack) return { state: "over", sum: low, by: low - whole };
  const nLeft = read.length - given.length;
  if (nLeft === 0) return high < whole - slack ? { state: "under", sum: high, by: whole - high } : { state: "fits", sum: low };
  return { state: "left", sum: low, left: whole - low, nLeft };
}
