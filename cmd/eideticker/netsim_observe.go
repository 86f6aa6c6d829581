package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/netlab"
	"github.com/eideticker/eideticker/controller/observe"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
)

type netsimObserveCmd struct {
	Upstream string `placeholder:"URL" help:"Origin of the application, such as https://app.test."`
	KeepHost bool   `help:"Pass the host that clients ask to the application (default: its own)."`
	HTTP     string `placeholder:"ADDR" help:"Serve over HTTP at this address."`
	HTTPS    string `placeholder:"ADDR" help:"Serve over HTTPS at this address, such as :8443."`
	Cert     string `placeholder:"FILE" help:"Certificate chain in PEM (default: of our own authority)."`
	Key      string `placeholder:"FILE" help:"Its private key."`
	Proxy    string `placeholder:"ADDR" help:"Be the proxy of clients at this address, for all sites that they ask."`

	Script policiesFlag  `placeholder:"POLICIES" help:"Policies, such as errors,calls; script list names all."`
	Share  *percentFlag  `placeholder:"PERCENT" help:"Share of instrumented users (default: 5%)."`
	Adapt  string        `placeholder:"loads|live" help:"Measure the calls of slow functions only."`
	Ramp   time.Duration `placeholder:"TIME" help:"Begin with 1% of the users, then 5, 25, 100, each for this time."`

	Output string        `short:"o" placeholder:"DIR" help:"Folder of the records; one of observe is continued."`
	Rotate time.Duration `default:"1h" placeholder:"TIME" help:"Begin a new folder of records after (default: 1h)."`
	Keep   byteSize      `default:"1GiB" placeholder:"SIZE" help:"Remove the oldest folders beyond (default: 1GiB)."`
	JSON   bool          `help:"Print one JSON object at the end."`
	authorityFlags
}

func (netsimObserveCmd) Help() string {
	return `Users of a live application get instrumented scripts. The application is not
changed. Observing ends with Ctrl-C. docs/observe.md describes cookies, privacy
and failures.

Examples:

  eideticker netsim observe --upstream https://app.test --https :8443 \
      --script errors,calls --share 5% -o out/observed
  eideticker netsim observe --upstream http://localhost:3000 --http :8080 \
      --script errors --share 100% --ramp 1h
  eideticker netsim observe --proxy localhost:8899 --share 100% \
      --script calls --adapt live

A printed link selects one user, for example of a bug report. Every tenth load of
an instrumented user stays plain. Instrumented loads are compared with these. If
they are slower or fail more, at p < 0.01, a policy is switched off.`
}

// options checks the flags.
func (c netsimObserveCmd) options() (o observe.Options, err error) {
	o = observe.Options{KeepHost: c.KeepHost, Policies: c.Script, Adapt: c.Adapt, Share: 0.05, Ramp: c.Ramp,
		Dir: c.Output, Rotate: c.Rotate, Keep: int64(c.Keep)}
	if c.Share != nil {
		o.Share = float64(*c.Share) / 100
	}
	switch {
	case (c.Upstream == "") == (c.Proxy == ""):
		return o, usagef("observe needs one of --upstream and --proxy")
	case c.Upstream != "" && c.HTTP == "" && c.HTTPS == "":
		return o, usagef("--upstream needs --http or --https, the address of its users")
	case c.Proxy != "" && (c.HTTP != "" || c.HTTPS != "" || c.KeepHost || c.Cert != ""):
		return o, usagef("--proxy excludes --http, --https, --keep-host and --cert")
	case (c.Cert == "") != (c.Key == "") || c.Cert != "" && c.HTTPS == "":
		return o, usagef("--cert needs --key and --https")
	case c.Adapt != "" && c.Adapt != plan.Loads && c.Adapt != plan.Live:
		return o, usagef("--adapt %q: must be loads or live", c.Adapt)
	case c.Adapt != "" && !slices.Contains(c.Script, "calls"):
		return o, usagef("--adapt needs the policy calls")
	case len(c.Script) == 0:
		return o, usagef("observe needs --script, such as --script errors")
	case o.Share < 0 || o.Share > 1:
		return o, usagef("--share must be 0%% to 100%%")
	case c.Ramp < 0 || c.Rotate < time.Minute:
		return o, usagef("--ramp must not be negative, and --rotate must be at least 1m")
	}
	if o.Dir == "" {
		o.Dir = session.FreeFolder("out/observed" + time.Now().Format("-20060102-150405"))
	}
	if c.Upstream == "" {
		return o, nil
	}
	o.Upstream, err = url.Parse(c.Upstream)
	if err != nil || o.Upstream.Scheme != "http" && o.Upstream.Scheme != "https" || o.Upstream.Host == "" ||
		o.Upstream.User != nil || o.Upstream.Path != "" && o.Upstream.Path != "/" || o.Upstream.RawQuery != "" {
		return o, usagef("--upstream %q: must be an origin, such as https://app.test", c.Upstream)
	}
	o.Upstream.Path = ""
	return o, nil
}

