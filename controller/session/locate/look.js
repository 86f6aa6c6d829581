// look returns the state of the page and the places of elements, as JSON.
(selectors => {
	const find = selector => {
		let all;
		try {
			all = [...document.querySelectorAll(selector)];
		} catch {
			return { invalid: true };
		}
		const shown = all.filter(e => [...e.getClientRects()].some(r => r.width && r.height));
		const count = shown.length || all.length;
		if (shown.length !== 1) return { count, hidden: !shown.length };
		const box = [...shown[0].getClientRects()].find(r => r.width && r.height);
		const left = Math.max(box.left, 0), right = Math.min(box.right, innerWidth);
		const top = Math.max(box.top, 0), bottom = Math.min(box.bottom, innerHeight);
		const x = (left + right) / 2, y = (top + bottom) / 2;
		const outside = left >= right || top >= bottom;
		const hit = outside ? null : document.elementFromPoint(x, y);
		const covered = hit && !shown[0].contains(hit) && !hit.contains(shown[0]) ? hit.cloneNode().outerHTML : "";
		const scale = devicePixelRatio;
		return { count, outside, covered: covered.slice(0, 100), x: Math.floor(x * scale), y: Math.floor(y * scale) };
	};
	return JSON.stringify({
		address: document.documentURI, loaded: document.readyState === "complete", width: innerWidth,
		height: innerHeight, elements: selectors.map(find),
	});
})(%s)
