package pftrace_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity/activitytest"
	"github.com/eideticker/eideticker/analyze/activity/perfetto"
	"github.com/eideticker/eideticker/analyze/export/pftrace"
	"github.com/eideticker/eideticker/analyze/export/pftrace/pftracetest"
)

func same(s string) string { return s }

func written(t *testing.T, clock *pftrace.Clock, put func(*pftrace.Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	w := pftrace.NewWriter(&out, clock, same)
	put(w)
	if left, err := w.Close(); err != nil || left > 0 {
		t.Fatalf("%d slices are left out, error %v", left, err)
	}
	return out.Bytes()
}

// TestSlicesOfAnyShape: slices that are nested, apart, empty or overlapping keep their times. Those
// of each track of the format are nested.
func TestSlicesOfAnyShape(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		type span struct {
			name     string
			from, to int64
		}
		var want []span
		for i := range 200 {
			from := random.Int64N(100)
			want = append(want, span{fmt.Sprint(i % 7), from, from + random.Int64N(20)*random.Int64N(3)})
		}
		if seed%5 > 0 { // else the order is wrong too
			slices.SortStableFunc(want, func(a, b span) int {
				return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
			})
		}
		raw := written(t, nil, func(w *pftrace.Writer) {
			on := w.Add(pftrace.Track{Name: "rows"})
			for _, s := range want {
				w.Slice(on, s.from, s.to, pftrace.Event{Name: s.name})
			}
		})
		var got []span
		for _, track := range pftracetest.Decode(t, raw).Named("rows") {
			for _, s := range track.Slices {
				got = append(got, span{s.Name, s.From, s.To})
			}
		}
		order := func(a, b span) int {
			return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.name, b.name))
		}
		slices.SortFunc(want, order)
		if slices.SortFunc(got, order); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

// TestNestedSlicesShareOneTrack: deep calls need no further tracks, and texts are written once.
func TestNestedSlicesShareOneTrack(t *testing.T) {
	const deep = 4096
	name := strings.Repeat("long", 50)
	raw := written(t, nil, func(w *pftrace.Writer) {
		on := w.Add(pftrace.Track{Name: "calls"})
		for i := range int64(deep) {
			w.Slice(on, i, 2*deep-i, pftrace.Event{Name: name, Category: "c", Args: map[string]string{"module": name}})
		}
		w.Slice(on, 2*deep, 2*deep, pftrace.Event{Name: "next"}) // the first ends there
	})
	trace := pftracetest.Decode(t, raw)
	all := trace.Tracks[0].Slices
	if len(trace.Tracks) != 1 || len(all) != deep+1 || all[deep-1].Depth != deep-1 || all[deep].Depth != 0 {
		t.Errorf("%d tracks, %d slices", len(trace.Tracks), len(all))
	}
	if bytes.Count(raw, []byte(name)) != 2 || len(raw) > 60*deep {
		t.Errorf("%d bytes with %d names", len(raw), bytes.Count(raw, []byte(name)))
	}
}

// TestArguments: JSON of any form becomes annotations.
func TestArguments(t *testing.T) {
	args := map[string]any{"text": "a\x00\u2028", "no": false, "yes": true, "low": math.MinInt64, "null": nil,
		"half": 0.5, "list": []any{int64(1), "x", map[string]any{"deep": []any{true}}}, "huge": 1e300,
		"long": strings.Repeat("z", 5000)}
	raw := written(t, nil, func(w *pftrace.Writer) {
		on := w.Add(pftrace.Track{Name: "t"})
		w.Instant(on, 5, pftrace.Event{Name: "i", Args: args})
		w.Instant(on, -5, pftrace.Event{Name: "bad\xff", Args: struct{}{}})
		c := w.Add(pftrace.Track{Name: "c", Parent: on, Counter: true})
		w.Count(c, 1, -3)
	})
	trace := pftracetest.Decode(t, raw)
	got := trace.Tracks[0].Instants
	want := maps.Clone(args)
	want["low"] = int64(math.MinInt64)
	if !reflect.DeepEqual(got[0].Args, want) {
		t.Errorf("%#v", got[0].Args)
	}
	if got[1].Name != "bad�" || got[1].From != 0 || len(got[1].Args) > 0 {
		t.Errorf("%+v", got[1])
	}
	if c := trace.Tracks[1]; c.Parent != trace.Tracks[0].ID || !slices.Equal(c.Values, []int64{-3}) {
		t.Errorf("%+v", c)
	}
}

// TestReaderReadsThreads: the reader of attached traces sees the threads, the clock and the slices.
func TestReaderReadsThreads(t *testing.T) {
	raw := written(t, &pftrace.Clock{At: 1000, Wall: 17e17}, func(w *pftrace.Writer) {
		process := w.Add(pftrace.Track{Name: "chromium", Process: 7})
		thread := w.Add(pftrace.Track{Name: "main", Parent: process, Process: 7, Thread: 8})
		w.Slice(thread, 1000, 5000, pftrace.Event{Name: "outer"})
		w.Slice(thread, 2000, 3000, pftrace.Event{Name: "inner"})
	})
	var s activitytest.Sink
	claims, err := perfetto.Read(bytes.NewReader(raw), &s)
	if err != nil || !claims.Monotonic || claims.Wall != 17e17 || len(claims.Skipped) > 0 {
		t.Fatalf("%+v, error %v", claims, err)
	}
	if len(s.Threads) != 1 || s.Threads[0].Name != "main" || s.Threads[0].ProcessName != "chromium" ||
		s.Threads[0].ID != 8 {
		t.Errorf("threads %+v", s.Threads)
	}
	var got []string
	for _, e := range s.Events {
		got = append(got, fmt.Sprintf("%s at %d for %d", s.Functions[e.Ref-1].Name, e.At, e.Value))
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"inner at 2000 for 1000", "outer at 1000 for 4000"}) {
		t.Errorf("%q", got)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

// TestLimits: slices beyond the tracks are counted, and a full disk is an error.
func TestLimits(t *testing.T) {
	w := pftrace.NewWriter(full{}, nil, same)
	on := w.Add(pftrace.Track{Name: "t"})
	for i := range int64(300) {
		w.Slice(on, i, 1000+i, pftrace.Event{Name: "s"})
	}
	if left, err := w.Close(); left != 300-256 || err == nil {
		t.Errorf("%d slices are left out, error %v", left, err)
	}
}
