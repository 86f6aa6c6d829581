package compare

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// JUnit XML, as Jenkins, GitLab and others read it: testsuites of testsuite of testcase. A measure
// that got worse is a failure. An inconclusive one is skipped, since JUnit has no closer state.
type (
	junitRoot struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Properties []junitProperty `xml:"properties>property,omitempty"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		ClassName string       `xml:"classname,attr"`
		Name      string       `xml:"name,attr"`
		Failure   *junitReason `xml:"failure"`
		Skipped   *junitReason `xml:"skipped"`
		Out       string       `xml:"system-out"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes a test case for each value.
func (c *Comparison) WriteJUnit(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(c.junit()); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// junit makes a suite of each window, in the order of the table.
func (c *Comparison) junit() junitRoot {
	root := junitRoot{Name: "eideticker compare"}
	at := map[string]int{}
	for i := range c.Values {
		v := &c.Values[i]
		n, ok := at[v.Key.Window]
		if !ok {
			n = len(root.Suites)
			at[v.Key.Window] = n
			root.Suites = append(root.Suites,
				junitSuite{Name: suiteName(v.Key.Window), Properties: c.junitProperties()})
		}
		s, test := &root.Suites[n], c.junitCase(v)
		s.Cases = append(s.Cases, test)
		s.Tests, root.Tests = s.Tests+1, root.Tests+1
		if test.Failure != nil {
			s.Failures, root.Failures = s.Failures+1, root.Failures+1
		}
		if test.Skipped != nil {
			s.Skipped, root.Skipped = s.Skipped+1, root.Skipped+1
		}
	}
	return root
}

// suiteName is what a window is called where everything needs a name.
func suiteName(window string) string {
	if window == "" {
		return "eideticker"
	}
	return window
}

func (c *Comparison) junitProperties() []junitProperty {
	a, b := c.Describe()
	all := []junitProperty{{"a", a}, {"b", b}, {"test", c.Test()}, {"level", c.Level()}}
	for _, d := range c.Unlike {
		all = append(all, junitProperty{"not alike: " + d.Name, strings.Join(d.A, ", ") + " against " +
			strings.Join(d.B, ", ")})
	}
	for _, w := range c.Warnings {
		all = append(all, junitProperty{"warning", w})
	}
	return all
}

func (c *Comparison) junitCase(v *Value) junitCase {
	family := "not tested: " + v.Untested
	if v.Family != "" {
		family = fmt.Sprintf("%s family, %s", v.Family, v.Test)
	}
	test := junitCase{
		ClassName: "eideticker." + v.Key.Measure, Name: v.Key.Measure + "." + v.Key.Value,
		Out: fmt.Sprintf("%s: A %s, B %s %s; %s; %s", v.Verdict, wording.Number(v.MedianA.Estimate),
			wording.Number(v.MedianB.Estimate), v.Measure.Unit, v.Sentence(), family),
	}
	switch {
	case !c.decides(v):
	case v.Verdict == stats.Regressed:
		test.Failure = &junitReason{Message: v.Sentence(), Type: string(stats.Regressed), Text: test.Out}
	case v.Verdict == stats.Inconclusive:
		test.Skipped = &junitReason{Message: v.Sentence()}
	}
	return test
}
