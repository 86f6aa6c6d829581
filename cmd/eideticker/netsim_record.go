package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
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

// trusting returns an environment in which programs trust only an authority.
func trusting(a *serve.Authority) []string {
	env := os.Environ()
	file, err := filepath.Abs(a.File())
	if err != nil {
		file = a.File()
	}
	for _, name := range []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
		"EIDETICKER_AUTHORITY"} {
		env = append(env, name+"="+file)
	}
	return append(env, "EIDETICKER_AUTHORITY_SPKI="+a.KeyHash())
}

// proxied returns an environment in which programs use a proxy.
func proxied(env []string, address net.Addr) []string {
	for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"} {
		env = append(env, name+"=http://"+address.String())
	}
	return append(env, "no_proxy=", "NO_PROXY=")
}

// programOf returns the command behind --.
func programOf(words []string) []string {
	if len(words) > 0 && words[0] == "--" {
		return words[1:]
	}
	return words
}

// behind is the side of the device: a program, or any client of this machine.
type behind struct {
	network *testnet.Network // nil: this machine's
	stream  *link.Stream     // of this machine's ports; nil: they have no link
	env     []string         // of the program
	program []string
}

// wait runs the program. Without one it waits for the end of ctx.
func (b *behind) wait(ctx context.Context, e *env) error {
	if len(b.program) == 0 {
		<-ctx.Done()
		return nil
	}
	cmd := commandOf(ctx, e, b.program)
	cmd.Env, cmd.WaitDelay = b.env, 10*time.Second
	start := cmd.Start
	if b.network != nil {
		start = func() error { return b.network.Link.Device.Start(cmd) }
	}
	if err := start(); err != nil {
		return err
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		return nil // it was told to end
	}
	return err
}

// close closes the link.
func (b *behind) close() error {
	switch {
	case b.network != nil:
		return b.network.Close()
	case b.stream != nil:
		return b.stream.Close()
	}
	return nil
}

// open makes the test network of the program. Its error names an alternative that needs no rights.
func (b *behind) open(c link.Conditions, seed uint64, names []string, instead string) (err error) {
	b.network, err = testnet.Open(testnet.Options{Conditions: c, Seed: seed, Names: names})
	return unprivileged(err, instead)
}

// recordedJSON is the output of netsim record --json.
type recordedJSON struct {
	Path string `json:"path"`
	*replay.Recorded
	*siteJSON // nil: a program was recorded
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
	b := &behind{env: trusting(authority), program: c.Command}
	var entrances []replay.Entrance
	var dial dialer // nil: the recorder's own
	defer func() {
		for _, one := range entrances {
			one.Listener.Close()
		}
	}()
	if c.DNS {
		if err := b.open(conditions, c.seed(), []string{"*"}, "--proxy ADDR records without a line"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.close()) }()
		for _, door := range []struct {
			port string
			replay.Door
		}{{"80", replay.Plain}, {"443", replay.Secure}} {
			l, err := b.network.Listen(door.port)
			if err != nil {
				return err
			}
			entrances = append(entrances, replay.Entrance{Listener: l, Door: door.Door})
		}
	} else {
		l, err := net.Listen("tcp", c.Proxy)
		if err != nil {
			return fmt.Errorf("listen as a proxy: %w; choose another address with --proxy", err)
		}
		entrances = append(entrances, replay.Entrance{Listener: l, Door: replay.AsProxy})
		b.env = proxied(b.env, l.Addr())
		fmt.Fprintf(e.err, "recording at the proxy http://%s into %s\n", l.Addr(), c.Output)
		if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
			dial = new(device.EgressPolicy).DialContext
			fmt.Fprintln(e.err, "other machines can reach the proxy: it rejects requests to this machine")
		}
	}
	printTrust(e, authority)

	// It contains cookies and passwords.
	f, err := os.OpenFile(c.Output, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return cannotCreate(c.Output, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := onlyOurs(f); err != nil {
		return fmt.Errorf("write %s: %w", c.Output, err)
	}
	got, failed := c.record(e, f, b, authority, dial, entrances)
	if got == nil {
		return failed
	}
	if err := c.print(e.out, got); err != nil {
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

// dialer connects to a site.
type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// record records until the end, and closes the archive.
func (c netsimRecordCmd) record(e *env, f *os.File, b *behind, a *serve.Authority, dial dialer,
	entrances []replay.Entrance) (*replay.Recorded, error) {
	limits := replay.DefaultLimits()
	w, err := replay.NewWriter(f, replay.Info{Writer: program(), Created: time.Now()}, limits)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", c.Output, err)
	}
	recorder := replay.NewRecorder(replay.RecorderOptions{To: w, Limits: limits, Insecure: c.Insecure, Dial: dial})
	proxy := replay.NewProxy(replay.ProxyOptions{Handler: recorder, ConnContext: recorder.ConnContext,
		TLS: &tls.Config{GetCertificate: a.CertificateFor}})
	failed := during(e, b, func(ctx context.Context) error { return proxy.Run(ctx, entrances...) },
		func(ctx context.Context) error {
			every := time.NewTicker(time.Second)
			defer every.Stop()
			for {
				select {
				case <-every.C:
					_ = w.Sync() // what it meets, Close returns
				case <-ctx.Done():
					return nil
				}
			}
		})
	recorder.Close()
	got := recorder.Recorded()
	if err := w.Close(); err != nil && got.Err == nil {
		got.Err = err
	}
	if got.Err != nil {
		got.Err = fmt.Errorf("write %s: %w", c.Output, got.Err)
	}
	return &got, failed
}

func (c netsimRecordCmd) print(w io.Writer, got *replay.Recorded) error {
	if c.JSON {
		return printJSON(w, recordedJSON{Path: c.Output, Recorded: got})
	}
	l := c.listed(got)
	if err := l.Print(w); err != nil {
		return err
	}
	return printNotes(w, got)
}

// listed returns the counts of a recording.
func (c netsimRecordCmd) listed(got *replay.Recorded) (l terminal.List) {
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
	return l
}

// printNotes prints sentences about an incomplete recording.
func printNotes(w io.Writer, got *replay.Recorded) error {
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

// bound shortens a text to a number of characters.
func bound(text string, most int) string {
	runes := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
