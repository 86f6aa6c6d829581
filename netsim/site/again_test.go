package site

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/capture/timeline"
)

// aReport is one as a run has it, for an event.
func aReport(t testing.TB) []byte {
	t.Helper()
	page, err := Find("framerate")
	if err != nil {
		t.Fatal(err)
	}
	page.Strip = true
	at := func(n int64) timeline.Interval {
		return timeline.Interval{Earliest: timeline.Time(n), Latest: timeline.Time(n + 5)}
	}
	r := Report{Page: page, Number: 1, Callbacks: 3, Width: 1280, Height: 720, PixelRatio: 1, ClaimedFPS: 60,
		GreenFrom: at(1), GreenTo: at(2), RedFrom: at(100), RedTo: at(200), Warnings: []string{}}
	for i := range int64(3) {
		r.Drawn = append(r.Drawn, Drawn{ID: uint32(i + 1), At: at(10 * i)})
	}
	events := r.Events()
	return events[len(events)-1].Data
}

// TestReadReport: the report of a recording is read as it was told, and one that no run has written
// is refused.
func TestReadReport(t *testing.T) {
	whole := string(aReport(t))
	r, err := ReadReport([]byte(whole))
	if err != nil || len(r.Drawn) != 3 || r.Drawn[2].ID != 3 || r.Page.Name != "framerate" {
		t.Fatalf("%+v, %v", r, err)
	}
	again, err := json.Marshal(r)
	if err != nil || string(again) != whole {
		t.Errorf("it is another when it is written again: %v\n%s\n%s", err, again, whole)
	}
	for old, bad := range map[string]struct{ new, want string }{
		`{"page"`:            {`["page"`, "not as expected"},
		`"name":"framerate"`: {`"name":"nothing"`, "nothing"},
		`"duration_ms":`:     {`"duration_ms":9`, "is another one in this version"},
		`"number":1`:         {`"number":0`, "no page number"},
		`"drawn":[`:          {`"drawn":[],"was":[`, "no pictures"},
		`"id":2`:             {`"id":1`, "out of order"},
		`"callbacks":3`:      {`"callbacks":1`, "3 frames drawn in 1 callbacks"},
		`"width":1280`:       {`"width":0`, "viewport of 0x720"},
		`"pixel_ratio":1`:    {`"pixel_ratio":-1`, "device pixels per pixel"},
		`"claimed_fps":60`:   {`"claimed_fps":-60`, "claims -60"},
		`"truth":{}`:         {`"truth":{"counts":[1]}`, "1 counts for 3 pictures"},
		`"green_from":{"`:    {`"green_from":{"Earliest":9000,"was_`, "before it begins"},
		`"green_to":{"`:      {`"green_to":{"Earliest":-9000,"was_`, "want 0 to"},
		`"red_from":{"`:      {`"red_from":{"Earliest":9000,"Latest":9000000000000000000},"was":{"`, "want 0 to"},
		`"user_agent":"`:     {`"user_agent":"` + strings.Repeat("x", maxText+1), "a text of"},
		`"warnings":[]`:      {`"answers":[{"kind":"click","id":7}]`, "1 answers of page"},
	} {
		text := strings.Replace(whole, old, bad.new, 1)
		if text == whole {
			t.Fatalf("%s is not in %s", old, whole)
		}
		if r, err := ReadReport([]byte(text)); err == nil || !strings.Contains(err.Error(), bad.want) ||
			!reflect.DeepEqual(r, Report{}) {
			t.Errorf("%s: %v, want %q", bad.new, err, bad.want)
		}
	}
	if _, err := ReadReport(make([]byte, timeline.MaxEventData+1)); err == nil ||
		!strings.Contains(err.Error(), "limit") {
		t.Error(err)
	}
}

// FuzzReadReport: an accepted report is within bounds, and is the same when it is read again.
func FuzzReadReport(f *testing.F) {
	f.Add(aReport(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ReadReport(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := ReadReport(again); err != nil && len(again) <= timeline.MaxEventData || err == nil &&
			!reflect.DeepEqual(r.Drawn, s.Drawn) {
			t.Errorf("%v: it is another when it is read again", err)
		}
	})
}
