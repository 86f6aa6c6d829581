package export

import (
	"cmp"
	"fmt"
	"math"

	"github.com/eideticker/eideticker/analyze/activity"
	activities "github.com/eideticker/eideticker/analyze/activity/export"
	"github.com/eideticker/eideticker/capture/timeline"
)

// The processes of the device follow those of recording, network and scripts. Each thread has a
// track with its functions as nested slices. Another one has the times in which it waited or was
// ready. Functions of samples last from sample to sample.
const (
	firstDevicePID = 4
	firstDeviceTID = 1 << 22 // behind the tracks of scripts
	usualBars      = 200_000
)

type barArgs struct {
	Module  string `json:"module,omitempty"`
	Sampled bool   `json:"sampled,omitempty"`
}

// deviceTracks writes the activity of the device, and returns the number of slices.
func (t *traceWriter) deviceTracks(from, to timeline.Time) (bars int, err error) {
	const most = 1 << 60
	from, to = max(from, -most), min(to, most)
	pid, tid := firstDevicePID-1, firstDeviceTID
	for _, of := range t.Activities {
		tracks, left, err := activities.Chart(of, int64(from), int64(to), cmp.Or(t.MaxCalls, usualBars))
		if err != nil {
			return bars, err
		}
		process := int32(-1)
		for i, track := range tracks {
			if i == 0 || track.Thread.Process != process {
				process = track.Thread.Process
				pid++
				if err := t.process(pid, of.Info(), track.Thread, left); err != nil {
					return bars, err
				}
			}
			n, err := t.thread(pid, tid, track)
			if bars, tid = bars+n, tid+2; err != nil {
				return bars, err
			}
		}
	}
	return bars, nil
}

// process writes the name of a process of a trace.
func (t *traceWriter) process(pid int, info activity.Info, of activity.Thread, left int) error {
	name := fmt.Sprintf("%s %d, trace %s (%s %s)", cmp.Or(of.ProcessName, "process"), of.Process, info.Name,
		info.Engine, info.Way)
	if half := info.Clock.HalfWidth(info.BeginNS); half > 0 {
		name += fmt.Sprintf(", times ±%.3g ms", float64(half)/1e6)
	}
	if left > 0 {
		name += fmt.Sprintf(", without %d short slices", left)
	}
	return t.put(traceEvent{Phase: "M", Name: "process_name", PID: pid, Args: nameArgs{limited(name, maxScriptName)}})
}

// thread writes the tracks of a thread.
func (t *traceWriter) thread(pid, tid int, track *activities.Track) (bars int, err error) {
	name := fmt.Sprintf("%s %d", cmp.Or(track.Thread.Name, "thread"), track.Thread.ID)
	when := func(ns int64) micros { return min(max(t.since(timeline.Time(ns)), 0), math.MaxInt64/2) }
	for i, all := range [][]activities.Bar{track.Bars, track.States} {
		if len(all) == 0 {
			continue
		}
		if err := t.track(pid, tid+i, name+[]string{"", ", state"}[i]); err != nil {
			return bars, err
		}
		for k, b := range all {
			begin := when(b.From)
			lasted := when(b.To) - begin
			err := t.put(traceEvent{Phase: "X", Name: b.Name, Category: "device", PID: pid, TID: tid + i, Time: begin,
				Duration: &lasted, Args: barArgs{b.Module, b.Sampled}})
			if k%1024 == 0 {
				err = cmp.Or(err, t.ctx.Err())
			}
			if err != nil {
				return bars, err
			}
			bars++
		}
	}
	return bars, nil
}
