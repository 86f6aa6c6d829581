package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/analyze/machine"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/session/locate"
	"github.com/eideticker/eideticker/controller/suite"
)

// Names in a run folder beside those of package analysis.
const (
	RecordFile = "run.json"
	LogFile    = "log.txt"
	HARFile    = runfolder.HARFile
)

// Schema and Version are those of run.json.
const (
	Schema  = "eideticker.run"
	Version = 1
)

// State is the state of a run.
type State string

// States. Running without a running program means that the program crashed.
const (
	Running State = "running"
	Passed  State = "ok"
	Failed  State = "failed"
	// The capture lost too much, or the browser lost its input. The run says nothing about device and
	// test.
	Rejected State = "rejected"
)

// Record is the content of run.json.
type Record struct {
	Schema  string `json:"schema"`
	Version int    `json:"version"`

	Test    string `json:"test"`
	File    string `json:"test_file,omitempty"`
	Address string `json:"address,omitempty"` // of the first page, or its path in a site; "": it is built in
	// Redirected is the host and path of the page to which the first address led; "": to its own.
	Redirected string `json:"redirected_to,omitempty"`
	Device     string `json:"device"`
	Browser    string `json:"browser"` // as asked for; "": the device's first
	Labels

	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"` // for Failed and Rejected
	Fault  Fault  `json:"fault,omitempty"`  // for Failed; "": the record of an older program
	// Attempt counts the attempts at one place of a set, from 1. Block and Place are the run's
	// position in its order, from 1. Seed spreads pings and selects recorded gestures.
	Attempt int    `json:"attempt"`
	Block   int    `json:"block"`
	Place   int    `json:"place"`
	WarmUp  bool   `json:"warm_up,omitempty"`
	Seed    uint64 `json:"seed"`
	// Primary has the values to compare by that the test declares.
	Primary []string `json:"primary,omitempty"`
	// Thresholds are the smallest relevant differences that the test declares, in percent.
	Thresholds map[string]suite.Percent `json:"thresholds,omitempty"`
	// Budgets are limits of values that the test declares.
	Budgets map[string]suite.Limit `json:"budgets,omitempty"`

	StartedWallNS int64              `json:"started_wall_ns"`
	ElapsedNS     int64              `json:"elapsed_ns"`
	Program       string             `json:"program"`
	Environment   result.Environment `json:"environment"`
	Input         *input.Info        `json:"input"` // null: none
	// Machine is the activity of this machine during the run; null: nothing was played, or the record
	// is of an older program.
	Machine *machine.Activity `json:"machine"`

	// Places of the elements that the test selects, found before the run.
	Places []locate.Place `json:"places,omitempty"`

	Network     *Network `json:"network"` // null: the device's own
	Area        []int    `json:"area_px"` // of the content: x, y, width, height; null: no green was seen
	Pings       int      `json:"pings"`
	MissedPings int      `json:"missed_pings"` // seen while recording; measures count again
	// of the recording, as in results.json; "": no recording, or the record of an older program
	Recording    string `json:"recording_id,omitempty"`
	Frames       uint64 `json:"frames"`             // stored
	LostFrames   uint64 `json:"lost_frames"`        // in all
	WindowFrames int    `json:"window_frames"`      // frames of the measured windows
	WindowLost   int    `json:"window_lost_frames"` // in the measured windows

	// Checks compare measured with drawn content of a built-in page. A failed check does not fail the
	// run. It states that a number is wrong.
	Checks        int      `json:"checks"`          // number of checks that were made
	ChecksFailed  []string `json:"checks_failed"`   // measured otherwise than drawn
	ChecksNotMade []string `json:"checks_not_made"` // results.json has the reasons, for example missing frames

	// Measured has the settings of the measurement; nil: none, or the record of an older program.
	Measured *Measured `json:"measured_by,omitempty"`

	Notes []string `json:"notes"`

	began time.Time // with the monotonic clock
}

// newRecord returns the record of a run that has begun.
func newRecord(o Options, began time.Time) *Record {
	return &Record{
		Schema: Schema, Version: Version, Test: o.Test.Name, File: o.Test.File,
		Address: cmp.Or(o.Test.URL, o.Test.Site), Device: o.Device.Name(), Browser: o.Browser, Labels: o.Labels,
		State: Running, Attempt: max(o.Attempt, 1), Block: max(o.Block, 1), Place: max(o.Place, 1), WarmUp: o.WarmUp,
		Seed: o.Seed, Primary: o.Test.Primary, Budgets: o.Test.Budgets,
		Thresholds:    o.Test.Thresholds,
		Places:        o.elements.places,
		StartedWallNS: began.UnixNano(), Program: o.Program,
		Environment: result.Environment{},
		began:       began,
	}
}

// played takes the results of a take.
func (r *Record) played(t *take) {
	r.Environment, r.Input, r.Machine = t.environment, t.input, t.machine
	r.Frames, r.LostFrames = t.recorded.Stored, t.recorded.Missing
	r.Pings, r.MissedPings = t.Pings, t.Misses
	if a := t.Area; a != (frame.Region{}) {
		r.Area = []int{a.X, a.Y, a.Width, a.Height}
	}
	if t.traffic != nil {
		r.Network = t.traffic.figures
	}
}

// measured takes the results of a measurement, apart from those that results.json has.
func (r *Record) measured(m *measurement) {
	r.Measured = m.by
	r.Checks, r.ChecksFailed, r.ChecksNotMade = m.checks.made, m.checks.failed, m.checks.notMade
}

// Noise states why the run was noisy; "": it was not, or this is unknown.
func (r *Record) Noise() string {
	if r.Machine == nil {
		return ""
	}
	return r.Machine.Noise
}

// Write writes run.json into a run folder, as a whole or not at all.
func (r *Record) Write(dir string) error {
	for _, list := range []*[]string{&r.Notes, &r.ChecksFailed, &r.ChecksNotMade} {
		if *list == nil {
			*list = []string{}
		}
	}
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(filepath.Join(dir, RecordFile), append(raw, '\n'))
}

// maxRecordBytes limits a run.json. Usual ones have a few kilobytes.
const maxRecordBytes = 4 << 20

// errVersion is the error of a run.json with another version of the schema.
var errVersion = errors.New("another version of the run.json schema")

// ReadRecord reads a run.json.
func ReadRecord(from io.Reader) (*Record, error) {
	raw, err := io.ReadAll(io.LimitReader(from, maxRecordBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", RecordFile, err)
	}
	if len(raw) > maxRecordBytes {
		return nil, fmt.Errorf("read %s: larger than %d MiB", RecordFile, maxRecordBytes>>20)
	}
	r, err := decodeRecord(raw)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", RecordFile, err)
	}
	return r, nil
}

// decodeRecord checks schema and version before it decodes the rest.
func decodeRecord(raw []byte) (*Record, error) {
	var head struct {
		Schema  string `json:"schema"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, err
	}
	switch {
	case head.Schema != Schema:
		return nil, fmt.Errorf("schema is %.40q: must be %q", head.Schema, Schema)
	case head.Version != Version:
		return nil, fmt.Errorf("%w: the file has version %d, this program reads %d", errVersion, head.Version, Version)
	}
	var r Record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, err
	}
	switch r.State {
	case Running, Passed, Failed, Rejected:
		return &r, nil
	}
	return nil, fmt.Errorf("state is %.40q: must be %s, %s, %s or %s", r.State, Running, Passed, Failed, Rejected)
}

// writeWhole writes a file as a whole or not at all.
func writeWhole(path string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	if e := tmp.Chmod(0o644); err == nil {
		err = e
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // the cause is reported
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