func (c netsimObserveCmd) Run(e *env) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	doors, certificate, trust, err := c.listen(e)
	if err != nil {
		return err
	}
	if c.Proxy != "" {
		at, _ := doors[0].Addr().(*net.TCPAddr)
		o.Outside = at == nil || !at.IP.IsLoopback()
	}
	o.Log = func(text string) { fmt.Fprintln(e.err, terminal.Clean(text)) }
	x, err := observe.New(o)
	if err != nil {
		return errors.Join(err, closeDoors(doors))
	}
	run := func(ctx context.Context) error {
		o := replay.ProxyOptions{Handler: trust.Serve(x), TLS: &tls.Config{GetCertificate: certificate}}
		return replay.NewProxy(o).Run(ctx, replay.Entrance{Listener: doors[0].Listener, Door: replay.AsProxy})
	}
	if c.Proxy == "" {
		s, err := serve.New(serve.Options{Handler: trust.Serve(x), Certificate: certificate, Blind: true})
		if err != nil {
			return errors.Join(err, closeDoors(doors))
		}
		for _, d := range doors {
			if d.scheme == "https" {
				s.HTTPS(d.Listener)
			} else {
				s.HTTP(d.Listener)
			}
		}
		run = s.Run
	}
	fmt.Fprintf(e.err, "records are in %s; %.4g %% of the users are instrumented\n", o.Dir, 100*x.Summary().Share)
	fmt.Fprintf(e.err, "a link with ?%s=%s selects its user for a week; =off excludes one\n", observe.Name, x.Link())
	err = new(netlab.Client).Run(e.ctx, run, x.Run)
	return errors.Join(err, c.print(e, x.Summary(), o.Dir))
}

// door is an address of the users.
type door struct {
	net.Listener
	scheme string
}

func closeDoors(doors []door) (err error) {
	for _, d := range doors {
		err = errors.Join(err, d.Close())
	}
	return err
}

// listen opens the addresses, and returns the source of certificates, and its authority if that is
// ours.
func (c netsimObserveCmd) listen(e *env) (doors []door,
	certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error), trust *serve.Authority, err error) {
	switch {
	case c.Cert != "":
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("read the certificate: %w", err)
		}
		certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	case c.HTTPS != "" || c.Proxy != "":
		if trust, err = c.authorityFlags.open(); err != nil {
			return nil, nil, nil, err
		}
		certificate = trust.CertificateFor
		printTrust(e, trust)
		fmt.Fprintf(e.err, "phones open %s at these addresses\n", serve.TrustPage)
	}
	for _, d := range []struct{ address, scheme, flag string }{{c.HTTP, "http", "http"}, {c.HTTPS, "https", "https"},
		{c.Proxy, "http", "proxy"}} {
		if d.address == "" {
			continue
		}
		l, err := net.Listen("tcp", d.address)
		if err != nil {
			err = fmt.Errorf("observe at %s: %w; choose another address with --%s", d.address, err, d.flag)
			return nil, nil, nil, errors.Join(closeDoors(doors), err)
		}
		doors = append(doors, door{l, d.scheme})
		fmt.Fprintf(e.err, "observing %s at %s://%s\n", cmp.Or(c.Upstream, "all sites"), d.scheme, l.Addr())
	}
	return doors, certificate, trust, nil
}

// print prints the counts at the end.
func (c netsimObserveCmd) print(e *env, s observe.Summary, dir string) error {
	if c.JSON {
		return printJSON(e.out, map[string]any{"path": dir, "summary": s})
	}
	var l terminal.List
	l.Add("loads", "%d instrumented, %d plain of the same users, %d of others", s.Instrumented, s.Plain, s.Untouched)
	l.Add("reported", "%d instrumented and %d plain loads", s.Reported[1], s.Reported[0])
	l.Add("records", "%s in %s; read them with script report", bytesText(s.Records), dir)
	if s.Plan.Adapt != "" {
		state := "not stable"
		if s.Plan.Stable {
			state = "stable"
		}
		l.Add("plan", "%d slow functions; %s after %s", s.Plan.Slow, state, plural(int64(s.Plan.Updates), "update"))
	}
	for _, off := range s.Off {
		l.Add("policy off", "%s", off)
	}
	if s.Upstream > 0 {
		l.Add("failures", "the application did not answer %s", plural(s.Upstream, "request"))
	}
	l.Add("problem", "%s", s.Problem)
	return l.Print(e.out)
}
