package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze"
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

// perfherder makes a suite of each window and a subtest of each value. A suite has the first value
// of the table as its own.
func (c *Comparison) perfherder() perfherderJSON {
	j := perfherderJSON{Framework: perfherderName{Name: "eideticker"}, Application: c.B.application(),
		Suites: []perfherderPart{}}
	at := map[string]int{}
	for i := range c.Values {
		v := &c.Values[i]
		if math.Abs(v.MedianB.Estimate) > maxPerfherder {
			continue
		}
		test := c.perfherderTest(v)
		n, ok := at[v.Key.Window]
		if !ok {
			n = len(j.Suites)
			at[v.Key.Window] = n
			suite := test
			suite.Name, suite.Replicates = short(suiteName(v.Key.Window), perfherderNameLength), nil
			if v.Test != "" {
				suite.Tags = []string{string(v.Test), fmt.Sprintf("level-%.3g-percent", 100*c.alpha())}
			}
			j.Suites = append(j.Suites, suite)
		}
		j.Suites[n].Subtests = append(j.Suites[n].Subtests, test)
	}
	return j
}

// perfherderTest makes a subtest, which alerts if the value decides.
func (c *Comparison) perfherderTest(v *Value) perfherderPart {
	lower, alert, value, percent := v.Measure.Better != analyze.Higher, c.decides(v), v.MedianB.Estimate,
		100*v.Measure.Threshold
	return perfherderPart{
		Name: short(v.Key.Measure+"."+v.Key.Value, perfherderNameLength), Value: &value,
		Unit:  short(v.Measure.Unit, perfherderUnitLength),
		Lower: &lower, Alert: &alert, ChangeType: "percentage", Threshold: &percent, Replicates: v.B.Values(),
	}
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
