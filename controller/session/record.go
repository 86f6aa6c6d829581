package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/controller/input"
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

// State is how far a run has come.
type State string

// The states. A run.json that says running beside no living program is that of a crash.
const (
	Running State = "running"
	Passed  State = "ok"
	Failed  State = "failed"
	// it says nothing of the device or the test: its capture was not good enough to count, or its
	// browser did not hear what it was told
	Rejected State = "rejected"
)

// Record is the content of run.json.
type Record struct {
	Schema  string `json:"schema"`
	Version int    `json:"version"`

	Test    string `json:"test"`
	File    string `json:"test_file,omitempty"`
	Address string `json:"address,omitempty"` // of what was loaded, where that is no page of ours
	Device  string `json:"device"`
	Browser string `json:"browser"` // as asked for; "" is the device's first
	Labels

	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"` // why it failed or was rejected
	// Attempt counts the tries for one place in a set, from 1; Block and Place say where in its
	// order it was made, from 1. Seed is what pings were spread by and recordings of a hand chosen
	// by.
	Attempt int    `json:"attempt"`
	Block   int    `json:"block"`
	Place   int    `json:"place"`
	WarmUp  bool   `json:"warm_up,omitempty"`
	Seed    uint64 `json:"seed"`

	StartedWallNS int64              `json:"started_wall_ns"`
	ElapsedNS     int64              `json:"elapsed_ns"`
	Program       string             `json:"program"`
	Environment   report.Environment `json:"environment"`
	Input         *input.Info        `json:"input"` // null: none was there

	Network     *Network `json:"network"` // null: the device's own
	Area        []int    `json:"area_px"` // of the content: x, y, width, height; null where no green was seen
	Pings       int      `json:"pings"`
	MissedPings int      `json:"missed_pings"` // as seen while recording; measures count anew
	// of the recording beside it, as in results.json; "": none is there, or a program of before has
	// written this
	Recording    string `json:"recording_id,omitempty"`
	Frames       uint64 `json:"frames"` // stored
	LostFrames   uint64 `json:"lost_frames"`
	WindowFrames int    `json:"window_frames"` // of them, in what was measured
	WindowLost   int    `json:"window_lost_frames"`

	// What was measured of a page of our own is held against what it drew. A check that fails is no
	// failure of the run: it says that a number is not to be trusted.
	Checks        int      `json:"checks"` // that were made
	ChecksFailed  []string `json:"checks_failed"`
	ChecksNotMade []string `json:"checks_not_made"` // say since frames are missing; results.json has the reason of each

	// Measured is by what it was measured; nil: it was not, or a program of before has written
	// this.
	Measured *Measured `json:"measured_by,omitempty"`

	Notes []string `json:"notes"`
}

// write writes run.json, so that it is there as a whole or not at all.
func (r *Record) write(dir string) error {
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
		_ = os.Remove(tmp.Name()) // what matters is why
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
