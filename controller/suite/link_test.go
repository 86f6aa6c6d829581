package suite

import (
	"strings"
	"testing"
	"time"
)

// TestParseLink: words outside a file have the same meaning as in a step. Invalid words are
// rejected in both.
func TestParseLink(t *testing.T) {
	known := Known{Networks: []string{"cable", "3g"}}
	step := func(network string) (Link, error) {
		test, err := Parse("t.yaml", []byte("name: t\npage: /load.html\nnetwork: cable\nsteps:\n  - network: "+network+
			"\n"), known)
		if err != nil {
			return Link{}, err
		}
		return test.Steps[0].Action.(Link), nil
	}
	for _, tc := range []struct {
		words LinkText
		step  string
		want  string // what an error says of it; "": there is none
	}{
		{LinkText{Profile: "3g"}, "3g", ""},
		{LinkText{RTT: "200ms", Loss: "2%"}, "{rtt: 200ms, loss: 2%}", ""},
		{LinkText{Profile: "cable", Down: "1.5Mbit/s", Up: "500kbit", Loss: "0%"},
			"{profile: cable, down: 1.5Mbit/s, up: 500kbit, loss: 0%}", ""},
		{LinkText{}, "{}", "network is empty: give a profile, or rtt, down, up, loss"},
		{LinkText{RTT: "0s"}, "{rtt: 0s}", "network is empty"},
		{LinkText{Profile: "cabel"}, "cabel", `unknown network "cabel"; did you mean cable?`},
		{LinkText{Profile: "../x"}, `"../x"`, `profile "../x": must be a name such as cable`},
		{LinkText{RTT: "40"}, "{rtt: 40}", `rtt: invalid duration "40"; did you mean 40s?`},
		{LinkText{RTT: "2m"}, "{rtt: 2m}", "rtt: must be at most 1m0s"},
		{LinkText{RTT: "-1s"}, "{rtt: -1s}", "rtt: -1s: must be 0s to 24h"},
		{LinkText{Down: "5"}, "{down: 5}", `down: invalid rate "5"`},
		{LinkText{Up: "5 MB"}, "{up: 5 MB}", `up: invalid rate "5 MB"; did you mean 40Mbit?`},
		{LinkText{Loss: "0.1"}, "{loss: 0.1}", `loss: "0.1" has no unit; did you mean 0.1%?`},
		{LinkText{Loss: "101%"}, "{loss: 101%}", "loss: must be at most 100%"},
		{LinkText{Loss: "NaN%"}, "{loss: NaN%}", `loss: invalid percentage "NaN%"`},
	} {
		got, err := ParseLink(tc.words, known)
		inFile, errInFile := step(tc.step)
		if tc.want != "" {
			for what, err := range map[string]error{"words": err, "a step": errInFile} {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s %s: %v, want %s", what, tc.step, err, tc.want)
				}
			}
			if got != (Link{}) {
				t.Errorf("%s: %+v with an error", tc.step, got)
			}
			continue
		}
		if err != nil || errInFile != nil || (got.Loss == nil) != (inFile.Loss == nil) || got.Loss != nil &&
			*got.Loss != *inFile.Loss {
			t.Errorf("%s: %+v, %v; in a file %+v, %v", tc.step, got, err, inFile, errInFile)
		}
		if got.Loss, inFile.Loss = nil, nil; got != inFile {
			t.Errorf("%s: %+v, in a file %+v", tc.step, got, inFile)
		}
	}
	if l, err := ParseLink(LinkText{Profile: "any", RTT: "1s"}, Known{}); err != nil || l.Profile != "any" ||
		l.RTT != time.Second {
		t.Errorf("where no profiles are known: %+v, %v", l, err)
	}
}
