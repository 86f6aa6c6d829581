package replay

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// load gets a page's resources as a browser does, six at a time.
func load(t *testing.T, c *http.Client, n int) {
	t.Helper()
	if g := get(t, c, "GET", "https://example.com/", ""); g.status != 200 || g.err != nil {
		t.Fatalf("the page: %d %v %s", g.status, g.err, g.body)
	}
	var wg sync.WaitGroup
	work := make(chan int)
	for range 6 {
		wg.Go(func() {
			for i := range work {
				if g := get(t, c, "GET", fmt.Sprintf("https://example.com/r/%d", i), "", "Accept-Encoding",
					"gzip"); g.status != 200 || g.err != nil {
					t.Errorf("resource %d: %d %v", i, g.status, g.err)
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
}

// when is the time at which an offset of a body was there.
func when(e *Exchange, offset int64) time.Duration {
	var sum int64
	for _, c := range e.Chunks {
		if sum += c.Bytes; sum >= offset {
			return c.After
		}
	}
	return e.Ended
}

// TestReplayIsTheRecord: a page of 100 resources is recorded, replayed, and the replay recorded in
// the same way. Both recordings are of the same bytes at the same times. The machine's other work
// makes single replays late, never one early: the best of three counts.
func TestReplayIsTheRecord(t *testing.T) {
	for attempt := 1; ; attempt++ {
		off, asked := recordReplayed(t, 100)
		// On a machine with time for it, it is within 2 ms: the log says how it was. Not to wait at
		// all would be off by as much as was asked.
		switch {
		case off*4 <= asked || t.Failed():
			return
		case attempt == 3:
			t.Fatalf("chunks are off by %v in the median, which is at %v", off, asked)
		}
	}
}

// recordReplayed records a page of so many resources, replays it, and records the replay. It
// returns by how much the chunks were off in the median, and when they were to come.
func recordReplayed(t *testing.T, resources int) (off, asked time.Duration) {
	t.Helper()
	s := newSite(t, true, page(resources))
	first := record(t, RecorderOptions{Roots: s.roots, Dial: s.dial})
	load(t, first.client(t, true), resources)
	recorded := first.archive(t)
	if len(recorded.Exchanges) != resources+1 {
		t.Fatalf("%d exchanges were recorded", len(recorded.Exchanges))
	}

	replayer, err := NewReplayer(recorded, ReplayerOptions{Recorded: true})
	if err != nil {
		t.Fatal(err)
	}
	again := newSite(t, true, replayer)
	second := record(t, RecorderOptions{Roots: again.roots, Dial: again.dial})
	load(t, second.client(t, true), resources)
	replayed := second.archive(t)

	byURL := map[string]*Exchange{}
	for _, e := range replayed.Exchanges {
		byURL[e.URL] = e
	}
	var late, thought, due []time.Duration
	for _, e := range recorded.Exchanges {
		r := byURL[e.URL]
		switch {
		case r == nil:
			t.Fatalf("%s was not replayed", e.URL)
		case r.Status != e.Status || !bytes.Equal(r.ResponseBody.Bytes, e.ResponseBody.Bytes) ||
			e.ResponseBody.Size == 0:
			t.Errorf("%s: status %d and %d bytes, want %d and %d", e.URL, r.Status, r.ResponseBody.Size, e.Status,
				e.ResponseBody.Size)
		}
		for _, f := range e.ResponseHeader {
			if f.Name != "Date" && !slices.Contains(r.ResponseHeader, f) {
				t.Errorf("%s: the replay has not the field %v", e.URL, f)
			}
		}
		thought = append(thought, (r.Think - r.RoundTrip - (e.Think - e.RoundTrip)).Abs())
		var sum int64
		for _, c := range e.Chunks {
			sum += c.Bytes
			late = append(late, (when(r, sum) - c.After).Abs())
			due = append(due, c.After)
		}
	}
	f := replayer.Fidelity()
	if f.Score() != 1 || f.AskedBytes != f.ReplayableBytes || f.Exact != resources+1 || f.Missed != 0 {
		t.Errorf("fidelity %v, bytes %v: %+v", f.Score(), f.AskedBytes, f)
	}
	if len(late) < 2*resources {
		t.Fatalf("%d chunks were recorded of %d resources", len(late), resources)
	}
	t.Logf("%d chunks, at up to %v: off by %v (median), %v (p95); think times by %v (median); "+
		"a plain sleep on this machine is off by %v", len(late), slices.Max(due), middle(late), at(late, 0.95),
		middle(thought), plainSleep(t))
	return middle(late), middle(due)
}

func middle(all []time.Duration) time.Duration { return at(all, 0.5) }

func at(all []time.Duration, share float64) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[int(share*float64(len(all)-1))]
}

// plainSleep is how late a sleep is here.
func plainSleep(t *testing.T) time.Duration {
	var late []time.Duration
	clock := timeline.Monotonic()
	for range 20 {
		due := clock.Now().Add(5 * time.Millisecond)
		if err := timeline.SleepUntil(t.Context(), due); err != nil {
			t.Fatal(err)
		}
		late = append(late, clock.Now().Sub(due))
	}
	return middle(late)
}

// TestSitesThatTakeTheirTime: the device's stall limit does not apply to a slow site, although
// HTTP/2 would reset a stream by it.
func TestSitesThatTakeTheirTime(t *testing.T) {
	t.Parallel() // it waits
	const patience, pause = 3 * time.Second, 3500 * time.Millisecond
	s := newSite(t, true, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(pause)
		for _, part := range []string{"first ", "second"} {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(pause)
		}
	}))
	r := record(t, RecorderOptions{Roots: s.roots, Dial: s.dial})
	r.stall = patience
	if g := get(t, r.client(t, true), "GET", "https://example.com/", ""); g.err != nil ||
		string(g.body) != "first second" || g.proto != "HTTP/2.0" {
		t.Errorf("recorded: %+v", g)
	}
	replayer, err := NewReplayer(r.archive(t), ReplayerOptions{Recorded: true})
	if err != nil {
		t.Fatal(err)
	}
	replayer.stall = patience
	if g := get(t, newStage(t, replayer, nil).client(t, true), "GET", "https://example.com/", ""); g.err != nil ||
		string(g.body) != "first second" || g.proto != "HTTP/2.0" {
		t.Errorf("replayed: %+v", g)
	}
}

// TestReplayBreaksOffBeforeTheFirstByte: a response recorded like that is not replayed as complete
// and empty.
func TestReplayBreaksOffBeforeTheFirstByte(t *testing.T) {
	e := one("GET", "http://a.test/", 200, "", "Content-Type", "text/css")
	e.Error = "it ended before it was whole"
	head := one("HEAD", "http://a.test/head", 200, "")
	head.Error = e.Error
	_, c := replayed(t, archiveOf(e, head), ReplayerOptions{})
	if g := get(t, c, "GET", "http://a.test/", ""); g.err == nil {
		t.Errorf("%+v", g)
	}
	if g := get(t, c, "HEAD", "http://a.test/head", ""); g.err != nil || g.status != 200 {
		t.Errorf("%+v", g)
	}
}
