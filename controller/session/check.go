package session

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/budget"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/analyze/vitals"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session/locate"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/replay"
	"github.com/eideticker/eideticker/netsim/serve"
	"github.com/eideticker/eideticker/netsim/site"
)

// Check checks if a test can run on devices. It starts and writes nothing, and asks no server for
// names. So it refuses a server of this machine that only DNS finds; see [CheckLive].
func Check(t *suite.Test, on ...Variant) error {
	_, err := check(t, LiveByHosts(t), on...)
	return err
}

// CheckLive is Check of a test that [Live] has found to reach a server of this machine.
func CheckLive(t *suite.Test, on ...Variant) error {
	_, err := check(t, true, on...)
	return err
}

// CheckReplay checks if an archive of a test's address can be replayed on devices. The archive need
// not exist.
func CheckReplay(t *suite.Test, on ...Variant) error {
	later := *t
	later.Network.Replay = "archive"
	if _, err := testnet.Conditions(t.Network); err != nil {
		return err
	}
	return checkOn(&later, nil, false, on)
}

// check is Check. local states that the test loads a server of this machine. It also returns the
// archive of the test's network; nil: none.
func check(t *suite.Test, local bool, on ...Variant) (*replay.Archive, error) {
	read, err := checkNetwork(t, local)
	if err == nil {
		err = checkEnd(t)
	}
	for name, limit := range t.Budgets {
		if _, wrong := budget.Of(name, string(limit)); err == nil && wrong != nil {
			err = fmt.Errorf("test %s: budgets: %w", t.Name, wrong)
		}
	}
	if err == nil {
		err = checkScript(t, local || directPage(t) != nil)
	}
	if err == nil {
		err = checkOn(t, read, local, on)
	}
	return read, err
}

