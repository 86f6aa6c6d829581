package scripts_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/collect"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// busyPage has a function per time. Each is busy for some time, half of it in another function. The
// page measures both itself. Then a function is called for a second as often as possible.
const busyPage = `<!doctype html><html lang=en><title>busy</title><script>
const now = performance.now.bind(performance), truths = [];
function part(ms) { const from = now(); let at = from; while (at - from < ms) at = now(); return at - from; }
function empty() {}
%s
const all = [%s], turn = () => new Promise(done => setTimeout(done));
function flood() {
  const until = now() + 1000;
  let n = 0;
  while (now() < until) for (let i = 0; i < 1000; i++, n++) empty();
  return n;
}
(async () => {
  for (const f of all) { f(); await turn(); }
  const calls = flood();
  await fetch('/truth', {method: 'POST', body: JSON.stringify({truths, calls})});
  document.title = 'done';
})();
</script></html>`

// TestSelfTimes: in Chromium, at least 95 % of 200 functions have bounds that hold their own time.
// A page that makes more calls than can be recorded has them all, or a gap with its cause.
func TestSelfTimes(t *testing.T) {
	const functions = 200
	var texts, names []string
	random := rand.New(rand.NewPCG(1, 2))
	for i := range functions {
		ms := 0.1 + 3*random.Float64()
		texts = append(texts, fmt.Sprintf(`function busy%[1]d() { const from = now(); let at = from;
			while (at - from < %.2[2]f) at = now(); const own = at - from, before = now(); const inner = part(%.2[2]f);
			return {own, inner, around: now() - before}; }`, i, ms))
		names = append(names, fmt.Sprintf("() => { const from = now(), r = busy%d(); truths.push({name: 'busy%d', "+
			"outer: now() - from, ...r}); }", i, i))
	}
	page := fmt.Sprintf(busyPage, strings.Join(texts, "\n"), strings.Join(names, ",\n"))
	all, err := policy.Named("calls")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var batches []trace.Arrived
	ended := make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	collector := collect.New(collect.Options{Secret: "secret-of-busy", Clock: timeline.Monotonic(),
		Accept: func(at timeline.Time, b *record.Batch, _ []byte) {
			mu.Lock()
			defer mu.Unlock()
			batches = append(batches, trace.Arrived{At: at, Batch: b})
			if slices.ContainsFunc(b.Records, func(r record.Record) bool { return r.Code == record.End }) {
				end()
			}
		}})
	rig := httptest.NewServer(collector)
	defer rig.Close()
	in := analyzetest.Must(instrument.New(instrument.Options{Nonce: "$busy", Secret: "secret-of-busy", Policies: all,
		Collector: func(string, bool) string { return rig.URL }}))(t)
	var truth struct {
		Truths []struct {
			Name                      string
			Own, Inner, Around, Outer float64 // ms
		}
		Calls int64
	}
	told := make(chan error, 1)
	site := httptest.NewServer(in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			told <- json.NewDecoder(r.Body).Decode(&truth)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	})))
	defer site.Close()
	const patience = 8 * time.Minute // no result depends on it
	tab := browsertest.NewTab(t, patience, func(string) bool { return true })
	tab.Do(chromedp.Navigate(site.URL))
	select {
	case err = <-told:
		tab.Check(err)
	case <-tab.Ctx.Done():
		tab.Quiet()
		t.Fatal("the page did not end")
	}
	tab.Do(chromedp.Navigate("about:blank")) // the page sends the rest as it ends
	select {
	case <-ended:
	case <-tab.Ctx.Done():
		t.Fatal("the page did not send its end")
	}
	info := infoOf(in)
	mu.Lock()
	run := scripts.New(info, batches)
	mu.Unlock()
	found := map[string]trace.Total{}
	for _, total := range run.Trace.Totals() {
		for _, p := range info.Programs {
			if i := int(total.Function) - int(p.First); i >= 0 && i < len(p.Functions) {
				found[p.Functions[i].Name] = total
			}
		}
	}
	inside := 0
	for _, want := range truth.Truths {
		// The page measures between its readings, and around the call.
		low, high := 1e6*want.Own, 1e6*(want.Outer-want.Inner)
		if got := found[want.Name]; got.Calls == 1 && float64(got.Self.Low) <= high && float64(got.Self.High) >= low {
			inside++
		} else {
			t.Logf("%s: %d calls, self %+v, the page says %.0f to %.0f ns", want.Name, got.Calls, got.Self, low, high)
		}
	}
	t.Logf("%d of %d self times are inside their bounds; %d calls in a second, %d recorded, %d records lost", inside,
		len(truth.Truths), truth.Calls, found["empty"].Calls, run.Trace.Lost)
	if len(truth.Truths) != functions || inside < functions*95/100 {
		t.Errorf("%d of %d self times are inside their bounds", inside, len(truth.Truths))
	}
	lost, brief := int64(0), int64(0)
	for _, r := range run.Trace.Realms {
		for _, g := range r.Gaps {
			lost += g.Records
			if g.Cause == 0 || g.Records == 0 {
				t.Errorf("a gap %+v has no cause or number", g)
			}
		}
	}
	for _, r := range run.Trace.Realms {
		for _, n := range r.Brief {
			if n.Function == found["empty"].Function {
				brief += n.Calls
			}
		}
	}
	if missing := truth.Calls - found["empty"].Calls - brief; lost != run.Trace.Lost || missing > lost || missing < 0 ||
		brief < truth.Calls/2 {
		t.Errorf("%d calls are missing, %d were brief, %d records are in gaps, %d lost", missing, brief, lost,
			run.Trace.Lost)
	}
}
