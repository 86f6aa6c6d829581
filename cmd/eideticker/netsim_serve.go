package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/netlab"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
)

type netsimServeCmd struct {
	Dir     string   `arg:"" placeholder:"DIR" help:"Folder of pages, read once."`
	HTTP    string   `default:"localhost:8080" placeholder:"ADDR" help:"HTTP address, or off (default: ${default})."`
	HTTPS   string   `default:"localhost:8443" placeholder:"ADDR" help:"HTTPS, HTTP/3, or off (default: ${default})."`
	NoQUIC  bool     `name:"no-http3" help:"Disable HTTP/3."`
	NoH2    bool     `name:"no-http2" help:"Disable HTTP/2."`
	Timing  string   `placeholder:"FILE" help:"YAML file with response times, see above."`
	Name    []string `placeholder:"NAME" help:"Resolve only this name or *.NAME; repeatable (default: all)."`
	KeyLog  string   `placeholder:"FILE" help:"Write TLS secrets to this file, for packet analysers."`
	Profile string   `placeholder:"PROFILE" help:"Network profile, for a program after -- or with --stream."`
	Stream  bool     `help:"Use a stream link for browsers of this machine: TCP only, approximate, without root."`
	JSON    bool     `help:"Print one JSON object at the end."`
	Force   bool     `help:"Overwrite an existing HAR."`
	harFlags
	scriptServing
	authorityFlags
	lineFlags
	Command []string `arg:"" optional:"" passthrough:"" help:"Program after --; serving ends with it."`
}

func (netsimServeCmd) Help() string {
	return `Serving ends with Ctrl-C or with the program. A program after -- runs in a test
network, where every name resolves to the pages.

Examples:

  eideticker netsim serve site/
  eideticker netsim serve site/ --profile 3g --stream
  eideticker netsim serve site/ --profile 3g -- curl https://page.test/
  eideticker netsim serve site/ --https 192.0.2.1:443 --timing slow.yaml
  eideticker netsim serve site/ --script calls,errors -o out/served

Timing: the first matching entry applies (* matches any letters):

  timing:
    - url: /slow.js                # or cdn.test/*.js
      latency: 200ms               # before the head of the response
      first-byte: 50ms             # from then to the first byte of its body
      chunks:                      # bytes sent up to a time after the head
        - {to: 10KiB, at: 100ms}
        - {to: 50KiB, at: 400ms}
      cache-control: max-age=60    # default: not sent
      etag: false                  # default: sent
      last-modified: true          # default: not sent
    - url: /events                 # server-sent events
      events: [{at: 1s, event: tick, id: "1", data: hello}]
    - url: /socket                 # a websocket
      websocket: {echo: true, sends: [{at: 1s, text: hello}], close: 10s}

The first use makes a certificate authority. Install its file on test devices. The
path is printed, and the file is served at /` + serve.AuthorityFile + `. Phones
open ` + serve.TrustPage + `, which lists the steps for Android and iOS:

  Chromium   Settings > Privacy and security > Security >
             Manage certificates > Authorities > Import; or, without changes,
             chromium --user-data-dir=$(mktemp -d) \
                 --ignore-certificate-errors-spki-list=HASH
             and for HTTP/3 --origin-to-force-quic-on=HOST:PORT
  Firefox    Settings > Privacy & Security > View Certificates > Authorities >
             Import; for HTTP/3, in about:config,
             network.http.http3.disable_when_third_party_roots_found = false
  Android    open the file; or Settings > Security >
             Encryption & credentials > Install a certificate >
             CA certificate. Chrome trusts it. Apps must opt in. In Firefox:
             Settings > About Firefox, tap the logo seven times,
             Secret Settings > Use third party CA
  programs   after -- find it in SSL_CERT_FILE and similar variables

The key beside that file can impersonate any site to these devices. Use devices
for tests only.`
}

// servedJSON is what netsim serve --json prints.
type servedJSON struct {
	URLs      []string `json:"urls"`
	Authority string   `json:"authority_sha256,omitempty"`
	Files     int      `json:"files"`
	Bytes     int64    `json:"bytes"`
	netlab.Served
	Script *result.Script `json:"script,omitempty"`
}