func checkOn(t *suite.Test, read *replay.Archive, local bool, on []Variant) error {
	for _, v := range on {
		d, known := description(v.Device)
		if !known {
			continue
		}
		browser, err := checkBrowser(v, d)
		if err != nil {
			return err
		}
		if err := checkNetworkOn(t, local, d); err != nil {
			return err
		}
		if err := cmp.Or(checkDirect(t, d), checkBuildOn(t, d)); err != nil {
			return err
		}
		if err := checkPoints(t, d, browser); err != nil {
			return err
		}
		if err := checkVitals(t, d, browser); err != nil {
			return err
		}
		if err := checkProfile(t, d); err != nil {
			return err
		}
		if err := checkArchiveIn(t, read, browser); err != nil {
			return err
		}
		if !onThisMachine(d) {
			continue // files are on the device
		}
		for _, address := range addresses(t) {
			if err := checkFile(address); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkBrowser checks the browser of a variant, or the file of a browser of this machine. It
// returns the browser's kind. On an Android device a file is an APK of the app Browser.
func checkBrowser(v Variant, d device.Description) (string, error) {
	if _, android := d.Android(); android && v.Build != "" && v.Site == "" {
		return v.Browser, d.RunsBuilds(true)
	}
	browser, err := d.Browser(v.Browser)
	if err != nil || v.Program == "" {
		return browser, err
	}
	if d.Source != device.Virtual {
		return "", fmt.Errorf("device %s: only a virtual display of this machine starts the file of a browser: %w",
			d.Name, errors.ErrUnsupported)
	}
	return device.KindOf(v.Program)
}

// description returns the description of a device, if it has one.
func description(d Device) (device.Description, bool) {
	switch d := d.(type) {
	case *Powered:
		return description(d.Device)
	case local:
		return d.Description, true
	case described:
		return d.Description, true
	}
	return device.Description{}, false
}

// onThisMachine reports if a device's browser is a program of this machine. Then it has the same
// files and the same network.
func onThisMachine(d device.Description) bool {
	return d.Source == device.Virtual || d.Input.Kind == device.InputX11
}

// addresses returns the addresses that a test loads, without built-in pages.
func addresses(t *suite.Test) (all []string) {
	if !t.Served() && t.URL != blankPage {
		all = append(all, t.URL)
	}
	return append(all, loaded(t.Steps)...)
}

const blankPage = "about:blank"

// loaded returns the addresses of load steps.
func loaded(steps []suite.Step) (all []string) {
	for _, s := range steps {
		switch a := s.Action.(type) {
		case suite.Load:
			if address, err := Address(a.URL); err == nil { // the step reports others
				all = append(all, address)
			}
		case suite.Loop:
			all = append(all, loaded(a.Steps)...)
		}
	}
	return all
}

// checkFile rejects the address of a missing file. A browser would show an error page instead.
func checkFile(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "file" {
		return nil
	}
	_, err = os.Stat(filepath.FromSlash(u.Path))
	var p *os.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s cannot be loaded: %w", address, p.Err)
	}
	return err
}

// answerTimeout limits the time to the begin of a response.
const answerTimeout = 15 * time.Second

// checkReached returns an error if a page that the test loaded was unreachable: then the browser
// showed an error page, which measures like any other. The check follows the recording, so that it
// warms up no connection and no name. A browser on another machine is not checked.
func (r *run) checkReached(ctx context.Context, p *prepared, t *traffic) error {
	if ctx.Err() != nil { // a wait for the page's report ended without an error
		return ctx.Err()
	}
	all := slices.DeleteFunc(addresses(r.Test), func(a string) bool { return !strings.HasPrefix(a, "http") })
	if len(all) == 0 {
		return nil
	}
	if p.pages != nil && p.pages.archive != nil {
		r.led = cmp.Or(r.led, t.led(r.Test.URL))
		return answered(all, p.pages.archive, t)
	}
	if d, known := description(r.Device); !known || !onThisMachine(d) {
		r.note("whether the device reached %s is not known here: its picture shows it", all[0])
		return nil
	}
	if p.egress != nil {
		r.note("the browser went to other machines through a proxy of the rig, which keeps tests of others from " +
			"its own services: HTTP/3 was not spoken")
	}
	slices.Sort(all)
	for _, address := range slices.Compact(all) {
		warning, led, err := reach(ctx, address, p.egress)
		if err != nil {
			return err
		}
		if address == r.Test.URL {
			r.led = cmp.Or(r.led, led)
		}
		if warning != "" {
			r.note("%s", warning)
		}
	}
	return nil
}

// noteRedirect notes the page to which the test's address led, which may be a login.
func (r *run) noteRedirect(record *Record) {
	if record.Redirected = r.led; r.led != "" {
		r.note("%s redirected to %s; if that is a login, the login was measured",
			cmp.Or(locate.Shown(r.Test.URL), r.Test.Site), r.led)
	}
}

// maxMoves limits redirects, as browsers do.
const maxMoves = 20

// leads follows an address by the targets of its redirects. It returns host and path of the last
// one, if they differ from the first; "": they do not. next returns nil at the end.
func leads(address string, next func(*url.URL) *url.URL) string {
	from, err := url.Parse(address)
	if err != nil {
		return ""
	}
	at := from
	for range maxMoves {
		to := next(at)
		if to == nil {
			break
		}
		at = to
	}
	if page := func(u *url.URL) string {
		return strings.TrimPrefix(nameOf(u), "www.") + "/" + strings.Trim(u.Path, "/")
	}; page(at) == page(from) {
		return ""
	}
	return locate.Shown(at.String())
}

// target returns the target of a redirect; nil: a response is none.
func target(at *url.URL, status int, header http.Header) *url.URL {
	to := header.Get("Location")
	if status < 300 || status >= http.StatusBadRequest || to == "" {
		return nil
	}
	u, err := at.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil
	}
	return u
}

// led returns host and path of the page to which an address was redirected; "": to none.
func (t *traffic) led(address string) string {
	if t == nil || t.fall == nil {
		return ""
	}
	asked := map[string]*serve.Exchange{}
	for i := range t.fall.Requests {
		x := &t.fall.Requests[i].Served
		u, err := url.Parse(x.URL)
		if err == nil && x.Method == http.MethodGet && asked[asAsked(u)] == nil {
			asked[asAsked(u)] = x
		}
	}
	return leads(address, func(at *url.URL) *url.URL {
		secure := *at // browsers go to known sites by https at once
		secure.Scheme = "https"
		if x := cmp.Or(asked[asAsked(at)], asked[asAsked(&secure)]); x != nil {
			return target(at, x.Status, x.ResponseHeader)
		}
		return nil
	})
}

// reach requests an address as a browser of this machine does. It returns a warning about the
// response, and the page to which it redirects; "": none.
func reach(ctx context.Context, address string, egress *device.EgressPolicy) (warning, led string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("timeout after %v", answerTimeout))
	defer cancel()
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	if egress != nil {
		transport.Proxy, transport.DialContext = nil, egress.DialContext
	}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	head := func(address string) (*http.Response, error) {
		// HEAD changes nothing at the server
		request, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
		if err != nil {
			return nil, err
		}
		answer, err := client.Do(request)
		if err == nil {
			err = answer.Body.Close() // HEAD has none
		}
		return answer, err
	}
	answer, err := head(address)
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return fmt.Sprintf("this machine does not trust the certificate of %s: perhaps the browser showed a "+
			"warning instead of the page", address), "", nil
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		var of *url.Error // without the address
		if errors.As(err, &of) {
			err = of.Err
		}
		return "", "", fmt.Errorf("unreachable address: %s: %w", address, err)
	}
	led = leads(address, func(at *url.URL) *url.URL {
		if at.String() != answer.Request.URL.String() {
			if answer, err = head(at.String()); err != nil { // the browser may have had more luck
				return nil
			}
		}
		return target(at, answer.StatusCode, answer.Header)
	})
	if err == nil && answer.StatusCode >= http.StatusBadRequest && answer.StatusCode != http.StatusMethodNotAllowed &&
		answer.StatusCode != http.StatusNotImplemented {
		return fmt.Sprintf("the server of %s answers %s: perhaps its error page was measured", address,
			answer.Status), led, nil
	}
	return "", led, nil
}

