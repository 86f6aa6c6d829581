package compare

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
)

// TestJUnitAndPerfherder: hostile names stay text, and the limits of Perfherder's schema are kept.
func TestJUnitAndPerfherder(t *testing.T) {
	hostile := `<a>&"]]>` + "\x01" + strings.Repeat("é", 100)
	of := func(v float64) *Set {
		value := rate(v)
		value.Name, value.Unit = hostile, strings.Repeat("u", 30)
		env := result.Environment{"browser": "Firefox 151.0"}
		set := &Set{Path: "p"}
		for i := range 8 { // fewer cannot fail
			value.Value, value.Low, value.High = v+float64(i)/8, v+float64(i)/8, v+float64(i)/8
			plain := value
			plain.Name, plain.Unit = "framerate", "frames/s"
			set.Runs = append(set.Runs,
				madeRun(fmt.Sprint(i), env, map[string]analyze.Value{hostile: value, "b": plain}, hostile, "b"))
		}
		return set
	}
	c := analyzetest.Must(Compare(of(60), of(30), Options{}))(t)
	if j := c.junit(); j.Failures != 1 || j.Suites[1].Cases[0].Failure != nil ||
		!strings.HasSuffix(j.Suites[1].Cases[0].Out, "; second family, mann-whitney") {
		t.Errorf("%+v", j)
	}
	if p := c.perfherder(); !*p.Suites[0].Alert || *p.Suites[0].Subtests[1].Alert ||
		!slices.Equal(p.Suites[0].Tags, []string{"mann-whitney", "level-5-percent"}) {
		t.Errorf("%+v", p)
	}
	c.options.JudgeAll = true
	b := analyzetest.Must(xml.Marshal(c.junit()))(t)
	var back junitRoot
	if err := xml.Unmarshal(b, &back); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	if back.Tests != 2 || back.Failures != 2 || len(back.Suites) != 2 || len(back.Suites[0].Cases) != 1 ||
		back.Suites[0].Cases[0].Failure == nil {
		t.Errorf("%+v", back)
	}
	p := c.perfherder()
	if p.Application == nil || *p.Application != (perfherderName{"firefox", "151.0"}) || len(p.Suites) != 1 ||
		len(p.Suites[0].Subtests) != 2 {
		t.Fatalf("%+v", p)
	}
	for _, test := range p.Suites[0].Subtests {
		if n := len([]rune(test.Name)); n > 80 || len(test.Unit) > 20 || *test.Lower || *test.Threshold != 3 ||
			len(test.Replicates) != 8 || test.Replicates[0] != 30 {
			t.Errorf("%d letters, %+v", n, test)
		}
	}
	if _, err := json.Marshal(p); err != nil {
		t.Error(err)
	}
}
