package browsertest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// axeFile is the audit of accessibility below the folder of the module. npm installs it.
const axeFile = "deploy/server/webui/node_modules/axe-core/axe.min.js"

// auditScript runs the rules of WCAG 2.1 AA and best practices. It returns a line for each rule and
// element that breaks it.
const auditScript = `(async () => {
	const found = await axe.run({
		runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'],
		resultTypes: ['violations'],
	});
	const lines = found.violations.flatMap((v) => v.nodes.map((n) => v.id + ' at ' + n.target.join(' ') + ': ' +
		v.help + '; ' + (n.any[0] ?? n.all[0] ?? n.none[0])?.message));
	if (document.documentElement.scrollWidth > innerWidth) {
		const wide = [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() &&
			e.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map((e) => e.tagName + '.' + e.className);
		lines.push('the page is ' + document.documentElement.scrollWidth + ' pixels wide: ' + wide);
	}
	return lines;
})()`

// Axe returns the script of axe-core. It skips the test where npm has not installed it. With
// CI=true the test fails.
func Axe(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		script, err := os.ReadFile(filepath.Join(dir, axeFile))
		if err == nil {
			return string(script)
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("axe-core is not installed; run make webui")
	}
	t.Skip("axe-core is not installed; run make webui")
	return ""
}

// audit returns the problems of the page as it is shown: each violation of a rule of axe-core, and
// elements that are wider than the page.
func (b *Tab) audit() []string {
	b.Helper()
	if Eval[string](b, `typeof axe`) == "undefined" {
		// Scripts of DevTools are exempt from the content security policy.
		b.Do(chromedp.Evaluate[chromedp.Void](Axe(b)))
	}
	lines, err := chromedp.Run(b.Ctx, chromedp.Evaluate[[]string](auditScript, chromedp.EvalAwaitPromise))
	b.Check(err)
	return lines
}

// Audited fails the test for each problem that audit finds on the page of a name.
func (b *Tab) Audited(name string) {
	b.Helper()
	for _, problem := range b.audit() {
		b.Errorf("%s: %s", name, problem)
	}
}
