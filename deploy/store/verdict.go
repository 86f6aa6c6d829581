package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Verdict is the verdict of runs against a baseline, after all had been made. It is a file in their
// folder and moves with it. It describes that time, and does not change when the baseline changes
// or is deleted.
type Verdict struct {
	Schema  string `json:"schema"`
	Version int    `json:"version"`

	Verdict  stats.Verdict `json:"verdict"`            // of the primary values
	Primary  string        `json:"primary"`            // window, measure and value of the deciding one
	Sentence string        `json:"sentence"`           // the finding about it
	Baseline string        `json:"baseline,omitempty"` // the name by which the base was asked for; empty: by its ID
	// ID of the run or the folder of runs that they were held against
	Base string `json:"base"`
	// JudgeUnlike is true if sides that were not measured alike were judged.
	JudgeUnlike bool `json:"judge_unlike,omitempty"`
	// JudgedWallNS is when.
	JudgedWallNS int64 `json:"judged_wall_ns"`
}

const (
	verdictSchema   = "eideticker.verdict"
	verdictVersion  = 1
	maxVerdictBytes = 1 << 16
)

// ErrVerdict is what a word is that no comparison comes to.
var ErrVerdict = errors.New("not a verdict")

// checkVerdict takes one that a comparison can come to, and none.
func checkVerdict(v stats.Verdict) error {
	var known []string
	for _, k := range compare.Verdicts() {
		if v == k || v == "" {
			return nil
		}
		known = append(known, string(k))
	}
	return fmt.Errorf("%.40q is %w; known: %s%s", v, ErrVerdict, strings.Join(known, ", "),
		wording.Near(string(v), known))
}

// SetVerdict stores the verdict of the runs in a folder. A nil verdict removes the stored one.
func (s *Store) SetVerdict(ctx context.Context, id string, v *Verdict) error {
	if err := s.there(id); err != nil {
		return err
	}
	s.change.Lock()
	defer s.change.Unlock()
	if err := s.begin(ctx, topOf(id)); err != nil {
		return fmt.Errorf("keep the verdict on %s: %w", id, err)
	}
	s.at("verdict noted")
	changed := s.writeVerdict(id, v)
	s.at("verdict written")
	if err := errors.Join(changed, s.end(ctx, topOf(id))); err != nil {
		return fmt.Errorf("keep the verdict on %s: %w", id, told(err))
	}
	s.at("verdict indexed")
	return nil
}

func (s *Store) writeVerdict(id string, v *Verdict) error {
	if v == nil {
		return s.mark(path.Join(pathOf(id), verdictFile), false)
	}
	if v.Verdict == "" {
		return errors.New("it says nothing")
	}
	if err := checkVerdict(v.Verdict); err != nil {
		return err
	}
	whole := *v
	whole.Schema, whole.Version = verdictSchema, verdictVersion
	raw, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		return err
	}
	return staging.WriteFile(filepath.Join(s.path(id), verdictFile), append(raw, '\n'), 0o640)
}

// Judged returns the verdict of a run or a folder of runs, and the ID of that folder. It returns
// nil if there is none.
func (s *Store) Judged(id string) (folder string, v *Verdict, err error) {
	if err := s.there(id); err != nil {
		return "", nil, err
	}
	for folder = id; folder != ""; folder = above(folder) {
		if _, err := s.root.Lstat(path.Join(pathOf(folder), verdictFile)); err == nil {
			return folder, s.readVerdict(folder), nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
	}
	return "", nil, nil
}

// readVerdict returns nil for an invalid verdict, with a line in the log. The runs can still be
// read.
func (s *Store) readVerdict(id string) *Verdict {
	v, err := s.decodeVerdict(id)
	if err != nil {
		s.Log.Warn("a verdict on runs cannot be read, and is passed over", "id", id, "file", verdictFile, "why", err)
		return nil
	}
	return v
}

func (s *Store) decodeVerdict(id string) (*Verdict, error) {
	f, err := s.openFile(id, verdictFile)
	if err != nil {
		return nil, err
	}
	defer f.Close() // was only read
	var v Verdict
	if err := json.NewDecoder(io.LimitReader(f, maxVerdictBytes)).Decode(&v); err != nil {
		return nil, err
	}
	switch {
	case v.Schema != verdictSchema || v.Version != verdictVersion:
		return nil, fmt.Errorf("schema is %.40q version %d, want %q %d", v.Schema, v.Version, verdictSchema,
			verdictVersion)
	case !slices.Contains(compare.Verdicts(), v.Verdict):
		return nil, fmt.Errorf("%.40q is %w", v.Verdict, ErrVerdict)
	}
	if err := CheckID(v.Base); err != nil {
		return nil, err
	}
	return &v, nil
}
