package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/netlab"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/siterecord"
	"github.com/eideticker/eideticker/netsim/replay"
)

type netsimRecordCmd struct {
	Output   string `short:"o" required:"" placeholder:"ARCHIVE" help:"Archive to write."`
	Proxy    string `placeholder:"ADDR" help:"Serve as an HTTP proxy at this address, such as localhost:8899."`
	DNS      bool   `name:"dns" help:"Run the program in a test network, where every name resolves to the recorder."`
	Profile  string `default:"none" placeholder:"PROFILE" help:"Network profile, see netsim link (default: none)."`
	Browser  string `short:"b" placeholder:"NAME" help:"Browser that loads the URL (default: the first installed)."`
	Insecure bool   `help:"Also record sites with untrusted certificates, and mark them."`
	Force    bool   `help:"Overwrite an existing archive."`
	JSON     bool   `help:"Print one JSON object."`
	authorityFlags
	lineFlags
	URL     string   `arg:"" optional:"" name:"url" help:"Site to record with a browser of this machine."`
	Command []string `arg:"" optional:"" passthrough:"partial" help:"Program after --; recording ends with it."`
}

func (netsimRecordCmd) Help() string {
	return `With a URL, a browser on a virtual display loads the page. Recording ends when screen and
requests are still, or after a minute. As root on Linux, the browser runs in a test
network. Otherwise it uses a proxy. Its own background requests are dropped. The exit
code is 1 if the page itself was not recorded.

With --proxy or --dns, recording ends with Ctrl-C or with the program. The browser must
trust the printed certificate authority. Programs after -- find its file in SSL_CERT_FILE
and similar variables. Start Chromium with
--ignore-certificate-errors-spki-list=$EIDETICKER_AUTHORITY_SPKI.

Examples:

  eideticker netsim record https://site.example/ -o site.zip
  eideticker netsim record --proxy localhost:8899 -o site.zip
  eideticker netsim record --proxy localhost:0 -o a.zip -- curl site.example
  eideticker netsim record --dns -o site.zip -- sh -c 'chromium \
      --ignore-certificate-errors-spki-list=$EIDETICKER_AUTHORITY_SPKI \
      https://site.example/'

Port 0 selects a free port. The archive contains cookies and passwords. A proxy that other machines can reach
refuses requests to addresses of this machine.`
}

// recordedJSON is the output of netsim record --json.
type recordedJSON struct {
	Path string `json:"path"`
	*replay.Recorded
	*siteJSON // nil: a program was recorded
}

// siteJSON is the part of netsim record --json about a URL.
type siteJSON struct {
	Page    string            `json:"page"` // after redirects
	Moves   []string          `json:"redirects"`
	Hosts   []siterecord.Host `json:"hosts"`
	Dropped []siterecord.Host `json:"dropped"`
	Doubts  []string          `json:"doubts"`
	Still   bool              `json:"still"` // at the end
	Proxy   bool              `json:"by_proxy"`
}

func (c netsimRecordCmd) Run(e *env) (err error) {
	if c.URL != "" && !c.DNS && c.Proxy == "" {
		return c.site(e)
	}
	if c.URL != "" { // then it is the program
		c.Command = append([]string{c.URL}, c.Command...)
	}
	c.Command = programOf(c.Command)
	switch {
	case c.DNS == (c.Proxy != ""):
		return usagef("give a URL, or either --proxy ADDR or --dns")
	case strings.Contains(c.URL, "://"):
		return usagef("%s is not a program; to record it with a browser, omit --proxy and --dns", c.URL)
	case c.Browser != "":
		return usagef("--browser needs a URL")
	case c.DNS && len(c.Command) == 0:
		return usagef("--dns needs a program after --")
	}
	conditions, err := c.conditions(c.Profile)
	if err != nil {
		return err
	}
	if !c.DNS && (c.Profile != "none" || c.lineFlags != (lineFlags{})) {
		return usagef("a proxy has no link: --profile and link figures need --dns")
	}
	authority, err := c.authorityFlags.open()
	if err != nil {
		return err
	}
	if err := refuseExisting(c.Output, c.Force); err != nil {
		return err
	}
	b := e.client(c.Command)
	b.Env = netlab.Trusting(authority)
	o := netlab.RecordOptions{Program: program(), Authority: authority, Insecure: c.Insecure}
	defer func() {
		for _, one := range o.Entrances {
			one.Listener.Close()
		}
	}()
	if c.DNS {
		if b.Network, err = openNetwork(conditions, c.seed(), "--proxy ADDR records without a line", "*"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.Close()) }()
		for _, door := range []struct {
			port string
			replay.Door
		}{{"80", replay.Plain}, {"443", replay.Secure}} {
			l, err := b.Listen(door.port)
			if err != nil {
				return err
			}
			o.Entrances = append(o.Entrances, replay.Entrance{Listener: l, Door: door.Door})
		}
	} else {
		l, err := net.Listen("tcp", c.Proxy)
		if err != nil {
			return fmt.Errorf("listen as a proxy: %w; choose another address with --proxy", err)
		}
		o.Entrances = append(o.Entrances, replay.Entrance{Listener: l, Door: replay.AsProxy})
		b.UseProxy(l.Addr())
		fmt.Fprintf(e.err, "recording at the proxy http://%s into %s\n", l.Addr(), c.Output)
		if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
			o.Dial = new(device.EgressPolicy).DialContext
			fmt.Fprintln(e.err, "other machines can reach the proxy: it rejects requests to this machine")
		}
	}
	printTrust(e, authority)

	// It contains cookies and passwords.
	f, err := os.OpenFile(c.Output, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return staging.CannotCreate(c.Output, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := onlyOurs(f); err != nil {
		return fmt.Errorf("write %s: %w", c.Output, err)
	}
	got, failed := b.Record(e.ctx, f, o)
	if got == nil {
		return fmt.Errorf("write %s: %w", c.Output, failed)
	}
	if got.Err != nil {
		got.Err = fmt.Errorf("write %s: %w", c.Output, got.Err)
	}
	if err := c.print(e.out, got, nil); err != nil {
		return err
	}
	return errors.Join(failed, got.Err)
}

// onlyOurs makes a file readable for this user only. An existing file keeps its mode otherwise.
func onlyOurs(f *os.File) error {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return err // as /dev/null, which is not ours
	}
	return f.Chmod(0o600)
}

