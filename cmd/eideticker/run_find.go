package main

import (
	"errors"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/site"
)

// test makes a test of what the command line names: a test file, a test by its name, a page of
// ours, or something to load.
func (c runCmd) test() (*suite.Test, error) {
	t, err := c.find(c.Test)
	var none *suite.NotFoundError
	if !errors.As(err, &none) {
		return t, err
	}
	if p, err := site.Find(c.Test); err == nil {
		return session.PageTest(p), nil
	}
	address, err := session.Address(c.Test)
	if err == nil {
		return session.URLTest(address), nil
	}
	if none.Near != "" {
		return nil, usageError{none}
	}
	return nil, usagef("%w, no such file and not an address; eideticker suite list shows the tests", none)
}
