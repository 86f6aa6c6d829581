package suite

import (
	"strings"
	"testing"
	"time"
)

// TestParseLine: words that stand in no file mean what they mean in a step of one, and what a step
// may not say they may not either.
func TestParseLine(t *testing.T) {
	known := Known{Networks: []string{"cable", "3g"}}
	step := func(network string) (Line, error) {
		test, err := Parse("t.yaml", []byte("name: t\npage: /load.html\nnetwork: cable\nsteps:\n  - network: "+network+
			"\n"), known)
		if err != nil {
			return Line{}, err
		}
		return test.Steps[0].Action.(Line), nil
	}
	for _, tc := range []struct {
		words LineText
		step  string
		want  string // what an error says of it; "": there is none
	}{
		{LineText{Profile: "3g"}, "3g", ""},
		{LineText{RTT: "200ms", Loss: "2%"}, "{rtt: 200ms, loss: 2%}", ""},
		{LineText{Profile: "cable", Down: "1.5Mbit/s", Up: "500kbit", Loss: "0%"},
			"{profile: cable, down: 1.5Mbit/s, up: 500kbit, loss: 0%}", ""},
		{LineText{}, "{}", "network is empty: give a profile, or rtt, down, up, loss"},
		{LineText{RTT: "0s"}, "{rtt: 0s}", "network is empty"},
		{LineText{Profile: "cabel"}, "cabel", `unknown network "cabel"; did you mean cable?`},
		{LineText{Profile: "../x"}, `"../x"`, `profile "../x": must be a name such as cable`},
		{LineText{RTT: "40"}, "{rtt: 40}", `rtt: invalid duration "40"; did you mean 40s?`},
		{LineText{RTT: "2m"}, "{rtt: 2m}", "rtt: must be at most 1m0s"},
		{LineText{RTT: "-1s"}, "{rtt: -1s}", "rtt: -1s: must be 0s to 24h"},
		{LineText{Down: "5"}, "{down: 5}", `down: invalid rate "5"`},
		{LineText{Up: "5 MB"}, "{up: 5 MB}", `up: invalid rate "5 MB"; did you mean 40Mbit?`},
		{LineText{Loss: "0.1"}, "{loss: 0.1}", `loss: "0.1" has no unit; did you mean 0.1%?`},
		{LineText{Loss: "101%"}, "{loss: 101%}", "loss: must be at most 100%"},
		{LineText{Loss: "NaN%"}, "{loss: NaN%}", `loss: invalid percentage "NaN%"`},
	} {
		got, err := ParseLine(tc.words, known)
		inFile, errInFile := step(tc.step)
		if tc.want != "" {
			for what, err := range map[string]error{"words": err, "a step": errInFile} {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s %s: %v, want %s", what, tc.step, err, tc.want)
				}
			}
			if got != (Line{}) {
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
	if l, err := ParseLine(LineText{Profile: "any", RTT: "1s"}, Known{}); err != nil || l.Profile != "any" ||
		l.RTT != time.Second {
		t.Errorf("where no profiles are known: %+v, %v", l, err)
	}
}
