package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/glossary"
)

// Perfherder's performance artifact, by Treeherder's schemas/performance-artifact.json. The limits
// are those of Firefox's own copy of that schema, which are narrower. It contains B only.
// Perfherder compares it with earlier artifacts itself.
type (
	perfherderJSON struct {
		Framework   perfherderName   `json:"framework"`
		Application *perfherderName  `json:"application,omitempty"`
		Suites      []perfherderPart `json:"suites"`
	}
	perfherderName struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	// perfherderPart is a suite with subtests, or a subtest with replicates.
	perfherderPart struct {
		Name       string           `json:"name"`
		Value      *float64         `json:"value,omitempty"`
		Unit       string           `json:"unit,omitempty"`
		Lower      *bool            `json:"lowerIsBetter,omitempty"`
		Alert      *bool            `json:"shouldAlert,omitempty"`
		ChangeType string           `json:"alertChangeType,omitempty"`
		Threshold  *float64         `json:"alertThreshold,omitempty"` // per cent
		Replicates []float64        `json:"replicates,omitempty"`
		Tags       []string         `json:"tags,omitempty"` // of suites: test and level, of at most 24 characters
		Subtests   []perfherderPart `json:"subtests,omitempty"`
	}
)

const (
	maxPerfherder         = 1e12 // values beyond are refused there
	perfherderNameLength  = 80
	perfherderUnitLength  = 20
	perfherderBuildLength = 40
)

// WritePerfherder writes what B is as Perfherder's artifact.
func (c *Comparison) WritePerfherder(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(c.perfherder())
}

// perfherder makes one suite, named as the test. A subtest is a value. The suite's own value is the
// first primary one.
func (c *Comparison) perfherder() perfherderJSON {
	j := perfherderJSON{Framework: perfherderName{Name: "eideticker"}, Application: c.B.application(),
		Suites: []perfherderPart{}}
	names := map[string]bool{}
	for i := range c.Values {
		v := &c.Values[i]
		if slices.ContainsFunc(append(v.B.Values(), v.MedianB.Estimate),
			func(x float64) bool { return !(math.Abs(x) <= maxPerfherder) }) {
			continue
		}
		test := c.perfherderTest(v)
		if len(j.Suites) == 0 {
			suite := perfherderPart{Name: short(c.testName(), perfherderNameLength)}
			if v.Test != "" {
				suite.Tags = []string{string(v.Test), fmt.Sprintf("level-%.3g-percent", 100*c.alpha())}
			}
			j.Suites = append(j.Suites, suite)
		}
		suite := &j.Suites[0]
		if v.Primary && suite.Value == nil {
			summary := test
			summary.Name, summary.Replicates = suite.Name, nil
			summary.Tags, summary.Subtests = suite.Tags, suite.Subtests
			*suite = summary
		}
		for n := 2; names[test.Name]; n++ { // after names were cut
			end := fmt.Sprintf(" (%d)", n)
			test.Name = short(v.Key.String(), perfherderNameLength-len(end)) + end
		}
		names[test.Name] = true
		suite.Subtests = append(suite.Subtests, test)
	}
	return j
}

// testName is the name of B's test. Without a common one it is that of the window.
func (c *Comparison) testName() string {
	if tests := c.B.each(func(r *Run) string { return r.Test }); len(tests) == 1 && tests[0] != "" {
		return tests[0]
	}
	if windows := c.B.Runs[0].Windows; len(windows) == 1 && windows[0].Name != "" {
		return windows[0].Name
	}
	return suiteName("")
}

// perfherderTest makes a subtest. It alerts if the value decides and has a better direction. A
// suspected value has the direction of its definition, and does not alert. Perfherder takes a value
// without a direction for one that should be low.
func (c *Comparison) perfherderTest(v *Value) perfherderPart {
	directed := func(b analyze.Better) bool { return b == analyze.Higher || b == analyze.Lower }
	better := v.Measure.Better
	alert, value, percent := c.decides(v) && directed(better), v.MedianB.Estimate, 100*v.Measure.Threshold
	if entry, ok := glossary.Explain(v.Key.Measure, v.Key.Value); ok && !directed(better) {
		better = analyze.Better(entry.Better)
	}
	test := perfherderPart{
		Name: short(v.Key.String(), perfherderNameLength), Value: &value,
		Unit:  short(v.Measure.Unit, perfherderUnitLength),
		Alert: &alert, ChangeType: "percentage", Threshold: &percent, Replicates: v.B.Values(),
	}
	if lower := better == analyze.Lower; directed(better) {
		test.Lower = &lower
	}
	return test
}

// application is the browser of a set, if all runs had one that Perfherder knows; it takes no other
// names.
func (s *Set) application() *perfherderName {
	browsers := s.each(func(r *Run) string { return r.Environment["browser"] })
	if len(browsers) != 1 {
		return nil
	}
	name, version, _ := strings.Cut(browsers[0], " ")
	for _, known := range []string{"firefox", "chrome", "fenix", "geckoview", "safari"} {
		if strings.EqualFold(name, known) {
			return &perfherderName{known, short(version, perfherderBuildLength)}
		}
	}
	return nil
}

// short cuts a text to so many characters.
func short(s string, most int) string {
	for utf8.RuneCountInString(s) > most {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}
