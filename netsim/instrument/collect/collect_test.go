package collect_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/collect"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

const (
	secret = "s3cret-0123"
	path   = "/.eideticker/" + secret + "/"
)

// clock goes on by 10 ns each time it is read.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() timeline.Time { return timeline.Time(c.now.Add(10)) }

// batch returns the bytes of a batch with n records.
func batch(realm, sequence uint32, n int) []byte {
	b := record.Batch{Kind: record.Window, Realm: realm, Sequence: sequence, Origin: 5}
	for range n {
		b.Records = append(b.Records, record.Record{Code: record.Enter, ID: 1})
	}
	return b.Append(nil)
}

// post sends one batch and returns the status.
func post(h http.Handler, body io.Reader) int {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, path+"records", body)
	r.Header.Set("Content-Type", "text/plain")
	h.ServeHTTP(w, r)
	return w.Code
}

func options(accept func(at timeline.Time, b *record.Batch, raw []byte)) collect.Options {
	c := &clock{}
	c.now.Store(1000)
	if accept == nil {
		accept = func(timeline.Time, *record.Batch, []byte) {}
	}
	rewrite := func(goal, page, text string) (string, bool) { return goal + " " + page + " " + text, goal != "none" }
	return collect.Options{Secret: secret, Clock: c, Accept: accept, Rewrite: rewrite}
}

