package daemon

import (
	"errors"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
)

// TestTraceLimit: a job carries the limits of its profile, within those of the rig.
func TestTraceLimit(t *testing.T) {
	d := &Daemon{options: Options{Known: session.Known()}}
	for name, tc := range map[string]struct {
		p    api.StartParams
		want string // limit and strict, or an error
	}{
		"none": {api.StartParams{Test: "load", Profile: "samples"}, "0MiB false"},
		"both": {api.StartParams{Test: "load", Profile: "samples", TraceLimit: 3 << 20, Strict: true},
			"3MiB true"},
		"of an address": {api.StartParams{URL: "https://a.test/", Profile: "js", TraceLimit: 1 << 20, Strict: true},
			"1MiB true"},
		"without a profile": {api.StartParams{Test: "load", TraceLimit: 1 << 20}, "need a profile"},
		"strict alone":      {api.StartParams{Test: "load", Strict: true}, "need a profile"},
		"negative":          {api.StartParams{Test: "load", Profile: "js", TraceLimit: -1}, "must be 0 to 2"},
		"too large":         {api.StartParams{Test: "load", Profile: "js", TraceLimit: 3 << 30}, "must be 0 to 2"},
		"of an address, too large": {api.StartParams{URL: "https://a.test/", Profile: "js", TraceLimit: 1 << 30},
			"up to 1000 samples per second and 256MiB"},
	} {
		all, _, err := d.subjects(&tc.p)
		var told *api.Error
		switch {
		case err != nil:
			if !errors.As(err, &told) || told.Code != api.InvalidParams || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %s", name, err, tc.want)
			}
		case len(all) != 1 || text(all[0].Test.Profile) != tc.want:
			t.Errorf("%s: %+v, want %s", name, all, tc.want)
		}
	}
}

func text(p suite.Profile) string {
	if p.Strict {
		return p.Limit.String() + " true"
	}
	return p.Limit.String() + " false"
}
