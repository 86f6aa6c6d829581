// Package quality measures the recording itself: lost and flagged frames, and the jitter of their
// times. It is shown above every other number, since a measure cannot be better than its
// recording. It reads metadata, not pixels.
package quality

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Name is the name of the measure of a whole recording. It is not one of those that a window
// has.
const Name = "quality"

const version = 1

// Of reports how far the recording itself can be trusted. It is shown above every other
// number.
//
// # quality: capture quality
//
//	produced_frames      last − first sequence number + 1 of all segments, plus losses after the last;
//	stored_frames        in the recording;
//	lost_frames          produced and not stored; Detail has them by cause;
//	flagged_frames       stored, and marked by the source as damaged or without a signal;
//	unreadable_frames    stored and destroyed since; pixels are checked in measured windows only;
//	jitter_p50, jitter_p99, jitter_max
//	                     distance of the middle of a frame's stamps from sequence number × fitted
//	                     period, ms; nearest rank;
//	sampling_max         the widest interval in which a frame is known to have been sampled, ms;
//	stalls               frames whose stamp is more than half a period from its beat;
//	write_stalls         times when storing a frame took longer than a period, so that the ring had
//	                     to hold frames; of recordings on the clock;
//	write_stall_max      the longest of them, ms;
//	segments             runs of frames of one format, listed in Detail with their modes.
//
// Frames that bring times of their own (videos) have no beat and no jitter.
//
// Quality reads the metadata of frames. Destroyed pixels are found only when they are read.
// unreadable names such frames, in any order, for example [Outcome.Unreadable].
func Of(rec measure.Recording, ownClock bool, unreadable ...int) measure.Result {
	q := account{lost: map[string]uint64{}, broken: map[int]bool{}}
	for _, n := range unreadable {
		q.broken[n] = true
	}
	for _, s := range rec.Segments() {
		q.segment(rec, s, ownClock)
	}
	for _, h := range rec.Gaps() {
		q.lost[h.Cause.String()] += h.Count
	}
	q.writes(rec)
	r := q.result()
	r.Measure, r.Version = Name, version
	return r.Complete()
}

type account struct {
	stored, flagged, unreadable, stalls            int
	flaggedFrames, unreadableFrames, stalledFrames []int
	broken                                         map[int]bool      // known to be unreadable
	lost                                           map[string]uint64 // by cause
	jitter                                         []time.Duration
	widest                                         time.Duration
	writeStalls                                    int
	longestWrite                                   time.Duration
	modes                                          []mode
}

// mode is a segment in Detail.
type mode struct {
	FirstFrame int    `json:"first_frame"`
	Frames     int    `json:"frames"`
	Format     string `json:"format"`
	PeriodNS   int64  `json:"period_ns"`
}

// maxStallData is the largest data of a write stall that is read, in bytes.
const maxStallData = 4096

// writes counts write stalls. A stall whose data cannot be read counts without a length.
func (q *account) writes(rec measure.Recording) {
	for n, e := range rec.Events() {
		if e.Source != timeline.WriteStallSource || e.Kind != timeline.WriteStallKind {
			continue
		}
		q.writeStalls++
		if e.Bytes > maxStallData {
			continue
		}
		var s timeline.WriteStall
		if whole, err := rec.Event(n); err == nil && json.Unmarshal(whole.Data, &s) == nil {
			q.longestWrite = max(q.longestWrite, s.Waited)
		}
	}
}

func (q *account) segment(rec measure.Recording, s frame.Segment, ownClock bool) {
	q.modes = append(q.modes, mode{s.First, s.Frames, s.Layout.Format.String(),
		(s.FemtoPeriod + 500_000) / 1_000_000})
	if s.Frames == 0 {
		return
	}
	times := measure.NewTimes(rec, s, s.First, s.First+s.Frames, ownClock)
	for n := s.First; n < s.First+s.Frames; n++ {
		m, err := rec.Meta(n)
		if err != nil || q.broken[n] {
			q.unreadable++
			q.unreadableFrames = measure.AppendFrame(q.unreadableFrames, n)
			continue
		}
		q.stored++
		if m.Flags&(frame.FlagError|frame.FlagSignalLost) != 0 {
			q.flagged++
			q.flaggedFrames = measure.AppendFrame(q.flaggedFrames, n)
		}
		q.widest = max(q.widest, m.Sampled.Width())
		if ownClock || !times.HasBeat() {
			continue
		}
		off := away(m.Sampled, times.At(n))
		q.jitter = append(q.jitter, off)
		if 2*off > times.Period() {
			q.stalls++
			q.stalledFrames = measure.AppendFrame(q.stalledFrames, n)
		}
	}
}

