package server

import (
	"encoding/json"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
)

// TestNetworkParams: the parameters of a link are checked word by word. An error states the right
// form.
func TestNetworkParams(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	for params, want := range map[string]string{
		`{}`:           "network.set needs the parameter job",
		`{"job": "x"}`: "network.set needs the parameter network",
		`{"job": "x", "network": {}}`: "network.set: network is empty: " +
			"give a profile, or rtt, down, up, loss",
		`{"job": "x", "network": null}`: "network.set: network is empty: " +
			"give a profile, or rtt, down, up, loss",
		`{"job": "x", "network": "3g"}`: "network.set takes for network a value of type object, " +
			"not string",
		`{"job": "x", "network": {"rrt": "40ms"}}`: `network.set has no parameter "rrt"; did you mean rtt?`,
		`{"job": "x", "network": {"loss": 0.1}}`: "network.set takes for network.loss a value of type " +
			"string, not number",
		`{"job": "x", "network": {"replay": "site.zip"}}`: `network.set has no parameter "replay"`,
		`{"job": "x", "network": {"profile": "3 g"}}`:     `network.set: profile "3 g": must be a name such as cable`,
		`{"job": "x", "network": {"up": "5Kb"}}`:          `network.set: up: invalid rate "5Kb"; did you mean 5kbit?`,
		`{"job": "x", "network": {"down": "200Gbit"}}`: "network.set: down: " +
			"a rate of 200Gbit is not between 1kbit and 100Gbit",
	} {
		e := s.call("network.set", json.RawMessage(params), nil)
		if e == nil || e.Code != api.InvalidParams || e.Message != want {
			t.Errorf("%s: %+v, want %s", params, e, want)
		}
	}
	job := s.scene()
	e := s.call("network.set", api.NetworkParams{Job: job, Network: api.Conditions{Profile: "3g"}}, nil)
	if e == nil || e.Code != api.Conflict || e.Message != "job "+job+" has ended already" {
		t.Errorf("%+v", e)
	}
}
