package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"testing/fstest"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/netsim/site"
)

// plan is what a job of kind run is going to do.
type plan struct {
	set   session.SetOptions
	units []*unit // each once, in the order of their names
}

// plan holds what a client asks for against what there is.
func (d *Daemon) plan(p *api.StartParams) (*plan, error) {
	for _, s := range []struct{ what, text string }{{"label", p.Label}, {"branch", p.Branch}, {"revision", p.Revision},
		{"test", p.Test}} {
		if err := checkText(s.what, s.text); err != nil {
			return nil, err
		}
	}
	t, err := d.test(p)
	if err != nil {
		return nil, err
	}
	out := &plan{}
	if err := d.variants(out, p); err != nil {
		return nil, err
	}
	if err := session.Check(t, out.set.Variants...); err != nil {
		return nil, api.Errorf(api.InvalidParams, "test %s: %v", t.Name, err)
	}
	if t.Vitals && p.Test == "" {
		return nil, api.Errorf(api.InvalidParams, "test %s: %v", t.Name, session.ErrUntrustedVitals)
	}
	if out.set, err = session.NewSet(t, out.set.Variants, numbers(p)); err != nil {
		return nil, outOfRange(err)
	}
	out.set.UntilFail, out.set.Seed, out.set.NoVideo = p.UntilFail, p.Seed, p.NoVideo
	// what an address leads to is somebody else's, too
	out.set.Untrusted, out.set.AllowLoopback = p.Test == "", d.options.AllowLoopback
	out.set.Labels = session.Labels{Label: p.Label, Branch: p.Branch, Revision: p.Revision}
	return out, nil
}

// numbers are those that a client gives.
func numbers(p *api.StartParams) session.Numbers {
	n := session.Numbers{WarmUp: p.WarmUp, Retries: p.Retries, MaxLost: p.MaxLost}
	if p.Repeat != 0 {
		n.Repeat = &p.Repeat
	}
	if p.CooldownNS != 0 {
		n.Cooldown = (*time.Duration)(&p.CooldownNS)
	}
	return n
}

// outOfRange rewrites an error about a number in the names of the parameters.
func outOfRange(err error) error {
	var out *session.RangeError
	if !errors.As(err, &out) {
		return err
	}
	name := strings.ReplaceAll(out.Name, "-", "_")
	if _, is := out.Is.(time.Duration); is {
		name += "_ns"
	}
	return api.Errorf(api.InvalidParams, "%s", out.In(name, func(v any) string {
		if d, is := v.(time.Duration); is {
			return fmt.Sprint(int64(d))
		}
		return fmt.Sprint(v)
	}))
}

// variants are all browsers on all devices.
func (d *Daemon) variants(out *plan, p *api.StartParams) error {
	devices, browsers := p.Devices, p.Browsers
	if len(devices) == 0 {
		devices = []string{"local"}
	}
	if len(browsers) == 0 {
		browsers = []string{""}
	}
	if len(devices)*len(browsers) > api.MaxVariants {
		return api.Errorf(api.InvalidParams, "%d devices times %d browsers: at most %d take turns", len(devices),
			len(browsers), api.MaxVariants)
	}
	for _, name := range devices {
		u, err := d.unit(name)
		if err != nil {
			return err
		}
		if slices.Contains(out.units, u) {
			return api.Errorf(api.InvalidParams, "device %s is given twice", name)
		}
		out.units = append(out.units, u)
		for _, b := range browsers {
			if b != "" {
				if _, err := u.about.Browser(b); err != nil {
					return api.Errorf(api.InvalidParams, "%v", err)
				}
			}
			v := session.Variant{Device: u.device, Browser: b}
			if slices.ContainsFunc(out.set.Variants, func(o session.Variant) bool { return o.Name() == v.Name() }) {
				return api.Errorf(api.InvalidParams, "%s is given twice", v.Name())
			}
			out.set.Variants = append(out.set.Variants, v)
		}
	}
	slices.SortFunc(out.units, func(a, b *unit) int { return strings.Compare(a.about.Name, b.about.Name) })
	return nil
}

// test is the one that a client names, sends, or makes of an address.
func (d *Daemon) test(p *api.StartParams) (*suite.Test, error) {
	given := 0
	for _, is := range []bool{p.Test != "", p.URL != "", p.Upload != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, api.Errorf(api.InvalidParams, "give one of test, url and upload")
	case p.Upload != nil:
		return d.uploaded(p.Upload)
	case p.URL != "":
		if err := d.checkAddress(p.URL); err != nil {
			return nil, api.Errorf(api.InvalidParams, "url: %v", err)
		}
		return session.URLTest(p.URL), nil
	}
	return d.Test(p.Test)
}

// Test returns a test of the suite, or one that plays a page of our own.
func (d *Daemon) Test(name string) (*suite.Test, error) {
	if suite.IsFile(name) {
		return nil, api.Errorf(api.InvalidParams,
			"%.80q looks like a file: tests have names; one of your own goes along as upload", name)
	}
	t, err := suite.Find(name, d.options.Known, d.options.Suite...)
	var none *suite.NotFoundError
	if errors.As(err, &none) {
		if p, e := site.Find(name); e == nil {
			return session.PageTest(p), nil
		}
		return nil, api.Errorf(api.NotFound, "%v", err)
	}
	if err != nil {
		return nil, api.Errorf(api.InvalidParams, "%v", err)
	}
	return t, nil
}

