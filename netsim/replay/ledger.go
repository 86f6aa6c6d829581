package replay

import (
	"fmt"
	"slices"
	"sync"
)

// Fidelity is how well an archive has answered.
type Fidelity struct {
	Requests int   `json:"requests"`
	Exact    int   `json:"exact"`  // the recorded request, as far as it counts
	Loose    int   `json:"loose"`  // one that is like it: see Rules
	Missed   int   `json:"missed"` // without a recorded response
	Bytes    int64 `json:"bytes"`  // of bodies that were sent

	Replayable      int   `json:"replayable_exchanges"`
	Asked           int   `json:"asked_exchanges"` // of Replayable, asked for at least once
	ReplayableBytes int64 `json:"replayable_bytes"`
	AskedBytes      int64 `json:"asked_bytes"`

	Misses  []Miss `json:"misses"` // each request once, in the order in which they were first made
	Others  int    `json:"unlisted_misses"`
	Loosely []Miss `json:"loosely_answered"`
	// Notes and the lists above are not nil.
	Notes []string `json:"notes"`
}

// Score is the share of requests that were answered, from 0 to 1; 1 if there were none.
func (f *Fidelity) Score() float64 {
	if f.Requests == 0 {
		return 1
	}
	return float64(f.Exact+f.Loose) / float64(f.Requests)
}

// Miss is a request that was not answered, or that was answered loosely.
type Miss struct {
	Method string `json:"method"`
	URL    string `json:"url"`
	Count  int    `json:"count"`
	Why    string `json:"why"`
	// Nearest is the recorded URL that is most like it, or the one that answered.
	Nearest string `json:"nearest,omitempty"`
}

// maxMisses bounds the ledger.
const maxMisses = 10_000

// ledger counts answers.
type ledger struct {
	mu     sync.Mutex
	f      Fidelity
	by     map[int]*Exchange
	asked  map[int]bool
	misses rows
	loose  rows
}

type rows struct {
	all    []Miss
	at     map[[3]string]int
	others int
}

func (r *rows) add(method, url, why, nearest string) {
	method, url = sentence(method), sentence(url) // a device makes them as long as it likes
	key := [3]string{method, url, why}
	if i, ok := r.at[key]; ok {
		r.all[i].Count++
		return
	}
	if len(r.all) == maxMisses {
		r.others++
		return
	}
	if r.at == nil {
		r.at = map[[3]string]int{}
	}
	r.at[key] = len(r.all)
	r.all = append(r.all, Miss{method, url, 1, why, nearest})
}

func (l *ledger) begin(a *Archive) {
	l.by, l.asked = map[int]*Exchange{}, map[int]bool{}
	for _, e := range a.Exchanges {
		l.by[e.Number] = e
		if ok, _ := e.Replayable(); ok {
			l.f.Replayable++
			l.f.ReplayableBytes += e.ResponseBody.Size
		}
	}
}

func (l *ledger) add(a *Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &l.f
	f.Requests++
	f.Bytes += a.Bytes
	e := l.by[a.Exchange]
	switch {
	case a.Missed != "" && e == nil:
		f.Missed++
		l.misses.add(a.Method, a.URL, a.Missed, a.Nearest)
		return
	case a.Loose != "":
		f.Loose++
		l.loose.add(a.Method, a.URL, a.Loose, e.URL)
	default:
		f.Exact++
	}
	if ok, _ := e.Replayable(); ok && !l.asked[e.Number] {
		l.asked[e.Number] = true
		f.Asked++
		f.AskedBytes += e.ResponseBody.Size
	}
}

func (l *ledger) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := sentence(fmt.Sprintf(format, args...)); len(l.f.Notes) < maxNotes && !slices.Contains(l.f.Notes, text) {
		l.f.Notes = append(l.f.Notes, text)
	}
}

func (l *ledger) fidelity() Fidelity {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.f
	f.Misses, f.Loosely = append([]Miss{}, l.misses.all...), append([]Miss{}, l.loose.all...)
	f.Others, f.Notes = l.misses.others, append([]string{}, l.f.Notes...)
	return f
}
