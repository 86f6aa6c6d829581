package webui

import (
	"fmt"
	"testing"
)

// TestTracks compares texts and places of the tracks of a profile with known ones.
func TestTracks(t *testing.T) {
	var got struct {
		Times  []string
		Shares []float64
		Events [][]float64
		Late   []int
		Rows   [][]float64
	}
	inNode(t, `
		import {banded} from 'file://PAGE/shared/format.js';
		import {profileWithin, requestsWithin} from 'file://PAGE/shared/tracks.js';
		const span = (value, low, high) => banded({value: value * 1e6, low: low * 1e6, high: high * 1e6});
		const w = {start_ns: 1000, end_ns: 1400};
		const view = {whole: [0, 400]};
		const thread = (name, lane) => ({name, lane, from_ns: 900, step_ns: 100});
		const event = (earliest_ns, latest_ns, duration_ns) => ({earliest_ns, latest_ns, duration_ns});
		const p = profileWithin({
			// four of six steps are in the window: 100, 50, 0 and 50 %
			threads: [thread('busy', btoa('\x64\x64\x32\x00\x32\x64')), thread('before', btoa('\x64\x00')),
				thread('damaged', '%')],
			events: [event(980, 1100, 5), event(800, 980, 9), event(700, 985, 20), event(1500, 1600, 1)],
			late: [{window: 0, frame: 9, from_ns: 1300, to_ns: 1400}, {window: 1, frame: 7, from_ns: 0, to_ns: 10},
				{window: 0, frame: 4, from_ns: 1100, to_ns: 1200}],
		}, [w, {}], w, view);
		const request = (begin_ns, name_ns, wait_ns, load_ns) =>
			({begin_ns, name_ns, connect_ns: -1, tls_ns: -1, wait_ns, load_ns});
		const rows = requestsWithin([request(1100, 10, 20, 70), request(1000, -1, 50, 60),
			request(1110, -1, -1, 10), request(5000, 1, 1, 1)], 1000, view);
		console.log(JSON.stringify({
			times: [span(80, 76, 84), span(80.4, 80.4, 80.4), span(4.26, 4.21, 4.33), span(0.12, 0.02, 0.224),
				span(0.0032, 0.003, 0.0032),
				span(1332.4, 1332.4, 1400), span(0, 0, 0)],
			shares: p.threads.map((t) => t.share), events: p.events.map((e) => [e.from, e.latest, e.to]),
			late: p.late.map((l) => l.frame), rows: rows.map((r) => [r.from, r.waits, r.loads, r.to, r.row]),
		}));`, &got)
	for _, tc := range []struct {
		what      string
		got, want any
	}{
		{"times", got.Times, []string{"80 (76–84) ms", "80 ms", "4.3 (4.2–4.4) ms", "0.12 (0.02–0.23) ms",
			"0.003 (0.003–0.004) ms", "1,332 (1,332–1,400) ms", "0 ms"}},
		{"shares of threads", got.Shares, []float64{50}},
		{"events from their earliest begin to their latest end", got.Events,
			[][]float64{{-20, 100, 105}, {-300, -15, 5}}},
		{"late frames", got.Late, []int{4, 9}},
		{"requests", got.Rows, [][]float64{{0, 0, 50, 110, 0}, {100, 110, 130, 200, 1}, {110, 110, 110, 120, 0}}},
	} {
		if fmt.Sprint(tc.got) != fmt.Sprint(tc.want) {
			t.Errorf("%s: %v, want %v", tc.what, tc.got, tc.want)
		}
	}
}
