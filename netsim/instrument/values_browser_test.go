package instrument_test

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/collect"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// planted is a page with a leak, stores without one, a cacheable function and others. One function
// is replaced.
const planted = `<!doctype html><html lang=en><head><title>t</title><style>body { font: 20px monospace }</style></head>
<body><p id=out></p><div id=root></div><script>
const out = document.getElementById('out'), root = document.getElementById('root');
const cache = [], app = {};
const turn = () => new Promise(done => setTimeout(done, 0));
function make(name) { const d = document.createElement('div'); d.textContent = name; root.append(d); return d; }
function leak(i) { cache[i] = {view: make('leak')}; }
function clean() { app.current = make('clean'); }
function cycle() { const d = make('cycle'); d.owner = {view: d}; }
function encode(text) { let all = ''; for (const c of text) all += c.charCodeAt(0).toString(16); return all; }
function height() { return document.body.offsetHeight > 0; }
let n = 0;
function next() { return ++n; }
function point(x) { return {x}; }
function replaced(x) { return x * 2; }
async function main() {
  for (let i = 0; i < 5; i++) {
    leak(i); await turn();
    clean(); await turn();
  }
  cycle(); await turn();
  for (let i = 0; i < 40; i++) { encode('text ' + i % 4); height(); next(); point(1); }
  out.textContent = [encode('ab'), next(), replaced(20), cache.length].join(' ');
  app.current = null;
  root.textContent = '';
  window.done = true;
}
main();
</script></body></html>`

// plantedRun has what a page sent.
type plantedRun struct {
	in      *instrument.Instrument
	mu      sync.Mutex
	arrived chan struct{}
	values  []policy.Value
}

// row returns the row of a place, by a part of its name.
func (p *plantedRun) row(t *testing.T, name, part string) (*policy.Row, policy.Report) {
	t.Helper()
	points := map[uint32]policy.Point{}
	for _, program := range p.in.Programs() {
		for i, at := range program.Points {
			number := program.FirstPoint + uint32(i)
			points[number] = policy.Point{Number: number, Policy: at.Policy, Name: at.Name, Note: at.Note}
		}
	}
	all, err := policy.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	state := all[0].New()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range p.values {
		if points[v.Point].Policy == name {
			state.Add(v)
		}
	}
	report := state.Report(func(n uint32) policy.Point { return points[n] })
	for i, row := range report.Rows {
		if strings.Contains(points[row.Point].Name, part) {
			return &report.Rows[i], report
		}
	}
	return nil, report
}

// TestPlanted: Chromium finds the planted leak and the cacheable function, and runs a replacement.
// Nothing else is found, and the page looks as before.
func TestPlanted(t *testing.T) {
	all, err := policy.Named("leaks,cacheable")
	if err != nil {
		t.Fatal(err)
	}
	ab, err := policy.AB{Share: 1, Replacements: []policy.Replacement{{
		Function: "replaced (/:" + plantedLine("function replaced") + ")",
		Text:     "x => {\n  // the same\n  return x + x\n}"}, {Function: "next (other.js)", Text: "() => 0"}}}.Policy()
	if err != nil {
		t.Fatal(err)
	}
	p := &plantedRun{arrived: make(chan struct{}, 1)}
	accept := func(_ timeline.Time, b *record.Batch, _ []byte) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, r := range b.Records {
			if r.Code == record.Value && r.Argument != record.TimeField {
				p.values = append(p.values, policy.Value{Point: r.ID, Field: int(r.Argument), Number: r.At})
			}
		}
		select {
		case p.arrived <- struct{}{}:
		default:
		}
	}
	const secret = "secret-of-planted"
	collector := collect.New(collect.Options{Secret: secret, Clock: timeline.Monotonic(), Accept: accept})
	rig := httptest.NewServer(collector)
	defer rig.Close()
	if p.in, err = instrument.New(instrument.Options{Nonce: "$nonce", Secret: secret, Policies: append(all, ab),
		Active:    func(string, string, uint32) bool { return true },
		Collector: func(string, bool) string { return rig.URL }}); err != nil {
		t.Fatal(err)
	}
	there := map[string]answer{"/": {planted, []string{"Content-Type", page}, 0}}
	plain := httptest.NewServer(site(there))
	defer plain.Close()
	wrapped := httptest.NewServer(p.in.Wrap(site(there)))
	defer wrapped.Close()
	tab := browsertest.NewTab(t, 4*time.Minute, func(string) bool { return true }) // a busy browser collects late
	look := func(address string) (text string, picture []byte) {
		tab.Do(chromedp.Navigate(address))
		_, err := chromedp.Run(tab.Ctx, chromedp.Poll[bool]("window.done === true", chromedp.WithPollingTimeout(0)))
		tab.Check(err)
		picture, err = chromedp.Run(tab.Ctx, chromedp.CaptureScreenshot())
		tab.Check(err)
		return browsertest.Eval[string](tab, "document.body.innerText"), picture
	}
	text, picture := look(plain.URL)
	if gotText, gotPicture := look(wrapped.URL); gotText != text || !bytes.Equal(gotPicture, picture) {
		t.Errorf("the page shows %q, plain %q; equal pictures: %t", gotText, text, bytes.Equal(gotPicture, picture))
	}
	// The test's time limit ends a long wait.
	for {
		kept, _ := p.row(t, "leaks", "cache[i]")
		collected, _ := p.row(t, "leaks", "app.current")
		if kept != nil && kept.Verdict == policy.Fail && collected != nil && collected.Verdict == policy.Pass {
			break
		}
		select {
		case <-p.arrived:
		case <-tab.Ctx.Done():
			t.Fatalf("leak: %+v, clean: %+v", kept, collected)
		}
	}
	if row, r := p.row(t, "leaks", "d.owner"); row == nil || row.Verdict != policy.More || len(r.Rows) != 3 {
		t.Errorf("the cycle: %+v of %+v", row, r)
	} else {
		t.Log(r.Sentence)
	}
	for name, want := range map[string]struct {
		verdict policy.Verdict
		text    string
	}{"encode": {policy.Pass, ""}, "height": {policy.More, "DOM"}, "next": {policy.Fail, "other results"},
		"point": {policy.Fail, "other results"}, "make": {policy.Fail, "other results"}} {
		row, r := p.row(t, "cacheable", name)
		if row == nil || row.Verdict != want.verdict || !strings.Contains(row.Text, want.text) {
			t.Errorf("%s: %+v of %+v", name, row, r)
		}
		if name == "encode" && row != nil {
			if row.Values[0] != 41 || row.Values[1] < 85 || row.Values[1] > 90 {
				t.Errorf("encode: %+v", row)
			}
			t.Log(r.Sentence)
		}
	}
	if row, r := p.row(t, "ab", "replaced"); row == nil || len(r.Rows) != 1 || row.Values[0] != 0 {
		t.Errorf("the replacement: %+v of %+v", row, r)
	}
}

// plantedLine returns the line of a text of the page.
func plantedLine(part string) string {
	before, _, _ := strings.Cut(planted, part)
	return fmt.Sprint(1 + strings.Count(before, "\n"))
}
