package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// eventsJSON is what export writes to a .json file. Times are on the recording's clock.
type eventsJSON struct {
	Path         string         `json:"path"`
	WallOffsetNS int64          `json:"wall_offset_ns"`
	OwnClock     bool           `json:"own_clock"`
	Frames       int            `json:"frames"`
	Events       []eventJSON    `json:"events"`
	Gaps         []gapJSON      `json:"gaps"`
	Metadata     []metadataJSON `json:"metadata"`
}

type eventJSON struct {
	AtNS          int64           `json:"at_ns"`
	UncertaintyNS int64           `json:"uncertainty_ns"`
	Source        string          `json:"source"`
	Kind          string          `json:"kind"`
	Data          json.RawMessage `json:"data,omitempty"`
}

type gapJSON struct {
	BeforeFrame   int    `json:"before_frame"`
	FirstSequence uint64 `json:"first_sequence"`
	Frames        uint64 `json:"frames"`
	Cause         string `json:"cause"`
	EarliestNS    int64  `json:"earliest_ns"`
	LatestNS      int64  `json:"latest_ns"`
}

func exportJSON(j *job) (string, error) {
	in := j.reader.Info()
	doc := eventsJSON{
		Path: j.cmd.File, WallOffsetNS: in.WallOffset, OwnClock: in.OwnClock, Frames: j.to - j.from,
		Events: []eventJSON{}, Gaps: []gapJSON{}, Metadata: describeMetadata(j.reader),
	}
	from, to, err := j.times()
	if err != nil {
		return "", err
	}
	for _, chosen := range j.events(from, to) {
		e, err := j.reader.Event(chosen.n)
		if err != nil {
			return "", fmt.Errorf("read event %d: %w", chosen.n, err)
		}
		doc.Events = append(doc.Events, eventJSON{int64(e.At), e.Uncertainty.Nanoseconds(), e.Source, e.Kind, e.Data})
	}
	for _, g := range j.gaps() {
		doc.Gaps = append(doc.Gaps, gapJSON{g.Before, g.First, g.Count, g.Cause.String(), int64(g.At.Earliest),
			int64(g.At.Latest)})
	}
	out, err := createOut(j.cmd.Output, j.cmd.Force)
	if err != nil {
		return "", err
	}
	err = out.finish(printJSON(out, doc))
	return fmt.Sprintf("%s and %s in %s", plural(len(doc.Events), "event"), plural(len(doc.Gaps), "gap"), j.cmd.Output),
		err
}

// times returns when the chosen frames were on the screen; without a choice, all time there is.
func (j *job) times() (from, to timeline.Time, err error) {
	from, to = -1<<63, 1<<63-1
	if j.from > 0 {
		m, err := j.reader.Meta(j.from)
		if err != nil {
			return 0, 0, err
		}
		from = m.Sampled.Earliest
	}
	if j.to < j.reader.Frames() {
		m, err := j.reader.Meta(j.to)
		if err != nil {
			return 0, 0, err
		}
		to = m.Sampled.Earliest
	}
	return from, to, nil
}

// chosenEvent is event n of the recording.
type chosenEvent struct {
	timeline.EventHead
	n int
}

// events returns those of a time, without its end, unless none are wanted.
func (j *job) events(from, to timeline.Time) (chosen []chosenEvent) {
	if j.cmd.NoEvents {
		return nil
	}
	for n, e := range j.reader.Events() {
		if e.At >= from && e.At < to {
			chosen = append(chosen, chosenEvent{e, n})
		}
	}
	return chosen
}

// gaps returns those between the chosen frames; one after the last frame counts where that is
// chosen.
func (j *job) gaps() []recording.Gap {
	return slices.DeleteFunc(slices.Clone(j.reader.Gaps()), func(g recording.Gap) bool {
		inside := g.Before > j.from && g.Before < j.to
		atStart := g.Before == j.from && j.from == 0
		atEnd := g.Before == j.to && j.to == j.reader.Frames()
		return !inside && !atStart && !atEnd
	})
}

// exportCSV writes a line per frame. Nothing is decoded for it: what changed stands in the file's
// index.
func exportCSV(j *job) (string, error) {
	out, err := createOut(j.cmd.Output, j.cmd.Force)
	if err != nil {
		return "", err
	}
	err = out.finish(j.writeCSV(csv.NewWriter(out)))
	return fmt.Sprintf("%s in %s", plural(j.to-j.from, "line"), j.cmd.Output), err
}

func (j *job) writeCSV(w *csv.Writer) error {
	columns, err := j.seriesColumns()
	if err != nil {
		return err
	}
	line := []string{"frame", "sequence", "earliest_ns", "latest_ns", "changed_bytes", "changed_rows", "moved_rows",
		"unique", "missing_before", "missing_cause", "flags"}
	for _, c := range columns {
		line = append(line, c.name)
	}
	if err := w.Write(line); err != nil {
		return err
	}
	gaps := j.gaps()
	t := j.reader.Timeline(j.from, j.to)
	for t.Next() {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		n, m := t.Number(), t.Meta()
		missing, cause := gapBefore(gaps, n)
		changedBytes, rows, moved := changeSize(t.Change())
		line = append(line[:0],
			strconv.Itoa(n), strconv.FormatUint(m.Sequence, 10),
			strconv.FormatInt(int64(m.Sampled.Earliest), 10), strconv.FormatInt(int64(m.Sampled.Latest), 10),
			strconv.FormatInt(changedBytes, 10), strconv.Itoa(rows), strconv.Itoa(moved),
			strconv.FormatBool(n == 0 || changedBytes > 0), strconv.FormatUint(missing, 10), cause, m.Flags.String(),
		)
		for i := range columns {
			line = append(line, columns[i].at(n))
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	return errors.Join(t.Err(), w.Error())
}

// gapBefore sums the gaps that stand before frame n.
func gapBefore(gaps []recording.Gap, n int) (missing uint64, cause string) {
	for _, g := range gaps {
		if g.Before == n {
			missing += g.Count
			cause = g.Cause.String()
		}
	}
	return missing, cause
}

// changeSize adds up a change: bytes in its spans, rows that have any, rows that were found
// elsewhere.
func changeSize(c *frame.Change) (bytes int64, rows, moved int) {
	last := int32(-1)
	for _, s := range c.Spans {
		bytes += int64(s.End - s.Start)
		if s.Row != last {
			rows++
			last = s.Row
		}
	}
	for _, m := range c.Moves {
		moved += int(m.Rows)
	}
	return bytes, rows, moved
}
