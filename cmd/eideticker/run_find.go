package main

import (
	"errors"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/site"
)

// test finds the test: a test file, a test's name, a test page or an address.
func (c runCmd) test(name string) (*suite.Test, error) {
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
	if none.Near != "" {
		return nil, usageError{none}
	}
	return nil, usagef("%w, no such file and not an address; eideticker suite list shows the tests", none)
}
