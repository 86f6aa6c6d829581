package export_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/export/pftrace/pftracetest"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/serve"
)

// TestRequestFlows: a request has a flow to the first change after it, where the order is measured.
func TestRequestFlows(t *testing.T) {
	// Frames come every 100 ms from 1 s on. Those of 1, 1.2, 1.4, 1.6 and 1.8 s change. One before
	// 1.6 s is missing.
	dir := t.TempDir()
	path := filepath.Join(dir, "a.eid")
	w := analyzetest.Must(recording.Create(path, recording.Options{NoDirect: true}))(t)
	f, _ := frame.NewFormat(frame.GREY, 4, 4)
	analyzetest.Check(t, w.Segment(f, 1, 10))
	for n := range 9 {
		picture := bytes.Repeat([]byte{byte(n / 2 * 50)}, f.Size())
		if n == 5 {
			analyzetest.Check(t, w.Gap(frame.Gap{Cause: frame.RingFull, First: 5, Count: 1}))
			continue
		}
		at := timeline.Time(1000*ms + n*100*ms)
		m := frame.Meta{Sequence: uint64(n), Sampled: timeline.Interval{Earliest: at - 2*ms, Latest: at + 2*ms}}
		analyzetest.Check(t, w.WriteFrame(picture, m, nil))
	}
	analyzetest.Check(t, w.Close())
	r := analyzetest.Must(recording.Open(path))(t)
	defer r.Close()

	exact := func(at timeline.Time) har.Moment { return har.Moment{At: at, Earliest: at, Latest: at, By: har.Line} }
	fall := har.Waterfall{Recording: har.ID(fmt.Sprintf("%x", r.Info().ID))}
	want := map[string]int64{} // time of the change in ms; 0: no flow
	for i, tc := range []struct {
		name  string
		ended har.Moment
		fails string
		want  int64
	}{
		{"before all frames", exact(990 * ms), "", 0},
		{"between two changes", exact(1050 * ms), "", 1200},
		{"the same change", exact(1150 * ms), "", 1200},
		{"within the bounds of a change", exact(1201 * ms), "", 0},
		{"just after a change", exact(1203 * ms), "", 1400},
		{"before a missing frame", exact(1450 * ms), "", 0},
		{"after it", exact(1650 * ms), "", 1800},
		{"failed", exact(1660 * ms), "reset", 0},
		{"no packet", har.Moment{At: 1670 * ms, Earliest: 1660 * ms, Latest: 1680 * ms, By: "server"}, "", 0},
		{"after the last change", exact(1850 * ms), "", 0},
	} {
		want["/"+tc.name] = tc.want
		fall.Requests = append(fall.Requests, har.Request{Sent: exact(950 * ms), FirstByte: exact(951 * ms),
			Ended:  tc.ended,
			Served: serve.Exchange{Method: "GET", URL: "https://a.test/" + tc.name, Status: 200, Error: tc.fails},
			Over:   serve.Connection{ID: i + 1}})
	}
	network := filepath.Join(dir, "network.har")
	out := analyzetest.Must(os.Create(network))(t)
	analyzetest.Check(t, fall.Write(out, har.Options{}))
	analyzetest.Check(t, out.Close())

	var b bytes.Buffer
	s := export.Selection{Reader: r, Path: path, To: r.Frames(), Network: network}
	analyzetest.Must(s.Perfetto(t.Context(), &b))(t)
	ends, begun := map[uint64]int64{}, map[string]int64{}
	trace := pftracetest.Decode(t, b.Bytes())
	for _, track := range trace.Tracks {
		for _, one := range track.Slices {
			for _, id := range one.Ends {
				if ends[id] != 0 || one.Category != "frame" {
					t.Errorf("flow %d ends at %+v", id, one)
				}
				ends[id] = (one.From + ms/2) / ms
			}
		}
	}
	n := 0
	for _, track := range trace.Tracks {
		for _, one := range track.Slices {
			if one.Flow != 0 {
				n++
				begun[fmt.Sprint(one.Args["url"])] = ends[one.Flow]
			}
		}
	}
	for name, at := range want {
		if got := begun["https://a.test"+name]; got != at {
			t.Errorf("%s: the flow ends at %d ms, want %d", name, got, at)
		}
	}
	if n != len(ends) || n != 4 {
		t.Errorf("%d flows begin, %d end", n, len(ends))
	}
}
