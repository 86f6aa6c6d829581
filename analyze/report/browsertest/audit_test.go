package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// page is a page without a problem, with a place for one. Its policy admits no script.
const page = `<!doctype html><html lang="en"><meta http-equiv="Content-Security-Policy" content="script-src 'none'">
<meta name="viewport" content="width=device-width"><title>A page</title><main><h1>A page</h1>PROBLEM</main></html>`

// TestAudit plants problems on a page. Each is found with its element, and no other.
func TestAudit(t *testing.T) {
	Axe(t)
	path := filepath.Join(t.TempDir(), "page.html")
	b := NewTab(t, 4*time.Minute, func(url string) bool { return strings.HasPrefix(url, "file://") })
	b.Look("light", 360)
	for _, tc := range []struct {
		problem, want string
		colours       bool // it depends on colours, or is for each audit
	}{
		{``, ``, true},
		{`<p style="color: #777">grey</p>`, `color-contrast at p: `, true},
		{`<p>Some words <a href="#a" style="color: #003; text-decoration: none">a link</a> and more words.</p>`,
			`link-in-text-block at a: `, true},
		{`<button id="b"></button>`, `button-name at #b: `, false},
		{`<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">`, `image-alt at img: `, false},
		{`<h4>a</h4>`, `heading-order at h4: `, false},
		{`<p class="w" style="width: 500px">wide</p>`, `the page is 508 pixels wide: P.w`, true},
	} {
		b.Check(os.WriteFile(path, []byte(strings.Replace(page, "PROBLEM", tc.problem, 1)), 0o600))
		b.Do(chromedp.Navigate("file://" + path))
		for _, rules := range []string{allRules, colourRules} {
			got, want := b.audit(rules), tc.want
			if rules == colourRules && !tc.colours {
				want = ""
			}
			if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], want)) {
				t.Errorf("%s: %q, want %q", tc.problem, got, want)
			}
		}
	}
	b.Quiet()
}
