package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/pattern"
)

const (
	maxBaselines     = 1000
	maxBaselineBytes = 1 << 20
)

var baselineName = pattern.New(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)

// baselines are runs and sets that have a name to be compared with. Their file is the truth: what
// cannot be read is not written over.
type baselines struct {
	mu    sync.Mutex
	names map[string]string // IDs
	err   error             // why the file cannot be read
}

// baselinesJSON is the content of the file.
type baselinesJSON struct {
	Schema    string            `json:"schema"`
	Version   int               `json:"version"`
	Baselines map[string]string `json:"baselines"`
}

const baselinesSchema = "eideticker.baselines"

func (b *baselines) load(s *Store) {
	names, err := readBaselines(filepath.Join(s.dir, baselinesFile))
	if err != nil {
		err = fmt.Errorf("the baselines cannot be read, mend or remove %s: %w", filepath.Join(s.dir, baselinesFile),
			err)
		s.Log.Error(err.Error())
	}
	b.names, b.err = names, err
}

func readBaselines(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // was only read
	raw, err := io.ReadAll(io.LimitReader(f, maxBaselineBytes+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxBaselineBytes {
		return nil, fmt.Errorf("it has over %d bytes", maxBaselineBytes)
	}
	var read baselinesJSON
	if err := json.Unmarshal(raw, &read); err != nil {
		return nil, err
	}
	if read.Schema != baselinesSchema || read.Version != 1 {
		return nil, fmt.Errorf("schema is %.40q version %d, want %q 1", read.Schema, read.Version, baselinesSchema)
	}
	for name, id := range read.Baselines {
		if !baselineName.MatchString(name) || CheckID(id) != nil {
			return nil, fmt.Errorf("%.80q is %.80q, want a name and an ID", name, id)
		}
	}
	if read.Baselines == nil {
		return map[string]string{}, nil
	}
	return read.Baselines, nil
}

// Baselines returns all of them: IDs by name.
func (s *Store) Baselines() (map[string]string, error) {
	s.baselines.mu.Lock()
	defer s.baselines.mu.Unlock()
	return maps.Clone(s.baselines.names), s.baselines.err
}

// Baseline returns the ID of the run or set that has a name.
func (s *Store) Baseline(_ context.Context, name string) (id string, err error) {
	all, err := s.Baselines()
	if err != nil {
		return "", err
	}
	id, ok := all[name]
	if !ok {
		return "", fmt.Errorf("baseline %.80q: %w", name, ErrNotFound)
	}
	return id, nil
}

// SetBaseline gives a run or a set a name, which another one loses. Without an ID nothing has the
// name any more.
func (s *Store) SetBaseline(_ context.Context, name, id string) error {
	if !baselineName.MatchString(name) {
		return fmt.Errorf("%.80q is not a name of a baseline: letters, digits and ._- are, 64 at most", name)
	}
	s.change.Lock()
	defer s.change.Unlock()
	all, err := s.Baselines()
	if err != nil {
		return err
	}
	if id == "" {
		delete(all, name)
	} else {
		if err := s.there(id); err != nil {
			return err
		}
		if all[name] = id; len(all) > maxBaselines {
			return fmt.Errorf("there are %d baselines already", maxBaselines)
		}
	}
	s.at("baseline chosen")
	if err := s.writeBaselines(all); err != nil {
		return fmt.Errorf("set baseline %s: %w", name, told(err))
	}
	s.at("baseline written")
	s.baselines.mu.Lock()
	defer s.baselines.mu.Unlock()
	s.baselines.names = all
	return nil
}

func (s *Store) writeBaselines(all map[string]string) error {
	raw, err := json.MarshalIndent(baselinesJSON{baselinesSchema, 1, all}, "", "  ")
	if err != nil {
		return err
	}
	return staging.WriteFile(filepath.Join(s.dir, baselinesFile), append(raw, '\n'), 0o640)
}

// of returns the name of a baseline in a folder.
func (b *baselines) of(folder string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return "", b.err
	}
	for _, name := range slices.Sorted(maps.Keys(b.names)) {
		if within(b.names[name], folder) {
			return name, nil
		}
	}
	return "", nil
}

// keep says that a run is a baseline or belongs to one.
func (b *baselines) keep(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, base := range b.names {
		if within(id, base) || within(base, id) {
			return true
		}
	}
	return false
}
