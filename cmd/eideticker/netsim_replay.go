package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/netlab"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
)

type netsimReplayCmd struct {
	Archive string `arg:"" complete:"files" help:"Archive of netsim record, HAR, or Web Page Replay archive (.wprgo)."`
	List    bool   `help:"Only list the contents."`
	Export  string `placeholder:"FILE.har" help:"Only write the contents as HAR."`
	Force   bool   `help:"Overwrite an existing HAR."`

	Proxy   string `placeholder:"ADDR" help:"Serve as an HTTP proxy at this address, such as localhost:8899."`
	HTTP    string `name:"http" placeholder:"ADDR" help:"Serve the sites over HTTP at this address."`
	HTTPS   string `name:"https" placeholder:"ADDR" help:"Serve the sites over HTTPS at this address."`
	Profile string `default:"none" placeholder:"PROFILE" help:"Network profile, see netsim link (default: none)."`

	Think       string   `enum:"recorded,none" default:"recorded" help:"Delay of responses (default: recorded)."`
	Determinism *uint64  `placeholder:"SEED" help:"Make Date, performance.now and Math.random repeatable in pages."`
	Crypto      bool     `help:"With --determinism: also make crypto.getRandomValues repeatable."`
	Ignore      []string `placeholder:"NAME" help:"Ignore this query parameter; * matches any letters."`
	Near        bool     `help:"Answer unrecorded URLs with the same path's URL that shares most query parameters."`
	Header      []string `placeholder:"NAME" help:"Also match this request header; headers in Vary always match."`
	Body        bool     `help:"Do not answer requests with unrecorded bodies."`
	JSON        bool     `help:"Print one JSON object."`
	harFlags
	scriptServing
	authorityFlags
	lineFlags
	Command []string `arg:"" optional:"" passthrough:"" help:"Program and its arguments after --; replay ends with it."`
}

func (netsimReplayCmd) Help() string {
	return `A program after -- runs in a test network, where every name resolves to the replay,
or uses --proxy. See netsim record for certificates. Requests that the archive
lacks are listed at the end. Known cache-busters are ignored.

Examples:

  eideticker netsim replay site.zip --list
  eideticker netsim replay site.zip --profile 3g -- sh -c 'chromium \
      --ignore-certificate-errors-spki-list=$EIDETICKER_AUTHORITY_SPKI \
      https://site.example/'
  eideticker netsim replay site.zip --proxy localhost:8899 --think none
  eideticker netsim replay site.zip --proxy localhost:8899 --script calls \
      -o out/replayed`
}

func (c netsimReplayCmd) Run(e *env) (err error) {
	c.Command = programOf(c.Command)
	at := c.Proxy != "" || c.HTTP != "" || c.HTTPS != ""
	switch {
	case c.List && c.Export != "":
		return usagef("--list and --export exclude each other")
	case (c.List || c.Export != "") && (at || len(c.Command) > 0 || len(c.Script) > 0 || c.Output != ""):
		return usagef("--list and --export do not replay; omit the replay's flags and program")
	case !c.List && c.Export == "" && !at && len(c.Command) == 0:
		return usagef("replay needs a program after --, --proxy, or --http and --https")
	case c.HAR != "" && (c.List || c.Export != "" || c.Proxy != ""):
		return usagef("--har needs a program after --, or --http and --https")
	case c.Crypto && c.Determinism == nil:
		return usagef("--crypto needs --determinism")
	}
	conditions, err := c.conditions(c.Profile)
	if err != nil {
		return err
	}
	if at && (c.Profile != "none" || c.lineFlags != (lineFlags{})) {
		return usagef("--profile and link figures need a program after --")
	}
	a, err := replay.Open(c.Archive, replay.DefaultLimits())
	if err != nil {
		return err
	}
	switch {
	case c.List:
		return c.list(e.out, a)
	case c.Export != "":
		return c.export(e, a)
	}
	for _, n := range a.Notes {
		fmt.Fprintf(e.err, "%s\n", terminal.Clean(n))
	}
	r, err := replay.NewReplayer(a, c.options())
	if err != nil {
		return usageError{err}
	}
	authority, err := c.authorityFlags.open()
	if err != nil {
		return err
	}
	scripts, err := c.scriptServing.instrument()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scripts.Discard()) }()
	b := e.client(c.Command)
	b.Env = netlab.Trusting(authority)
	if at {
		err = c.here(e, scripts, r, b, authority)
	} else {
		err = c.overLine(e, scripts, r, b, authority, conditions)
	}
	f := r.Fidelity()
	reported, failed := finishScripts(e, scripts)
	return errors.Join(c.print(e.out, &f, reported), err, failed)
}

