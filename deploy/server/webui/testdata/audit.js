// What is wrong with the page as it is shown: controls without a name, text of too little contrast, and what is wider than the page. It returns sentences.
(() => {
  const problems = [];
  const seen = (e) => e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && e.getClientRects().length > 0;
  const called = (e) => (e.getAttribute('aria-label') || e.textContent.trim() || e.title || [...e.labels ?? []].map((l) => l.textContent.trim()).join(' ') || e.querySelector('img')?.alt || '').trim();
  for (const e of document.querySelectorAll('a, button, input, select, textarea, summary, canvas[role=img], [role=img], meter, progress, video')) {
    if (seen(e) && !called(e)) {
      problems.push(`no name: ${e.outerHTML.slice(0, 120)}`);
    }
  }
  for (const img of document.querySelectorAll('img')) {
    if (!img.hasAttribute('alt')) {
      problems.push(`no text for a picture: ${img.src}`);
    }
  }
  const parts = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const over = (top, below) => {
    const a = top[3] ?? 1;
    return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a));
  };
  const behind = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const c = parts(getComputedStyle(at).backgroundColor);
      layers.push(c);
      if ((c[3] ?? 1) === 1) {
        break;
      }
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const told = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !e || !seen(e) || e.closest('.unseen, .skip, option, svg, .stage, script, noscript, :disabled')) {
      continue;
    }
    const style = getComputedStyle(e);
    const back = behind(e);
    const [a, b] = [light(over(parts(style.color), back)), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const wanted = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const what = `${e.tagName}.${e.className}`;
    if (ratio < wanted && !told.has(what)) {
      told.add(what);
      problems.push(`contrast ${ratio.toFixed(2)} of ${what} "${texts.currentNode.data.trim().slice(0, 30)}": ${style.color} on ${back.map(Math.round)}`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) {
    const wide = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && seen(e)).slice(0, 3).map((e) => `${e.tagName}.${e.className}`);
    problems.push(`the page is ${document.documentElement.scrollWidth} wide: ${wide}`);
  }
  return problems;
})()
