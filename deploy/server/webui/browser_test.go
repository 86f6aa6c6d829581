package webui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
)

// patience bounds how long a browser may take; no result depends on it.
const patience = 8 * time.Minute

// tab is a page of a rig in a real browser.
type tab struct {
	*browsertest.Tab
	base string // address of the rig; all requests must go there
	addresses
}

// addresses makes a new document of each address that is opened.
type addresses struct{ opened int }

// next returns an address of the rig's page with a query of its own after the first. A browser
// loads it into the process that it has, with the scripts that it has compiled there.
func (a *addresses) next(base, address string) string {
	a.opened++
	if a.opened == 1 {
		return base + "/" + address
	}
	return fmt.Sprintf("%s/?%d%s", base, a.opened, address)
}

// needsBrowser skips a test where no Chromium is installed, and with -short.
func needsBrowser(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("browsers take long to start")
	}
	browsertest.Path(t)
}

func newTab(t *testing.T, base string) *tab {
	t.Helper()
	needsBrowser(t)
	return &tab{Tab: browsertest.NewTab(t, patience, func(url string) bool {
		return strings.HasPrefix(url, base+"/") || strings.HasPrefix(url, "blob:"+base) || url == "about:blank" ||
			strings.HasPrefix(url, "data:image/svg+xml") // of the browser's controls
	}), base: base}
}

// open goes to an address of the page, such as #/runs, as if it was typed.
func (b *tab) open(address string) {
	b.Helper()
	b.Do(chromedp.Navigate(b.next(b.base, address)))
}

// await waits until a script is true.
func (b *tab) await(what, script string) {
	b.Helper()
	b.awaitFor(patience/8, what, script)
}

// longAwait waits as long as a test on a rig may take.
func (b *tab) longAwait(what, script string) {
	b.Helper()
	b.awaitFor(patience/2, what, script)
}

func (b *tab) awaitFor(limit time.Duration, what, script string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, limit)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](script, chromedp.WithPollingTimeout(0)))
	for err != nil && ctx.Err() == nil && ofPageBefore(err) {
		_, err = chromedp.Run(ctx, chromedp.Poll[bool](script, chromedp.WithPollingTimeout(0)))
	}
	if err != nil {
		text := browsertest.Eval[string](b.Tab, `location.hash + ' ' + document.body?.innerText.slice(0, 1500)`)
		b.Quiet()
		b.Fatalf("%s: %v; the page shows %s", what, err, text)
	}
}

// ofPageBefore reports whether a script was sent too early: the browser has just replaced the
// document, or has not read its elements yet.
func ofPageBefore(err error) bool {
	return slices.ContainsFunc([]string{"Cannot find context", "Cannot find default execution context",
		"Execution context was destroyed", "Inspected target navigated or closed",
		"Cannot read properties of null"},
		func(text string) bool { return strings.Contains(err.Error(), text) })
}

// click clicks what a selector finds.
func (b *tab) click(selector string) {
	b.Helper()
	b.stands(selector)
	b.Do(chromedp.Click(chromedp.CSS(selector)))
}

// stands waits until what a selector finds is in sight, with nothing over it, and stays where it
// is: nobody clicks what still moves.
func (b *tab) stands(selector string) {
	b.Helper()
	b.await(selector+" stands still", fmt.Sprintf(`(e => {
		e?.scrollIntoView({block: 'center'});
		const r = e?.getBoundingClientRect() ?? {};
		const [x, y] = [r.left + r.width / 2, r.top + r.height / 2];
		const before = window.stood;
		window.stood = {e, x, y};
		const top = e && document.elementFromPoint(x, y);
		return Boolean(top) && (e.contains(top) || top.contains(e)) && before?.e === e && before.x === x &&
			before.y === y;
	})(document.querySelector(%q))`, selector))
}

// drawn waits until the page is on the screen as it is now: everything fits its room, and no colour
// is on its way to another.
func (b *tab) drawn() {
	b.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](`window.drawn = 0`))
	b.await("it is drawn", `++window.drawn > 2 && // each picture of the page looks once
		!document.getAnimations().some((a) => a instanceof CSSTransition && a.playState === 'running')`)
}

// press presses keys, one after another.
func (b *tab) press(keys string) {
	b.Helper()
	b.Do(chromedp.KeyEvent(keys))
}

// picture keeps a picture of the page in the folder that EIDETICKER_PICTURES names, where somebody
// wants to look at it.
func (b *tab) picture(name string) {
	b.Helper()
	dir := os.Getenv("EIDETICKER_PICTURES")
	if dir == "" {
		return
	}
	p, err := chromedp.Run(b.Ctx, chromedp.CaptureScreenshot())
	b.Check(err)
	b.Check(os.WriteFile(filepath.Join(dir, name+".png"), p, 0o644))
}