func (c netsimServeCmd) Run(e *env) (err error) {
	c.Command = programOf(c.Command)
	over := len(c.Command) > 0
	lined := c.Profile != "" || c.lineFlags != (lineFlags{})
	switch {
	case over && c.Stream:
		return usagef("a program after -- has an exact link: omit --stream")
	case lined && !over && !c.Stream:
		return usagef("a link needs a program after --, or --stream for browsers of this machine")
	}
	if c.Profile == "" {
		c.Profile = "none"
	}
	conditions, err := c.conditions(c.Profile)
	if err != nil {
		return err
	}
	rules, err := serve.ReadTiming(c.Timing)
	if err != nil {
		return usageError{err}
	}
	pages, err := serve.Folder(c.Dir, rules)
	if err != nil {
		return err
	}
	scripts, err := c.scriptServing.instrument()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scripts.Discard()) }()
	o := serve.Options{Handler: scripts.Wrap(pages), HTTP1: c.NoH2, Hosts: netlab.Named(c.Name)}
	if over || c.HTTPS != "off" {
		if o.Authority, err = c.authorityFlags.open(); err != nil {
			return err
		}
		o.Handler = o.Authority.Serve(o.Handler)
	}
	if c.KeyLog != "" {
		f, err := os.OpenFile(c.KeyLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		o.KeyLog = f
	}
	s, err := serve.New(o)
	if err != nil {
		return err
	}
	made := servedJSON{}
	made.Files, made.Bytes = pages.Count()
	b := e.client(c.Command)
	defer func() { err = errors.Join(err, b.Close()) }()
	if over {
		b.Env = netlab.Trusting(o.Authority)
		made.URLs, err = c.overLine(s, b, conditions)
	} else {
		made.URLs, err = c.here(s, b, conditions)
	}
	if err == nil && (over || c.Stream) {
		err = scripts.ListenBeside(b.Network, o.Authority)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	for _, u := range made.URLs {
		fmt.Fprintf(e.err, "serving %s at %s\n", plural(made.Files, "file"), u)
	}
	if !pages.Index() {
		fmt.Fprintf(e.err, "no index.html: / is empty\n")
	}
	if a := o.Authority; a != nil {
		made.Authority = a.Fingerprint()
		printTrust(e, a)
		fmt.Fprintf(e.err, "or chromium --ignore-certificate-errors-spki-list=%s\n", a.KeyHash())
	}
	h, err := c.begin(c.Force)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	failed := b.Run(e.ctx, append(scripts.Servers(), s.Run)...)
	made.Served = netlab.Count(s)
	if made.Script, err = finishScripts(e, scripts); err != nil {
		failed = errors.Join(failed, err)
	}
	return errors.Join(made.print(e, c.JSON), failed, h.finish(s, b, conditions))
}

// here listens at addresses of this machine.
func (c netsimServeCmd) here(s *serve.Server, b *netlab.Client, to link.Conditions) (urls []string, err error) {
	through := func(l net.Listener) net.Listener { return l }
	if c.Stream {
		if b.Stream, err = link.OpenStream(to, c.seed()); err != nil {
			return nil, err
		}
		through = b.Stream.Listen
	}
	for _, door := range []struct {
		address, scheme string
		add             func(net.Listener)
	}{{c.HTTP, "http", s.HTTP}, {c.HTTPS, "https", s.HTTPS}} {
		if door.address == "off" {
			continue
		}
		l, err := net.Listen("tcp", door.address)
		if err != nil {
			return nil, fmt.Errorf("serve %s: %w; choose another address with --%s, or off", door.scheme, err,
				door.scheme)
		}
		door.add(through(l))
		urls = append(urls, fmt.Sprintf("%s://%s/", door.scheme, l.Addr()))
		if door.scheme == "http" || c.NoQUIC || c.Stream { // a stream is of TCP
			continue
		}
		p, err := net.ListenPacket("udp", l.Addr().String())
		if err != nil {
			return nil, fmt.Errorf("serve HTTP/3: %w; choose another --https, or use --no-http3", err)
		}
		s.QUIC(p)
	}
	if len(urls) == 0 {
		return nil, usagef("both --http and --https are off")
	}
	return urls, nil
}

// overLine makes a test network for the program.
func (c netsimServeCmd) overLine(s *serve.Server, b *netlab.Client, to link.Conditions) (urls []string, err error) {
	names := c.Name
	if names == nil {
		names = []string{"*"}
	}
	if b.Network, err = openNetwork(to, c.seed(), "--stream serves at addresses of this machine over one",
		names...); err != nil {
		return nil, err
	}
	if err := b.ListenWeb(s); err != nil {
		return nil, err
	}
	if !c.NoQUIC {
		p, err := b.Network.Link.Server.ListenPacket("udp", ":443")
		if err != nil {
			return nil, err
		}
		s.QUIC(p)
	}
	if c.Name == nil {
		return []string{"http and https, under every name"}, nil
	}
	host := strings.TrimPrefix(names[0], "*.")
	return []string{"http://" + host + "/", "https://" + host + "/"}, nil
}

func (j *servedJSON) print(e *env, asJSON bool) error {
	if asJSON {
		return printJSON(e.out, j)
	}
	var l terminal.List
	l.Add("requests", "%d by %s, %s sent", j.Exchanges, plural(j.Connections, "connection"), bytesText(j.SentBytes))
	for _, protocol := range []string{"http/1.1", "h2", "h3"} {
		if n := j.Protocols[protocol]; n > 0 {
			l.Add(protocol, "%d", n)
		}
	}
	if j.Failed > 0 {
		l.Add("not whole", "%d", j.Failed)
	}
	if j.Refused > 0 {
		l.Add("refused", "%s, because too many were open", plural(j.Refused, "connection"))
	}
	if j.NotNoted > 0 {
		l.Add("not noted", "%d connections and requests", j.NotNoted)
	}
	if err := l.Print(e.out); err != nil {
		return err
	}
	for _, u := range j.Missing {
		if _, err := fmt.Fprintf(e.out, "missing: %s\n", terminal.Clean(wording.Short(u, 200))); err != nil {
			return err
		}
	}
	return terminal.Script(e.out, j.Script)
}