// print prints the counts and the notes of a recording. The site of a program is nil.
func (c netsimRecordCmd) print(w io.Writer, got *replay.Recorded, site *siterecord.Recorded) error {
	if c.JSON {
		j := recordedJSON{Path: c.Output, Recorded: got}
		if site != nil {
			j.siteJSON = &siteJSON{site.Address, append([]string{}, site.Moves...), site.Hosts,
				append([]siterecord.Host{}, site.Dropped...), append([]string{}, site.Doubts...), !site.Moving,
				site.Proxy}
		}
		return printJSON(w, j)
	}
	var l terminal.List
	l.Add("archive", "%s", c.Output)
	l.Add("recorded", "%s, %s", plural(got.Exchanges, "exchange"), bytesText(got.Bytes))
	for _, one := range []struct {
		name string
		n    int
	}{{"failed", got.Failed}, {"cannot be replayed", got.Missing}, {"untrusted", got.Insecure},
		{"not kept", got.Lost}} {
		if one.n > 0 {
			l.Add(one.name, "%d", one.n)
		}
	}
	if site != nil {
		listSite(&l, site)
	}
	if err := l.Print(w); err != nil {
		return err
	}
	for _, n := range got.Notes {
		if _, err := fmt.Fprintln(w, terminal.Clean(n)); err != nil {
			return err
		}
	}
	if got.Refused > 0 {
		_, err := fmt.Fprintln(w, "--insecure also records sites with untrusted certificates, and marks them")
		return err
	}
	return nil
}

// site records a URL with a browser of this machine.
func (c netsimRecordCmd) site(e *env) error {
	address, err := session.Address(c.URL)
	switch {
	case err != nil:
		return usagef("%w; for a program, give --proxy ADDR or --dns", err)
	case len(c.Command) > 0:
		return usagef("a URL needs no program: %q", c.Command)
	case c.Authority != "":
		return usagef("--authority needs a program")
	}
	linked := c.Profile != "none" || c.lineFlags != (lineFlags{})
	conditions, err := c.conditions(c.Profile)
	if err != nil {
		return err
	}
	if err := refuseExisting(c.Output, c.Force); err != nil {
		return err
	}
	warnSandbox(e, address)
	e.phase("recording "+address, 0).End()
	got, err := siterecord.Record(e.ctx, siterecord.Options{URL: address, Path: c.Output, Browser: c.Browser,
		Program: program(), Insecure: c.Insecure, Conditions: conditions, Seed: c.seed(), InNetwork: linked})
	if err != nil {
		return orInterrupted(unprivileged(err, "omit the link's figures to record by a proxy"))
	}
	return c.print(e.out, &got.Recorded, got)
}

// warnSandbox warns of pages of other machines in a browser without a sandbox.
func warnSandbox(e *env, address string) bool {
	why := device.SandboxWarning()
	if why == "" || !fromNetwork(address) {
		return false
	}
	fmt.Fprintf(e.err, "warning: %s\n", why)
	return true
}

// maxDoubts limits the printed doubts.
const maxDoubts = 5

// listSite adds what a replay of a site needs to know.
func listSite(l *terminal.List, got *siterecord.Recorded) {
	if n := len(got.Moves); n > 0 {
		l.Add("redirected", "to %s; if that is a login, the login was recorded", got.Moves[n-1])
	}
	l.Add("hosts", "%s", hostsText(got.Hosts))
	l.Add("dropped", "%s", hostsText(got.Dropped))
	if got.Moving {
		l.Add("ended", "page or requests were not still within the limit")
	}
	for i, text := range got.Doubts[:min(len(got.Doubts), maxDoubts)] {
		if more := len(got.Doubts) - maxDoubts; i == maxDoubts-1 && more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		l.Add("doubtful", "%s", wording.Short(text, 200))
	}
}

// hostsText lists hosts with their numbers of requests.
func hostsText(all []siterecord.Host) string {
	var parts []string
	for _, h := range all {
		parts = append(parts, fmt.Sprintf("%s (%d)", h.Name, h.Requests))
	}
	return wording.Few(parts)
}
