package daemon

import (
	"cmp"
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

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/siterecord"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store"
	"github.com/eideticker/eideticker/netsim/site"
	"github.com/eideticker/eideticker/pattern"
)

// plan is what a job of kind run is going to do.
type plan struct {
	set   session.SetOptions
	units []*unit // each once, in the order of their names
	// builds of the variants' browsers, by their names
	builds map[string]api.Build
}

// plan holds what a client asks for against what there is.
func (d *Daemon) plan(p *api.StartParams) (*plan, error) {
	for _, s := range []struct{ what, text string }{{"label", p.Label}, {"branch", p.Branch}, {"revision", p.Revision},
		{"test", p.Test}} {
		if err := checkText(s.what, s.text); err != nil {
			return nil, err
		}
	}
	step := time.Duration(p.FilmstripStepNS)
	if step != 0 && (step < api.MinFilmstripStep || step > api.MaxFilmstripStep) {
		return nil, api.Errorf(api.InvalidParams, "filmstrip_step_ns is %d: must be %d to %d", step,
			api.MinFilmstripStep, api.MaxFilmstripStep)
	}
	if p.Class != "" && span(p.Class) == 0 {
		return nil, api.Errorf(api.InvalidParams, "class is %.80q: must be now, check, watch or fill", p.Class)
	}
	out := &plan{}
	if err := d.fixBuilds(out, p); err != nil {
		return nil, err
	}
	subjects, untrusted, err := d.subjects(p)
	if err != nil {
		return nil, err
	}
	if untrusted && len(out.builds) > 0 {
		return nil, api.Errorf(api.InvalidParams, "uploads and addresses cannot run in builds of feeds; name a test")
	}
	on, err := d.variants(out, p, subjects)
	if err != nil {
		return nil, err
	}
	asked := numbers(p)
	if usual := compare.Blocks(max(1, len(on)-1)); len(subjects) > 1 && asked.Repeat == nil &&
		subjects[0].Test.Repeat == 0 && !p.UntilFail {
		asked.Repeat = &usual // all comparisons can be decided
	}
	if out.set, err = session.NewSet(subjects[0].Test, on, asked); err != nil {
		return nil, outOfRange(err)
	}
	// the sides of a schedule's job are those of its origin
	if out.set.UntilFail = p.UntilFail; !p.ProfiledOnly && p.Origin == nil {
		if err := out.set.Alternate(asked, api.MaxVariants); err != nil {
			return nil, api.Errorf(api.InvalidParams, "profile: %v; set profiled_only to make none", err)
		}
	}
	follows, err := d.checkTests(out, &out.set, untrusted)
	if err != nil {
		return nil, err
	}
	if p.Fresh && !follows {
		return nil, api.Errorf(api.InvalidParams, "fresh needs a url and a network")
	}
	if p.WhyChanged {
		if err := d.checkWhyChanged(out, untrusted); err != nil {
			return nil, err
		}
	}
	out.set.Seed, out.set.NoVideo, out.set.Videos, out.set.FilmstripStep = p.Seed, p.NoVideo, p.Videos, step
	// what an address leads to is somebody else's, too
	out.set.Untrusted, out.set.AllowLoopback = untrusted, d.options.AllowLoopback
	out.set.Labels = session.Labels{Label: p.Label, Branch: p.Branch, Revision: p.Revision}
	return out, nil
}

// checkTests checks the tests of a set. It reports if archives of some follow.
func (d *Daemon) checkTests(p *plan, o *session.SetOptions, untrusted bool) (follows bool, err error) {
	for i, v := range o.Variants {
		t := o.TestOf(i)
		if t.Vitals && untrusted {
			return false, api.Errorf(api.InvalidParams, "test %s: %v", t.Name, session.ErrUntrustedVitals)
		}
		check := session.Check
		if d.follows(t) {
			check, follows = session.CheckReplay, true
		}
		if err := check(t, v); err != nil {
			return false, api.Errorf(api.InvalidParams, "test %s: %v", t.Name, err)
		}
		if err := session.CheckSite(t, d.site(p, &v)); err != nil {
			return false, api.Errorf(api.InvalidParams, "%v", err)
		}
	}
	return follows, nil
}

