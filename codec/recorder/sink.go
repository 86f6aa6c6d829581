package recorder

import (
	"encoding/json"
	"fmt"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// sink is where the pump's frames go: a recording.Writer, or the rolling window of several.
type sink interface {
	Metadata(name string, value json.RawMessage) error
	Segment(f frame.Format, periodNum, periodDen int64) error
	Ahead(pixels [][]byte)
	WriteFrame(pix []byte, m frame.Meta, owner recording.Owner) error
	Gap(g frame.Gap) error
	Event(e timeline.Event) error
	SetPressure(p float64)
	Expect(first, last uint64, until timeline.Time)
	Stats() recording.Stats
	Close() error
}

func openSink(path string, info capture.Info, o Options) (sink, error) {
	ro := recording.Options{Force: o.Force, OwnClock: info.OwnClock, NoDirect: o.NoDirect, Program: o.Program}
	if o.KeepLast > 0 {
		return newRolling(path, ro, o.KeepLast)
	}
	w, err := recording.Create(path, ro)
	if err != nil {
		return nil, fmt.Errorf("record to %s: %w", path, err)
	}
	return w, nil
}
