package filmtest

import (
	"math"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/glossary"
	"github.com/eideticker/eideticker/analyze/measure"
)

// WantValue fails the test if a value is not exactly this.
func WantValue(t testing.TB, r measure.Result, name string, want float64) {
	t.Helper()
	WantDeclared(t, r)
	v, ok := r.Find(name)
	if !ok {
		t.Fatalf("%s has no value %q: %+v", r.Measure, name, r)
	}
	if v.Value != want {
		t.Errorf("%s %s is %v, want %v", r.Measure, name, v.Value, want)
	}
}

// WantDeclared fails the test if a measure does not name a value of its result. The glossary must
// explain each value with its unit and direction.
func WantDeclared(t testing.TB, results ...measure.Result) {
	t.Helper()
	for _, r := range results {
		names := analyze.Values(r.Measure)
		for _, v := range r.Values {
			if !slices.Contains(names, v.Name) {
				t.Errorf("%s has a value %q that it does not declare", r.Measure, v.Name)
			}
			if e, _ := glossary.Explain(r.Measure, v.Name); e.Unit != v.Unit || e.Better != string(v.Better) {
				t.Errorf("the glossary explains %s in %q, better %q; measured in %q, better %q", e.Name, e.Unit,
					e.Better, v.Unit, v.Better)
			}
		}
	}
}

// WantWithin fails the test if a value lies outside its own bounds.
func WantWithin(t testing.TB, r measure.Result) {
	t.Helper()
	for _, v := range r.Values {
		if v.Low > v.Value || v.Value > v.High {
			t.Errorf("%s %s: %v does not lie between %v and %v", r.Measure, v.Name, v.Value, v.Low, v.High)
		}
	}
}

// CheckValues fails the test if values or their bounds are not these: value, low, high.
func CheckValues(t *testing.T, r measure.Result, want map[string][3]float64) {
	t.Helper()
	for name, x := range want {
		v, ok := r.Find(name)
		if !ok {
			t.Errorf("%s is missing", name)
			continue
		}
		for i, got := range [3]float64{v.Value, v.Low, v.High} {
			if math.Abs(got-x[i]) > 1e-9*math.Max(1, x[i]) {
				t.Errorf("%s is %v (%v to %v), want %v", name, v.Value, v.Low, v.High, x)
				break
			}
		}
	}
}

// HoldsTruth fails the test if a true value is outside a value's bounds.
func HoldsTruth(t *testing.T, seed uint64, said, truth measure.Result) {
	t.Helper()
	for _, v := range said.Values {
		x, ok := truth.Find(v.Name)
		if slack := 1e-6 * max(1, math.Abs(x.Value)); ok && (x.Value < v.Low-slack || x.Value > v.High+slack) {
			t.Errorf("seed %d: %s %s is %v, and is said to be %v, between %v and %v", seed, said.Measure, v.Name,
				x.Value, v.Value, v.Low, v.High)
		}
	}
}

// WantHeld fails the test if a value's bounds do not hold what it is.
func WantHeld(t *testing.T, what string, v measure.Value, is float64) {
	t.Helper()
	slack := 1e-6 * math.Max(1, math.Abs(is))
	if !(v.Low <= v.Value && v.Value <= v.High) {
		t.Errorf("%s is %v, beside %v to %v", what, v.Value, v.Low, v.High)
	}
	if is < v.Low-slack || is > v.High+slack {
		t.Errorf("%s is %v, and is said to be %v: %v to %v", what, is, v.Value, v.Low, v.High)
	}
}

// SameNumbers fails the test if two results differ in a value or its bounds.
func SameNumbers(t *testing.T, got, want measure.Result) {
	t.Helper()
	if got.State != want.State || len(got.Values) != len(want.Values) {
		t.Errorf("%s is %v %q with %d values, want %v with %d", want.Measure, got.State, got.Refusal, len(got.Values),
			want.State, len(want.Values))
		return
	}
	for i, v := range want.Values {
		if g := got.Values[i]; g.Value != v.Value || g.Low != v.Low || g.High != v.High {
			t.Errorf("%s %s is %v (%v to %v), want %v (%v to %v)", want.Measure, v.Name, g.Value, g.Low, g.High,
				v.Value, v.Low, v.High)
		}
	}
}
