package main

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/analyze/stats"
)

// JUnit XML, as Jenkins, GitLab and others read it: testsuites of testsuite of testcase. A measure that got worse is a failure, an
// inconclusive one is skipped, since that is the only word there which is neither.
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

func (c *comparison) writeJUnit(out *outFile) error {
	root := c.junit()
	if _, err := out.WriteString(xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(out)
	enc.Indent("", "  ")
	if err := enc.Encode(root); err != nil {
		return err
	}
	return out.WriteByte('\n')
}

// junit makes a suite of each window, in the order of the table.
func (c *comparison) junit() junitRoot {
	root := junitRoot{Name: "eideticker compare"}
	at := map[string]int{}
	for i := range c.measures {
		m := &c.measures[i]
		n, ok := at[m.key.window]
		if !ok {
			n = len(root.Suites)
			at[m.key.window] = n
			root.Suites = append(root.Suites, junitSuite{Name: suiteName(m.key.window), Properties: c.junitProperties()})
		}
		s, test := &root.Suites[n], m.junit()
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

func (c *comparison) junitProperties() []junitProperty {
	all := []junitProperty{{"a", c.a.describe(c.shownA)}, {"b", c.b.describe(c.shownB)}}
	for _, d := range c.environment {
		all = append(all, junitProperty{"not alike: " + d.name, strings.Join(d.a, ", ") + " against " + strings.Join(d.b, ", ")})
	}
	for _, w := range c.warnings {
		all = append(all, junitProperty{"warning", w})
	}
	return all
}

func (m *compared) junit() junitCase {
	test := junitCase{
		ClassName: "eideticker." + m.key.measure, Name: m.key.measure + "." + m.key.value,
		Out: fmt.Sprintf("%s: A %s, B %s %s; %s", m.Verdict, numberText(m.MedianA.Estimate), numberText(m.MedianB.Estimate), m.Measure.Unit, m.Sentence()),
	}
	switch {
	case m.Verdict == stats.Regressed:
		test.Failure = &junitReason{Message: m.Sentence(), Type: string(stats.Regressed), Text: test.Out}
	case m.Verdict == stats.Inconclusive && m.Judged():
		test.Skipped = &junitReason{Message: m.Sentence()}
	}
	return test
}
