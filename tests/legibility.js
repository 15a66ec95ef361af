// What keeps somebody from reading the words of an element: words on top of others, small or out of the window.
((selector, leastPixels) => {
  const faults = [];
  const words = [];
  const around = document.querySelector(selector);
  const walker = document.createTreeWalker(around, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.textContent.trim() || !parent.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const scale = parent.ownerSVGElement ? parent.getScreenCTM().a : 1;
    const pixels = parseFloat(getComputedStyle(parent).fontSize) * scale;
    const text = node.textContent.trim();
    if (pixels < leastPixels - 0.01) faults.push(`${pixels.toFixed(1)} pixels: ${text}`);
    for (const box of range.getClientRects()) if (box.width) words.push({ text, node, box });
  }
  words.forEach(({ text, node, box }, i) => {
    if (box.left < 0 || box.right > document.documentElement.clientWidth) faults.push(`out of the window: ${text}`);
    for (const other of words.slice(i + 1)) {
      const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
      const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
      if (node !== other.node && wide > 1 && high > 1) faults.push(`on top of each other: ${text}, ${other.text}`);
    }
  });
  if (!words.length) faults.push("no words");
  return faults;
})
