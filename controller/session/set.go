package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
)

// Variant is a test in a browser on a device.
type Variant struct {
	Device  Device
	Browser string // "": the device's first
	Program string // file of the browser on this machine, or its APK; "": the installed one
	Build   string // name of the build of the program or of the site, for people; "": none
	// BuildSum is the SHA-256 of the build; "": unknown.
	BuildSum string
	Site     string      // folder of the build of a site; "": none
	Test     *suite.Test // nil: the test of the set
	Called   string      // its name; "": after browser and device
	Plain    bool        // the next variant without its profile
}

// Name returns the name for folders and tables.
func (v Variant) Name() string {
	switch {
	case v.Called != "":
		return v.Called
	case v.Browser == "":
		return v.Device.Name()
	case v.Device.Name() == "local":
		return v.Browser
	}
	return v.Device.Name() + "-" + v.Browser
}

// SetOptions describe the repeats of a test.
type SetOptions struct {
	Test      *suite.Test
	Variants  []Variant // at least one
	Repeat    int       // at least 1
	WarmUp    int
	Cooldown  time.Duration
	Quiet     time.Duration // limit for the wait for a quiet machine before each run; 0: none
	Retries   int           // limit for repeats of rejected runs, of all variants together
	UntilFail bool
	// Looks are numbers of blocks after which Decided is called. If it returns true, the set ends.
	Looks   []int
	Decided func(*Set) bool
	Seed    uint64
	Dir     string // of the set; with one run of one variant, the run folder itself
	// ObserverEffect states that the set compares a test with itself under load.
	ObserverEffect bool
	Folder         bool // Dir is a set's folder also with one run
	Program        string
	MaxLost        float64
	NoVideo        bool
	// Videos limits the counted runs of each variant that get a video. Other runs get none. 0: all
	// runs get one.
	Videos int
	// FilmstripStep is that of the folders; 0: by the length of each window.
	FilmstripStep time.Duration
	// NoPictures leaves out all that only people look at, also the video.
	NoPictures bool
	Progress   runfolder.Progress
	// Untrusted keeps browsers of this machine from its files and its services.
	Untrusted bool
	// AllowLoopback lets an untrusted test reach this machine's services.
	AllowLoopback bool
	// Observe returns the observer of the runs on a device; nil: none.
	Observe func(Device) Observer
	// Remote changes the network of the present run; nil: nothing does.
	Remote *Remote
	Labels
	// Plans is the folder of plans for scripts, which sets share; "": that of the set.
	Plans string
	// Ran is called after each run; nil: nothing is.
	Ran func(*Made)
	// Between is called between two blocks that count. The set goes on when it returns. So another one
	// can have the devices meanwhile. Nil: nothing is called.
	Between func(ctx context.Context) error
}

// TestOf returns the test of a variant.
func (o *SetOptions) TestOf(variant int) *suite.Test {
	return cmp.Or(o.Variants[variant].Test, o.Test)
}

// Alone reports whether the set is one run.
func (o *SetOptions) Alone() bool {
	return len(o.Variants) == 1 && o.Repeat == 1 && o.WarmUp == 0 && !o.UntilFail
}

// Check returns the first error of [Check] and [CheckSite] for the variants' tests.
func (o *SetOptions) Check() error {
	for i, v := range o.Variants {
		if err := cmp.Or(Check(o.TestOf(i), v), CheckSite(o.TestOf(i), v.Site != "")); err != nil {
			return err
		}
	}
	return nil
}

// Made is a run of a set.
type Made struct {
	Variant int
	Dir     string // within the set's folder
	Record  *Record
	Found   *runfolder.Found // nil: nothing was measured
}

// Set is the result of repeats.
type Set struct {
	Dir    string
	Single bool // one run in Dir itself
	Dirs   []string
	Made   []*Made // in the order in which they were made
}

// SetFile is in the folder of a set.
const SetFile = "set.json"

// OriginFile is in the folder of a set that a schedule made. It states the purpose of the runs.
const OriginFile = "origin.json"

// WhyDir is in the folder of a set. It is the set of further runs with measuring code.
const WhyDir = "why"

// setJSON is the content of set.json.
type setJSON struct {
	Schema   string   `json:"schema"`
	Version  int      `json:"version"`
	Test     string   `json:"test"`
	Seed     uint64   `json:"seed"`
	Repeat   int      `json:"repeat"`
	WarmUp   int      `json:"warm_up"`
	Variants []string `json:"variants"`
	// Plain has the variants without the profile of the next one.
	Plain []string `json:"plain,omitempty"`
	// ObserverEffect states that the variants differ in their load on purpose.
	ObserverEffect bool `json:"observer_effect,omitempty"`
	// Builds has the builds of the variants' browsers or sites, by variant.
	Builds map[string]string `json:"builds,omitempty"`
	// BuildSums has the SHA-256 of builds. Equal names of other rigs may be other builds.
	BuildSums map[string]string `json:"build_sha256,omitempty"`
	// Looks share the level of a verdict; absent: it has one.
	Looks []int     `json:"looks,omitempty"`
	Runs  []runJSON `json:"runs"` // in the order in which they were made
}