// uploaded reads a test that a client has sent. It may use only the files that came with it.
func (d *Daemon) uploaded(u *api.Upload) (*suite.Test, error) {
	if len(u.Files) > api.MaxFiles {
		return nil, api.Errorf(api.InvalidParams, "upload has %d files, at most %d are taken", len(u.Files),
			api.MaxFiles)
	}
	files := fstest.MapFS{} // a file system in memory, out of which no name leads
	total := 0
	for name, text := range u.Files {
		total += len(text)
		if err := checkFileName(name); err != nil {
			return nil, api.Errorf(api.InvalidParams, "upload: %v", err)
		}
		files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
	}
	if total > api.MaxUpload {
		return nil, api.Errorf(api.InvalidParams, "upload has %d bytes, at most %d are taken", total, api.MaxUpload)
	}
	if _, there := u.Files[u.Test]; !there || !suite.IsFile(u.Test) {
		return nil, api.Errorf(api.InvalidParams, "upload: %.80q is not a test file among its files", u.Test)
	}
	known := d.options.Known
	known.Dir = fs.FS(files)
	t, err := suite.Read(files, u.Test, known)
	if err != nil {
		return nil, api.Errorf(api.InvalidParams, "%v", err)
	}
	if t.URL != "" && t.URL != "about:blank" {
		if err := d.checkAddress(t.URL); err != nil {
			return nil, api.Errorf(api.InvalidParams, "%s: %v", u.Test, err)
		}
	}
	if err := d.checkSteps(t.Steps); err != nil {
		return nil, api.Errorf(api.InvalidParams, "%s: %v", u.Test, err)
	}
	return t, nil
}

func checkFileName(name string) error {
	if !fs.ValidPath(name) || path.Base(name) != name || name == "." || strings.HasPrefix(name, ".") ||
		strings.Contains(name, `\`) {
		return fmt.Errorf("%.80q is not a plain name of a file", name)
	}
	return checkText("the name of a file", name)
}

// checkSteps holds all addresses that steps go to against what clients may have loaded.
func (d *Daemon) checkSteps(steps []suite.Step) error {
	for _, s := range steps {
		var err error
		switch a := s.Action.(type) {
		case suite.Load:
			err = d.checkAddress(a.URL)
		case suite.Loop:
			err = d.checkSteps(a.Steps)
		case suite.Ping:
			err = d.checkSteps([]suite.Step{a.Do})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkAddress lets clients load pages by http and https only. Files of the rig are rejected. So is
// its loopback, unless allowed. Other forms of an address, such as the name of a host or a file,
// must be spelled out.
//
// Note: a name that resolves to the loopback is not found here. It is looked up later, by the
// browser's own way (device.EgressPolicy), which does not lead there. The rig's own interface
// refuses such a page by its Host and Origin, too.
func (d *Daemon) checkAddress(address string) error {
	if len(address) > api.MaxURL {
		return fmt.Errorf("the address has %d bytes, at most %d are taken", len(address), api.MaxURL)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return fmt.Errorf("%.80q is not an address that begins with http:// or https:// and a host", address)
	}
	if d.options.AllowLoopback {
		return nil
	}
	host, err := asBrowsersDo(u.Hostname())
	if err != nil {
		return fmt.Errorf("%.80q has a host that browsers do not go to: %w", address, err)
	}
	if ip, err := netip.ParseAddr(host); err == nil && own(ip) || err != nil &&
		(numeric(host) || ownName(host, hosts())) {
		return fmt.Errorf("%.80q is on the rig itself: only its own tests load that, if runs.allow_loopback is not set",
			address)
	}
	return nil
}

// asBrowsersDo is a host as browsers write it before they look it up: letters of other kinds are
// mapped to plain ones, so that 127。0。0。1 is an address.
func asBrowsersDo(host string) (string, error) {
	// an IPv6 address has points that do not separate labels
	if _, err := netip.ParseAddr(host); err != nil {
		mapping := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false),
			idna.CheckHyphens(false))
		if host, err = mapping.ToASCII(host); err != nil {
			return "", err
		}
	}
	return strings.ToLower(strings.TrimSuffix(host, ".")), nil
}

// hosts is the machine's table of names; nothing where it has none.
func hosts() string {
	text, err := os.ReadFile("/etc/hosts")
	if err != nil {
		return ""
	}
	return string(text)
}

// ownName reports whether a name is one of this machine's loopback: by what it is usually called,
// or by a table of names.
func ownName(host, table string) bool {
	switch host {
	case "localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback":
		return true
	}
	if strings.HasSuffix(host, ".localhost") {
		return true
	}
	for line := range strings.Lines(table) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		ip, err := netip.ParseAddr(fields[0])
		if err == nil && own(ip) &&
			slices.ContainsFunc(fields[1:],
				func(name string) bool { return strings.EqualFold(strings.TrimSuffix(name, "."), host) }) {
			return true
		}
	}
	return false
}

// own reports whether an address is one of the machine that asks.
func own(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast()
}

// numeric reports whether browsers read a host as an IPv4 address, such as 2130706433, 0x7f.1 or
// 127.1. Its last part is then a number.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, is := strings.CutPrefix(last, "0x"); is {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// checkText bounds what clients write for people to read.
func checkText(what, text string) error {
	if len(text) > api.MaxName {
		return api.Errorf(api.InvalidParams, "%s has %d bytes, at most %d are taken", what, len(text), api.MaxName)
	}
	if !utf8.ValidString(text) ||
		strings.ContainsFunc(text, func(c rune) bool {
			return unicode.IsControl(c) ||
				unicode.Is(unicode.Bidi_Control, c)
		}) {
		return api.Errorf(api.InvalidParams, "%s %q has characters that cannot be seen", what, text)
	}
	return nil
}
