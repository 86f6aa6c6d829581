package main

import (
	"strings"

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
