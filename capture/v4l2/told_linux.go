//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/timeline"
)

// told says what happens beside the frames, each thing once: a state when it begins and when it
// ends, and not again while it lasts.
type told struct {
	events func(timeline.Event) // nil: nobody listens
	clock  timeline.Clock

	troubles []string // problems of the signal that were reported since it could not be recorded
	lost     bool     // "signal lost" is one of these
	silent   bool     // the driver says that there is a signal, and no frame comes
	away     bool     // the device
	again    string   // why the stream was restarted, as told last
	againAt  timeline.Time
	fellBack string // why the driver's memory is used, as told last

	stamps, counts, damage bool // oddities that were told
}

// emit tells one event; data is what json.Marshal takes.
func (t *told) emit(kind string, data any) {
	if t.events == nil {
		return
	}
	b, err := json.Marshal(data)
	if err != nil {
		b = nil // an event without details is better than none
	}
	t.events(timeline.Event{At: t.clock.Now(), Source: "v4l2", Kind: kind, Data: b})
}

// maxTroubles bounds the reasons that are reported while the signal cannot be recorded. A driver
// may have a new reason each time.
const maxTroubles = 16

// unusable reports that the signal cannot be recorded, and why. Each new reason is reported once. A
// signal that is present and not recorded is not reported as lost.
func (t *told) unusable(why error, refused bool) {
	reason := why.Error()
	if slices.Contains(t.troubles, reason) || len(t.troubles) >= maxTroubles {
		return
	}
	kind := "signal refused"
	if !refused {
		kind = "signal lost"
		if t.lost {
			kind = "signal still lost"
		}
		t.lost = true
	}
	t.troubles = append(t.troubles, reason)
	t.emit(kind, map[string]string{"reason": reason})
}

// quiet tells that no frames come from a driver that does not say why. Only a frame shows that this
// is over.
func (t *told) quiet(why error) {
	t.silent = true
	t.unusable(why, false)
}

// heard notes a frame. It is called for every one.
func (t *told) heard(s *setup) {
	if t.silent {
		t.silent = false
		t.usable(s)
	}
}

// usable tells that there is one again.
func (t *told) usable(s *setup) {
	if len(t.troubles) == 0 || t.silent {
		return
	}
	t.troubles, t.lost = nil, false
	data := map[string]string{"format": s.format.String()}
	if s.timings != nil {
		data["timings"] = s.timings.String()
	}
	t.emit("signal back", data)
}

// formatChanged reports the end of a renegotiation, if the format differs.
func (t *told) formatChanged(from, to capture.Info) {
	if from.Format == to.Format && from.Period == to.Period {
		return
	}
	t.emit("format changed", map[string]string{
		"from": from.Format.String(), "from_fps": rateString(from.Period),
		"to": to.Format.String(), "to_fps": rateString(to.Period),
	})
}

// memoryChanged tells that frames go through the driver's memory, though the ring's was asked for.
func (t *told) memoryChanged(why error) {
	if t.fellBack == why.Error() {
		return
	}
	t.fellBack = why.Error()
	t.emit("memory changed", map[string]string{"from": string(memUserPtr), "to": string(memMMAP), "reason": t.fellBack})
}

// gone and back report the device's state.
func (t *told) gone(path string) {
	if !t.away {
		t.away = true
		t.emit("device gone", map[string]string{"device": path})
	}
}

func (t *told) back(path string) {
	if t.away {
		t.away = false
		t.emit("device back", map[string]string{"device": path})
	}
}

// tellAgain is how long the same reason for beginning anew is not told again.
const tellAgain = time.Minute

// restarting tells why the stream is begun again.
func (t *told) restarting(why error) {
	now := t.clock.Now()
	if t.again != why.Error() || now.Sub(t.againAt) >= tellAgain {
		t.again, t.againAt = why.Error(), now
		t.emit("stream restarted", map[string]string{"reason": t.again})
	}
}

// oddities tells once each what a driver does that is not right. It is called for every frame.
func (t *told) oddities(s *stamper, n *numbering, flags uint32) {
	if s.wrong && !t.stamps {
		t.stamps = true
		t.emit("timestamps not used", map[string]string{
			"reason": "the driver's stamps are not from CLOCK_MONOTONIC now; frames are timed by their arrival"})
	}
	if n.odd && !t.counts {
		t.counts = true
		t.emit("sequence not used", map[string]string{
			"reason": "the driver's frame counter does not count frames; they are numbered by their times"})
	}
	if flags&bufFlagError != 0 && !t.damage {
		t.damage = true
		t.emit("damaged frames", map[string]string{
			"reason": "the driver marks frames as damaged; they are stored with that mark"})
	}
}
