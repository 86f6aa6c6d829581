package device

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/eideticker/eideticker/controller/internal/strict"
	"github.com/eideticker/eideticker/pattern"
)

// ProfileAgent is an agent that records the programs of a device.
type ProfileAgent struct {
	Address   string // host:port
	TokenFile string
	Of        string // begin of the program's name; "": that of the browser, if it is known
}

const agentForm = "agent:HOST:PORT?token=FILE[&of=PROGRAM]"

var programName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Agent returns the agent that a profile names; false: it names none.
func (p Profile) Agent() (ProfileAgent, bool) {
	a, err := parseAgent(string(p))
	return a, err == nil
}

func parseAgent(s string) (a ProfileAgent, err error) {
	rest, ok := strings.CutPrefix(s, "agent:")
	address, query, _ := strings.Cut(rest, "?")
	params, err := url.ParseQuery(query)
	if !ok || err != nil || len(s) > maxForm || !hostPort.MatchString(address) {
		return a, fmt.Errorf("%q: must be %s", strict.Clip(s), agentForm)
	}
	a = ProfileAgent{address, params.Get("token"), params.Get("of")}
	for name, values := range params {
		if name != "token" && name != "of" || len(values) != 1 {
			err = fmt.Errorf("parameter %q: must be %s", strict.Clip(name), agentForm)
		}
	}
	switch {
	case err != nil:
	case a.TokenFile == "":
		err = fmt.Errorf("%q has no token: must be %s", strict.Clip(s), agentForm)
	case params.Has("of") && !programName.MatchString(a.Of):
		err = fmt.Errorf("of %q: must be the name of a program, such as chromium", strict.Clip(a.Of))
	}
	return a, err
}
