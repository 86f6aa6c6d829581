package session

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/replay"
)

// Check says why a test cannot be run on devices, before anything is started or written.
func Check(t *suite.Test, on ...Variant) error {
	_, err := check(t, on...)
	return err
}

// check is Check, and returns the archive that answers in the test's network, which it has read;
// nil: there is none.
func check(t *suite.Test, on ...Variant) (*replay.Archive, error) {
	read, err := checkNetwork(t)
	if err == nil {
		err = checkEnd(t)
	}
	if err == nil {
		err = checkOn(t, read, on)
	}
	return read, err
}

func checkOn(t *suite.Test, read *replay.Archive, on []Variant) error {
	for _, v := range on {
		d, known := description(v.Device)
		if !known {
			continue
		}
		browser, err := d.Browser(v.Browser)
		if err != nil {
			return err
		}
		if err := checkNetworkOn(t, d); err != nil {
			return err
		}
		if err := checkArchiveIn(t, read, browser); err != nil {
			return err
		}
		if !onThisMachine(d) {
			continue // files are of the device then
		}
		for _, address := range addresses(t) {
			if err := checkFile(address); err != nil {
				return err
			}
		}
	}
	return nil
}

// description returns what is known of a device before it is opened.
func description(d Device) (device.Description, bool) {
	switch d := d.(type) {
	case *Powered:
		return description(d.Device)
	case local:
		return d.Description, true
	case described:
		return d.Description, true
	}
	return device.Description{}, false
}

// onThisMachine says that a device's browser is a program of this machine: it has the same files,
// and the same way to servers.
func onThisMachine(d device.Description) bool {
	return d.Source == device.Virtual || d.Input.Kind == device.InputX11
}

// addresses are where a test goes, apart from pages of ours.
func addresses(t *suite.Test) (all []string) {
	if t.Page == "" && t.URL != blankPage {
		all = append(all, t.URL)
	}
	return append(all, loaded(t.Steps)...)
}

const blankPage = "about:blank"

// loaded are the addresses that steps go to.
func loaded(steps []suite.Step) (all []string) {
	for _, s := range steps {
		switch a := s.Action.(type) {
		case suite.Load:
			if address, err := Address(a.URL); err == nil { // what is none, the step says
				all = append(all, address)
			}
		case suite.Loop:
			all = append(all, loaded(a.Steps)...)
		}
	}
	return all
}

// checkFile refuses the address of a file that is not there: a browser would show a page of its own
// instead.
func checkFile(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "file" {
		return nil
	}
	_, err = os.Stat(filepath.FromSlash(u.Path))
	var p *os.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s cannot be loaded: %w", address, p.Err)
	}
	return err
}
