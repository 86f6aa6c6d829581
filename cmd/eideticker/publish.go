package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/publish"
	"github.com/eideticker/eideticker/deploy/rig"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

type publishCmd struct {
	serveConfig
	Dir     string           `placeholder:"DIR" help:"Folder of the site."`
	Test    []string         `placeholder:"TEST" help:"Test to publish, or a pattern such as 'scroll-*'; repeatable."`
	Embargo *config.Duration `placeholder:"14d" help:"Hide points younger than this (default: 14d)."`
	Rigs    string           `placeholder:"class|name" help:"Show kinds or names of devices (default: class)."`
	Dry     bool             `help:"Print new files and their bytes, and write nothing."`
}

func (publishCmd) Help() string {
	return `Examples:

  eideticker publish --dir /srv/speed --test framerate --dry
  eideticker publish --config /etc/eideticker/eideticker.toml

The site compares browsers over their builds. It has static files only, for any web server. The command reads the
data directory of a rig or hub, also beside a running serve. Flags override the configuration.

A second run writes only new files. index.html is replaced last, so that an interrupted run leaves the old site whole.
Hosts, owners, paths, logs, labels and names of devices are left out.`
}

func (c publishCmd) Run(e *env) (err error) {
	conf, err := c.load("", "")
	if err != nil {
		return err
	}
	p := conf.Public
	if c.Dir != "" {
		p.Dir = c.Dir
	}
	if len(c.Test) > 0 {
		p.Tests = c.Test
	}
	if c.Embargo != nil {
		p.Embargo = *c.Embargo
	}
	if c.Rigs != "" {
		p.Rigs = c.Rigs
	}
	conf.Public = p
	switch err := conf.Check(); {
	case err != nil:
		return usageError{err}
	case p.Dir == "":
		return usagef("publish: the folder is missing; set --dir or publish.dir")
	case len(p.Tests) == 0:
		return usagef("publish: tests are missing; set --test or publish.tests")
	}
	db, err := trend.OpenReader(e.ctx, filepath.Join(conf.DataDir, rig.TrendFile))
	if err != nil {
		return fmt.Errorf("publish: %w; schedules make it", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r, err := publish.Write(e.ctx, db, publish.Options{Dir: p.Dir, Data: conf.DataDir, Tests: p.Tests,
		Embargo: time.Duration(p.Embargo), Names: p.Rigs == "name", Dry: c.Dry, Now: time.Now()})
	if err != nil {
		return err
	}
	var bytes int
	for _, f := range r.New {
		if bytes += f.Bytes; c.Dry {
			fmt.Fprintf(e.out, "%10d  %s\n", f.Bytes, f.Name)
		}
	}
	fmt.Fprintf(e.out, "%s with %s: %s with %d bytes, %d unchanged, %d old\n", wording.Plural(r.Values, "value"),
		wording.Plural(r.Points, "point"), wording.Plural(len(r.New), "new file"), bytes, r.Kept, r.Removed)
	for _, t := range r.Unknown {
		fmt.Fprintf(e.err, "no schedule has measured a test %s\n", t)
	}
	if r.Hidden > 0 {
		fmt.Fprintf(e.err, "hidden by the embargo: %s; --embargo 0 shows them\n", wording.Plural(r.Hidden, "point"))
	}
	return nil
}
