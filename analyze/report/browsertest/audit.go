package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// axeFile is the audit of accessibility below the folder of the module. npm installs it.
const axeFile = "deploy/server/webui/node_modules/axe-core/axe.min.js"

// Rules of audits: those of WCAG 2.1 AA with best practices, and those of them that depend on
// colours.
const (
	allRules    = `['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']`
	colourRules = `{type: 'rule', values: ['color-contrast', 'link-in-text-block']}`
)

// auditScript runs rules. It returns a line for each rule and element that breaks it.
const auditScript = `(async () => {
	const found = await axe.run({runOnly: RULES, resultTypes: ['violations']});
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

// audit returns the problems of the page as it is shown: each violation of some rules of axe-core,
// and elements that are wider than the page.
func (b *Tab) audit(rules string) []string {
	b.Helper()
	if Eval[string](b, `typeof axe`) == "undefined" {
		// Scripts of DevTools are exempt from the content security policy.
		b.Do(chromedp.Evaluate[chromedp.Void](Axe(b)))
	}
	lines, err := chromedp.Run(b.Ctx, chromedp.Evaluate[[]string](
		strings.Replace(auditScript, "RULES", rules, 1), chromedp.EvalAwaitPromise))
	b.Check(err)
	return lines
}

// Audited fails the test for each problem that audit finds on the page of a name.
func (b *Tab) Audited(name string) {
	b.Helper()
	for _, problem := range b.audit(allRules) {
		b.Errorf("%s: %s", name, problem)
	}
}

// AuditedColours is Audited after a change of the colour scheme alone. It runs the rules that
// depend on colours.
func (b *Tab) AuditedColours(name string) {
	b.Helper()
	for _, problem := range b.audit(colourRules) {
		b.Errorf("%s: %s", name, problem)
	}
}