// Address returns the URL of a user's text: a URL, an existing file, or a host.
func Address(text string) (string, error) {
	if u, err := url.Parse(text); err == nil {
		switch u.Scheme {
		case "http", "https":
			if u.Host == "" {
				return "", fmt.Errorf("%q has no host", text)
			}
			return u.String(), nil
		case "file":
			return u.String(), nil
		}
	}
	if isFile(text) {
		abs, err := filepath.Abs(text)
		if err != nil {
			return "", err
		}
		return (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs)}).String(), nil
	}
	host, _, _ := strings.Cut(text, "/")
	u, err := url.Parse("https://" + text)
	if err != nil || u.Hostname() == "" || strings.ContainsAny(text, " \t\n\\<>\"") {
		return "", fmt.Errorf("invalid address %q: neither a file nor a host", text)
	}
	if name := u.Hostname(); name == "localhost" || net.ParseIP(name) != nil {
		u.Scheme = "http" // these have no certificates
	} else if !strings.Contains(host, ".") {
		return "", fmt.Errorf("invalid address %q: neither a file nor a host", text)
	}
	return u.String(), nil
}

// PageTest returns a test that plays a built-in page.
func PageTest(p site.Page) *suite.Test {
	return &suite.Test{Name: p.Name, About: p.Draws, Page: p.Path, Sync: suite.Sync{Markers: true},
		Timeout: suite.DefaultTimeout}
}

// urlStill is the stillness after which a page counts as loaded.
const urlStill = 3 * time.Second

// URLTest returns a test that loads an address and ends when its picture is still.
func URLTest(address string) *suite.Test {
	return &suite.Test{
		Name: urlName(address), About: "loads " + address, URL: address,
		Sync: suite.Sync{Still: urlStill}, Timeout: suite.DefaultTimeout,
	}
}

// SiteTest returns a test that plays / of a site as a URL is played. The folder names it.
func SiteTest(dir string) *suite.Test {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	t := URLTest(filepath.Base(dir))
	t.About, t.Site, t.URL = "loads / of a site", "/", ""
	return t
}

// urlName returns a file name for an address: its host, or its file.
func urlName(address string) string {
	rest := address
	if _, after, ok := strings.Cut(address, "://"); ok {
		rest = after
	}
	if strings.HasPrefix(address, "file:") {
		rest = strings.TrimSuffix(filepath.Base(rest), filepath.Ext(rest))
	}
	host, _, _ := strings.Cut(rest, "/")
	name := strings.Trim(strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-' {
			return c
		}
		return '-'
	}, host), ".-")
	if name == "" {
		return "page"
	}
	return name[:min(len(name), 60)]
}

// Known returns the names that test files may use: pages, measures, values and networks.
func Known() suite.Known {
	k := suite.Known{Measures: append(analyze.Names(), quality.Name), Values: map[string][]string{},
		Claims: vitals.Name}
	for _, p := range policy.List() {
		k.Policies = append(k.Policies, p.Name)
	}
	for _, m := range append(k.Measures[:len(k.Measures):len(k.Measures)], k.Claims) {
		k.Values[m] = analyze.Values(m)
	}
	for _, p := range site.Pages() {
		k.Pages = append(k.Pages, p.Path)
	}
	for _, p := range link.Profiles() {
		k.Networks = append(k.Networks, p.Name)
	}
	return k
}
