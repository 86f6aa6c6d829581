package attach

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/site"
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
	Reports          []site.Report // of the test pages
	Pictures         []picture     // that the pages drew, in the order of their times
}

// stripID identifies a picture of a run: the number of its page, and its own.
type stripID struct {
	page   uint8
	number uint32
}

// picture is one that a page drew in an animation frame.
type picture struct {
	drawn timeline.Interval // time of its animation frame
	first int               // number of the first stored frame that shows it, from 1
	seen  timeline.Time     // latest time of that frame
	id    stripID
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
		isInput, isReport := e.Source == inputSource && e.Kind == inputKind,
			e.Source == site.EventSource && e.Kind == site.ReportEvent
		if !isInput && !isReport {
			continue
		}
		whole, err := r.Event(i)
		if err != nil {
			return nil, err
		}
		var report site.Report
		if isInput {
			f.Inputs = append(f.Inputs, inputsOf(whole)...)
		} else if json.Unmarshal(whole.Data, &report) == nil && report.Zero.Valid() { // a cut one has no facts
			f.Reports = append(f.Reports, report)
		}
	}
	f.Fall, err = readFall(filepath.Join(dir, networkFile), f.Recording)
	return f, err
}

// readPictures finds the first frame of each picture by the code strip. Only the windows of the
// results have content. A run without results has no pictures.
func (f *runFacts) readPictures(ctx context.Context, dir string) error {
	results, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil || len(f.Reports) == 0 {
		return nil // claims are matched by order
	}
	r, err := recording.Open(filepath.Join(dir, recordingFile))
	if err != nil {
		return err
	}
	defer r.Close() // only read
	drawn := map[stripID]timeline.Interval{}
	for _, report := range f.Reports {
		for _, d := range report.Drawn {
			drawn[stripID{report.Number, d.ID}] = d.At
		}
	}
	for _, w := range results.Windows {
		segment, err := r.SegmentOf(w.Start)
		if err != nil {
			return err
		}
		box := image.Rect(w.Region[0], w.Region[1], w.Region[0]+w.Region[2], w.Region[1]+w.Region[3])
		decoder, err := strip.NewDecoder(segment.Layout, box)
		if err != nil {
			continue // too small for a strip
		}
		for step, err := range r.Steps(w.Start, w.End+1) {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			if step.Number > w.Start && len(step.Change.Spans) == 0 {
				continue
			}
			for _, c := range decoder.ReadContent(step.Image).Copies {
				id := stripID{c.Code.Page(), c.Code.ID}
				if at, ok := drawn[id]; c.OK && ok {
					f.Pictures = append(f.Pictures, picture{at, step.Number + 1, step.Meta.Sampled.Latest, id})
					delete(drawn, id)
				}
			}
		}
	}
	slices.SortFunc(f.Pictures, func(a, b picture) int { return cmp.Compare(a.drawn.Earliest, b.drawn.Earliest) })
	return nil
}

// show notes the picture of each frame of the claims. The page drew it in an animation frame of the
// frame's time.
func (f *runFacts) show(c *activity.Claims, k *activity.Clock) {
	for i := range c.Frames {
		earliest, latest := k.Bounds(c.Frames[i].Begin)
		n, _ := slices.BinarySearchFunc(f.Pictures, earliest, func(p picture, at int64) int {
			return cmp.Compare(int64(p.drawn.Latest), at)
		})
		fits := func(n int) bool { return n < len(f.Pictures) && int64(f.Pictures[n].drawn.Earliest) <= latest }
		if fits(n) && !fits(n+1) {
			c.Frames[i].Picture = f.Pictures[n].first
		}
	}
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
