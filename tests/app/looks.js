// What an accessibility checker would say of a page; the value is a list of faults.
(() => {
  const faults = [];
  const isSeen = (element) => element.checkVisibility() && element.getClientRects().length > 0;
  const called = (element) => element.outerHTML.slice(0, 100);
  const names = (element) => (element.getAttribute("aria-label") || "").trim()
    || [...(element.labels || [])].map((label) => label.textContent.trim()).join("")
    || (["BUTTON", "A", "SUMMARY"].includes(element.tagName) ? element.textContent.trim() : "");
  for (const control of document.querySelectorAll("input, select, textarea, button, a[href], summary"))
    if (isSeen(control) && !names(control)) faults.push(`no name: ${called(control)}`);
  for (const list of document.querySelectorAll("select"))
    if (isSeen(list) && list.selectedIndex < 0) faults.push(`no choice: ${called(list)}`);
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) faults.push(`two of one id: ${id}`);
  for (const attribute of ["aria-describedby", "aria-labelledby", "for"])
    for (const element of document.querySelectorAll(`[${attribute}]`))
      for (const id of element.getAttribute(attribute).split(/\s+/))
        if (isSeen(element) && !document.getElementById(id)) faults.push(`${attribute} leads nowhere: ${called(element)}`);
  for (const table of document.querySelectorAll("table"))
    if (!table.caption || !table.querySelector("th[scope=col]")) faults.push(`a table without caption or headings: ${called(table)}`);
  if (!document.documentElement.lang) faults.push("no language");
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    if (!isSeen(heading)) continue;
    const here = Number(heading.tagName[1]);
    if (here > level + 1) faults.push(`a heading is left out before ${called(heading)}`);
    level = here;
  }
  for (const place of document.querySelectorAll(".scroll"))
    if (isSeen(place) && place.scrollWidth > place.clientWidth + 1 && place.tabIndex < 0) faults.push(`the keyboard cannot scroll ${called(place)}`);
  const canvas = document.createElement("canvas").getContext("2d");
  const numbers = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = numbers(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255];
  };
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !isSeen(element) || element.disabled || element.closest(":disabled, .unseen, noscript, option")) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(numbers(style.color)), light(behind(element))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if ((a + 0.05) / (b + 0.05) < least) faults.push(`contrast ${((a + 0.05) / (b + 0.05)).toFixed(2)}: ${called(element)}`);
  }
  return faults;
})()
