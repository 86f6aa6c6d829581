package scripts

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// infoOfPoints has two loops from point 5 on, a text that was served twice, and a concatenation.
func infoOfPoints() *Info {
	loops := Program{URL: "http://a.test/loop.js", Hash: "ab", Goal: "script", Bytes: 100, Count: 1, FirstPoint: 5,
		Points: []Point{{Policy: "loops", Name: "for (;;) a()", Line: 3, Column: 1, Start: 10, End: 22},
			{Policy: "loops", Name: "while (b)", Line: 4, Column: 2, Start: 30, End: 39, Off: true}}}
	again := loops
	again.URL = "http://a.test/again.js"
	return &Info{StartNS: int64(start), Policies: []string{"concat", "loops", "gone"}, Received: Received{Batches: 1},
		Programs: []Program{loops, again, {URL: "http://a.test/s.js", Goal: "script", Bytes: 9, Count: 1, FirstPoint: 7,
			Points: []Point{{Policy: "concat", Name: "a + b", Line: 1, Column: 7, Start: 6, End: 11}}}}}
}

func (p *page) value(point uint32, field uint16, x float64) {
	p.Records = append(p.Records, record.Record{Code: record.Value, Argument: field, ID: point, At: x})
}

// TestReports: values of points become tables and events, with the places of the points.
func TestReports(t *testing.T) {
	info := infoOfPoints()
	info.Policies = info.Policies[:2]
	p, other := newPage(7), newPage(8)
	p.value(5, record.TimeField, 40)
	p.value(5, 0, 1_000_100)
	p.value(5, 1, 12.5)
	p.value(7, 1, 300) // an increment, as the next ones
	p.value(7, 1, 200)
	p.call(1, 50, 51) // of a function that was not served
	other.value(7, 0, 101)
	other.value(7, 1, 24)
	other.value(7, 2, 3)
	other.value(7, 3, 1.5)
	r := New(info, arrived(p, other))
	s := checked(t, nil, r.Results(nil))
	want := []result.PolicyReport{
		{Policy: "loops", Sentence: "1 loop ran for a million iterations or 2 s in a task.", Points: 2, Active: 1,
			Columns: []result.PolicyColumn{{Name: "iterations"}, {Name: "last run", Unit: "ms"}},
			Rows: []result.PolicyRow{{Name: "for (;;) a()", URL: "http://a.test/loop.js", Line: 3, Column: 1,
				Values: []float64{1_000_100, 12.5}, Verdict: "fail", Place: "loop.js:3",
				Texts: []string{"1,000,100", "12.50 ms"}}}},
		{Policy: "concat", Sentence: "Places whose strings grew by more than 100 concatenations: 1. " +
			"All places made 1 kB. 10,000 pieces took 3.00 ms with + and 1.50 ms with join in this browser.",
			Points: 1, Active: 1,
			Columns: []result.PolicyColumn{{Name: "warned at depth"}, {Name: "bytes", Unit: "B"}},
			Rows: []result.PolicyRow{{Name: "a + b", URL: "http://a.test/s.js", Line: 1, Column: 7,
				Values: []float64{101, 524}, Verdict: "fail", Place: "s.js:1", Texts: []string{"101", "524 B"}}}},
	}
	if !reflect.DeepEqual(s.Reports, want) {
		t.Errorf("reports\n%+v, want\n%+v", s.Reports, want)
	}
	if !strings.Contains(s.Sentence, "1 loop ran for a million iterations") {
		t.Errorf("sentence %q", s.Sentence)
	}
	events := 0
	for _, e := range r.Events(onRig(1000)) {
		if e.Kind != "loop" {
			continue
		}
		var d pointData
		analyzetest.Check(t, json.Unmarshal(e.Data, &d))
		if events++; d != (pointData{"loops", "for (;;) a()", "http://a.test/loop.js", 3, 1, "1000100 iterations"}) ||
			e.At < onRig(39) || e.At > onRig(41) {
			t.Errorf("event %+v at %d, want near %d", d, e.At, onRig(40))
		}
	}
	if events != 1 {
		t.Errorf("%d events", events)
	}
}

// TestFalseValues: values of unknown points and fields, and values out of range, are dropped and
// counted. Results stay valid.
func TestFalseValues(t *testing.T) {
	info := infoOfPoints()
	info.Policies = info.Policies[:2]
	p := newPage(7)
	for _, v := range []struct {
		point uint32
		field uint16
		x     float64
	}{{1, 0, 1}, {4, 0, 1}, {8, 0, 1}, {math.MaxUint32, 0, 1}, {5, 2, 1}, {7, 4, 1}, {7, 900, 1}, {5, 0, 1e300},
		{7, 1, -math.MaxFloat64}} {
		p.value(v.point, v.field, v.x)
	}
	for range 3000 {
		p.value(5, record.TimeField, 1e300)
		p.value(5, 0, -1<<53)
		p.value(7, 1, 1<<53)
	}
	r := New(info, arrived(p))
	s := checked(t, nil, r.Results(nil))
	if text := strings.Join(s.Warnings, " "); !strings.Contains(text, "of points that were not served: 9.") {
		t.Errorf("warnings %q", text)
	}
	if n := len(s.Reports[1].Rows); n != 1 || s.Reports[1].Rows[0].Values[1] != result.MaxSpan {
		t.Errorf("%d rows: %+v", n, s.Reports[1].Rows)
	}
	if n := len(r.Events(onRig(1000))); n > 500 {
		t.Errorf("%d events", n)
	}
	// A policy of another version of this program has no report.
	if got := New(infoOfPoints(), arrived(p)).Results(nil); len(got.Reports) != 0 {
		t.Errorf("reports %+v", got.Reports)
	}
}

// TestPointsOfFiles: points are written and read again, and invalid ones are errors.
func TestPointsOfFiles(t *testing.T) {
	var file bytes.Buffer
	info := infoOfPoints()
	analyzetest.Check(t, info.Write(&file))
	again, err := ReadInfo(bytes.NewReader(file.Bytes()))
	if err != nil || !reflect.DeepEqual(again.Programs[2].Points, info.Programs[2].Points) ||
		again.Programs[0].FirstPoint != 5 || !again.Programs[0].Points[1].Off {
		t.Errorf("read %+v, %v", again, err)
	}
	for _, change := range []func(*Point){func(p *Point) { p.Line = -1 }, func(p *Point) { p.Column = 1 << 32 },
		func(p *Point) { p.Name = strings.Repeat("x", 9000) },
		func(p *Point) { p.Policy = strings.Repeat("x", 9000) }} {
		bad := infoOfPoints()
		change(&bad.Programs[2].Points[0])
		file.Reset()
		analyzetest.Check(t, bad.Write(&file))
		if _, err := ReadInfo(&file); err == nil || !strings.Contains(err.Error(), "invalid point") {
			t.Errorf("point %+.50v: %v", bad.Programs[2].Points[0], err)
		}
	}
}
