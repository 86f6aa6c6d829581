package main

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/remote"
)

// startParams returns the parameters of run.start.
func (c runCmd) startParams() (p api.StartParams, err error) {
	p = api.StartParams{
		Devices: c.Device, Browsers: c.Browser, WarmUp: c.WarmUp, Retries: c.Retries, UntilFail: c.UntilFail,
		Seed:    c.Seed,
		NoVideo: c.NoVideo, Label: c.Label, Branch: c.Branch, Revision: c.Revision, Reservation: c.Reservation,
		Baseline: c.Baseline, JudgeUnlike: c.JudgeUnlike,
		FilmstripStepNS: int64(c.FilmstripStep), Vitals: c.Vitals, Fresh: c.Fresh, Script: c.Script,
		Profile: c.Profile.text, TraceLimit: int64(c.TraceLimit), Strict: c.Strict,
		ProfiledOnly: c.ProfiledOnly, WhyChanged: c.WhyChanged,
	}
	switch {
	case len(c.Site) > 0:
		return p, usagef("--site is of this machine; a rig has builds of feeds: use --browser KIND@FEED:BUILD")
	case len(c.Tests) == 0 && len(c.Variant) == 0:
		return p, usagef("no test: name a test, a test file or an address")
	case c.UntilSure:
		return p, usagef("--until-sure cannot be used with --rig; use --repeat, or run on this machine")
	case c.Devices != "" || len(c.Suite) > 0:
		return p, usagef("--devices and --suite cannot be used with --rig, which has its own")
	case c.WaitForQuiet != nil:
		return p, usagef("--wait-for-quiet cannot be used with --rig")
	case c.ObserverEffect != nil:
		return p, usagef("--observer-effect cannot be used with --rig")
	case c.Adapt != "" || c.Share != "" || c.Break:
		return p, usagef("--adapt, --share and --break cannot be used with --rig; set script in a test file")
	case c.End != "":
		return p, usagef("--end cannot be used with --rig; set end in a test file")
	case c.Why:
		return p, usagef("--why cannot be used with --rig; use --profile samples,js,sockets and --script calls,errors")
	case c.WhyChanged && (c.Threshold.given || len(c.Primary) > 0 || c.JudgeAll):
		return p, usagef("--why-changed with --rig decides by the test; omit --threshold, --primary and --judge-all")
	case len(c.AB) > 0:
		return p, usagef("--ab cannot be used with --rig")
	case c.Markdown != "" && c.sides() < 2:
		return p, usagef("--markdown with --rig needs two tests, variants, browsers or devices")
	case c.Output != "" && exists(c.Output):
		return p, fmt.Errorf("%s exists: choose another folder with -o", c.Output)
	case c.FailOnRegression && c.Baseline == "" && c.sides() < 2:
		return p, usagef("--fail-on-regression needs two tests, variants, browsers or devices, or a --baseline")
	}
	if _, err := c.failIf(); err != nil {
		return p, err
	}
	asked := c.numbers()
	if err := asked.Check(); err != nil {
		return p, outOfRange(err)
	}
	p.MaxLost = asked.MaxLost
	if c.Repeat != nil {
		p.Repeat = *c.Repeat
	}
	if c.Cooldown != nil {
		if p.CooldownNS = int64(*c.Cooldown); p.CooldownNS == 0 {
			p.CooldownNS = 1 // 0 selects the test's own
		}
	}
	return p, c.askFor(&p)
}

// sides is the number of sides that are compared.
func (c runCmd) sides() int {
	return max(1, len(c.Tests), len(c.Variant)) * max(1, len(c.Browser)) * max(1, len(c.Device))
}

// askFor adds the tests and variants.
func (c runCmd) askFor(p *api.StartParams) error {
	var tests []api.Variant
	for _, name := range c.Tests {
		v, err := c.remoteTest(name)
		if err != nil {
			return err
		}
		tests = append(tests, v)
	}
	switch {
	case len(c.Variant) == 1:
		return usagef("--variant is given once; a comparison needs two")
	case len(c.Variant) > 0 && len(tests) > 1:
		return usagef("--variant changes one test, and %d are given", len(tests))
	case len(tests) > 1:
		p.Variants, p.Network = tests, c.Network
		return nil
	case len(tests) == 1:
		t := tests[0]
		p.Test, p.URL, p.Upload, p.Gestures = t.Test, t.URL, t.Upload, t.Gestures
	}
	p.Network = c.Network
	for _, text := range c.Variant {
		v, err := c.remoteVariant(text)
		if err != nil {
			return err
		}
		p.Variants = append(p.Variants, v)
	}
	return nil
}

// remoteVariant returns a --variant for a rig.
func (c runCmd) remoteVariant(text string) (v api.Variant, err error) {
	name, changes, err := parseVariant(text)
	if err != nil {
		return v, err
	}
	for _, change := range changes {
		if change[0] == "test" {
			if len(c.Tests) > 0 && strings.Contains(change[1], "://") {
				return v, usagef("--variant %s: a rig cannot change the address of a test; write a file for each", name)
			}
			if v, err = c.remoteTest(change[1]); err != nil {
				return v, err
			}
		}
	}
	v.Name = name
	for _, change := range changes {
		switch value := change[1]; change[0] {
		case "archive":
			return v, usagef("--variant %s: an archive is not sent to a rig; put its test into the rig's suite", name)
		case "site":
			return v, usagef("--variant %s: a folder is not sent to a rig; use browser:KIND@FEED:BUILD", name)
		case "network":
			v.Network = value
		case "device":
			v.Device = value
		case "browser":
			v.Browser = value
		}
	}
	return v, nil
}

// remoteTest returns the test of a name for a rig: a file, an address or a name.
func (c runCmd) remoteTest(test string) (v api.Variant, err error) {
	if c.given() {
		t, err := c.onAddress(test)
		if err == nil {
			err = c.checkPrimary(t)
		}
		if err != nil {
			return v, err
		}
		if c.URL != "" {
			v.Upload, err = remote.UploadMade(t)
			return v, err
		}
		v.URL, v.Gestures = t.URL, &api.Gestures{Hover: c.Hover, Click: c.Click, Scroll: c.Scroll}
		if c.Type != nil {
			v.Gestures.Text = *c.Type
		}
		return v, nil
	}
	if isTestFile(test) {
		t, err := readTest(test)
		if err == nil {
			err = c.checkPrimary(t)
		}
		if err == nil {
			v.Upload, err = upload(test, t)
		}
		return v, err
	}
	if err := c.checkPrimary(&suite.Test{Vitals: true}); err != nil { // the rig knows whether it has them
		return v, err
	}
	if strings.Contains(test, "://") {
		v.URL = test
	} else {
		v.Test = test
	}
	return v, nil
}

// upload returns a test file with its touch recordings.
func upload(file string, t *suite.Test) (*api.Upload, error) {
	if t.Network.Replay != "" {
		return nil, usagef("%s: the archive %s is not sent to the rig; put both into the rig's suite and run %s", file,
			t.Network.Replay, t.Name)
	}
	return remote.Upload(file, t)
}
