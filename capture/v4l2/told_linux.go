//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"encoding/json"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/timeline"
)

// told says what happens beside the frames, each thing once: a state when it begins and when it ends, and not again while
// it lasts.
type told struct {
	events func(timeline.Event) // nil: nobody listens
	clock  timeline.Clock

	trouble string // what is the matter with the signal, as told last; "" for nothing
	away    bool   // the device
	again   string // why the stream was restarted, as told last

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

// unusable tells that there is no signal to record, and why.
func (t *told) unusable(why error) {
	if t.trouble == why.Error() {
		return
	}
	t.trouble = why.Error()
	t.emit("signal lost", map[string]string{"reason": t.trouble})
}

// usable tells that there is one again.
func (t *told) usable(s *setup) {
	if t.trouble == "" {
		return
	}
	t.trouble = ""
	data := map[string]string{"format": s.format.String()}
	if s.timings != nil {
		data["timings"] = s.timings.String()
	}
	t.emit("signal back", data)
}

// formatChanged tells of the end of a renegotiation.
func (t *told) formatChanged(from, to capture.Info) {
	t.emit("format changed", map[string]string{
		"from": from.Format.String(), "from_fps": rateString(from.Period),
		"to": to.Format.String(), "to_fps": rateString(to.Period),
	})
}

// gone and back tell of the device.
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

// restarting tells why the stream is begun again.
func (t *told) restarting(why error) {
	if t.again != why.Error() {
		t.again = why.Error()
		t.emit("stream restarted", map[string]string{"reason": t.again})
	}
}

// oddities tells once each what a driver does that is not right. It is called for every frame.
func (t *told) oddities(s *stamper, n *numbering, flags uint32) {
	if s.wrong && !t.stamps {
		t.stamps = true
		t.emit("timestamps not used", map[string]string{"reason": "the driver's stamps are not of this moment on CLOCK_MONOTONIC; frames are timed by their arrival"})
	}
	if n.odd && !t.counts {
		t.counts = true
		t.emit("sequence not used", map[string]string{"reason": "the driver's frame counter does not count frames; they are numbered by their times"})
	}
	if flags&bufFlagError != 0 && !t.damage {
		t.damage = true
		t.emit("damaged frames", map[string]string{"reason": "the driver marks frames as damaged; they are stored with that mark"})
	}
}
