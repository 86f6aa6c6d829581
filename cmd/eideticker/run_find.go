package main

import (
	"errors"
	"os"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/site"
)

// test finds the test: a test file, a test's name, a test page or an address; "": / of --site.
func (c runCmd) test(name string) (*suite.Test, error) {
	if name == "" && len(c.Site) > 0 {
		return c.onSite()
	}
	if c.given() {
		return c.onAddress(name)
	}
	t, err := c.find(name)
	var none *suite.NotFoundError
	if !errors.As(err, &none) {
		return t, err
	}
	if p, err := site.Find(name); err == nil {
		return session.PageTest(p), nil
	}
	address, err := session.Address(name)
	if err == nil {
		return session.URLTest(address), nil
	}
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		return nil, usagef("%s is a folder; use --site %[1]s", name)
	}
	if none.Near != "" {
		return nil, usageError{none}
	}
	return nil, usagef("%w, no such file and not an address; eideticker suite list shows the tests", none)
}
