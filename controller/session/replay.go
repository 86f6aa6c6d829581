package session

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
)

// archived answers from an archive at every name of a run's own network.
type archived struct {
	name     string
	replayer *replay.Replayer
	names    map[string]schemes
}

// readArchive reads the archive that a test names.
func readArchive(t *suite.Test) (*replay.Archive, error) {
	if t.Dir == nil {
		return nil, fmt.Errorf("test %s replays %s, but has no folder", t.Name, t.Network.Replay)
	}
	return replay.OpenIn(t.Dir, t.Network.Replay, replay.DefaultLimits())
}

// serveArchive serves every site of an archive.
func (p *pages) serveArchive(ctx context.Context, t *suite.Test, read *replay.Archive) (err error) {
	o := replay.ReplayerOptions{Recorded: true, Rules: replay.Rules{Ignore: replay.CacheBusters()}}
	if t.Network.Determinism > 0 {
		o.Determinism = &replay.Determinism{Seed: uint64(t.Network.Determinism)}
	}
	p.archive = &archived{name: t.Network.Replay, names: namesOf(read)}
	if p.archive.replayer, err = replay.NewReplayer(read, o); err != nil {
		return err
	}
	if p.server, err = serve.New(p.options(t.Network, p.archive.replayer)); err != nil {
		return err
	}
	l, _, err := p.listen.connections(pagePort)
	if err == nil {
		p.server.HTTP(l)
		err = p.openSecure()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("replay %s: %w", p.archive.name, err), p.server.Close())
	}
	p.serve(ctx, "replay "+p.archive.name)
	return nil
}

// openSecure opens the port of the sites with TLS.
func (p *pages) openSecure() error {
	if p.protocol == suite.HTTP3 {
		c, _, err := p.listen.packets(securePort)
		if err == nil {
			p.server.QUIC(c)
		}
		return err
	}
	l, _, err := p.listen.connections(securePort)
	if err == nil {
		p.server.HTTPS(l)
	}
	return err
}

// schemes states by which schemes the responses of a name were recorded.
type schemes struct{ secure, plain bool }

// namesOf returns the names of an archive, in lower case.
func namesOf(a *replay.Archive) map[string]schemes {
	names := map[string]schemes{}
	for _, e := range a.Exchanges {
		u, err := url.Parse(e.URL)
		if err != nil {
			continue
		}
		name := nameOf(u)
		c := names[name]
		if u.Scheme == "https" || u.Scheme == "wss" {
			c.secure = true
		} else {
			c.plain = true
		}
		names[name] = c
	}
	return names
}

// nameOf returns the normalized host name of an address.
func nameOf(u *url.URL) string { return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") }

// secureNames returns the names whose responses all used HTTPS, in lower case.
func secureNames(a *replay.Archive) map[string]bool {
	names := map[string]bool{}
	for name, c := range namesOf(a) {
		names[name] = c.secure && !c.plain
	}
	return names
}

// checkArchiveIn checks if a browser can load an archive over HTTP/3. Firefox uses TCP unless DNS
// announces HTTP/3. Names with responses over http:// have no announcement: browsers would request
// those by HTTPS too. Chromium is started with HTTP/3 forced.
func checkArchiveIn(t *suite.Test, a *replay.Archive, browser string) error {
	if a == nil || t.Network.Protocol != suite.HTTP3 || browser != "firefox" {
		return nil
	}
	var both []string
	for name, c := range namesOf(a) {
		if c.secure && c.plain {
			both = append(both, name)
		}
	}
	if len(both) == 0 {
		return nil
	}
	slices.Sort(both)
	which := both[0]
	if more := len(both) - 1; more > 0 {
		which = fmt.Sprintf("%s and %d more", which, more)
	}
	return fmt.Errorf("test %s: %s has answers of %s over http://, so Firefox cannot use h3; use Chromium or h2: %w",
		t.Name, t.Network.Replay, which, errors.ErrUnsupported)
}

// answered returns an error if the browser must have shown an error page: an address of the test
// has no response in the archive, or was not requested.
func answered(addresses []string, a *archived, t *traffic) error {
	misses := a.replayer.Fidelity().Misses
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		want := asAsked(u)
		if i := slices.IndexFunc(misses, func(m replay.Miss) bool { return m.URL == want }); i >= 0 {
			return fmt.Errorf("%s has no answer for %s: %s", a.name, address, misses[i].Why)
		}
		if !t.requested(u) {
			return fmt.Errorf("no request to %s reached %s: the browser did not load %s and shows a page of its own",
				u.Host, a.name, address)
		}
	}
	return nil
}

// requested reports if anything was requested at the name of an address, or if that is unknown.
// Paths are not compared: browsers normalize them.
func (t *traffic) requested(u *url.URL) bool {
	name := nameOf(u)
	// other names are requested in another spelling
	ascii := !strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII })
	if t == nil || t.unnoted || !ascii {
		return true
	}
	return slices.ContainsFunc(t.fall.Requests, func(r har.Request) bool {
		v, err := url.Parse(r.Served.URL)
		return err == nil && nameOf(v) == name
	})
}

// asAsked returns an address as a browser requests it.
func asAsked(u *url.URL) string {
	v := *u
	v.Fragment, v.RawFragment, v.User = "", "", nil
	v.Host = strings.ToLower(v.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[v.Scheme]; port != "" {
		v.Host = strings.TrimSuffix(v.Host, port)
	}
	if v.Path == "" {
		v.Path = "/"
	}
	return v.String()
}

// Replayed states how well an archive answered a run.
type Replayed struct {
	Archive  string        `json:"archive"`
	Exact    int           `json:"exact"`             // requests with the recorded response
	Loose    int           `json:"loose"`             // with the response of a similar request
	Missed   int           `json:"missed"`            // without a response
	Fidelity float64       `json:"fidelity_fraction"` // share of requests with a response
	Misses   []replay.Miss `json:"misses"`            // the first of them
}

// names returns the missing requests.
func (r *Replayed) names() (all []string) {
	for _, m := range r.Misses {
		all = append(all, m.Method+" "+cut(m.URL, 100))
	}
	return all
}

// maxMisses limits the list in run.json.
const maxMisses = 100

// replayed returns how well an archive has answered, and notes misses.
func (r *run) replayed(a *archived) *Replayed {
	f := a.replayer.Fidelity()
	found := &Replayed{Archive: a.name, Exact: f.Exact, Loose: f.Loose, Missed: f.Missed, Fidelity: f.Score(),
		Misses: []replay.Miss{}}
	for _, m := range f.Misses[:min(len(f.Misses), maxMisses)] {
		m.URL, m.Why, m.Nearest = cut(m.URL, 2000), cut(m.Why, 500), cut(m.Nearest, 2000)
		found.Misses = append(found.Misses, m)
	}
	if f.Missed > 0 {
		first := f.Misses[0]
		r.note("%s had no answer to %d of %d requests (%s): %s", a.name, f.Missed, f.Requests,
			wording.Few(found.names()), cut(first.Why, 200))
	}
	for _, n := range f.Notes {
		r.log.Warn("the archive", "note", n)
	}
	return found
}
