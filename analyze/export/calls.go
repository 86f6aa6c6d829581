package export

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/analyze/trace/profile"
)

// CallFormat writes the calls of scripts in a format of other programs.
type CallFormat func(w io.Writer, t *trace.Trace, names profile.Names) error

// CPUProfile is a CallFormat for one realm. It writes the one with the most calls, the first of
// equal ones.
func CPUProfile(w io.Writer, t *trace.Trace, names profile.Names) error {
	busiest := slices.MaxFunc(t.Realms, func(a, b *trace.Realm) int { return len(a.Calls) - len(b.Calls) })
	return profile.CPUProfile(w, busiest, names)
}

// Calls writes all calls of the run's scripts and returns their number. The problem states damage
// to script.log; empty: none.
func (s *Selection) Calls(w io.Writer, write CallFormat) (calls int, problem string, err error) {
	if s.Scripts == "" {
		return 0, "", errors.New("it has no records of scripts; name the folder of a run with --script calls")
	}
	run, problem, err := s.readLog()
	if err != nil {
		return 0, "", err
	}
	for _, r := range run.Trace.Realms {
		calls += len(r.Calls)
	}
	if calls == 0 {
		return 0, problem, errors.New("the run folder has no calls of scripts; run with --script calls")
	}
	names := func(number uint32) profile.Function {
		p, f := run.Function(number)
		if f == nil {
			return profile.Function{Name: fmt.Sprintf("function %d", number)}
		}
		return profile.Function{Name: f.Name, URL: p.URL, Line: f.Line, Column: f.Column}
	}
	return calls, problem, write(w, run.Trace, names)
}
