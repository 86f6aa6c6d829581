package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// SetFolder is a folder of runs, or of variants that have runs each.
type SetFolder struct {
	Dir      string
	variants []*Set // nil: no run of it has results
	unread   []error
	plan     plan
}

// plan is the content of set.json. For a folder without it, the runs fill it in.
type plan struct {
	Test     string   `json:"test"`
	Variants []string `json:"variants"`
	Plain    []string `json:"plain"` // variants without the profile of the next one
	// ObserverEffect states that the variants differ in their load on purpose.
	ObserverEffect bool      `json:"observer_effect"`
	Runs           []planRun `json:"runs"`
}

type planRun struct {
	Dir     string `json:"dir"` // within the set's folder
	Variant string `json:"variant"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
	WarmUp  bool   `json:"warm_up"`
	Noise   string `json:"noise,omitempty"` // "": none
	Report  string `json:"report"`          // address; "": none
}

// maxPlan limits the variants of a set, and its runs.
const maxPlan = 10 * stats.MaxRuns

// IsSet reports whether a path is a folder with runs in it, and not a run itself.
func IsSet(path string) bool {
	for _, name := range []string{result.FileName, runFile, "recording.eid"} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return false
		}
	}
	if _, err := os.Stat(filepath.Join(path, setFile)); err == nil {
		return true
	}
	runs, err := filepath.Glob(filepath.Join(escaped(path), "*", result.FileName))
	return err == nil && len(runs) > 0
}

// escaped makes a path match itself only.
func escaped(path string) string {
	var out []rune
	for _, r := range path {
		if slices.Contains([]rune(`*?[\`), r) && filepath.Separator != '\\' {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// OpenSet reads the results of all runs of a set.
func OpenSet(ctx context.Context, dir string) (*SetFolder, error) {
	s := &SetFolder{Dir: dir}
	raw, err := readBounded(filepath.Join(dir, setFile))
	if err == nil {
		err = s.plan.read(raw)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, setFile), err)
	}
	if len(s.plan.Variants) < 2 {
		one, err := Load(ctx, dir)
		if err != nil && (ctx.Err() != nil || len(s.plan.Runs) == 0) {
			return nil, err
		}
		if err != nil {
			one, s.unread = nil, []error{err}
		}
		s.variants = []*Set{one}
		s.found()
		return s, nil
	}
	for _, name := range s.plan.Variants {
		one, err := Load(ctx, filepath.Join(dir, name))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			one, s.unread = nil, append(s.unread, err)
		}
		s.variants = append(s.variants, one)
	}
	return s, nil
}

// read reads set.json. All its names are of files inside the set's folder.
func (p *plan) read(raw []byte) error {
	if err := json.Unmarshal(raw, p); err != nil {
		return err
	}
	if len(p.Variants) > maxPlan || len(p.Runs) > maxPlan || len(p.Plain) > len(p.Variants) {
		return fmt.Errorf("over %d variants or runs, or more plain ones than variants", maxPlan)
	}
	names := slices.Clone(p.Variants)
	for i := range p.Runs {
		p.Runs[i].Report = ""
		names = append(names, p.Runs[i].Dir)
	}
	for _, name := range names {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("%q is outside the folder", name)
		}
	}
	return nil
}

// pairs returns the indexes of profiled variants. The one before each has no profile.
func (p *plan) pairs() (profiled []int) {
	for i := 1; i < len(p.Variants); i++ {
		if slices.Contains(p.Plain, p.Variants[i-1]) {
			profiled = append(profiled, i)
		}
	}
	return profiled
}

// PlainPairs returns the variants of a set.json that show the cost of a profile: the plain one and
// the profiled one.
func PlainPairs(r io.Reader) ([][2]string, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxFile))
	if err != nil {
		return nil, err
	}
	var p plan
	if err := p.read(raw); err != nil {
		return nil, err
	}
	var all [][2]string
	for _, i := range p.pairs() {
		all = append(all, [2]string{p.Variants[i-1], p.Variants[i]})
	}
	return all, nil
}

// found fills in what a folder without set.json does not tell.
func (s *SetFolder) found() {
	if len(s.plan.Variants) == 0 {
		s.plan.Variants = []string{filepath.Base(s.Dir)}
	}
	if one := s.variants[0]; one != nil && len(s.plan.Runs) == 0 {
		for _, r := range one.Runs {
			s.plan.Runs = append(s.plan.Runs, planRun{Dir: r.Name, Variant: s.plan.Variants[0], State: "ok",
				Noise: r.noise()})
		}
		for _, name := range one.Without {
			s.plan.Runs = append(s.plan.Runs, planRun{Dir: name, Variant: s.plan.Variants[0], State: "failed",
				Reason: "it has no results"})
		}
	}
}

// Compare compares the variants of a set of two. Plain ones beside profiled ones do not count, if
// two others are left. Nil without an error: it has not two.
func (s *SetFolder) Compare(o Options) (*Comparison, error) {
	sides := s.compared()
	if len(sides) != 2 {
		return nil, nil
	}
	o.JudgeUnlike = o.JudgeUnlike || s.plan.ObserverEffect
	return s.compare(sides[0], sides[1], o)
}

func (s *SetFolder) compare(a, b int, o Options) (*Comparison, error) {
	for _, i := range []int{a, b} {
		if s.variants[i] == nil {
			return nil, fmt.Errorf("%s has no results", s.plan.Variants[i])
		}
	}
	return Compare(s.variants[a], s.variants[b], o)
}

// compared returns the variants that are compared with each other.
func (s *SetFolder) compared() (sides []int) {
	for i := range s.variants {
		if len(s.variants) == 2 || !slices.Contains(s.plan.Plain, s.plan.Variants[i]) {
			sides = append(sides, i)
		}
	}
	return sides
}

// costs states the cost of each profile that has plain runs.
func (s *SetFolder) costs() []string {
	all := []string{}
	for _, i := range s.plan.pairs() {
		if c, err := s.compare(i-1, i, Options{}); err == nil && c.Cost() {
			all = append(all, c.Answer())
		} else {
			all = append(all, UnknownCost(s.plan.Variants[i]))
		}
	}
	return all
}

// UnknownCost states that the cost of a variant's profile is unknown.
func UnknownCost(variant string) string {
	return fmt.Sprintf("The cost of the profile of %s is unknown: it was not recorded in each of its runs.", variant)
}

// setPage is the data of the page's program, set.js.
type setPage struct {
	Name     string     `json:"name"`
	Test     string     `json:"test"`
	Variants []string   `json:"variants"`
	Values   []setValue `json:"values"`
	Runs     []planRun  `json:"runs"`
	Compare  string     `json:"compare"`  // address of the comparison; "": none
	Compared []string   `json:"compared"` // variants of the comparison
	Costs    []string   `json:"costs"`    // of profiles, in words
	Warnings []string   `json:"warnings"`
}

type setValue struct {
	Name    string      `json:"name"`
	Window  string      `json:"window"`
	Measure string      `json:"measure"`
	Value   string      `json:"value"`
	Unit    string      `json:"unit"`
	Samples []setSample `json:"samples"`
}

type setSample struct {
	Name string `json:"name"` // of the variant
	sampleJSON
}

// SetLinks state the addresses on the page of a set.
type SetLinks struct {
	// Folder has the page, and the runs have theirs. If it is empty, who serves the set makes all
	// pages.
	Folder   string
	Compared bool  // the comparison has a page
	Failed   error // error of the comparison
}

// address returns the address of a page in the set's folder; "": there is none. A served page is
// made from a source beside it.
func (l SetLinks) address(set, page, source string) string {
	if l.Folder == "" {
		return address(set, filepath.Join(set, page), filepath.Join(set, filepath.Dir(page), source))
	}
	return address(l.Folder, filepath.Join(set, page), filepath.Join(set, page))
}

// Page returns the page of a set.
func (s *SetFolder) Page(l SetLinks) ([]byte, error) {
	abs, err := filepath.Abs(s.Dir)
	if err != nil {
		return nil, err
	}
	p := &setPage{Name: filepath.Base(abs), Test: s.plan.Test, Variants: s.plan.Variants, Values: s.values(),
		Runs: slices.Clone(s.plan.Runs), Warnings: []string{}, Compared: []string{}, Costs: s.costs()}
	for _, i := range s.compared() {
		p.Compared = append(p.Compared, s.plan.Variants[i])
	}
	for _, err := range s.unread {
		p.Warnings = append(p.Warnings, wording.Sentence(err))
	}
	if l.Failed != nil {
		p.Warnings = append(p.Warnings, "the variants are not compared: "+wording.Sentence(l.Failed))
	}
	if l.Compared {
		p.Compare = l.address(s.Dir, PageName, ".")
	}
	for i := range p.Runs {
		p.Runs[i].Report = l.address(s.Dir, filepath.Join(filepath.FromSlash(p.Runs[i].Dir), report.PageName),
			result.FileName)
	}
	return report.Document("set", p.Name, p)
}

// values returns the primary values of all variants, under the same names.
func (s *SetFolder) values() []setValue {
	all, parts := &Set{}, make([]*Set, len(s.variants))
	for i, v := range s.variants {
		if parts[i] = (&Set{}); v != nil {
			parts[i] = v.clone()
			all.Runs = append(all.Runs, parts[i].Runs...)
		}
	}
	nameWindows(all, all)
	at := 0
	for _, part := range parts {
		at += copy(part.Runs, all.Runs[at:at+len(part.Runs)])
	}
	values := []setValue{}
	for _, key := range all.primaries() {
		v := setValue{Name: key.String(), Window: key.Window, Measure: key.Measure, Value: key.Value}
		for i, part := range parts {
			_, found := part.values()
			var points stats.Sample
			for _, f := range found[key] {
				points, v.Unit = append(points, f.point), f.value.Unit
			}
			if len(points) > 0 {
				v.Samples = append(v.Samples, setSample{s.plan.Variants[i],
					sampleOf(points, stats.Summarize(points.Values()), v.Unit)})
			}
		}
		values = append(values, v)
	}
	return values
}
