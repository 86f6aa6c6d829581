package instrument_test

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/record"
	"github.com/eideticker/eideticker/netsim/internal/document"
)

//go:embed testdata/hostile
var hostile embed.FS

// hostilePages are pages that make code themselves, inspect their own texts, or forbid both.
var hostilePages = []struct {
	name string
	// policy is a content security policy. HASH(text) is the hash of a text.
	policy string
	// shows has words of the plain page. calls has functions that the instrumented page must enter.
	shows, calls []string
	// plain has reasons for programs without insertions.
	plain []string
}{
	{"tostring", "", []string{"try { return a + b(); }", "function toString() { [native code] }",
		"get innerHTML() { [native code] }"}, []string{"f", "anonymous"}, nil},
	{"eval", "", []string{"SyntaxError", "timer", "interval", "14"},
		[]string{"inEval", "globally", "inWindow", "inTimer", "anonymous"},
		[]string{"unexpected", "body of one function"}},
	{"elements", "", []string{"in &amp; srcdoc", "link", "inHTML", "fragment", "function onclick(event)"},
		[]string{"inHandler", "onclick", "onsubmit", "inLink", "inHTML", "inAttribute", "inScripttext",
			"inScriptinnerHTML", "inScripttextContent", "inScriptinnerText", "inFragment", "x", "inLate", "f",
			"onload"}, nil},
	{"write", "", []string{"script", "parts", "after"}, []string{"inWritten", "inWrittenScript", "add"}, nil},
	{"workers", "", []string{"blob function inBlob", "module", "data é %41", "base64", "function function", "own"},
		[]string{"inBlob", "inModule", "inData", "inFunction", "work"}, nil},
	{"frames", "", []string{"moved", "clicked", "about:blank"}, []string{"shared", "inMoved"}, nil},
	{"natives", "", []string{"patched"}, []string{"own", "inEval", "afterFreeze", "inFrozen"}, nil},
	{"scripts", "", []string{"onerror Uncaught TypeError", "onerror Uncaught Error: inner", "finally 2",
		"strict undefined 1", "module 3 1 number undefined", "m early earlyearly", "imported", "rejected", "shared 4",
		"globals 0 undefined", "sum 2"},
		[]string{"(script)", "(module)", "early", "useN", "add"}, nil},
	{"clock", "", []string{"1700000000000"}, []string{"inEval", "later", "end"}, nil},
	{"types", "require-trusted-types-for 'script'; trusted-types own", []string{"TypeError", "EvalError", "3"},
		[]string{"inTrusted", "inTrustedText", "inTrustedTimer", "onclick"}, nil},
	{"policy", "script-src 'unsafe-hashes' HASH(draw('handler', (() => 1)())) " +
		"HASH(draw((() => \"allowed\")())) HASH(SCRIPT); default-src 'none'",
		[]string{"handler", "allowed", "EvalError", "script-src-attr"}, []string{"onclick", "last"},
		[]string{"only its hash"}},
}

// hostileSite has a hostile page at /.
func hostileSite(t *testing.T, name, policy string) map[string]answer {
	text, err := hostile.ReadFile("testdata/hostile/" + name + ".html")
	if err != nil {
		t.Fatal(err)
	}
	// The option --determinism replaces the page's clock by this script.
	clock, err := os.ReadFile("../replay/determinism.js")
	if err != nil {
		t.Fatal(err)
	}
	own := document.Own + "(" + strings.TrimSuffix(strings.TrimSpace(string(clock)), ";") + ")(1700000000000,5,false)"
	doc := strings.ReplaceAll(string(text), "INTEGRITY", "sha256-"+sha256Of(add))
	doc = strings.ReplaceAll(doc, "DETERMINISM", own)
	if _, script, ok := strings.Cut(doc, "<script>"); ok {
		script, _, _ = strings.Cut(script, "</script>")
		policy = strings.ReplaceAll(policy, "HASH(SCRIPT)", "'sha256-"+sha256Of(script)+"'")
	}
	for begin := strings.Index(policy, "HASH("); begin >= 0; begin = strings.Index(policy, "HASH(") {
		code, rest, _ := strings.Cut(policy[begin+len("HASH("):], "())) ")
		policy = policy[:begin] + "'sha256-" + sha256Of(code+"())") + "' " + rest
	}
	header := asPage
	if policy != "" {
		header = append(asPage[:2:2], "Content-Security-Policy", policy)
	}
	return map[string]answer{"/": {doc, header, 0}, "/a.js": {add, asScript, 0},
		"/w.js": {"function work() { return 'served'; } postMessage(work());", asScript, 0},
		"/i.js": {"throw new Error('imported')", asScript, 0},
		// Both modules import each other. The function early runs before its module.
		"/m.js": {"import {n, useN} from './n.js'; export function early() { try { return 'early' } finally { } }\n" +
			"export let m = 1; draw('m', n, useN()); try { null.x } catch (e) { draw(e.name) }\n" +
			"export default await Promise.resolve(3)", asScript, 0},
		"/n.js": {"import {early} from './m.js'; export const n = early(), useN = () => { return n + n }\n" +
			"for await (const x of [1]) draw('n', x)\n// last", asScript, 0}}
}

func sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// hostileInstrument returns an instrument that has its collector.
func hostileInstrument(t *testing.T) (*instrument.Instrument, *fakeCollector) {
	t.Helper()
	fake := newFake()
	rig := httptest.NewServer(fake)
	t.Cleanup(rig.Close)
	in := openInstrument(t, "calls,errors", instrument.Options{
		Collector: func(string, bool) string { return rig.URL }, Patience: time.Hour})
	fake.rewrite = in.Dynamic
	return in, fake
}

// testHostile: each page has the text, the elements' text and the pixels of the plain page.
func testHostile(t *testing.T, tab *browsertest.Tab) {
	for _, c := range hostilePages {
		t.Run(c.name, func(t *testing.T) {
			in, fake := hostileInstrument(t)
			pages := hostileSite(t, c.name, c.policy)
			plain := httptest.NewServer(site(pages))
			defer plain.Close()
			wrapped := httptest.NewServer(in.Wrap(site(pages)))
			defer wrapped.Close()
			look := func(address string) (text string, picture []byte) {
				tab.Do(chromedp.Navigate(address))
				var err error
				for gone := true; gone; gone = err != nil && strings.Contains(err.Error(), "Cannot find context") {
					_, err = chromedp.Run(tab.Ctx, chromedp.Poll[bool]("window.done === true",
						chromedp.WithPollingTimeout(patience/8)))
				}
				if err != nil {
					t.Fatalf("%v: %s", err, browsertest.Eval[string](tab, "String(self.shown || shown)"))
				}
				text = browsertest.Eval[string](tab, "document.getElementById('out').textContent")
				if picture, err = chromedp.Run(tab.Ctx, chromedp.CaptureScreenshot()); err != nil {
					t.Fatal(err)
				}
				return text, picture
			}
			without, before := look(plain.URL)
			with, after := look(wrapped.URL)
			for _, word := range c.shows {
				if !strings.Contains(without, word) {
					t.Errorf("the plain page does not show %q: %s", word, without)
				}
			}
			if with != without {
				t.Errorf("the page shows\n%s", difference(with, without))
			}
			if !bytes.Equal(before, after) {
				t.Error("the pictures differ")
			}
			missing := fake.waitFor(func() string { return notEntered(in, fake.ids, c.calls) })
			tab.Do(chromedp.Navigate("about:blank"))
			fake.wait(record.Window, record.End)
			fake.mu.Lock()
			defer fake.mu.Unlock()
			if len(fake.bad) > 0 {
				t.Errorf("bad requests: %q", fake.bad)
			}
			if missing != "" {
				t.Errorf("functions were not entered: %s", missing)
			}
			reasons := ""
			for _, p := range in.Programs() {
				if reasons += p.Reason + "\n"; p.Reason != "" && len(c.plain) == 0 {
					t.Errorf("%s runs plain: %s", p.URL, p.Reason)
				}
			}
			for _, reason := range c.plain {
				if !strings.Contains(reasons, reason) {
					t.Errorf("no program has the reason %q: %s", reason, reasons)
				}
			}
		})
	}
}

// notEntered returns the names of functions that were not entered.
func notEntered(in *instrument.Instrument, entered map[uint32]int, names []string) string {
	count := map[string]int{}
	for _, p := range in.Programs() {
		for i, f := range p.Functions {
			count[f.Name] += entered[p.First+uint32(i)]
		}
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return count[n] > 0 }), " ")
}

// difference returns the lines that differ.
func difference(got, want string) string {
	var b strings.Builder
	a, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(a), len(w)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(w) {
			y = w[i]
		}
		if x != y {
			fmt.Fprintf(&b, "%d: %.300q\n   plain %.300q\n", i+1, x, y)
		}
	}
	return b.String()
}
