package daemon

import (
	"errors"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/cmd/eideticker/internal/api/wire"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/session"
)

// TestNetworkRefused: whoever cannot have a network changed is told why, and what is no network is told first.
func TestNetworkRefused(t *testing.T) {
	at := func(j wire.Job, remote *session.Remote, networked bool) *job {
		j.Owner = "ci"
		return &job{Job: j, remote: remote, networked: networked}
	}
	remote, phase := &session.Remote{}, &wire.Phase{Name: "measuring"}
	d := &Daemon{
		options: Options{Known: session.Known()},
		waiting: []*job{at(wire.Job{ID: "waits", Kind: kindRun, State: queued}, nil, false)},
		working: []*job{
			at(wire.Job{ID: "begins", Kind: kindRun, State: running, StartedWallNS: 1}, nil, false),
			at(wire.Job{ID: "plain", Kind: kindRun, State: running, StartedWallNS: 1, Test: "scene", Phase: phase}, remote, false),
			at(wire.Job{ID: "between", Kind: kindRun, State: running, StartedWallNS: 1, Phase: phase}, remote, true),
			at(wire.Job{ID: "records", Kind: kindRecord, State: running, StartedWallNS: 1}, nil, false),
			at(wire.Job{ID: "measures", Kind: kindAnalyze, State: running, StartedWallNS: 1}, nil, false),
		},
		ended: []*job{at(wire.Job{ID: "over", Kind: kindRun, State: succeeded, StartedWallNS: 1, EndedWallNS: 2}, remote, true)},
	}
	slow := wire.Conditions{Profile: "3g"}
	for _, tc := range []struct {
		job     string
		network wire.Conditions
		code    wire.Code
		want    string
	}{
		{"none", slow, wire.NotFound, `there is no job "none"`},
		{strings.Repeat("a", 300), slow, wire.NotFound, "there is no job"},
		{"waits", slow, wire.Conflict, "job waits has not begun"},
		{"begins", slow, wire.Conflict, `job begins records no run right now, it is before, between or after them, at "waiting for its devices"`},
		{"plain", slow, wire.Conflict, "test scene of job plain has no network that could be changed: it would ask for one, as by network: cable"},
		{"between", slow, wire.Conflict, `job between records no run right now, it is before, between or after them, at "measuring": its network can be changed while it records`},
		{"records", slow, wire.Conflict, "job records runs no test, and has no network"},
		{"measures", slow, wire.Conflict, "job measures runs no test, and has no network"},
		{"over", slow, wire.Conflict, "job over has ended already"},
		{"between", wire.Conditions{}, wire.InvalidParams, "network says nothing"},
		{"none", wire.Conditions{Profile: "cabel"}, wire.InvalidParams, `no network is called "cabel": is cable meant?`},
		{"between", wire.Conditions{RTT: "40"}, wire.InvalidParams, `rtt: "40" is no duration`},
		{"between", wire.Conditions{RTT: "2m"}, wire.InvalidParams, "rtt: want at most 1m0s"},
		{"between", wire.Conditions{Down: "5 MB/s"}, wire.InvalidParams, `down: "5 MB/s" is no rate: is 40Mbit meant?`},
		{"between", wire.Conditions{Up: "1bit"}, wire.InvalidParams, "up: a rate of 1bit is not between 1kbit and 100Gbit"},
		{"between", wire.Conditions{Loss: "0.1"}, wire.InvalidParams, `loss: "0.1" has no unit: is 0.1% meant?`},
		{"between", wire.Conditions{Loss: "101%"}, wire.InvalidParams, "loss: want at most 100%"},
		{"between", wire.Conditions{Profile: strings.Repeat("a", 1<<20)}, wire.InvalidParams, "…"},
	} {
		_, err := d.SetNetwork("ci", func(owner string) bool { return owner == "ci" }, wire.NetworkParams{Job: tc.job, Network: tc.network})
		var told *wire.Error
		if !errors.As(err, &told) || told.Code != tc.code || !strings.Contains(told.Message, tc.want) || len(told.Message) > 400 {
			t.Errorf("%.20s, %.60v: %+v, want %d %s", tc.job, tc.network, told, tc.code, tc.want)
		}
	}
	_, err := d.SetNetwork("other", func(string) bool { return false }, wire.NetworkParams{Job: "between", Network: slow})
	var told *wire.Error
	if !errors.As(err, &told) || told.Code != wire.Forbidden || !strings.Contains(told.Message, "job between is of ci: only its owner and admins may change its network") {
		t.Errorf("somebody else's job: %+v", told)
	}
	// A run that ends between the look and the change is told of as what it is then.
	d.ended = append(d.ended, d.working[2])
	d.working[2].EndedWallNS = 3
	if err := d.betweenRuns("between"); !strings.Contains(err.Error(), "has ended already") {
		t.Error(err)
	}
}