// follows reports if a test is an address that is recorded once and then replayed.
func (d *Daemon) follows(t *suite.Test) bool { return siterecord.Follows(t) && !session.LiveByHosts(t) }

var variantName = pattern.New(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)

// subjects returns the sides of a comparison, or the only one. untrusted: one is the client's own.
func (d *Daemon) subjects(p *api.StartParams) (all []session.Subject, untrusted bool, err error) {
	own := api.Variant{Test: p.Test, URL: p.URL, Upload: p.Upload, Gestures: p.Gestures, Network: p.Network}
	asked := p.Variants
	switch n := len(asked); {
	case n == 0:
		asked = []api.Variant{own}
	case n == 1 && p.Origin == nil || n > api.MaxVariants:
		return nil, false, api.Errorf(api.InvalidParams, "variants has %d: must be 2 to %d", n, api.MaxVariants)
	}
	for _, v := range asked {
		if v.Name != "" && !variantName.MatchString(v.Name) {
			return nil, false, api.Errorf(api.InvalidParams, "%.80q cannot be the name of a variant", v.Name)
		}
		if slices.ContainsFunc(all, func(s session.Subject) bool { return v.Name != "" && s.Name == v.Name }) {
			return nil, false, api.Errorf(api.InvalidParams, "variant %s is given twice", v.Name)
		}
		if v.Test == "" && v.URL == "" && v.Upload == nil {
			v.Test, v.URL, v.Upload = own.Test, own.URL, own.Upload
		}
		if v.Gestures == nil && v.URL != "" {
			v.Gestures = own.Gestures
		}
		v.Network = cmp.Or(v.Network, own.Network)
		t, err := d.test(&v)
		if err != nil {
			return nil, false, err
		}
		t.Vitals = t.Vitals || p.Vitals
		if p.Script != nil {
			t.Script.Policies = p.Script
			if err := t.Script.Check(d.options.Known); err != nil {
				return nil, false, api.Errorf(api.InvalidParams, "script: %v", err)
			}
		}
		if p.Profile != "" {
			t.Profile, err = suite.ParseProfile(p.Profile)
		}
		if err == nil {
			err = limitProfile(t, p)
		}
		if err == nil && v.Test == "" {
			err = session.CheckUntrustedProfile(t)
		}
		if err != nil {
			return nil, false, api.Errorf(api.InvalidParams, "profile: %v", err)
		}
		untrusted = untrusted || v.Test == ""
		all = append(all, session.Subject{Name: v.Name, Test: t, Device: v.Device, Browser: v.Browser})
	}
	return all, untrusted, nil
}

