package export

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/analyze/trace/lines"
	"github.com/eideticker/eideticker/analyze/trace/profile"
)

// CallFormat writes the calls of scripts in a format of other programs.
type CallFormat struct {
	Write    func(w io.Writer, t *trace.Trace, names profile.Names) error
	OneRealm bool // for one realm: that in which functions ran longest
}

// CPUProfile is the format of Chromium's DevTools.
func CPUProfile() CallFormat {
	return CallFormat{OneRealm: true, Write: func(w io.Writer, t *trace.Trace, names profile.Names) error {
		return profile.CPUProfile(w, t.Realms[0], names)
	}}
}

// Lines is the format of the tracer.
func Lines(format lines.Format) CallFormat {
	return CallFormat{Write: func(w io.Writer, t *trace.Trace, names profile.Names) error {
		return lines.Write(w, t, names, format)
	}}
}

// busiest returns the realm in which functions ran longest, the first of equal ones.
func busiest(realms []*trace.Realm) *trace.Realm {
	ran := func(r *trace.Realm) (ns int64) {
		for _, c := range r.Calls {
			ns += c.Self
		}
		return ns
	}
	return slices.MaxFunc(realms, func(a, b *trace.Realm) int {
		return cmp.Or(cmp.Compare(ran(a), ran(b)), cmp.Compare(len(a.Calls), len(b.Calls)))
	})
}

// Calls writes the calls of the run's scripts and returns their number. The problem states damage
// to script.log; empty: none.
func (s *Selection) Calls(w io.Writer, format CallFormat) (calls int, problem string, err error) {
	if s.Scripts == "" {
		return 0, "", errors.New("it has no records of scripts; name the folder of a run with --script calls")
	}
	run, problem, err := s.readLog()
	if err != nil {
		return 0, "", err
	}
	if calls, err = WriteCalls(w, run, format); err == nil && calls == 0 {
		err = errors.New("the run folder has no calls of scripts; run with --script calls")
	}
	return calls, problem, err
}

// WriteCalls writes the calls of a run's scripts and returns their number. It writes nothing
// without calls.
func WriteCalls(w io.Writer, run *scripts.Run, format CallFormat) (calls int, err error) {
	of := run.Trace
	if format.OneRealm && len(of.Realms) > 1 {
		of = &trace.Trace{Realms: []*trace.Realm{busiest(of.Realms)}}
	}
	for _, r := range of.Realms {
		calls += len(r.Calls)
	}
	if calls == 0 {
		return 0, nil
	}
	names := func(number uint32) profile.Function {
		p, f := run.Function(number)
		if f == nil {
			return profile.Function{Name: fmt.Sprintf("function %d", number)}
		}
		return profile.Function{Name: f.Name, URL: p.URL, Line: f.Line, Column: f.Column,
			Generator: f.Generator}
	}
	return calls, format.Write(w, of, names)
}
