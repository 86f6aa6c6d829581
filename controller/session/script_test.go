package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/collect"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/instrument/record"
	"github.com/eideticker/eideticker/netsim/site"
)

// TestScriptChecks: only pages that the rig serves can be instrumented. Others are refused with the
// way out.
//
// Fault: --script for a page that the rig does not serve
func TestScriptChecks(t *testing.T) {
	live := "url: http://localhost:3000/\nend: 2s\n"
	for name, tc := range map[string]struct {
		test  string
		local bool
		want  string
	}{
		"page":          {"page: /load.html\n", false, ""},
		"page, network": {"page: /load.html\nnetwork: 3g\n", false, ""},
		"live":          {live + "network: 3g\n", true, ""},
		"archive, steps": {"url: https://a.example\nend: 2s\nnetwork: {replay: a.wacz}\nsteps: [{load: b.example}]\n",
			false, ""},
		"site":             {"url: https://a.example\nend: 2s\n", false, "this program serves; add --network"},
		"live, no network": {live, false, "pages that this program serves; add --network"},
		"file, network":    {"url: file:///a.html\nend: 2s\nnetwork: 3g\n", false, "omit --network"},
		"file":             {"url: file:///a.html\nend: 2s\n", true, ""},
		"live with TLS":    {"url: https://localhost/\nend: 2s\nnetwork: 3g\n", true, "localhost/ has TLS of its own"},
		"steps":            {"page: /load.html\nsteps: [{load: b.example}]\n", false, "an archive if steps load pages"},
	} {
		test := readTest(t, "name: page\nscript: [calls]\n"+tc.test)
		err := checkScript(test, tc.local)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
		test.Script = suite.Scripts{}
		if err := checkScript(test, tc.local); err != nil {
			t.Errorf("%s without script: %v", name, err)
		}
	}
	test := readTest(t, "name: page\npage: /load.html\nscript: [cals]\n")
	if err := Check(test); err == nil || !strings.Contains(err.Error(), "calls") {
		t.Errorf("unknown policy: %v", err)
	}
	if known := Known().Policies; !slices.Contains(known, "calls") || !slices.Contains(known, "errors") {
		t.Errorf("known policies %q", known)
	}
}

// TestNonces: names of the page cannot be those of the instrument, and all are of one length.
func TestNonces(t *testing.T) {
	form, seen := regexp.MustCompile(`^\$[a-z][0-9][a-z]$`), map[string]bool{}
	for range 100 {
		n := instrument.NewNonce()
		if !form.MatchString(n) {
			t.Fatalf("nonce %q", n)
		}
		seen[n] = true
	}
	if len(seen) < 80 {
		t.Errorf("100 nonces: %d differ", len(seen))
	}
}