func (c netsimReplayCmd) options() replay.ReplayerOptions {
	o := replay.ReplayerOptions{Recorded: c.Think == "recorded",
		Rules: replay.Rules{Ignore: append(replay.CacheBusters(), c.Ignore...), Near: c.Near, Headers: c.Header,
			Body: c.Body}}
	if c.Determinism != nil {
		o.Determinism = &replay.Determinism{Seed: *c.Determinism, Crypto: c.Crypto}
	}
	return o
}

// here replays at addresses of this machine.
func (c netsimReplayCmd) here(e *env, scripts *netlab.Scripts, r *replay.Replayer, b *netlab.Client,
	authority *serve.Authority) error {
	handler := scripts.Wrap(r)
	s, err := serve.New(serve.Options{Handler: handler, Authority: authority, Blind: c.HAR == ""})
	if err != nil {
		return err
	}
	for _, door := range []struct {
		address, scheme string
		add             func(net.Listener)
	}{{c.HTTP, "http", s.HTTP}, {c.HTTPS, "https", s.HTTPS}} {
		if door.address == "" {
			continue
		}
		l, err := net.Listen("tcp", door.address)
		if err != nil {
			return errors.Join(s.Close(),
				fmt.Errorf("replay %s: %w; choose another address with --%s", door.scheme, err, door.scheme))
		}
		door.add(l)
		fmt.Fprintf(e.err, "replaying at %s://%s\n", door.scheme, l.Addr())
	}
	var running []func(context.Context) error
	if c.HTTP != "" || c.HTTPS != "" {
		running = append(running, s.Run)
	}
	if c.Proxy != "" {
		l, err := net.Listen("tcp", c.Proxy)
		if err != nil {
			return errors.Join(fmt.Errorf("listen as a proxy: %w; choose another address with --proxy", err), s.Close())
		}
		fmt.Fprintf(e.err, "replaying at the proxy http://%s\n", l.Addr())
		b.UseProxy(l.Addr())
		running = append(running, func(ctx context.Context) error {
			return replay.NewProxy(replay.ProxyOptions{Handler: handler,
				TLS: &tls.Config{GetCertificate: authority.CertificateFor}}).Run(ctx,
				replay.Entrance{Listener: l, Door: replay.AsProxy})
		})
	}
	printTrust(e, authority)
	h, err := c.begin(c.Force)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return errors.Join(b.Run(e.ctx, running...), h.finish(s, b, link.Conditions{}))
}

// overLine replays in a test network.
func (c netsimReplayCmd) overLine(e *env, scripts *netlab.Scripts, r *replay.Replayer, b *netlab.Client,
	authority *serve.Authority, conditions link.Conditions) (err error) {
	if b.Network, err = openNetwork(conditions, c.seed(),
		"--http, --https and --proxy replay at addresses of this machine, without a line", "*"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := scripts.ListenBeside(b.Network, authority); err != nil {
		return err
	}
	s, err := serve.New(serve.Options{Handler: scripts.Wrap(r), Authority: authority, Blind: c.HAR == ""})
	if err != nil {
		return err
	}
	if err := b.ListenWeb(s); err != nil {
		return errors.Join(err, s.Close())
	}
	h, err := c.begin(c.Force)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return errors.Join(b.Run(e.ctx, append(scripts.Servers(), s.Run)...), h.finish(s, b, conditions))
}

// export writes a HAR.
func (c netsimReplayCmd) export(e *env, a *replay.Archive) error {
	out, err := createOut(c.Export, c.Force)
	if err != nil {
		return err
	}
	out.Mode = 0o600 // others' cookies and passwords are in it, as in the archive
	if err := out.Finish(a.ExportHAR(out, version().Version)); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(e.out, struct {
			Path      string `json:"path"`
			Output    string `json:"output"`
			Exchanges int    `json:"exchanges"`
		}{c.Archive, c.Export, len(a.Exchanges)})
	}
	_, err = fmt.Fprintf(e.out, "%s: %s\n", c.Export, plural(len(a.Exchanges), "exchange"))
	return err
}

// archiveJSON is what netsim replay --list --json prints.
type archiveJSON struct {
	Path      string         `json:"path"`
	Writer    string         `json:"writer"`
	Created   time.Time      `json:"created"`
	Exchanges []exchangeJSON `json:"exchanges"`
	Notes     []string       `json:"notes"`
}

