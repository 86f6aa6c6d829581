package main

import (
	"fmt"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/siterecord"
)

// siteJSON is the part of netsim record --json about a URL.
type siteJSON struct {
	Page    string            `json:"page"` // after redirects
	Moves   []string          `json:"redirects"`
	Hosts   []siterecord.Host `json:"hosts"`
	Dropped []siterecord.Host `json:"dropped"`
	Doubts  []string          `json:"doubts"`
	Still   bool              `json:"still"` // at the end
	Proxy   bool              `json:"by_proxy"`
}

// site records a URL with a browser of this machine.
func (c netsimRecordCmd) site(e *env) error {
	address, err := session.Address(c.URL)
	switch {
	case err != nil:
		return usagef("%w; for a program, give --proxy ADDR or --dns", err)
	case len(c.Command) > 0:
		return usagef("a URL needs no program: %q", c.Command)
	case c.Authority != "":
		return usagef("--authority needs a program")
	}
	linked := c.Profile != "none" || c.lineFlags != (lineFlags{})
	conditions, err := c.conditions(c.Profile)
	if err != nil {
		return err
	}
	if err := refuseExisting(c.Output, c.Force); err != nil {
		return err
	}
	warnSandbox(e, address)
	e.phase("recording "+address, 0).end()
	got, err := siterecord.Record(e.ctx, siterecord.Options{URL: address, Path: c.Output, Browser: c.Browser,
		Program: program(), Insecure: c.Insecure, Conditions: conditions, Seed: c.seed(), InNetwork: linked})
	if err != nil {
		return orInterrupted(unprivileged(err, "omit the link's figures to record by a proxy"))
	}
	if c.JSON {
		dropped, doubts := append([]siterecord.Host{}, got.Dropped...), append([]string{}, got.Doubts...)
		return printJSON(e.out, recordedJSON{c.Output, &got.Recorded, &siteJSON{got.Address,
			append([]string{}, got.Moves...), got.Hosts, dropped, doubts, !got.Moving, got.Proxy}})
	}
	l := c.listed(&got.Recorded)
	listSite(&l, got)
	if err := l.Print(e.out); err != nil {
		return err
	}
	return printNotes(e.out, &got.Recorded)
}

// warnSandbox warns of pages of other machines in a browser without a sandbox.
func warnSandbox(e *env, address string) bool {
	why := device.SandboxWarning()
	if why == "" || !fromNetwork(address) {
		return false
	}
	fmt.Fprintf(e.err, "warning: %s\n", why)
	return true
}

// maxDoubts limits the printed doubts.
const maxDoubts = 5

// listSite adds what a replay of a site needs to know.
func listSite(l *terminal.List, got *siterecord.Recorded) {
	if n := len(got.Moves); n > 0 {
		l.Add("redirected", "to %s; if that is a login, the login was recorded", got.Moves[n-1])
	}
	l.Add("hosts", "%s", hostsText(got.Hosts))
	l.Add("dropped", "%s", hostsText(got.Dropped))
	if got.Moving {
		l.Add("ended", "page or requests were not still within the limit")
	}
	for i, text := range got.Doubts[:min(len(got.Doubts), maxDoubts)] {
		if more := len(got.Doubts) - maxDoubts; i == maxDoubts-1 && more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		l.Add("doubtful", "%s", bound(text, 200))
	}
}

// hostsText lists hosts with their numbers of requests.
func hostsText(all []siterecord.Host) string {
	var parts []string
	for _, h := range all {
		parts = append(parts, fmt.Sprintf("%s (%d)", h.Name, h.Requests))
	}
	return wording.Few(parts)
}
