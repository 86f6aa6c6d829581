package main

import "github.com/eideticker/eideticker/controller/suite"

// profileFlag is a list of parts of a profile, such as samples,js,sockets.
type profileFlag struct {
	text    string // empty: not given
	profile suite.Profile
}

// profileLimits are the limits of a recorded profile.
type profileLimits struct {
	TraceLimit byteSize `placeholder:"SIZE" help:"Stop an engine at this size of its files (default: 2GiB)."`
	Strict     bool     `help:"Fail if an engine of the profile is missing, or records are lost."`
}

// UnmarshalText reads the list.
func (p *profileFlag) UnmarshalText(text []byte) (err error) {
	p.text = string(text)
	if p.profile, err = suite.ParseProfile(p.text); err != nil {
		return usagef("%w", err)
	}
	return nil
}