type runJSON struct {
	Dir     string `json:"dir"`
	Variant string `json:"variant"`
	State   State  `json:"state"`
	Reason  string `json:"reason,omitempty"`
	Attempt int    `json:"attempt"`
	Block   int    `json:"block"`
	Place   int    `json:"place"`
	WarmUp  bool   `json:"warm_up,omitempty"`
	Noise   string `json:"noise,omitempty"`
}

// maxFailures limits the runs in a row that fail before a set gives up.
const maxFailures = 3

// RunSet makes the runs of a set, one after another, in blocks of random order. It makes none if
// [Check] returns an error. The set is valid on an error too. Failed runs are not an error.
func RunSet(ctx context.Context, o SetOptions) (*Set, error) {
	s := &setRun{SetOptions: o, set: &Set{Dir: o.Dir, Single: o.Alone() && !o.Folder}}
	for i := range o.Variants {
		dir := o.Dir
		if len(o.Variants) > 1 {
			dir = filepath.Join(dir, o.Variants[i].Name())
		}
		s.set.Dirs = append(s.set.Dirs, dir)
	}
	if err := o.Check(); err != nil {
		return s.set, err
	}
	if o.Observe == nil {
		s.Observe = func(Device) Observer { return Observer{} }
	}
	if err := s.findElements(ctx); err != nil {
		return s.set, err
	}
	return s.set, s.run(ctx)
}

// setRun makes the runs of a set.
type setRun struct {
	SetOptions
	set      *Set
	elements []elements // of each variant
	sites    sites
	retried  int
	failed   int // in a row
}

func (s *setRun) run(ctx context.Context) error {
	order := controller.Plan{Variants: len(s.Variants), WarmUps: s.WarmUp, Repeats: s.Repeat, Seed: s.Seed}
	if s.UntilFail {
		order.Repeats = max(s.Repeat, suite.MaxRuns)
	}
	for turn := range order.Turns() {
		if s.Between != nil && turn.Place == 0 && turn.Repeat > 0 && !turn.WarmUp {
			if err := s.Between(ctx); err != nil {
				return err
			}
		}
		if len(s.set.Made) > 0 {
			if err := pause(ctx, s.Cooldown); err != nil {
				return err
			}
		}
		over, err := s.turn(ctx, turn)
		if err == nil && !over && turn.Place == len(s.Variants)-1 && !turn.WarmUp {
			over = slices.Contains(s.Looks, turn.Repeat+1) && s.Decided(s.set)
		}
		if err != nil || over {
			return errors.Join(err, s.write())
		}
	}
	return s.write()
}

// turn makes one run of the plan. It repeats a rejected run while retries are left.
func (s *setRun) turn(ctx context.Context, turn controller.Turn) (over bool, err error) {
	for attempt := 1; ; attempt++ {
		m, err := s.attempt(ctx, turn, attempt)
		if m != nil {
			s.set.Made = append(s.set.Made, m)
			if s.Ran != nil {
				s.Ran(m)
			}
		}
		if err != nil {
			return true, err
		}
		if !s.set.Single {
			if err := s.write(); err != nil {
				return true, err
			}
		}
		switch m.Record.State {
		case Failed:
			s.failed++
			// without frames, the next run would fail too
			return s.UntilFail || s.failed >= maxFailures || m.Record.Frames == 0, nil
		case Rejected:
			if s.retried++; s.retried <= s.Retries {
				if err := pause(ctx, s.Cooldown); err != nil {
					return true, err
				}
				continue
			}
		}
		s.failed = 0
		return false, nil
	}
}

