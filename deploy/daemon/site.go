package daemon

import (
	"net/url"
	"path/filepath"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/siterecord"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/store/unused"
)

// untrusted is the folder of archives that clients may replay. The command line has the same data
// directory, and its user may record pages of this machine.
const untrusted = "untrusted"

// replayed replaces the sites of a job by their archives. A site without an archive is recorded.
// Release ends their use.
func (d *Daemon) replayed(j *job, o *session.SetOptions) (release func(), err error) {
	c, policed := siterecord.Cache{Dir: filepath.Join(d.options.Dir, unused.Archives)}, o.Untrusted && !o.AllowLoopback
	if policed {
		c.Dir = filepath.Join(c.Dir, untrusted)
	}
	return c.Replay(o, func(t *suite.Test) (bool, error) { return session.LiveByHosts(t), nil },
		func(address string, v session.Variant) (*siterecord.Cached, error) {
			record := siterecord.Options{URL: address, Browser: v.Browser, Program: d.options.Program, InNetwork: true,
				Untrusted: policed}
			if policed {
				record.Dial = new(device.EgressPolicy).DialContext
			}
			end := func() {}
			got, err := c.Ensure(j.context, record, j.start.Fresh, func() {
				_, end = o.Progress.Phase("recording "+hostOf(address)+", once", 0)
			})
			end()
			return got, err
		})
}

// hostOf returns the host of an address, whose query may have secrets.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the site"
	}
	return u.Host
}
