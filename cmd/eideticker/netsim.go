package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/config/spelling"
	"github.com/eideticker/eideticker/netsim/link"
)

// netsimCmd is the test network on its own.
type netsimCmd struct {
	Link    netsimLinkCmd    `cmd:"" help:"Run a program behind a line that is as slow as asked."`
	Serve   netsimServeCmd   `cmd:"" help:"Serve a folder by HTTP/1.1, 2 and 3, here or at the other end of a line."`
	Record  netsimRecordCmd  `cmd:"" help:"Record a real site into an archive, as a proxy or behind the names of a network."`
	Replay  netsimReplayCmd  `cmd:"" help:"Answer from an archive as the sites did, and list what was not in it."`
	Certify netsimCertifyCmd `cmd:"" help:"Measure what lines really do, beside what was asked of them."`
}

func (netsimCmd) Help() string {
	return `A line is as fast, as far away and as lossy as asked: every packet waits in a
queue, takes its time, and may be lost, as on a real one. It takes root, and
stands between two networks of this machine that nothing else sees.

Examples:

  eideticker netsim link --profile 3g -- curl http://198.18.0.1/
  eideticker netsim certify cable 3g
  eideticker netsim serve site/ --profile 3g -- curl https://page.test/
  eideticker netsim record --proxy localhost:8899 -o site.zip
  eideticker netsim replay site.zip --profile 3g -- sh`
}

// lineFlags say what a line is like: a profile, and what differs from it.
type lineFlags struct {
	RTT    *time.Duration `name:"rtt" placeholder:"TIME" help:"Round trip, half of it each way, such as 40ms."`
	Down   rateFlag       `placeholder:"RATE" help:"Rate to the device, such as 5Mbit."`
	Up     rateFlag       `placeholder:"RATE" help:"Rate from the device."`
	Loss   *percentFlag   `placeholder:"PERCENT" help:"Packets lost each way, such as 0.1%."`
	Burst  float64        `placeholder:"N" help:"Packets lost in a row, on average."`
	Jitter time.Duration  `placeholder:"TIME" help:"Each way takes up to so much more or less."`
	Queue  byteSize       `placeholder:"SIZE" help:"What waits for the line at most, each way; 256KiB if not given."`
	Seed   *uint64        `placeholder:"N" help:"Same seed, same packets lost; chosen and printed if not given."`
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

// conditions are those of a profile, but for what the flags say.
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

// checkProfile refuses a name that no profile has, with what may be meant.
func checkProfile(name string) error {
	if _, ok := link.ProfileNamed(name); ok {
		return nil
	}
	var names []string
	for _, p := range link.Profiles() {
		names = append(names, p.Name)
	}
	text := fmt.Sprintf("there is no profile %q, but %s", name, strings.Join(names, ", "))
	if near := spelling.Nearest(name, names); near != "" {
		text += fmt.Sprintf("; perhaps %s is meant", near)
	}
	return usagef("%s", text)
}