func (s *setRun) attempt(ctx context.Context, turn controller.Turn, attempt int) (*Made, error) {
	v := s.Variants[turn.Variant]
	base := s.set.Dirs[turn.Variant]
	name := fmt.Sprintf("run-%02d", turn.Repeat+1)
	dir := filepath.Join(base, name)
	switch {
	case s.set.Single:
		dir = base
	case turn.WarmUp:
		dir = filepath.Join(base, warmUpDir, name)
	}
	record, found, err := Run(ctx, Options{
		Plan: s.planFile(turn.Variant), Meta: len(s.Variants) == 1 && s.Repeat >= plan.LeastMeta,
		Test: s.TestOf(turn.Variant), Device: v.Device, Browser: v.Browser, BrowserProgram: v.Program, Dir: dir,
		BrowserBuild: v.Build, Site: v.Site, sites: &s.sites, Program: s.Program,
		Seed:    s.Seed + uint64(len(s.set.Made)),
		MaxLost: s.MaxLost, NoVideo: s.NoVideo || s.Videos > 0 && s.counted(turn.Variant) >= s.Videos,
		VideoIfCounted: s.Videos > 0, FilmstripStep: s.FilmstripStep, NoPictures: s.NoPictures,
		Untrusted:     s.Untrusted,
		AllowLoopback: s.AllowLoopback, Bare: turn.WarmUp, Progress: s.Progress, Observer: s.Observe(v.Device),
		Remote: s.Remote, Labels: s.Labels, Quiet: s.Quiet, elements: s.elements[turn.Variant],
		Attempt: attempt, Block: turn.Block + 1, Place: turn.Place + 1, WarmUp: turn.WarmUp,
	})
	if record == nil {
		return nil, err
	}
	if record.State != Passed {
		aside, moved := s.putAside(dir, base, name, attempt, record.State)
		dir, err = aside, errors.Join(err, moved)
	}
	rel, relErr := filepath.Rel(s.set.Dir, dir)
	if relErr != nil {
		rel = dir
	}
	return &Made{Variant: turn.Variant, Dir: rel, Record: record, Found: found}, err
}

// counted returns the runs of a variant that count so far.
func (s *setRun) counted(variant int) (n int) {
	for _, m := range s.set.Made {
		if m.Variant == variant && m.Record.State == Passed && !m.Record.WarmUp {
			n++
		}
	}
	return n
}

// planFile returns the path of the plan of a variant's scripts.
func (s *setRun) planFile(variant int) string {
	dir := s.set.Dirs[variant]
	if s.Plans != "" {
		dir = s.Plans
		if len(s.Variants) > 1 {
			dir = filepath.Join(dir, s.Variants[variant].Name())
		}
	}
	return filepath.Join(dir, plan.File)
}

// Folders of runs that do not count. Comparisons skip them.
const (
	rejectedDir = "rejected"
	failedDir   = "failed"
	warmUpDir   = "warm-up"
)

// FolderNames returns names in the folder of a set that no variant can have. A folder with a file
// of a run counts as a run.
func FolderNames() []string {
	return []string{SetFile, OriginFile, WhyDir, plan.File, RecordFile, result.FileName, runfolder.RecordingFile,
		rejectedDir, failedDir, warmUpDir}
}

// putAside moves a run that does not count into a folder beside the next attempt. The last attempt
// of a single run stays. Folders of earlier runs keep their names.
func (s *setRun) putAside(dir, base, name string, attempt int, state State) (string, error) {
	if s.set.Single && (state == Failed || s.retried >= s.Retries) {
		return dir, nil
	}
	into := map[State]string{Rejected: rejectedDir, Failed: failedDir}[state]
	if s.set.Single {
		base = dir + "-" + into // beside it: the folder itself is the next attempt's
		into = ""
	}
	aside := filepath.Join(base, into)
	if err := os.MkdirAll(aside, 0o755); err != nil {
		return dir, err
	}
	target, err := freeName(aside, name, attempt)
	if err != nil {
		return dir, err
	}
	if err := os.Rename(dir, target); err != nil {
		return dir, err
	}
	return target, nil
}

// freeName returns NAME.n in a folder, with the first free number from n on.
func freeName(dir, name string, n int) (string, error) {
	for ; ; n++ {
		path := filepath.Join(dir, fmt.Sprintf("%s.%d", name, n))
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", err
		}
	}
}

// write writes set.json.
func (s *setRun) write() error {
	if s.set.Single {
		return nil
	}
	out := setJSON{Schema: "eideticker.set", Version: 1, Test: s.Test.Name, Seed: s.Seed, Repeat: s.Repeat,
		WarmUp: s.WarmUp, Plain: s.Plains(), ObserverEffect: s.ObserverEffect, Looks: s.Looks, Runs: []runJSON{}}
	for _, v := range s.Variants {
		out.Variants = append(out.Variants, v.Name())
		if v.Build != "" {
			if out.Builds == nil {
				out.Builds, out.BuildSums = map[string]string{}, map[string]string{}
			}
			out.Builds[v.Name()] = v.Build
			if v.BuildSum != "" {
				out.BuildSums[v.Build] = v.BuildSum
			}
		}
	}
	for _, m := range s.set.Made {
		r := m.Record
		out.Runs = append(out.Runs, runJSON{filepath.ToSlash(m.Dir), s.Variants[m.Variant].Name(), r.State, r.Reason,
			r.Attempt, r.Block, r.Place, r.WarmUp, r.Noise()})
	}
	raw, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.set.Dir, 0o755); err != nil {
		return err
	}
	return writeWhole(filepath.Join(s.set.Dir, SetFile), append(raw, '\n'))
}

