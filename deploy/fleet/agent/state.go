package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

const (
	stateVersion = 1
	maxDone      = 1000 // acknowledged attempts that are remembered
)

// state is the content of fleet-agent.json.
type state struct {
	Version  int       `json:"version"`
	Hub      string    `json:"hub"`
	Rig      string    `json:"rig"`
	Key      string    `json:"key"`
	Epoch    uint64    `json:"epoch"` // greatest of the hub
	Attempts []attempt `json:"attempts"`
	// Done are acknowledged results without their runs, oldest first.
	Done []wire.Ended `json:"done"`
	// Signals are the last ones, by device.
	Signals map[string]api.Signal `json:"signals,omitempty"`
}

// attempt is one that the rig has accepted or refused. It is in the file before it is submitted.
type attempt struct {
	ID string `json:"attempt"`
	// Submitted means that the rig's queue has had it. It is not submitted again.
	Submitted bool        `json:"submitted,omitempty"`
	Cancelled string      `json:"cancelled,omitempty"` // reason
	Ended     *wire.Ended `json:"ended,omitempty"`

	// As they were observed last.
	State    string `json:"-"`
	Progress string `json:"-"`
}

func (s *state) find(id string) *attempt {
	if i := slices.IndexFunc(s.Attempts, func(t attempt) bool { return t.ID == id }); i >= 0 {
		return &s.Attempts[i]
	}
	return nil
}

// ended returns the results without acknowledgement, oldest first.
func (s *state) ended() (all []wire.Ended) {
	for _, t := range s.Attempts {
		if t.Ended != nil {
			all = append(all, *t.Ended)
		}
	}
	slices.SortStableFunc(all, func(a, b wire.Ended) int { return int(min(max(a.EndedNS-b.EndedNS, -1), 1)) })
	return all
}

// forget drops an acknowledged attempt.
func (s *state) forget(id string) {
	if t := s.find(id); t != nil && t.Ended != nil {
		e := *t.Ended
		e.Set, e.Runs, e.Light = "", nil, nil
		s.Done = append(s.Done, e)
		s.Done = s.Done[max(0, len(s.Done)-maxDone):]
	}
	s.Attempts = slices.DeleteFunc(s.Attempts, func(t attempt) bool { return t.ID == id })
}

// load reads the state. A file that cannot be read is an error: an attempt could run twice.
func (a *Agent) load() error {
	file := filepath.Join(a.o.Dir, stateFile)
	if err := readJSON(file, &a.state); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if a.state.Version > stateVersion {
		return fmt.Errorf("read %s: version %d is newer than this program", file, a.state.Version)
	}
	a.state.Version = stateVersion
	a.state.Attempts = slices.DeleteFunc(a.state.Attempts,
		func(t attempt) bool { return !wire.IsAttempt(t.ID) })
	left, err := os.ReadDir(filepath.Join(a.o.Dir, lightDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range left { // the program was killed after the acknowledgement
		if id, is := strings.CutSuffix(f.Name(), ".zip"); is && a.state.find(id) == nil {
			a.removeLight(id)
		}
	}
	return nil
}

// save writes the state. The mutex is held.
func (a *Agent) save() error {
	raw, err := json.Marshal(a.state)
	if err != nil {
		return err
	}
	return staging.WriteFile(filepath.Join(a.o.Dir, stateFile), raw, 0o640)
}

// change changes the state and its file, or neither.
func (a *Agent) change(do func(*state)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.state
	a.state.Attempts, a.state.Done = slices.Clone(before.Attempts), slices.Clone(before.Done)
	do(&a.state)
	if err := a.save(); err != nil {
		a.state = before
		return err
	}
	return nil
}

// attempts returns copies of all attempts.
func (a *Agent) attempts() []attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.state.Attempts)
}

// lightFile returns the path of the zip file of an attempt's light folder.
func (a *Agent) lightFile(id string) string { return filepath.Join(a.o.Dir, lightDir, id+".zip") }

func (a *Agent) removeLight(id string) {
	if err := os.Remove(a.lightFile(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.o.Log.Warn("a light folder could not be removed", "attempt", id, "error", err)
	}
}