// scriptsOf is a scripting with a log in a new folder, and a collector on a clock that stands.
func scriptsOf(t *testing.T) *scripting {
	t.Helper()
	s := &scripting{arrived: make(chan struct{}, 1), realms: map[uint32]*realmClaims{}, known: map[scripts.Moved]bool{}}
	s.collector = collect.New(collect.Options{Secret: "unguessable", Clock: &stepped{1_000_000_000}, Accept: s.accept})
	file, err := os.Create(filepath.Join(t.TempDir(), scripts.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	s.file = file
	if s.log, err = record.NewLogWriter(file); err != nil {
		t.Fatal(err)
	}
	return s
}

// anInstrument is one that serves everything plain.
func anInstrument(t *testing.T) *instrument.Instrument {
	t.Helper()
	chosen, err := policy.Named("calls")
	if err != nil {
		t.Fatal(err)
	}
	in, err := instrument.New(instrument.Options{Nonce: instrument.NewNonce(), Secret: "unguessable", Policies: chosen,
		Collector: func(string, bool) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// batchOf is a batch of a realm, sent at a page time in ms.
func batchOf(realm, sequence uint32, sent float64, codes ...record.Code) (*record.Batch, []byte) {
	b := &record.Batch{Kind: record.Window, Realm: realm, Sequence: sequence, Origin: 1e12, Sent: sent}
	for _, c := range codes {
		b.Records = append(b.Records, record.Record{Code: c, At: sent})
	}
	return b, b.Append(nil)
}

// TestSettle: the wait for the last batches ends once all realms have sent them. It ends too if
// nothing more comes, or if it lasts too long.
func TestSettle(t *testing.T) {
	const second = int64(time.Second)
	send := func(s *scripting, at int64, realm, sequence uint32, sent float64, codes ...record.Code) {
		b, raw := batchOf(realm, sequence, sent, codes...)
		s.accept(timeline.Time(at), b, raw)
	}
	for name, tc := range map[string]struct {
		before func(s *scripting)
		during func(s *scripting)
		want   time.Duration
	}{
		"no realm":      {func(*scripting) {}, nil, scriptsQuiet},
		"sent all":      {func(s *scripting) { send(s, 11*second, 1, 0, 9500) }, nil, 0},
		"ended":         {func(s *scripting) { send(s, 5*second, 1, 0, 3500, record.End) }, nil, 0},
		"killed before": {func(s *scripting) { send(s, 5*second, 1, 0, 3500) }, nil, scriptsQuiet},
		"the last batch": {func(s *scripting) { send(s, 9*second, 1, 0, 7500); send(s, 5*second, 2, 0, 0, record.End) },
			func(s *scripting) { time.Sleep(time.Second); send(s, 12*second, 1, 1, 9000) }, time.Second},
		// the second batch took longer than the first: it is known to be sent before the end
		"an old batch": {func(s *scripting) { send(s, 9*second, 1, 0, 7500) },
			func(s *scripting) { time.Sleep(time.Second); send(s, 12*second, 1, 1, 8000) }, time.Second + scriptsQuiet},
		"endless": {func(s *scripting) { send(s, 1*second, 1, 0, 0) }, func(s *scripting) {
			for k := range uint32(12) {
				time.Sleep(time.Second)
				send(s, 2*second, 1, k+1, 1)
			}
		}, scriptsTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			s := scriptsOf(t)
			synctest.Test(t, func(t *testing.T) {
				s.arrived = make(chan struct{}, 1)
				tc.before(s)
				var during sync.WaitGroup
				defer during.Wait()
				if tc.during != nil {
					during.Go(func() { tc.during(s) })
				}
				began := time.Now()
				s.settle(t.Context(), timeline.Time(10*second))
				if took := time.Since(began); took != tc.want {
					t.Errorf("it took %v, want %v", took, tc.want)
				}
			})
		})
	}
	over, end := context.WithCancel(t.Context())
	end()
	scriptsOf(t).settle(over, 1)
}

// TestRecordsAreKept: the log has the batches until the end of the run. A log that cannot be
// written marks the run and does not end it.
func TestRecordsAreKept(t *testing.T) {
	for _, full := range []bool{false, true} {
		s := scriptsOf(t)
		s.instrument = anInstrument(t)
		b, raw := batchOf(1, 0, 100, record.Start, record.End)
		s.accept(2_000_000_000, b, raw)
		if full {
			path := s.file.Name()
			s.file.Close()
			var err error
			if s.log, err = record.NewLogWriter(failing{}); err == nil {
				b, raw = batchOf(1, 1, 200)
				s.accept(3_000_000_000, b, raw)
			}
			if s.file, err = os.Open(path); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.file.Close() })
		}
		found, err := s.finish()
		if err != nil {
			t.Fatal(err)
		}
		b, raw = batchOf(1, 2, 300)
		s.accept(4_000_000_000, b, raw) // too late
		if found.Trace.Records != 2 || len(found.Trace.Realms) != 1 {
			t.Errorf("full %v: %+v", full, found.Trace)
		}
		said := strings.Join(found.Info.Warnings, " ")
		if strings.Contains(said, "Records of scripts could not be kept: no space") != full {
			t.Errorf("full %v: %q", full, said)
		}
		kept, err := os.ReadFile(s.file.Name())
		if err != nil {
			t.Fatal(err)
		}
		if all, err := scripts.ReadLog(bytes.NewReader(kept), 0); err != nil || len(all) != 1 {
			t.Errorf("full %v: %d batches, %v", full, len(all), err)
		}
	}
}

// failing is a full disk. It takes the head of a log.
type failing struct{}

func (failing) Write(b []byte) (int, error) {
	if len(b) <= 8 {
		return len(b), nil
	}
	return 0, &os.PathError{Op: "write", Path: "/secret/place", Err: errors.New("no space left on device")}
}

// TestCollectorBesidePages: pages of this machine are instrumented and have a collector that only
// their secret opens. It ends with them.
func TestCollectorBesidePages(t *testing.T) {
	page, err := site.Find("framerate")
	if err != nil {
		t.Fatal(err)
	}
	test := PageTest(page)
	test.Script.Policies = []string{"calls"}
	dir := t.TempDir()
	p, err := servePages(t.Context(), test, nil, nil, dir, onHost(loopback))
	if err != nil {
		t.Fatal(err)
	}
	origin := p.script.origin
	get := func(address string) (int, error) {
		r, err := http.Get(address)
		if err != nil {
			return 0, err
		}
		_, _ = io.Copy(io.Discard, r.Body)
		return r.StatusCode, r.Body.Close()
	}
	if code, err := get(origin + "/.eideticker/guessed-secret/clock"); err != nil || code != http.StatusNotFound {
		t.Errorf("a guessed secret: %d, %v", code, err)
	}
	if code, err := get(p.address); err != nil || code != http.StatusOK {
		t.Errorf("the page: %d, %v", code, err)
	}
	if !slices.ContainsFunc(p.served, func(a netip.AddrPort) bool { return origin == "http://"+a.String() }) {
		t.Errorf("the collector at %s is not among the served addresses %v", origin, p.served)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	if _, err := get(origin); err == nil {
		t.Error("the collector still answers")
	}
	if _, err := os.Stat(filepath.Join(dir, scripts.LogFile)); err != nil {
		t.Error(err)
	}
}

// TestCollectorGone: a collector that ends marks its run, and neither fails nor delays it.
//
// Fault: The collector of scripts ends, or its quota is full
func TestCollectorGone(t *testing.T) {
	page, err := site.Find("framerate")
	if err != nil {
		t.Fatal(err)
	}
	test := PageTest(page)
	test.Script.Policies = []string{"calls"}
	listen := onHost(loopback)
	listen.beside = func(uint16) (net.Listener, string, error) {
		l, host, err := listen.connections("")
		return closedListener{l}, host, err
	}
	p, err := servePages(t.Context(), test, nil, nil, t.TempDir(), listen)
	if err != nil {
		t.Fatal(err)
	}
	<-p.script.arrived
	p.script.settle(t.Context(), timeline.Monotonic().Now()) // without end, if it waited
	found, err := p.script.finish()
	if err != nil {
		t.Fatal(err)
	}
	s := found.Results(nil)
	said := strings.Join(s.Warnings, " ")
	if !strings.Contains(said, "The collector of scripts ended before the run: ") ||
		!strings.Contains(said, scripts.NoRecords) {
		t.Errorf("warnings %q", said)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}

// closedListener accepts nothing.
type closedListener struct{ net.Listener }

func (closedListener) Accept() (net.Conn, error) { return nil, io.ErrUnexpectedEOF }

// TestQuotaFull: batches above the quota are refused, and the results say so.
func TestQuotaFull(t *testing.T) {
	s := scriptsOf(t)
	s.instrument = anInstrument(t)
	_, raw := batchOf(1, 0, 100, record.Start)
	s.collector = collect.New(collect.Options{Secret: "unguessable", Clock: &stepped{1_000_000_000}, Accept: s.accept,
		Quota: int64(len(raw))})
	var codes []int
	for k := range uint32(2) {
		_, raw := batchOf(1, k, 100, record.Start)
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/.eideticker/unguessable/records", bytes.NewReader(raw))
		r.Header.Set("Content-Type", "text/plain")
		s.collector.ServeHTTP(w, r)
		codes = append(codes, w.Code)
	}
	found, err := s.finish()
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(found.Results(nil).Warnings, " ")
	if !slices.Equal(codes, []int{http.StatusNoContent, http.StatusTooManyRequests}) ||
		!strings.Contains(said, "Batches of records that the collector refused: 1 (") ||
		strings.Contains(said, scripts.NoRecords) {
		t.Errorf("answers %d, warnings %q", codes, said)
	}
}

// TestScriptsMeasuredAgain: the records are read again when a recording is measured again. Files of
// another recording are not, and without the log the first results remain.
func TestScriptsMeasuredAgain(t *testing.T) {
	dir := aRun(t)
	path := filepath.Join(dir, runfolder.RecordingFile)
	info := &scripts.Info{Recording: RecordingID(path), StartNS: int64(frameAt(0)), Policies: []string{"errors"},
		Received: scripts.Received{Batches: 1}}
	b, _ := batchOf(9, 0, 300)
	at := func(code record.Code, id uint32, ms float64) {
		b.Records = append(b.Records, record.Record{Code: code, ID: id, At: ms})
	}
	at(record.Start, 0, 1)
	at(record.Asked, 1, 1)
	at(record.Answered, 1, 2)
	at(record.Rig, 1, 1.5e6)
	at(record.Happened, 0, 250)
	b.Details = []record.Detail{{Kind: "error", Message: "it broke"}}
	raw := b.Append(nil)
	write := func() {
		t.Helper()
		if err := writeTo(filepath.Join(dir, scripts.InfoFile), info.Write); err != nil {
			t.Fatal(err)
		}
		if err := writeTo(filepath.Join(dir, scripts.LogFile), func(to io.Writer) error {
			w, err := record.NewLogWriter(to)
			if err == nil {
				err = w.Write(301_000_000, raw)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	// the first measurement names it
	mark := func(s *result.Script) {
		t.Helper()
		r, err := result.Read(filepath.Join(dir, result.FileName))
		if err != nil {
			t.Fatal(err)
		}
		r.Script = s
		if err := result.Write(filepath.Join(dir, result.FileName), r); err != nil {
			t.Fatal(err)
		}
	}
	write()
	mark(&result.Script{Policies: []string{"errors"}, Log: scripts.LogFile, Warnings: []string{"as it was"}})
	if got := again(t, dir, dir); got.Script == nil || len(got.Script.Errors) != 1 ||
		got.Script.Errors[0].Message != "it broke" || got.Script.Log != scripts.LogFile {
		t.Fatalf("again: %+v", got.Script)
	}
	to := filepath.Join(t.TempDir(), "other")
	if got := again(t, dir, to); got.Script == nil || len(got.Script.Errors) != 1 {
		t.Errorf("elsewhere: %+v", got.Script)
	}
	for _, name := range []string{scripts.InfoFile, scripts.LogFile} {
		if _, err := os.Stat(filepath.Join(to, name)); err != nil {
			t.Error(err)
		}
	}
	mark(&result.Script{Policies: []string{"errors"}, Log: scripts.LogFile, Warnings: []string{"as it was"}})
	if err := os.Remove(filepath.Join(dir, scripts.LogFile)); err != nil {
		t.Fatal(err)
	}
	if got := again(t, dir, dir); got.Script == nil || !slices.Equal(got.Script.Warnings, []string{"as it was"}) ||
		!strings.Contains(strings.Join(got.Notes, "\n"), "script.log cannot be read: it is not there") {
		t.Errorf("without the log: %+v, %q", got.Script, got.Notes)
	}
	info.Recording = "0123"
	write()
	mark(&result.Script{Policies: []string{"errors"}, Log: scripts.LogFile, Warnings: []string{"as it was"}})
	got := again(t, dir, dir)
	if got.Script == nil || !slices.Equal(got.Script.Warnings, []string{"as it was"}) || got.Script.Log != "" ||
		!strings.Contains(strings.Join(got.Notes, "\n"), "script.json cannot be read: it is of another recording") {
		t.Errorf("of another recording: %+v, %q", got.Script, got.Notes)
	}
	mark(nil)
	if got := again(t, dir, dir); got.Script != nil {
		t.Errorf("a run without instrumentation: %+v", got.Script)
	}
}

// TestSourcesOfScripts: functions and errors of a bundle have places in its sources, and functions
// the names that they have there.
func TestSourcesOfScripts(t *testing.T) {
	chosen, err := policy.Named("calls")
	if err != nil {
		t.Fatal(err)
	}
	s := scriptsOf(t)
	if s.instrument, err = instrument.New(instrument.Options{Nonce: instrument.NewNonce(), Secret: "unguessable",
		Policies: chosen, Collector: func(string, bool) string { return "http://rig.test" }}); err != nil {
		t.Fatal(err)
	}
	h := s.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		switch r.URL.Path {
		case "/app.js":
			_, _ = io.WriteString(w, "var a=()=>1,b=()=>2;\n//# sourceMappingURL=app.map")
		case "/app.map":
			_, _ = io.WriteString(w, `{"sources":["webpack://x/./src/App.tsx"],"names":["parse","sum"],`+
				`"mappings":"AAAA,IAAAA,EAWE,MAAAC,EADA"}`)
		case "/small.js":
			_, _ = io.WriteString(w, "function u(){}(function(){});var o={template(){}};\n"+
				"//# sourceMappingURL=small.map")
		case "/small.map": // of a bundler that writes no names
			_, _ = io.WriteString(w, `{"sources":["a.jsx"],"mappings":"AAAA,SAAS,MACR,qBACD","sourcesContent":[`+
				`"function SlowList() {}\n(function handle() {})\ndiv"]}`)
		case "/broken.js":
			_, _ = io.WriteString(w, "x=()=>1\n//# sourceMappingURL=data:,")
		}
	}))
	for _, path := range []string{"/app.js", "/small.js", "/broken.js"} {
		r := httptest.NewRequest(http.MethodGet, "http://a.test"+path, nil)
		r.Header.Set("Sec-Fetch-Dest", "script")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	for range 2 {
		s.move("http://a.test/app.js", 1, 7)
	}
	info := &scripts.Info{Programs: Programs(s.instrument.Programs()), Moved: s.moved}
	ended, end := context.WithCancel(t.Context())
	end()
	if problems := s.addSources(ended, info); len(problems) != 1 || info.Programs[0].Functions[0].File != "" {
		t.Errorf("without time: problems %v, %+v", problems, info.Programs[0].Functions)
	}
	problems := s.addSources(t.Context(), info)
	if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(),
		"http://a.test/broken.js: read a source map: ") {
		t.Errorf("problems %v", problems)
	}
	for i, line := range []int{12, 11} {
		if f := info.Programs[0].Functions[i]; f.Source != (scripts.Source{File: "src/App.tsx", SourceLine: line}) ||
			f.Name != []string{"parse", "sum"}[i] {
			t.Errorf("function %+v, want line %d", f, line)
		}
	}
	found := map[string]string{}
	for _, p := range info.Programs {
		for _, f := range p.Functions {
			found[p.URL] += f.Name + " "
		}
	}
	if got, want := found["http://a.test/small.js"], "SlowList handle template (script) "; got != want {
		t.Errorf("functions %s, want %s", got, want)
	}
	// A profile names the places of parameters in the served script.
	s.index(info)
	served := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "http://a.test/app.js", nil)
	r.Header.Set("Sec-Fetch-Dest", "script")
	h.ServeHTTP(served, r)
	text, _, _ := strings.Cut(served.Body.String(), "\n")
	profiled := activity.Function{Name: "b", File: "http://a.test/app.js?v=1#x", Line: 1, Lang: activity.Script,
		Offset: uint64(strings.LastIndex(text, "()=>") + 1)}
	if got, want := s.original(profiled), (activity.Function{Name: "sum", File: "src/App.tsx", Line: 11,
		Lang: activity.Script}); got != want {
		t.Errorf("%+v is %+v, want %+v", profiled, got, want)
	}
	for _, other := range []activity.Function{{Name: "f", File: "http://a.test/other.js", Line: 1, Offset: 9},
		{Name: "f", File: "http://a.test/app.js", Line: 2, Offset: 9}} {
		if got := s.original(other); got != other {
			t.Errorf("%+v is %+v", other, got)
		}
	}
	// Fault: the first function of a script was the script.
	of := []scripts.Function{{Name: "slow", Line: 1, Column: 1, End: 90},
		{Name: "(script)", Line: 1, Column: 1, End: 99, Outside: true}}
	s.index(&scripts.Info{Programs: []scripts.Program{{URL: "http://b.test/", Functions: of}}})
	for column, want := range map[uint64]string{1: "(script)", 14: "slow"} {
		if got := s.original(activity.Function{File: "http://b.test/", Line: 1, Offset: column}); got.Name != want {
			t.Errorf("column %d is of %s", column, got.Name)
		}
	}
	if len(info.Moved) != 1 || info.Moved[0].SourceLine != 1 {
		t.Errorf("the error is at %+v", info.Moved)
	}
}
