package daemon

import (
	"errors"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
)

// TestNetworkRefused: a network that cannot be changed is an error with the reason. Invalid
// parameters are reported first.
func TestNetworkRefused(t *testing.T) {
	at := func(j api.Job, remote *session.Remote, networked bool) *job {
		j.Owner = "ci"
		return &job{Job: j, remote: remote, networked: networked}
	}
	remote, phase := &session.Remote{}, &api.Phase{Name: "measuring"}
	d := &Daemon{
		options: Options{Known: session.Known()},
		waiting: []*job{at(api.Job{ID: "waits", Kind: kindRun, State: queued}, nil, false)},
		working: []*job{
			at(api.Job{ID: "begins", Kind: kindRun, State: running, StartedWallNS: 1}, nil, false),
			at(api.Job{ID: "plain", Kind: kindRun, State: running, StartedWallNS: 1, Test: "scene", Phase: phase},
				remote, false),
			at(api.Job{ID: "between", Kind: kindRun, State: running, StartedWallNS: 1, Phase: phase}, remote, true),
			at(api.Job{ID: "records", Kind: kindRecord, State: running, StartedWallNS: 1}, nil, false),
			at(api.Job{ID: "measures", Kind: kindAnalyze, State: running, StartedWallNS: 1}, nil, false),
		},
		ended: []*job{at(api.Job{ID: "over", Kind: kindRun, State: succeeded, StartedWallNS: 1, EndedWallNS: 2}, remote,
			true)},
	}
	slow := api.Conditions{Profile: "3g"}
	for _, tc := range []struct {
		job     string
		network api.Conditions
		code    api.Code
		want    string
	}{
		{"none", slow, api.NotFound, `unknown job "none"`},
		{strings.Repeat("a", 300), slow, api.NotFound, "unknown job"},
		{"waits", slow, api.Conflict, "job waits has not begun"},
		{"begins", slow, api.Conflict,
			`job begins does not record right now ("waiting for its devices")`},
		{"plain", slow, api.Conflict,
			"test scene of job plain has no network that could be changed: it would ask for one, as by network: cable"},
		{"between", slow, api.Conflict,
			`job between does not record right now ("measuring"): its network can be changed while it records`},
		{"records", slow, api.Conflict, "job records runs no test, and has no network"},
		{"measures", slow, api.Conflict, "job measures runs no test, and has no network"},
		{"over", slow, api.Conflict, "job over has ended already"},
		{"between", api.Conditions{}, api.InvalidParams, "network is empty"},
		{"none", api.Conditions{Profile: "cabel"}, api.InvalidParams, `unknown network "cabel"; did you mean cable?`},
		{"between", api.Conditions{RTT: "40"}, api.InvalidParams, `rtt: invalid duration "40"`},
		{"between", api.Conditions{RTT: "2m"}, api.InvalidParams, "rtt: must be at most 1m0s"},
		{"between", api.Conditions{Down: "5 MB/s"}, api.InvalidParams,
			`down: invalid rate "5 MB/s"; did you mean 40Mbit?`},
		{"between", api.Conditions{Up: "1bit"}, api.InvalidParams,
			"up: a rate of 1bit is not between 1kbit and 100Gbit"},
		{"between", api.Conditions{Loss: "0.1"}, api.InvalidParams, `loss: "0.1" has no unit; did you mean 0.1%?`},
		{"between", api.Conditions{Loss: "101%"}, api.InvalidParams, "loss: must be at most 100%"},
		{"between", api.Conditions{Profile: strings.Repeat("a", 1<<20)}, api.InvalidParams, "…"},
	} {
		_, err := d.SetNetwork("ci", func(owner string) bool { return owner == "ci" },
			api.NetworkParams{Job: tc.job, Network: tc.network})
		var told *api.Error
		if !errors.As(err, &told) || told.Code != tc.code || !strings.Contains(told.Message, tc.want) ||
			len(told.Message) > 400 {
			t.Errorf("%.20s, %.60v: %+v, want %d %s", tc.job, tc.network, told, tc.code, tc.want)
		}
	}
	_, err := d.SetNetwork("other", func(string) bool { return false },
		api.NetworkParams{Job: "between", Network: slow})
	var told *api.Error
	if !errors.As(err, &told) || told.Code != api.Forbidden ||
		!strings.Contains(told.Message, "job between is of ci: only its owner and admins may change its network") {
		t.Errorf("somebody else's job: %+v", told)
	}
	// A run that ends between the check and the change is reported in its final state.
	d.ended = append(d.ended, d.working[2])
	d.working[2].EndedWallNS = 3
	if err := d.betweenRuns("between"); !strings.Contains(err.Error(), "has ended already") {
		t.Error(err)
	}
}