type exchangeJSON struct {
	Number     int    `json:"number"`
	Connection int    `json:"connection"` // 0: not known
	Method     string `json:"method"`
	URL        string `json:"url"`
	Status     int    `json:"status"` // 0: no response
	Type       string `json:"type"`
	Bytes      int64  `json:"bytes"`    // of the body as sent
	Began      int64  `json:"began_ns"` // since the recording began
	Think      int64  `json:"think_ns"`
	RoundTrip  int64  `json:"round_trip_ns"` // part of think_ns
	Ended      int64  `json:"ended_ns"`      // since the first byte
	Chunks     int    `json:"chunks"`
	Replayable bool   `json:"replayable"`
	Why        string `json:"why_not,omitempty"`
	Insecure   string `json:"insecure,omitempty"`
}

func (c netsimReplayCmd) list(w io.Writer, a *replay.Archive) error {
	all := archiveJSON{c.Archive, a.Info.Writer, a.Info.Created, []exchangeJSON{}, append([]string{}, a.Notes...)}
	var bytes int64
	for _, x := range a.Exchanges {
		ok, why := x.Replayable()
		all.Exchanges = append(all.Exchanges, exchangeJSON{x.Number, x.Connection, x.Method, x.URL, x.Status,
			x.ResponseHeader.Get("Content-Type"), x.ResponseBody.Size, int64(x.Began), int64(x.Think),
			int64(x.RoundTrip), int64(x.Ended), len(x.Chunks), ok, why, x.Insecure})
		bytes += x.ResponseBody.Size
	}
	if c.JSON {
		return printJSON(w, all)
	}
	var rows [][]string
	for _, x := range all.Exchanges {
		status := fmt.Sprint(x.Status)
		if x.Status == 0 {
			status = "–"
		}
		row := []string{fmt.Sprint(x.Number), x.Method, status, bytesText(x.Bytes),
			fmt.Sprintf("%.0f ms", float64(x.Think)/1e6), fmt.Sprintf("%.0f ms", float64(x.Ended)/1e6),
			wording.Short(x.Type, 30), wording.Short(x.URL, 120)}
		if x.Why != "" {
			row[len(row)-1] += " (" + wording.Short(x.Why, 120) + ")"
		}
		rows = append(rows, row)
	}
	if err := terminal.Table(w, []string{">NO.", "METHOD", ">STATUS", ">SIZE", ">THINKS", ">LASTS", "TYPE", "URL"},
		rows); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s of %s, %s; %s\n", plural(len(rows), "exchange"), terminal.Clean(a.Info.Writer),
		a.Info.Created.Format(time.DateTime), bytesText(bytes))
	for _, n := range a.Notes {
		if _, err := fmt.Fprintln(w, terminal.Clean(n)); err != nil {
			return err
		}
	}
	return nil
}

// fidelityJSON is what netsim replay --json prints at the end.
type fidelityJSON struct {
	Path string `json:"path"`
	*replay.Fidelity
	Score  float64        `json:"fidelity_fraction"`
	Script *result.Script `json:"script,omitempty"`
}

// print prints matched and missed requests, and what instrumented scripts did.
func (c netsimReplayCmd) print(w io.Writer, f *replay.Fidelity, s *result.Script) error {
	if c.JSON {
		return printJSON(w, fidelityJSON{c.Archive, f, f.Score(), s})
	}
	var l terminal.List
	l.Add("requests", "%d: %d as recorded, %d like one that was, %d not answered", f.Requests, f.Exact, f.Loose,
		f.Missed)
	l.Add("fidelity", "%.1f %%", 100*f.Score())
	l.Add("asked for", "%d of %s, %s of %s", f.Asked, plural(f.Replayable, "exchange"), bytesText(f.AskedBytes),
		bytesText(f.ReplayableBytes))
	if err := l.Print(w); err != nil {
		return err
	}
	for _, one := range []struct {
		title string
		of    []replay.Miss
	}{{"not answered", f.Misses}, {"answered by one that is like it", f.Loosely}} {
		if len(one.of) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s:\n", one.title)
		for _, m := range one.of {
			fmt.Fprintf(w, "  %d × %s %s: %s\n", m.Count, m.Method, terminal.Clean(wording.Short(m.URL, 200)),
				terminal.Clean(m.Why))
			if m.Nearest != "" && m.Nearest != m.URL {
				fmt.Fprintf(w, "      nearest: %s\n", terminal.Clean(wording.Short(m.Nearest, 200)))
			}
		}
	}
	if f.Others > 0 {
		fmt.Fprintf(w, "and %d more\n", f.Others)
	}
	for _, n := range f.Notes {
		if _, err := fmt.Fprintln(w, terminal.Clean(n)); err != nil {
			return err
		}
	}
	return terminal.Script(w, s)
}
