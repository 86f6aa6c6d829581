package export

import (
	"cmp"
	"fmt"

	activities "github.com/eideticker/eideticker/analyze/activity/export"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/timeline"
)

// The processes of the device follow those of recording, network and scripts. Each thread has a
// track with its calls as nested slices, or one with its samples. Functions of samples last from
// sample to sample. Another one has the times in which it waited or was ready.
const (
	firstDevicePID = 4
	firstDeviceTID = 1 << 22 // behind the tracks of scripts
	usualBars      = 200_000
)

type barArgs struct {
	Module string `json:"module"`
}

// deviceInfo is about the tracks of one trace.
type deviceInfo struct {
	Name   string `json:"name"`
	Engine string `json:"engine"`
	Way    string `json:"way"`
	Clock  string `json:"clock,omitempty"` // bounds of other clocks
	Left   int    `json:"slices_left_out"` // the shortest ones
}

// deviceTracks writes the activity of the device.
func (t *traceWriter) deviceTracks(from, to timeline.Time) {
	const most = 1 << 60
	from, to = max(from, -most), min(to, most)
	pid, tid := firstDevicePID-1, firstDeviceTID
	for _, of := range t.Activities {
		tracks, left, err := activities.Chart(of, int64(from), int64(to), cmp.Or(t.MaxCalls, usualBars))
		if err != nil {
			t.fail(err)
			return
		}
		info := of.Info()
		t.devices = append(t.devices, deviceInfo{info.Name, info.Engine, info.Way, info.Clock.Text, left})
		trace, spread := info.Name, info.Clock.HalfWidth(info.BeginNS)
		if spread > 0 {
			trace += fmt.Sprintf(" ±%.3g ms", float64(spread)/1e6)
		}
		process := int32(-1)
		for i, track := range tracks {
			if i == 0 || track.Thread.Process != process {
				process = track.Thread.Process
				pid++
				t.put(traceEvent{Phase: "M", Name: "process_name", PID: pid, thread: &track.Thread,
					Args: nameArgs{cmp.Or(track.Thread.ProcessName, "process")}})
			}
			t.thread(pid, tid, track, trace, spread > 0)
			tid += 3
		}
	}
}

// thread writes the tracks of a thread. The thread's own track states the bounds of its times.
func (t *traceWriter) thread(pid, tid int, track *activities.Track, trace string, bounded bool) {
	kinds := [...]string{"calls", "samples", "state"}
	for i, all := range [...][]activities.Bar{track.Bars, track.Samples, track.States} {
		if len(all) == 0 {
			continue
		}
		thread := track.Thread
		name := wording.Short(fmt.Sprintf("%s %d, %s of %s", cmp.Or(thread.Name, "thread"), thread.ID, kinds[i], trace),
			maxScriptName)
		if bounded {
			thread.Name = name
		}
		t.put(traceEvent{Phase: "M", Name: "thread_name", PID: pid, TID: tid + i, thread: &thread,
			Args: nameArgs{name}})
		for k, b := range all {
			begin := t.inside(timeline.Time(b.From))
			e := traceEvent{Name: b.Name, Category: kinds[i], PID: pid, TID: tid + i, Time: begin}
			if b.Module != "" {
				e.Args = barArgs{b.Module}
			}
			t.slice(e, t.inside(timeline.Time(b.To))-begin)
			if k%1024 == 0 && t.failed() {
				return
			}
		}
		t.barCount += len(all)
	}
}
