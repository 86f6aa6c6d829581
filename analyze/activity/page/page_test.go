package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/strip/payload"
	"github.com/eideticker/eideticker/capture/timeline"
)

func said(frame int, texts ...string) (all []payload.Message) {
	for _, text := range texts {
		all = append(all, payload.Message{Frame: frame, Data: []byte(text)})
	}
	return all
}

func TestRead(t *testing.T) {
	claims, skipped := Read(said(7,
		`{"kind":"longtask","at":1447.895,"ms":81,"name":""}`,
		`{"kind":"gc","at":10,"ms":2.5}`,
		`{"kind":"measure","at":1,"ms":0,"name":"wo\u001brk\u202e"}`,
		`{"kind":"score","at":1,"ms":2}`, `{"at":1,"kind":"gc"}`, "\x00\x01", `data`, // data of the page
		`{"kind":"gc","at":-1,"ms":2}`, `{"kind":"gc","ms":2}`, `{"kind":"gc","at":1}`,
		`{"kind":"longtask","at":1e300,"ms":1}`,
		`{"kind":"gc","at":"1","ms":2}`, `{"kind":`,
	))
	want := []Claim{
		{result.EventLongTask, "long task", 1_447_895_000, 81_000_000, 7},
		{result.EventGC, "garbage collection noticed", 10_000_000, 2_500_000, 7},
		{result.EventMeasure, "measure wo?rk?", 1_000_000, 0, 7},
	}
	if !slices.Equal(claims, want) || skipped != 6 {
		t.Errorf("%+v, %d skipped", claims, skipped)
	}
	claims, _ = Read(said(0, `{"kind":"measure","at":1,"ms":0,"name":"`+strings.Repeat("ü", 5000)+`"}`))
	if n := len(claims[0].Name); n > activity.MaxName+20 {
		t.Errorf("a name of %d bytes", n)
	}
}

// kept records what a sink is given, as text.
type kept struct {
	names  []string
	events []string
}

func (k *kept) Thread(t activity.Thread) uint32 { return uint32(t.ID) }
func (k *kept) Function(f activity.Function) uint32 {
	k.names = append(k.names, f.Name)
	return uint32(len(k.names))
}
func (k *kept) Stack(uint32, uint32) uint32 { return 0 }
func (k *kept) Event(e activity.Event) error {
	kind := map[activity.Kind]string{activity.Slice: "slice", activity.Instant: "instant"}[e.Kind]
	k.events = append(k.events, fmt.Sprintf("%d %s %d+%d", e.Thread, kind, e.At, e.Value))
	return nil
}

// TestSlicesAreNested: measures of a page may overlap in any way.
func TestSlicesAreNested(t *testing.T) {
	var k kept
	var claims []Claim
	add := func(kind string, spans ...[2]int64) {
		for _, at := range spans {
			claims = append(claims, Claim{Kind: kind, Begin: at[0], Span: at[1]})
		}
	}
	add(result.EventMeasure, [2]int64{100, 50}, [2]int64{100, 100}, [2]int64{120, 60}, [2]int64{160, 40},
		[2]int64{200, 1}, [2]int64{201, 0})
	add(result.EventGC, [2]int64{90, 5})
	add(result.EventLongTask, [2]int64{150, 500})
	if err := Write(claims, &k); err != nil {
		t.Fatal(err)
	}
	want := []string{"1 instant 95+0", "2 slice 100+100", "2 slice 100+50", "2 instant 120+0", "3 slice 150+500",
		"2 slice 160+40", "2 slice 200+1", "2 instant 201+0"}
	if !slices.Equal(k.events, want) {
		t.Errorf("%q, want %q", k.events, want)
	}
}

func TestClock(t *testing.T) {
	reported := timeline.Interval{Earliest: 1000e6, Latest: 1004e6}
	for _, c := range []struct {
		name     string
		zero     timeline.Time // latest one by frames
		packets  int64
		restarts int
		from, to int64
		agrees   bool
	}{
		{"frames bound it", 1001e6, 1, 0, 1000e6, 1002e6, true},
		{"frames are later", 1020e6, 1, 0, 1000e6, 1004e6, true},
		{"frames came before the page drew them", 998e6, 1, 0, 1000e6, 1004e6, false},
		{"no packets", 0, 0, 0, 1000e6, 1004e6, true},
		{"another page's clock", 1e6, 9, 1, 1000e6, 1004e6, true},
	} {
		clock, agrees := Clock(reported, &payload.Account{Zero: c.zero, Packets: c.packets, Restarts: c.restarts})
		got := [2]int64{clock.Corners[0].Offset, clock.Corners[1].Offset}
		if got != [2]int64{c.from, c.to} || agrees != c.agrees {
			t.Errorf("%s: %v, agrees %v", c.name, got, agrees)
		}
	}
}

// FuzzRead reads arbitrary messages.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"kind":"longtask","at":1447.895,"ms":81,"name":"x"}`))
	f.Add([]byte(`{"kind":"measure","at":1e9,"ms":1e9,"name":"\ud800"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		claims, _ := Read([]payload.Message{{Data: data}})
		for _, c := range claims {
			if c.Begin < 0 || c.Span < 0 || c.Begin+c.Span > 2*int64(maxTime)*int64(time.Millisecond) {
				t.Errorf("%+v", c)
			}
			if _, err := json.Marshal(c.Name); err != nil {
				t.Error(err)
			}
		}
		if err := Write(claims, &kept{}); err != nil {
			t.Error(err)
		}
	})
}

func TestEventsOfAProfile(t *testing.T) {
	clock, _ := Clock(timeline.Interval{Earliest: 1000e6, Latest: 1004e6}, &payload.Account{})
	claims := []Claim{{Kind: result.EventLongTask, Name: "long task", Begin: 10e6, Span: 80e6},
		{Kind: result.EventGC, Name: "garbage collection noticed", Begin: 5e6, Span: 2e6}}
	p := &result.Profile{Traces: []result.ProfileTrace{{Name: "native"}},
		Events: []result.ProfileEvent{{Kind: result.EventGC, EarliestNS: 1006e6}}}
	p = AddTo(AddTo(p, claims, clock, nil), claims, clock, nil)
	if len(p.Events) != 3 || len(p.Traces) != 2 || Alone(p) || !Alone(AddTo(nil, claims, clock, nil)) {
		t.Fatalf("%+v", p)
	}
	near := func(got, want int64) bool { return got-want >= -1 && got-want <= 1 }
	gc, task := p.Events[0], p.Events[2]
	if !near(gc.EarliestNS, 1005e6) || !near(gc.LatestNS, 1011e6) || gc.DurationNS != 0 {
		t.Errorf("collection %+v: it ended within its bounds", gc)
	}
	if !near(task.EarliestNS, 1010e6) || !near(task.LatestNS, 1014e6) || task.DurationNS != 80e6 {
		t.Errorf("task %+v: it began within its bounds", task)
	}
	if AddTo(nil, nil, clock, nil) != nil {
		t.Error("a profile without claims")
	}
}
