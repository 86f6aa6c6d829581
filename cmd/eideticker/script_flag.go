package main

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/netlab"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
)

// policiesFlag is a list of policies with commas. The flag may be given several times.
type policiesFlag []string

func (p *policiesFlag) UnmarshalText(text []byte) error {
	for name := range strings.SplitSeq(string(text), ",") {
		if name = strings.TrimSpace(name); name == "" {
			return usagef("a policy is missing; known: %s", strings.Join(session.Known().Policies, ", "))
		}
		*p = append(*p, name)
	}
	return (&suite.Scripts{Policies: *p}).Check(session.Known())
}

// scriptServing are flags of commands that serve pages outside of runs.
type scriptServing struct {
	Script policiesFlag `placeholder:"POLICIES" help:"Instrument the pages' scripts; script list names policies."`
	Output string       `short:"o" placeholder:"DIR" help:"With --script: keep the records in this new folder."`
}

// instrument makes the folder of the records. Without --script the result is nil.
func (f *scriptServing) instrument() (*netlab.Scripts, error) {
	switch {
	case len(f.Script) > 0:
		return netlab.Instrument(f.Script, f.Output)
	case f.Output != "":
		return nil, usagef("-o needs --script")
	}
	return nil, nil
}

// finishScripts ends the records, after all servers, and prints their folder.
func finishScripts(e *env, s *netlab.Scripts) (*result.Script, error) {
	found, dir, err := s.Finish()
	if dir != "" {
		fmt.Fprintf(e.err, "records of scripts are in %s\n", dir)
	}
	return found, err
}