// Counts returns the number of runs of each state, without warm-ups.
func (s *Set) Counts() map[State]int {
	counts := map[State]int{}
	for _, m := range s.Made {
		if !m.Record.WarmUp {
			counts[m.Record.State]++
		}
	}
	return counts
}

// Failed returns the runs that failed, also warm-ups: one of them may have ended the set.
func (s *Set) Failed() []*Made {
	return slices.DeleteFunc(slices.Clone(s.Made), func(m *Made) bool { return m.Record.State != Failed })
}

// Of returns the runs of a variant that count.
func (s *Set) Of(variant int) []*Made {
	return slices.DeleteFunc(slices.Clone(s.Made), func(m *Made) bool {
		return m.Variant != variant || m.Record.State != Passed || m.Record.WarmUp
	})
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// defaultMaxLost is the usual limit for the share of missing frames. A machine that is measured and
// records always loses a few.
const defaultMaxLost = 0.05

// Numbers override those of a test and the usual ones; nil: not given.
type Numbers struct {
	Repeat   *int // of each variant
	WarmUp   *int
	Retries  *int // of all
	Cooldown *time.Duration
	// WaitForQuiet limits the wait for a quiet machine before each run.
	WaitForQuiet *time.Duration
	MaxLost      *float64
}

// NewSet returns the options of a test's set. The caller adds those that are not in the arguments.
// A number out of range is a *RangeError.
func NewSet(t *suite.Test, on []Variant, asked Numbers) (SetOptions, error) {
	if err := asked.Check(); err != nil {
		return SetOptions{}, err
	}
	o := SetOptions{
		Test: t, Variants: on, Repeat: or(asked.Repeat, max(t.Repeat, 1)), WarmUp: or(asked.WarmUp, t.Warmup),
		Cooldown: or(asked.Cooldown, t.Cooldown), Quiet: or(asked.WaitForQuiet, 0),
		MaxLost: or(asked.MaxLost, defaultMaxLost),
	}
	o.Retries = retries(t, asked, o.Repeat*len(on))
	return o, nil
}

// retries returns the limit for retries in a set of so many runs.
func retries(t *suite.Test, asked Numbers, runs int) int {
	return or(asked.Retries, cmp.Or(t.Retries, min(runs, suite.MaxRuns)))
}

func or[T any](asked *T, usual T) T {
	if asked != nil {
		return *asked
	}
	return usual
}

// Check returns a *RangeError for the first number out of range.
func (n *Numbers) Check() error {
	for _, err := range []*RangeError{
		within("repeat", n.Repeat, 1, suite.MaxRuns), within("warm-up", n.WarmUp, 0, suite.MaxRuns),
		within("retries", n.Retries, 0, suite.MaxRuns),
		within("cooldown", n.Cooldown, 0, suite.MaxDuration),
		within("wait-for-quiet", n.WaitForQuiet, 0, suite.MaxDuration), within("max-lost", n.MaxLost, 0, 1),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func within[T int | time.Duration | float64](name string, asked *T, low, high T) *RangeError {
	if asked == nil || *asked >= low && *asked <= high { // NaN is in no range
		return nil
	}
	return &RangeError{Name: name, Is: *asked, Low: low, High: high}
}

// RangeError is the error of a number that is too small or too large.
type RangeError struct {
	Name          string // "repeat", "warm-up", "retries", "cooldown", "wait-for-quiet", "max-lost"
	Is, Low, High any    // int; of times: time.Duration; max-lost: float64, a share of all frames
}

func (e *RangeError) Error() string { return e.In(e.Name, func(v any) string { return fmt.Sprint(v) }) }

// In returns the message with the caller's name and format of the number.
func (e *RangeError) In(name string, write func(any) string) string {
	return fmt.Sprintf("%s is %s: must be %s to %s", name, write(e.Is), write(e.Low), write(e.High))
}

// NewSeed returns a random seed that is short enough to type.
func NewSeed() uint64 { return rand.Uint64N(1_000_000) + 1 }

// FreeFolder returns the name, with a number behind it if the folder exists.
func FreeFolder(name string) string {
	free := name
	for n := 2; ; n++ {
		if _, err := os.Stat(free); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}
