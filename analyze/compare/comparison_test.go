package compare

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/suite"
)

// TestSuspectedValuesDecideNothing: suspected values may differ without a failure.
func TestSuspectedValuesDecideNothing(t *testing.T) {
	of := func(v float64, state analyze.State) *Set {
		set := &Set{Path: "p"}
		for i := range 8 {
			value := analyze.Value{Name: "torn_frames", Unit: "frames", Value: v + float64(i), Low: v + float64(i),
				High: v + float64(i), State: state, Better: analyze.Lower}
			set.Runs = append(set.Runs,
				madeRun(fmt.Sprint(i), result.Environment{}, map[string]analyze.Value{"w": value}, "w"))
		}
		return set
	}
	for _, state := range []analyze.State{analyze.Exact, analyze.Suspected} {
		c := analyzetest.Must(Compare(of(1, state), of(40, state), Options{}))(t)
		if o, why := c.Outcome(); (o == Regressed) != (state == analyze.Exact) || (o == Passed) != (why == "") {
			t.Errorf("%s: %s, %q", state, o, why)
		}
	}
}

// TestSetsStayAsTheyAre: a comparison names windows anew, and says nothing of that to the next one.
func TestSetsStayAsTheyAre(t *testing.T) {
	values := map[string]analyze.Value{"x 1": rate(60), "x 2": rate(30), "y 1": rate(50), "y 2": rate(25)}
	a := &Set{Path: "a", Runs: []Run{madeRun("1", nil, values, "x 1", "x 2")}}
	b := &Set{Path: "b", Runs: []Run{madeRun("1", nil, values, "y 1", "y 2")}}
	before := fmt.Sprintf("%+v %+v", a, b)
	c := analyzetest.Must(Compare(a, b, Options{}))(t)
	if after := fmt.Sprintf("%+v %+v", a, b); after != before {
		t.Errorf("%s\nhave become\n%s", before, after)
	}
	key := func(window string) Key { return Key{window, "fps", "framerate"} }
	if got, want := c.Samples(), []Sample{{key("window 1"), "frames/s", []float64{60, 50}},
		{key("window 2"), "frames/s", []float64{30, 25}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := b.Samples(), []Sample{{key("y 1"), "frames/s", []float64{50}},
		{key("y 2"), "frames/s", []float64{25}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestPrimary(t *testing.T) {
	values := map[string]analyze.Value{"x": rate(60), "y": rate(30)}
	set := &Set{Path: "s", Runs: []Run{madeRun("1", nil, values, "x", "y")}}
	for name, want := range map[string]string{"": "x: fps.framerate", "y: fps.framerate": "y: fps.framerate",
		"framerate": "x: fps.framerate"} {
		o := Options{}
		if name != "" {
			o.Primary = []string{name}
		}
		c, err := Compare(set, set, o)
		if err != nil || c.Primary != &c.Values[0] || c.Primary.Key.String() != want || len(c.Values) != 2 {
			t.Errorf("%q: %+v, %v", name, c, err)
		}
	}
	_, err := Compare(set, set, Options{Primary: []string{"framerate", "jank"}})
	var none *PrimaryError
	if !errors.As(err, &none) || none.Name != "jank" ||
		!slices.Equal(none.There, []string{"x: fps.framerate", "y: fps.framerate"}) {
		t.Errorf("%v", err)
	}
	if _, err := Compare(set, set, Options{Primary: make([]string, MaxPrimary+1)}); err == nil {
		t.Error("six names were taken")
	}
}

// TestWhoseThreshold: that of the comparison goes before that of the test, and that before the
// measure's own.
func TestWhoseThreshold(t *testing.T) {
	given := 0.2
	for _, tc := range []struct {
		name    string
		test    map[string]suite.Percent
		options Options
		want    float64
	}{
		{"the measure's", nil, Options{}, 0.03},
		{"of another", map[string]suite.Percent{"load": 7}, Options{}, 0.03},
		{"the test's for the measure", map[string]suite.Percent{"fps": 7}, Options{}, 0.07},
		{"the test's for the value", map[string]suite.Percent{"fps": 7, "fps.framerate": 9}, Options{}, 0.09},
		{"the comparison's", map[string]suite.Percent{"fps": 7}, Options{Threshold: &given}, 0.2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := &Set{Path: "s", Runs: []Run{madeRun("1", nil, map[string]analyze.Value{"x": rate(60)}, "x")}}
			SetThresholds(set, tc.test)
			c, err := Compare(set, set, tc.options)
			if err != nil || c.Primary.Measure.Threshold != tc.want {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
}

// madeRun makes results with one value in each of some windows.
func madeRun(name string, env result.Environment, windows map[string]analyze.Value, order ...string) Run {
	r := Run{Name: name, Environment: env}
	for _, w := range order {
		v := windows[w]
		r.Windows = append(r.Windows,
			result.Window{Name: w, Results: []analyze.Result{{Measure: "fps", Version: 1, Values: []analyze.Value{v}}}})
	}
	return r
}

func rate(v float64) analyze.Value {
	return analyze.Value{Name: "framerate", Unit: "frames/s", Value: v, Low: v, High: v, State: analyze.Exact,
		Better: analyze.Higher, Threshold: 0.03}
}