// limitProfile gives a profile the limits of the job.
func limitProfile(t *suite.Test, p *api.StartParams) error {
	switch {
	case p.TraceLimit < 0 || p.TraceLimit > api.MaxTraceLimit:
		return fmt.Errorf("trace_limit_bytes is %d: must be 0 to %d", p.TraceLimit, int64(api.MaxTraceLimit))
	case (p.Strict || p.TraceLimit > 0) && !t.Profile.Given():
		return fmt.Errorf("strict and trace_limit_bytes need a profile, and test %s has none", t.Name)
	}
	t.Profile.Strict = t.Profile.Strict || p.Strict
	t.Profile.Limit = cmp.Or(suite.Bytes(p.TraceLimit), t.Profile.Limit)
	return nil
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

// variants are all browsers on all devices, and notes the devices in the plan.
func (d *Daemon) variants(out *plan, p *api.StartParams, subjects []session.Subject) ([]session.Variant, error) {
	if n := len(p.Devices); n > api.MaxVariants {
		return nil, api.Errorf(api.InvalidParams, "devices has %d: must be at most %d", n, api.MaxVariants)
	}
	for i, name := range p.Devices {
		if slices.Contains(p.Devices[:i], name) {
			return nil, api.Errorf(api.InvalidParams, "device %.80s is given twice", name)
		}
	}
	all, err := session.Variants(subjects, p.Devices, p.Browsers, api.MaxVariants,
		func(name string) (session.Device, error) {
			u, err := d.unit(name)
			if err != nil {
				return nil, err
			}
			out.units = append(out.units, u)
			return u.device, nil
		})
	if told := (*api.Error)(nil); err != nil && !errors.As(err, &told) {
		return nil, api.Errorf(api.InvalidParams, "%v", err)
	}
	if err == nil {
		err = d.useBuilds(all)
	}
	if err != nil {
		return nil, err
	}
	of := append(compare.FolderFiles(), append(store.FolderFiles(), session.FolderNames()...)...)
	for _, v := range all {
		if slices.Contains(of, v.Called) {
			return nil, api.Errorf(api.InvalidParams, "variant %.80q: a file of the set has this name", v.Called)
		}
		if v.Browser == "" {
			continue
		}
		if _, err := d.named[v.Device.Name()].about.Browser(v.Browser); err != nil {
			return nil, api.Errorf(api.InvalidParams, "%v", err)
		}
	}
	slices.SortFunc(out.units, func(a, b *unit) int { return strings.Compare(a.about.Name, b.about.Name) })
	return all, err
}

// test is the one that a client names, sends, or makes of an address.
func (d *Daemon) test(v *api.Variant) (t *suite.Test, err error) {
	given := 0
	for _, is := range []bool{v.Test != "", v.URL != "", v.Upload != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, api.Errorf(api.InvalidParams, "give one of test, url and upload")
	case v.Gestures != nil && v.URL == "":
		return nil, api.Errorf(api.InvalidParams, "gestures need a url; other tests have their own steps")
	case v.Network != "" && !slices.Contains(d.options.Known.Networks, v.Network):
		return nil, api.Errorf(api.InvalidParams, "unknown network %.80q; known: %s", v.Network,
			strings.Join(d.options.Known.Networks, ", "))
	case v.Upload != nil:
		t, err = d.uploaded(v.Upload)
	case v.URL != "":
		t, err = d.addressed(v)
	default:
		t, err = d.Test(v.Test)
	}
	if err == nil && v.Network != "" {
		t.Network = t.Network.On(v.Network)
	}
	return t, err
}

// addressed is the test that loads an address, with gestures if there are any.
func (d *Daemon) addressed(v *api.Variant) (*suite.Test, error) {
	if err := d.checkAddress(v.URL); err != nil {
		return nil, api.Errorf(api.InvalidParams, "url: %v", err)
	}
	g := v.Gestures
	if g == nil {
		return session.URLTest(v.URL), nil
	}
	switch n := len(g.Hover) + len(g.Click); {
	case n > api.MaxGestures:
		return nil, api.Errorf(api.InvalidParams, "gestures has %d places: at most %d are taken", n, api.MaxGestures)
	case len(g.Text) > api.MaxTyped:
		return nil, api.Errorf(api.InvalidParams, "gestures.text has %d bytes: at most %d are taken", len(g.Text),
			api.MaxTyped)
	case n == 0 && g.Text == "" && !g.Scroll:
		return nil, api.Errorf(api.InvalidParams, "gestures is empty")
	}
	t, err := session.Gestures{Hover: g.Hover, Click: g.Click, Text: g.Text, Scroll: g.Scroll}.Test(v.URL)
	if err != nil {
		return nil, api.Errorf(api.InvalidParams, "gestures: %v", err)
	}
	return t, nil
}

// Check returns the test of an upload, or why no job can be started with it.
func (d *Daemon) Check(u *api.Upload) (*suite.Test, error) {
	t, err := d.uploaded(u)
	if wrong := (fileError{}); errors.As(err, &wrong) {
		return nil, wrong.error
	}
	if err == nil && t.Vitals {
		err = session.ErrUntrustedVitals
	}
	if err == nil {
		err = session.Check(t)
	}
	return t, err
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
		return nil, fileError{err}
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

// fileError is an error in an uploaded test file. Clients get it as one about their parameters.
type fileError struct{ error }

// Unwrap returns the error with its place in the file, and the client's.
func (e fileError) Unwrap() []error {
	return []error{e.error, api.Errorf(api.InvalidParams, "%v", e.error)}
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
