package policy_test

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

func TestNamed(t *testing.T) {
	for _, c := range []struct{ names, want, problem string }{
		{"calls", "calls", ""},
		{"calls, errors,calls", "errors,calls", ""},
		{"call", "", `policy "call": unknown; did you mean calls?`},
		{"errs", "", "did you mean errors?"},
		{"", "", "unknown"},
		{"calls,", "", "unknown"},
		{strings.Repeat("x", 1000), "", "unknown"},
	} {
		got, err := policy.Named(c.names)
		var names []string
		for _, p := range got {
			names = append(names, p.Name)
			if p.Runtime == "" && p.Name != "meta" || p.Times != (p.Name == "calls") {
				t.Errorf("policy %s: %t", p.Name, p.Times)
			}
		}
		if strings.Join(names, ",") != c.want || (err == nil) != (c.problem == "") ||
			err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%.20q: %q, %v", c.names, names, err)
		}
	}
	for _, a := range policy.List() {
		p, err := policy.Named(a.Name)
		if err != nil || len(p) != 1 || p[0].About != a || !strings.HasSuffix(a.Meaning, ".") {
			t.Errorf("policy %+v: %v", a, err)
		}
	}
}
