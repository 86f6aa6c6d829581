package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/siterecord"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/config"
)

// check checks the tests of a set, of which some archives may follow.
func (c runCmd) check(e *env, o *session.SetOptions) error {
	follow := false
	for i, v := range o.Variants {
		live, err := session.Live(e.ctx, o.TestOf(i))
		if err != nil {
			return err
		}
		check := session.Check
		switch {
		case live:
			check = session.CheckLive
		case siterecord.Follows(o.TestOf(i)):
			check, follow = session.CheckReplay, true
		}
		err = check(o.TestOf(i), v)
		if err == nil {
			err = session.CheckSite(o.TestOf(i), v.Site != "")
		}
		if err != nil {
			return usageError{err}
		}
	}
	if c.Fresh && !follow {
		return usagef("--fresh needs a URL and --network")
	}
	return nil
}

// archives returns the archives of this user.
func archives() siterecord.Cache {
	return siterecord.Cache{Dir: filepath.Join(config.Default().DataDir, "archives")}
}

// replayed replaces the sites of tests by their archives. A site without an archive is recorded.
func (c runCmd) replayed(e *env, o *session.SetOptions) (release func(), err error) {
	return archives().Replay(o, func(t *suite.Test) (bool, error) { return session.Live(e.ctx, t) },
		func(address string, v session.Variant) (*siterecord.Cached, error) {
			got, err := c.archive(e, address, v)
			return got, orInterrupted(unprivileged(err, "omit --network to run without a link"))
		})
}

// archive returns the archive of a site and prints its age.
func (c runCmd) archive(e *env, address string, v session.Variant) (*siterecord.Cached, error) {
	got, err := archives().Ensure(e.ctx, siterecord.Options{URL: address, Browser: v.Browser, Executable: v.Program,
		Program: program(), InNetwork: true}, c.Fresh, func() {
		e.phase(fmt.Sprintf("recording %s, once; --fresh records again", address), 0).End()
	})
	if err != nil {
		return nil, err
	}
	r := got.Recorded
	if r == nil {
		_, err := fmt.Fprintf(e.err, "replaying %s, recorded %s ago (%s); --fresh records again\n", address,
			wording.Age(time.Since(got.Created)), got.Created.Local().Format(time.DateTime))
		return got, err
	}
	var l terminal.List
	l.Add("recorded", "%s, %s", plural(r.Exchanges, "exchange"), bytesText(r.Bytes))
	listSite(&l, r)
	return got, l.Print(e.err)
}
