package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

func TestWindowsBelongTogetherByName(t *testing.T) {
	both := map[string]analyze.Value{"dom": rate(60), "canvas": rate(30), "video": rate(24)}
	a := &Set{Path: "a", Runs: []Run{madeRun("1", nil, both, "dom", "canvas", "dom")}}
	b := &Set{Path: "b", Runs: []Run{madeRun("1", nil, both, "canvas", "dom", "video")}}
	c := analyzetest.Must(Compare(a, b, Options{}))(t)
	var names []string
	for i := range c.Values {
		names = append(names, c.Values[i].Key.String())
	}
	if want := []string{"dom: fps.framerate", "canvas: fps.framerate"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if want := []string{"only A has dom (2): fps.framerate", "only B has video: fps.framerate"}; !slices.Equal(
		c.Warnings, want) {
		t.Errorf("%q, want %q", c.Warnings, want)
	}
}

// TestWindowsOfOtherNames: windows are called after their recordings, so those of two recordings
// share no name.
func TestWindowsOfOtherNames(t *testing.T) {
	one := map[string]analyze.Value{}
	for _, name := range []string{"x 1", "x 2", "y 1", "y 2", "y 3", "z"} {
		one[name] = rate(60)
	}
	set := func(names ...[]string) *Set {
		s := &Set{Path: "set"}
		for i, n := range names {
			s.Runs = append(s.Runs, madeRun(fmt.Sprint("run-", i+1), nil, one, n...))
		}
		return s
	}
	x, y, y3, z := []string{"x 1", "x 2"}, []string{"y 1", "y 2"}, []string{"y 1", "y 2", "y 3"}, []string{"z"}
	for _, tc := range []struct {
		name    string
		a, b    *Set
		want    []string
		warning string
		err     string
	}{
		{"of one name", set(x), set(x), []string{"x 1", "x 2"}, "", ""},
		{"as many", set(x), set(y), []string{"window 1", "window 2"},
			"windows have other names in run-1 of B: y 1, y 2 are taken for x 1, x 2, in this order", ""},
		{"as many in several runs", set(x, y), set(y, x), []string{"window 1", "window 2"},
			"in run-2 of A: y 1, y 2 are taken for x 1, x 2, in this order; so are those of 1 more run", ""},
		{"some are of one name", set(y), set(y3), []string{"y 1", "y 2"}, "", ""},
		{"one of each", set(z), set([]string{"x 1"}), []string{""}, "", ""},
		{"more in B", set(x), set(y3), nil, "",
			"A has windows x 1, x 2, B has windows y 1, y 2, y 3: choose one of each"},
		{"one in B", set(x), set(z), nil, "", "A has windows x 1, x 2, B has window z: choose one of each"},
		{"none in B", set(x), set([]string{}), nil, "", "analyze both with the same measures"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := Compare(tc.a, tc.b, Options{})
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var windows []string
			for i := range c.Values {
				windows = append(windows, c.Values[i].Key.Window)
				if n := len(c.Values[i].A); n != len(tc.a.Runs) {
					t.Errorf("%d values of A", n)
				}
			}
			if !slices.Equal(windows, tc.want) {
				t.Errorf("%q, want %q", windows, tc.want)
			}
			if got := strings.Join(c.Warnings, "; "); !strings.Contains(got, tc.warning) ||
				strings.Contains(got, "other names") != (tc.warning != "") {
				t.Errorf("%q, want %q", got, tc.warning)
			}
			if w, ok := c.window(&c.B.Runs[0]); !ok || w != &tc.b.Runs[0].Windows[0] {
				t.Error("the primary's window is not the first of B")
			}
		})
	}
}
