package main

import (
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/link"
)

// netsimCmd is the test network on its own.
type netsimCmd struct {
	Link    netsimLinkCmd    `cmd:"" help:"Run a program behind a link."`
	Serve   netsimServeCmd   `cmd:"" help:"Serve a folder over HTTP/1.1, 2 and 3, here or behind a link."`
	Record  netsimRecordCmd  `cmd:"" help:"Record a site into an archive, as a proxy or in a test network."`
	Replay  netsimReplayCmd  `cmd:"" help:"Replay an archive, and list requests that it lacks."`
	Observe netsimObserveCmd `cmd:"" help:"Instrument scripts of a live application for a share of its users."`
	Certify netsimCertifyCmd `cmd:"" help:"Measure links and compare them with the requested figures."`
}

func (netsimCmd) Help() string {
	return `A link has a rate, a delay and a loss. It needs Linux and root. Without them, use
--stream, which shapes TCP connections to local ports.

Examples:

  eideticker netsim link --profile 3g -- curl http://198.18.0.1/
  eideticker netsim certify cable 3g
  eideticker netsim serve site/ --profile 3g -- curl https://page.test/
  eideticker netsim record --proxy localhost:8899 -o site.zip
  eideticker netsim replay site.zip --profile 3g -- sh
  eideticker netsim observe --upstream https://app.test --https :8443 \
      --script errors`
}

// lineFlags are the figures of a link that replace those of a profile.
type lineFlags struct {
	RTT    *time.Duration `name:"rtt" placeholder:"TIME" help:"Round-trip time, such as 40ms; half of it each way."`
	Down   rateFlag       `placeholder:"RATE" help:"Rate to the device, such as 5Mbit."`
	Up     rateFlag       `placeholder:"RATE" help:"Rate from the device."`
	Loss   *percentFlag   `placeholder:"PERCENT" help:"Packet loss each way, such as 0.1%."`
	Burst  float64        `placeholder:"N" help:"Average number of packets lost in a row."`
	Jitter time.Duration  `placeholder:"TIME" help:"Vary the delay of each way by up to this time."`
	Queue  byteSize       `placeholder:"SIZE" help:"Queue size each way (default: 256KiB)."`
	Seed   *uint64        `placeholder:"N" help:"Seed of packet losses (default: random, printed)."`
}

// rateFlag is a rate on the command line, as in test files.
type rateFlag suite.Rate

func (r *rateFlag) UnmarshalText(text []byte) error {
	v, err := suite.ParseRate(string(text))
	*r = rateFlag(v)
	return err
}

// percentFlag is percent on the command line, as in test files.
type percentFlag suite.Percent

func (p *percentFlag) UnmarshalText(text []byte) error {
	v, err := suite.ParsePercent(string(text))
	*p = percentFlag(v)
	return err
}

// conditions returns the conditions of a profile with the figures of the flags.
func (f *lineFlags) conditions(profile string) (link.Conditions, error) {
	if err := checkProfile(profile); err != nil {
		return link.Conditions{}, err
	}
	c, err := testnet.Conditions(suite.Network{Profile: profile, Down: suite.Rate(f.Down), Up: suite.Rate(f.Up),
		Loss: (*suite.Percent)(f.Loss)})
	if err != nil {
		return c, usageError{err}
	}
	if f.RTT != nil { // 0 is a round trip too
		c.SetRTT(*f.RTT)
	}
	for _, d := range []*link.Direction{&c.Down, &c.Up} {
		d.Queue, d.Burst, d.Jitter = int(f.Queue), f.Burst, f.Jitter // which no profile has
	}
	if err := c.Check(); err != nil {
		return c, usageError{err}
	}
	return c, nil
}

func (f *lineFlags) seed() uint64 {
	if f.Seed != nil {
		return *f.Seed
	}
	return session.NewSeed()
}

// checkProfile rejects an unknown profile and suggests a similar one.
func checkProfile(name string) error {
	if _, ok := link.ProfileNamed(name); ok {
		return nil
	}
	var names []string
	for _, p := range link.Profiles() {
		names = append(names, p.Name)
	}
	return usagef("unknown profile %q; known: %s%s", name, strings.Join(names, ", "), wording.Near(name, names))
}
