package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/netlab"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
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

// programOf returns the command behind --.
func programOf(words []string) []string {
	if len(words) > 0 && words[0] == "--" {
		return words[1:]
	}
	return words
}

// client returns the client of a network, with this program's streams.
func (e *env) client(program []string) *netlab.Client {
	return &netlab.Client{Program: program, In: e.in, Out: terminal.Inherited(e.out), Err: terminal.Inherited(e.err)}
}

// openNetwork makes the network of a program. Its error names an alternative without root.
func openNetwork(c link.Conditions, seed uint64, instead string, names ...string) (*testnet.Network, error) {
	n, err := testnet.Open(testnet.Options{Conditions: c, Seed: seed, Names: names})
	return n, unprivileged(err, instead)
}

// unprivileged adds an alternative to the error of a missing privilege.
func unprivileged(err error, instead string) error {
	if no := (*link.PrivilegeError)(nil); errors.As(err, &no) {
		return fmt.Errorf("%w: %s", err, instead)
	}
	return err
}

// authorityFlags are flags of commands that make certificates.
type authorityFlags struct {
	Authority string `placeholder:"DIR" help:"Folder of the certificate authority (default: in the data folder)."`
}

func (f *authorityFlags) open() (*serve.Authority, error) {
	dir := f.Authority
	if dir == "" {
		dir = filepath.Join(config.Default().DataDir, "authority")
	}
	return serve.OpenAuthority(dir)
}

// printTrust prints the certificate that browsers must trust.
func printTrust(e *env, a *serve.Authority) {
	fmt.Fprintf(e.err, "browsers have to trust %s (SHA-256 %s)\n", a.File(), a.Fingerprint())
}

// harFlags are flags of commands that serve.
type harFlags struct {
	HAR string `name:"har" placeholder:"FILE" help:"Write requests as HAR 1.2."`
}

// begin creates the file before anything is served.
func (f harFlags) begin(force bool) (*harFile, error) {
	if f.HAR == "" {
		return nil, nil
	}
	out, err := createOut(f.HAR, force)
	if err != nil {
		return nil, err
	}
	out.Mode = 0o600 // it contains cookies and passwords
	return &harFile{out, timeline.Monotonic().Now()}, nil
}

// harFile is an unfinished HAR file; nil: none.
type harFile struct {
	out  *staging.File
	from timeline.Time
}

// finish writes the requests of a server.
func (h *harFile) finish(s *serve.Server, b *netlab.Client, c link.Conditions) error {
	if h == nil {
		return nil
	}
	return h.out.Finish(b.WriteHAR(h.out, s, h.from, c, strings.TrimPrefix(program(), "eideticker ")))
}
