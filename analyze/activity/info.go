package activity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
)

// Names of the files of a trace, in a folder below TracesDir in a run folder. Raw files of an
// engine or an attached trace are in RawDir. They stay on their machine.
const (
	TracesDir = "traces"
	infoFile  = "trace.json"
	IndexFile = "index.etr"
	RawDir    = "raw"
)

// Raw reports if a path in a run folder is in the raw files of a trace. They have addresses and
// names of files, so they stay on their machine.
func Raw(path string) bool {
	parts := strings.Split(strings.ToLower(path), "/")
	for i := 2; i < len(parts); i++ {
		if parts[i-2] == TracesDir && parts[i] == RawDir {
			return true
		}
	}
	return false
}

// WaySamples is the way of a trace of samples, with the wakes of threads.
const WaySamples = "samples"

// WaySockets is the way of a trace of socket calls. A thread does not run for the length of such a
// call: it may wait.
const WaySockets = "sockets"

// Schema and Version are those of trace.json.
const (
	Schema  = "eideticker.trace"
	Version = 1
)

// Info is the content of trace.json.
type Info struct {
	Schema    string `json:"schema"`
	Version   int    `json:"version"`
	Recording string `json:"recording_id"`
	Name      string `json:"name"`   // of the folder: native, sockets, js; else that of an attached trace
	Engine    string `json:"engine"` // such as perf, uftrace, ebpf, chromium; the format of an attached trace
	Way       string `json:"way"`    // such as samples, functions, imports
	Why       string `json:"why"`    // why this way was taken
	Target    string `json:"target"` // the process tree, such as chromium
	// RateHz is that of samples; 0: none.
	RateHz  int      `json:"rate_hz,omitempty"`
	Command []string `json:"command"` // of the engine
	BeginNS int64    `json:"begin_ns"`
	EndNS   int64    `json:"end_ns"`
	// Events, Lost and Skipped count records. Skipped ones are damaged.
	Events  int64            `json:"events"`
	Lost    int64            `json:"lost"`
	Skipped map[string]int64 `json:"skipped"` // by kind
	Clock   Clock            `json:"clock"`
	// Wall is the time of day minus the clock, in ns, of a trace without a recording; 0: unknown.
	Wall int64 `json:"wall_offset_ns,omitempty"`
	// Cut is the reason for which the trace ends before the program; empty: it does not.
	Cut string `json:"cut,omitempty"`
	// Warnings are sentences.
	Warnings []string `json:"warnings"`
	Raw      []string `json:"raw"` // files in RawDir
}

// Clock maps times of a trace to the recording's clock. The mapping is a region of offsets and
// drifts: rig(d) = a + (1 + b)·(d − Origin). Each corner is one pair of a and b. The bounds of a
// time are the least and the greatest result.
type Clock struct {
	// Exact states that the trace has the recording's clock. Corners is then empty.
	Exact   bool     `json:"exact"`
	Origin  int64    `json:"origin_ns"`
	Corners []Corner `json:"corners"`
	// None states that the relation is unknown: the trace keeps its own axis.
	None bool   `json:"none,omitempty"`
	Text string `json:"text"` // such as ±0.31 ms (41 requests, 6 inputs; drift +12…+19 ppm)
}

// Corner is one offset in ns and one drift.
type Corner struct {
	Offset int64   `json:"offset_ns"`
	Drift  float64 `json:"drift"`
}

const maxInfo = 1 << 20 // bytes of trace.json

// Write writes trace.json in the folder of the trace.
func (i Info) Write(dir string) error {
	i.Schema, i.Version = Schema, Version
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return staging.WriteFileOfFolder(filepath.Join(dir, infoFile), append(text, '\n'), 0o644)
}

// ReadInfo reads and checks trace.json in the folder of a trace.
func ReadInfo(dir string) (i Info, err error) {
	path := filepath.Join(dir, infoFile)
	f, err := os.Open(path)
	if err != nil {
		return i, fmt.Errorf("open trace: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxInfo+1))
	if err == nil && len(text) > maxInfo {
		err = fmt.Errorf("more than %d bytes", maxInfo)
	}
	if err == nil {
		err = json.Unmarshal(text, &i)
	}
	if err == nil {
		err = i.check()
	}
	if err != nil {
		return Info{}, fmt.Errorf("read %s: %w", path, err)
	}
	return i, nil
}

func (i *Info) check() error {
	const maxLists = 100
	switch {
	case i.Schema != Schema || i.Version != Version:
		return fmt.Errorf("schema %.40q version %d is not %q version %d", i.Schema, i.Version, Schema, Version)
	case i.RateHz < 0 || i.Events < 0 || i.Lost < 0 || len(i.Warnings) > maxLists || len(i.Skipped) > maxLists ||
		i.BeginNS < -maxTime || i.EndNS > maxTime || i.BeginNS > i.EndNS:
		return errors.New("an impossible count or time")
	}
	for _, text := range []*string{&i.Name, &i.Engine, &i.Way, &i.Why, &i.Target, &i.Cut, &i.Clock.Text} {
		*text = Clean(*text)
	}
	for k := range i.Warnings {
		i.Warnings[k] = Clean(i.Warnings[k])
	}
	return i.Clock.check()
}

func (c *Clock) check() error {
	const maxCorners = 10_000
	if len(c.Corners) > maxCorners || c.Origin < -maxTime || c.Origin > maxTime ||
		len(c.Corners) == 0 && !c.Exact && !c.None {
		return errors.New("the clock has impossible corners")
	}
	for _, k := range c.Corners {
		if k.Offset < -maxTime || k.Offset > maxTime || !(math.Abs(k.Drift) <= MaxDrift) {
			return fmt.Errorf("the clock has offset %d and drift %g", k.Offset, k.Drift)
		}
	}
	return nil
}
