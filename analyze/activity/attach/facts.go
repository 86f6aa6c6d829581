package attach

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/netsim/har"
)

// Names of files in a run folder.
const (
	recordingFile = "recording.eid"
	networkFile   = "network.har"
)

// Source and kind of events of input in a recording.
const (
	inputSource = "input"
	inputKind   = "sent"
)

// runFacts are records of a run. A trace can have a counterpart of each. Times are on the
// recording's clock.
type runFacts struct {
	Recording  string // its ID
	Begin, End timeline.Time
	// Wall is the wall clock minus the recording's clock, within WallWithin.
	Wall, WallWithin int64
	Fall             *har.Waterfall // nil: the run had no test network
	Inputs           []input
}

// readFacts reads the facts of a run folder.
func readFacts(dir string) (*runFacts, error) {
	r, err := recording.Open(filepath.Join(dir, recordingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("run %s: it has no %s", dir, recordingFile)
	}
	if err != nil {
		return nil, err
	}
	defer r.Close() // only read
	info := r.Info()
	switch {
	case r.Frames() == 0:
		return nil, fmt.Errorf("run %s: its recording has no frame", dir)
	case info.OwnClock:
		return nil, fmt.Errorf("run %s: its recording was imported and has a clock of its own", dir)
	}
	f := &runFacts{Recording: fmt.Sprintf("%x", info.ID), Wall: info.WallOffset,
		WallWithin: int64(max(info.WallWidth, info.WallDrift, -info.WallDrift))}
	first, err := r.Meta(0)
	if err != nil {
		return nil, err
	}
	last, err := r.Meta(r.Frames() - 1)
	if err != nil {
		return nil, err
	}
	f.Begin, f.End = first.Sampled.Earliest, last.Sampled.Latest
	for i, e := range r.Events() {
		if e.Source != inputSource || e.Kind != inputKind {
			continue
		}
		whole, err := r.Event(i)
		if err != nil {
			return nil, err
		}
		f.Inputs = append(f.Inputs, inputsOf(whole)...)
	}
	f.Fall, err = readFall(filepath.Join(dir, networkFile), f.Recording)
	return f, err
}

// readFall reads the requests of the run's network. A file of another recording has no facts.
func readFall(path, id string) (*har.Waterfall, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read
	fall, err := har.ReadWaterfall(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if fall.Recording != "" && !strings.EqualFold(string(fall.Recording), id) {
		return nil, fmt.Errorf("read %s: it is of another recording", path)
	}
	return fall, nil
}