func away(i timeline.Interval, t timeline.Time) time.Duration {
	if d := i.Mid().Sub(t); d < 0 {
		return -d
	} else {
		return d
	}
}

// Values names all values of the measure.
func Values() []string {
	return []string{
		"lost_frames", "produced_frames", "stored_frames", "flagged_frames", "unreadable_frames", "stalls",
		"write_stalls", "write_stall_max", "segments",
		"sampling_max", "jitter_p50", "jitter_p99", "jitter_max",
	}
}

func (q *account) result() measure.Result {
	missing := uint64(0)
	for _, n := range q.lost {
		missing += n
	}
	count := func(name string, n uint64, better measure.Better, frames []int) measure.Value {
		v := measure.Exactly(name, "frames", float64(n), better, 0)
		v.Frames = frames
		return v
	}
	r := measure.Result{Values: []measure.Value{
		count("produced_frames", uint64(q.stored+q.unreadable)+missing, measure.Neither, nil),
		count("stored_frames", uint64(q.stored), measure.Neither, nil),
		count("lost_frames", missing, measure.Lower, nil),
		count("flagged_frames", uint64(q.flagged), measure.Lower, q.flaggedFrames),
		count("unreadable_frames", uint64(q.unreadable), measure.Lower, q.unreadableFrames),
		count("stalls", uint64(q.stalls), measure.Lower, q.stalledFrames),
		measure.Exactly("write_stalls", "times", float64(q.writeStalls), measure.Lower, 0),
		measure.Exactly("segments", "segments", float64(len(q.modes)), measure.Neither, 0),
		measure.Exactly("sampling_max", "ms", measure.MS(q.widest), measure.Lower, 0.1),
	}}
	if q.writeStalls > 0 {
		r.Add(measure.Exactly("write_stall_max", "ms", measure.MS(q.longestWrite), measure.Lower, 0.1))
	}
	if n := len(q.jitter); n > 0 {
		slices.Sort(q.jitter)
		r.Add(measure.Exactly("jitter_p50", "ms", measure.MS(q.jitter[(n+1)/2-1]), measure.Lower, 0.1),
			measure.Exactly("jitter_p99", "ms", measure.MS(q.jitter[(99*n+99)/100-1]), measure.Lower, 0.1),
			measure.Exactly("jitter_max", "ms", measure.MS(q.jitter[n-1]), measure.Lower, 0.1))
	}
	if missing > 0 {
		r.Warnf("%d of %d frames were lost: %s", missing, uint64(q.stored+q.unreadable)+missing, causes(q.lost))
	}
	if q.flagged > 0 {
		r.Warnf("%d frames were delivered as damaged, or without a signal", q.flagged)
	}
	if q.unreadable > 0 {
		r.Warnf("%d frames were destroyed in the file", q.unreadable)
	}
	if q.stored == 0 {
		r.State, r.Refusal = measure.Refused, "the recording has no frame that can be read"
	}
	r.Detail = measure.Detail(struct {
		Lost  map[string]uint64 `json:"lost_frames_by_cause"`
		Modes []mode            `json:"segments"`
	}{q.lost, append([]mode{}, q.modes...)})
	return r
}

// causes lists the losses, the most frequent first.
func causes(lost map[string]uint64) string {
	var names []string
	for cause := range lost {
		names = append(names, cause)
	}
	slices.SortFunc(names, func(a, b string) int {
		if lost[a] != lost[b] {
			return int(lost[b]) - int(lost[a])
		}
		return len(a) - len(b)
	})
	text := ""
	for i, cause := range names {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", lost[cause], cause)
	}
	return text
}