func TestRequests(t *testing.T) {
	server := httptest.NewServer(collect.New(options(nil)))
	defer server.Close()
	for _, tc := range []struct {
		method, path, body string
		status             int
		answer             string
	}{
		{"GET", path + "clock", "", 200, "10"},
		{"GET", path + "clock?x=1", "", 200, "20"},
		{"POST", path + "records", string(batch(1, 0, 3)), 204, ""},
		{"POST", path + "records", "", 400, ""},
		{"POST", path + "records", "EIDSgarbage", 400, ""},
		{"POST", path + "records", strings.Repeat("x", record.MaxBatch+1), 400, ""},
		{"GET", path + "records", "", 405, ""},
		{"OPTIONS", path + "records", "", 405, ""},
		{"POST", path + "clock", "", 405, ""},
		{"POST", path + "rewrite?goal=eval&url=http://a.test/x", "f()", 200, "eval http://a.test/x f()"},
		{"POST", path + "rewrite?goal=none", "f()", 204, ""},
		{"POST", path + "rewrite?goal=eval", "\xff", 204, ""},
		{"POST", path + "rewrite?goal=eval", strings.Repeat("x", record.MaxBatch+1), 400, ""},
		{"GET", path + "rewrite?goal=eval", "", 405, ""},
		{"GET", path, "", 404, "404 page not found\n"},
		{"GET", path + "clock/", "", 404, "404 page not found\n"},
		{"GET", "/.eideticker/" + secret, "", 404, "404 page not found\n"},
		{"GET", "/.eideticker/s3cret-0124/clock", "", 404, "404 page not found\n"},
		{"GET", "/.eideticker//clock", "", 404, "404 page not found\n"},
		{"GET", "/x" + path + "clock", "", 404, "404 page not found\n"},
		{"GET", "/", "", 404, "404 page not found\n"},
	} {
		r, err := http.NewRequest(tc.method, server.URL+tc.path, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != tc.status || string(body) != tc.answer {
			t.Errorf("%s %s: %d %q, error %v; want %d %q", tc.method, tc.path, answer.StatusCode, body, err, tc.status,
				tc.answer)
		}
		for name, value := range map[string]string{"Access-Control-Allow-Origin": "*", "Timing-Allow-Origin": "*",
			"Cross-Origin-Resource-Policy": "cross-origin", "Cache-Control": "no-store"} {
			if tc.status == 404 {
				value = ""
			}
			if got := answer.Header.Get(name); got != value {
				t.Errorf("%s %s: %s is %q, want %q", tc.method, tc.path, name, got, value)
			}
		}
	}
}

// TestBatchesArrive: each valid batch arrives once, with the time of its arrival and its bytes.
func TestBatchesArrive(t *testing.T) {
	var got []string
	c := collect.New(options(func(at timeline.Time, b *record.Batch, raw []byte) {
		if !bytes.Equal(raw, batch(b.Realm, b.Sequence, len(b.Records))) {
			t.Errorf("%x", raw)
		}
		got = append(got, fmt.Sprint(at, ":", b.Realm, ":", b.Sequence, ":", len(b.Records)))
	}))
	if c.Start() != 1010 {
		t.Errorf("start %d", c.Start())
	}
	for _, b := range [][]byte{batch(1, 0, 3), batch(1, 2, 4), batch(1, 2, 4), batch(2, 70, 1), batch(1, 0, 9)} {
		if status := post(c, bytes.NewReader(b)); status != 204 {
			t.Errorf("status %d", status)
		}
	}
	if want := []string{"1020:1:0:3", "1030:1:2:4", "1050:2:70:1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s := c.Stats()
	if s.Batches != 3 || s.Records != 8 || s.Bytes != 3*40+8*16 || s.Duplicates != 2 || s.Missing != 1+70 ||
		s.Realms != 2 ||
		len(s.Refused) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestInvalidRecordsAreCounted(t *testing.T) {
	c := collect.New(options(nil))
	raw := record.Batch{Kind: record.Window, Realm: 1, Records: make([]record.Record, 3),
		Details: []record.Detail{{Kind: "?"}}}.Append(nil)
	if status := post(c, bytes.NewReader(raw)); status != 204 || c.Stats().Dropped != 4 {
		t.Errorf("status %d, %+v", status, c.Stats())
	}
}

// unknownSize hides the length of a body.
type unknownSize struct{ io.Reader }

func TestLimits(t *testing.T) {
	other := record.Batch{Kind: record.Worker, Realm: 1, Sequence: 1, Origin: 5}
	moved := record.Batch{Kind: record.Window, Realm: 1, Sequence: 1, Origin: 6}
	for _, tc := range []struct {
		name   string
		quota  int64
		realm  int64
		first  []byte // accepted before
		body   io.Reader
		status int
		reason string
	}{
		{"largest", 0, 0, nil, bytes.NewReader(batch(1, 0, record.MaxRecords)), 204, ""},
		{"unknown size", 0, 0, nil, unknownSize{bytes.NewReader(batch(1, 0, record.MaxRecords))}, 204, ""},
		{"too large", 0, 0, nil, bytes.NewReader(make([]byte, record.MaxBatch+1)), 400, "too large"},
		{"too large, unknown size", 0, 0, nil, unknownSize{bytes.NewReader(make([]byte, record.MaxBatch+1))}, 400,
			"too large"},
		{"cut", 0, 0, nil, unknownSize{io.MultiReader(bytes.NewReader(batch(1, 0, 1)), broken{})}, 400, "cut"},
		{"garbage", 0, 0, nil, strings.NewReader("garbage"), 400, "invalid"},
		{"quota", 100, 0, batch(1, 0, 2), bytes.NewReader(batch(2, 0, 0)), 429, "quota"},
		{"up to the quota", 112, 0, batch(1, 0, 2), bytes.NewReader(batch(2, 0, 0)), 204, ""},
		{"quota of the realm", 1000, 100, batch(1, 0, 2), bytes.NewReader(batch(1, 1, 0)), 429, "realm quota"},
		{"quota of another realm", 1000, 100, batch(1, 0, 2), bytes.NewReader(batch(2, 0, 0)), 204, ""},
		{"duplicate above the quota", 72, 0, batch(1, 0, 2), bytes.NewReader(batch(1, 0, 2)), 204, ""},
		{"too many batches", 0, 0, nil, bytes.NewReader(batch(1, 1<<18, 0)), 429, "sequence"},
		{"other kind", 0, 0, batch(1, 0, 2), bytes.NewReader(other.Append(nil)), 400, "other realm"},
		{"other origin", 0, 0, batch(1, 0, 2), bytes.NewReader(moved.Append(nil)), 400, "other realm"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			accepted := 0
			o := options(func(timeline.Time, *record.Batch, []byte) { accepted++ })
			o.Quota, o.RealmQuota = tc.quota, tc.realm
			c := collect.New(o)
			want := 0
			if tc.first != nil {
				if status := post(c, bytes.NewReader(tc.first)); status != 204 {
					t.Fatalf("the first batch has status %d", status)
				}
				want++
			}
			if status := post(c, tc.body); status != tc.status {
				t.Errorf("status %d, want %d", status, tc.status)
			}
			refused := map[string]int64{}
			if tc.reason != "" {
				refused[tc.reason] = 1
			} else if c.Stats().Duplicates == 0 {
				want++
			}
			if s := c.Stats(); accepted != want || !reflect.DeepEqual(s.Refused, refused) {
				t.Errorf("%d accepted, want %d; refused %v, want %v", accepted, want, s.Refused, refused)
			}
		})
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestRealmsAreLimited(t *testing.T) {
	c := collect.New(options(nil))
	for realm := range uint32(1025) {
		want := 204
		if realm == 1024 {
			want = 429
		}
		if status := post(c, bytes.NewReader(batch(realm+1, 0, 0))); status != want {
			t.Fatalf("realm %d: status %d, want %d", realm, status, want)
		}
	}
	if post(c, bytes.NewReader(batch(7, 1, 0))) != 204 || c.Stats().Refused["realms"] != 1 || c.Stats().Realms != 1024 {
		t.Errorf("%+v", c.Stats())
	}
}

// TestSlowBodiesAreLimited: bodies that are read at the same time have at most 32 MiB.
func TestSlowBodiesAreLimited(t *testing.T) {
	c := collect.New(options(nil))
	const whole = (32 << 20) / record.MaxBatch
	var readers sync.WaitGroup
	var writers []*io.PipeWriter
	started := make(chan struct{}, whole)
	for range whole {
		r, w := io.Pipe()
		writers = append(writers, w)
		readers.Go(func() { post(c, unknownSize{&first{Reader: r, started: started}}) })
	}
	for range whole {
		<-started
	}
	if status := post(c, bytes.NewReader(make([]byte, record.MaxBatch))); status != 429 {
		t.Errorf("status %d", status)
	}
	for _, w := range writers {
		w.Close()
	}
	readers.Wait()
	if status := post(c, bytes.NewReader(batch(1, 0, 3))); status != 204 {
		t.Errorf("status %d after the others have ended", status)
	}
	if s := c.Stats(); s.Refused["busy"] != 1 || s.Refused["invalid"] != whole {
		t.Errorf("%+v", s)
	}
}

// first reports its first Read.
type first struct {
	io.Reader
	started chan struct{}
	once    sync.Once
}

func (f *first) Read(p []byte) (int, error) {
	f.once.Do(func() { f.started <- struct{}{} })
	return f.Reader.Read(p)
}

// TestConcurrentBatches: Accept is called by one goroutine at a time, once for each batch.
func TestConcurrentBatches(t *testing.T) {
	seen := map[string]int{}
	c := collect.New(options(func(_ timeline.Time, b *record.Batch, _ []byte) {
		seen[fmt.Sprint(b.Realm,
			b.Sequence)]++
	}))
	server := httptest.NewServer(c)
	defer server.Close()
	var clients sync.WaitGroup
	for client := range 8 {
		clients.Go(func() {
			for i := range uint32(40) {
				body := bytes.NewReader(batch(uint32(client/2)+1, i, int(i)))
				answer, err := http.Post(server.URL+path+"records", "text/plain", body)
				if err != nil {
					t.Error(err)
					return
				}
				answer.Body.Close()
				if c.Stats(); answer.StatusCode != 204 {
					t.Errorf("status %d", answer.StatusCode)
				}
			}
		})
	}
	clients.Wait()
	if s := c.Stats(); len(seen) != 160 || s.Batches != 160 || s.Duplicates != 160 || s.Missing != 0 {
		t.Errorf("%d batches, %+v", len(seen), s)
	}
	for name, n := range seen {
		if n != 1 {
			t.Errorf("%s arrives %d times", name, n)
		}
	}
}

func TestNewNeedsASecret(t *testing.T) {
	for name, change := range map[string]func(*collect.Options){
		"short secret":  func(o *collect.Options) { o.Secret = "short" },
		"path":          func(o *collect.Options) { o.Secret = "0123456/89" },
		"no accept":     func(o *collect.Options) { o.Accept = nil },
		"escape":        func(o *collect.Options) { o.Secret = "0123%2f567" },
		"other letters": func(o *collect.Options) { o.Secret = "0123456ä" },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: New accepts it", name)
				}
			}()
			o := options(nil)
			change(&o)
			collect.New(o)
		}()
	}
}

func FuzzServe(f *testing.F) {
	f.Add("POST", path+"records", batch(1, 0, 3))
	f.Add("GET", path+"clock", []byte(nil))
	f.Add("GET", "/", []byte("x"))
	c := collect.New(options(nil))
	f.Fuzz(func(t *testing.T, method, target string, body []byte) {
		r := httptest.NewRequest(http.MethodGet, "/", bytes.NewReader(body))
		r.Method, r.URL.Path = method, target
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		switch w.Code {
		case 200, 204, 400, 405, 429:
			if !strings.HasPrefix(target, path) {
				t.Errorf("%s %q: status %d", method, target, w.Code)
			}
		case 404:
		default:
			t.Errorf("%s %q: status %d", method, target, w.Code)
		}
	})
}
