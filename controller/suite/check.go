package suite

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/strict"
	"github.com/eideticker/eideticker/pattern"
)

// problem returns an error about a part of a type: the keys and indices that lead there.
func problem(path []any, format string, args ...any) error {
	return &wrong{path, fmt.Sprintf(format, args...)}
}

func at(path ...any) []any { return path }

var (
	names = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	kinds = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

// checkWithout makes the checks that need none of the bad keys. It also puts what depends on the
// rest where the file says nothing: the sync of a page, and what places are counted from.
func (t *Test) checkWithout(known *Known, bad map[string]bool) error {
	var found []error
	for _, c := range []struct {
		keys  string
		check func(*Known) error
	}{
		{"name", t.checkName}, {"page site url", t.checkPage}, {"window places region masks", t.checkPlaces},
		{"measures primary thresholds budgets t0 begin", t.checkMeasures}, {"network page site url", t.checkNetwork},
		{"sync site url timeout", t.checkSync}, {"steps site url places network", t.checkSteps},
		{"about", t.checkAbout},
	} {
		if !slices.ContainsFunc(strings.Fields(c.keys), func(key string) bool { return bad[key] }) {
			found = append(found, c.check(known))
		}
	}
	return errors.Join(found...)
}

func (t *Test) checkName(*Known) error {
	if !names.MatchString(t.Name) {
		return problem(at("name"), "name %q: must be letters, digits, dots, dashes and underscores, at most 100",
			strict.Clip(t.Name))
	}
	if strings.HasSuffix(t.Name, ".yaml") || strings.HasSuffix(t.Name, ".yml") {
		return problem(at("name"), "name %q looks like a file's: leave the ending out", strict.Clip(t.Name))
	}
	return nil
}

func (t *Test) checkAbout(*Known) error {
	if s := t.About; strings.TrimSpace(s) != s || strings.ContainsFunc(s, unicode.IsControl) || len(s) > 1000 {
		return problem(at("about"), "about: want one line of at most 1000 bytes, with no space around it")
	}
	return nil
}

func (t *Test) checkPage(known *Known) error {
	given := ""
	for _, one := range [][2]string{{"page", t.Page}, {"site", t.Site}, {"url", t.URL}} {
		switch {
		case one[1] != "" && given != "":
			return problem(at(one[0]), "a test has %s or %s, not both", given, one[0])
		case one[1] != "":
			given = one[0]
		}
	}
	switch {
	case given == "":
		return problem(nil, "a test lacks page, a path such as /framerate.html, or site or url")
	case t.Site != "":
		return checkPath("site", t.Site)
	case t.URL != "":
		if err := checkURL(t.URL); err != nil {
			return problem(at("url"), "url %q: %v", strict.Clip(t.URL), err)
		}
		return nil
	}
	where, _, _ := strings.Cut(t.Page, "?")
	if strings.Contains(t.Page, "://") {
		return problem(at("page"), "page %q is none of the test network's; did you mean url?", strict.Clip(t.Page))
	}
	if !strings.HasPrefix(where, "/") {
		hint := near("/"+where+".html", known.Pages...)
		return problem(at("page"), "page %q: must be a path that begins with /%s", strict.Clip(t.Page), hint)
	}
	if strings.Contains(t.Page, "#") {
		return problem(at("page"), "page: invalid path %q", strict.Clip(t.Page))
	}
	if err := checkPath("page", t.Page); err != nil {
		return err
	}
	if known.Pages != nil && !slices.Contains(known.Pages, where) {
		return problem(at("page"), "unknown page %s%s", strict.Clip(where), near(where, known.Pages...))
	}
	return nil
}

// checkPath rejects the value of a key that is not a path on a server, which may have a query.
func checkPath(key, path string) error {
	if u, err := url.Parse(path); err != nil || u.Host != "" || !strings.HasPrefix(path, "/") ||
		len(path) > maxLine || strings.ContainsFunc(path, notInLine) || strings.ContainsAny(path, ` "<>\`) ||
		slices.Contains(strings.Split(u.Path, "/"), "..") {
		return problem(at(key), "%s: invalid path %q", key, strict.Clip(path))
	}
	return nil
}

// Bounds of a window's sides. A smaller window cannot show a page, and a larger screen does not
// exist.
const (
	minSide = 64
	maxSide = 1 << 14
)

// checkPlaces checks the window's size, and that the measured and masked areas are inside it.
func (t *Test) checkPlaces(*Known) error {
	w := t.Window
	if w != (Size{}) && (min(w.Width, w.Height) < minSide || max(w.Width, w.Height) > maxSide) {
		const form = "window %dx%d: must be %dx%[3]d to %[4]dx%[4]d"
		return problem(at("window"), form, w.Width, w.Height, minSide, maxSide)
	}
	room := Size{maxSide, maxSide}
	if w != (Size{}) && t.Places != Screen {
		room = w
	}
	inside := func(r frame.Region) error {
		if r.X+r.Width > room.Width || r.Y+r.Height > room.Height {
			return fmt.Errorf("%s is outside %dx%d", r, room.Width, room.Height)
		}
		return nil
	}
	var found problems
	if err := inside(t.Region); err != nil {
		found.add(problem(at("region"), "region: %v", err))
	}
	for i, m := range t.Masks {
		if found.full() {
			break
		}
		if err := inside(m); err != nil {
			found.add(problem(at("masks", i), "mask: %v", err))
		}
	}
	return errors.Join(found...)
}

// maxLine is how many bytes an address may have.
const maxLine = 8 << 10

func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || len(s) > maxLine || strings.ContainsFunc(s, notInLine) || strings.Contains(s, " ") {
		return fmt.Errorf("is not an address")
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return fmt.Errorf("has no host; use one such as https://example.org/")
		}
	case "file":
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
			return fmt.Errorf("want one such as file:///home/me/page.html")
		}
	case "about":
		if s != "about:blank" {
			return fmt.Errorf("of browsers' own pages there is about:blank alone")
		}
	default:
		if names.MatchString(strings.SplitN(s, "/", 2)[0]) && strings.Contains(s, ".") {
			return fmt.Errorf("has no scheme; did you mean https://%s?", strict.Clip(s))
		}
		return fmt.Errorf("must be http://, https://, file:// or about:blank")
	}
	return nil
}

// notInLine tells characters that are in no line.
func notInLine(c rune) bool { return unicode.IsControl(c) || c == utf8.RuneError }

// checkLine wants something that is typed into an address bar.
func checkLine(s string) error {
	if s == "" || len(s) > maxLine || strings.ContainsFunc(s, notInLine) {
		return fmt.Errorf("%q: must be an address in one line of at most %d KiB", strict.Clip(s), maxLine>>10)
	}
	return nil
}

func checkText(s string) error {
	if s == "" {
		return fmt.Errorf("is empty")
	}
	return input.Text{Text: s}.Validate()
}

func checkKind(s string) error {
	if !kinds.MatchString(s) {
		return fmt.Errorf("event %q: must be 1 to 64 letters, digits, dots, dashes and underscores", strict.Clip(s))
	}
	return nil
}

func (t *Test) checkMeasures(known *Known) error {
	var found problems
	for i, m := range t.Measures {
		if found.full() {
			break
		}
		switch {
		case known.Measures != nil && !slices.Contains(known.Measures, m):
			found.add(problem(at("measures", i), "unknown measure %q%s", strict.Clip(m),
				wording.Meant(m, known.Measures)))
		case !kinds.MatchString(m):
			found.add(problem(at("measures", i), "measure %q: must be a name", strict.Clip(m)))
		case slices.Contains(t.Measures[:i], m):
			found.add(problem(at("measures", i), "measure %s is given twice", m))
		}
	}
	if n := len(t.Primary); n > maxPrimary {
		found.add(problem(at("primary"), "primary has %d values: at most %d", n, maxPrimary))
	}
	for i, name := range t.Primary[:min(len(t.Primary), maxPrimary)] {
		if err := t.CheckValue(name, *known); err != nil {
			found.add(problem(at("primary", i), "primary: %v", err))
		}
		if len(t.Primary) <= maxPrimary && slices.Contains(t.Primary[:i], name) {
			found.add(problem(at("primary", i), "primary: %s is given twice", name))
		}
	}
	for name := range t.Thresholds {
		if found.full() {
			break
		}
		if err := t.CheckValue(name, *known); err != nil {
			found.add(problem(at("thresholds", name), "threshold of %s: %v", strict.Clip(name), err))
		}
	}
	for name := range t.Budgets {
		if found.full() {
			break
		}
		if err := t.CheckValue(name, *known); err != nil {
			found.add(problem(at("budgets", name), "budget of %s: %v", strict.Clip(name), err))
		}
	}
	for _, event := range [][2]string{{"t0", t.T0}, {"begin", t.Begin}} {
		if event[1] == "" {
			continue
		}
		if err := checkKind(event[1]); err != nil {
			found.add(problem(at(event[0]), "%s: %v", event[0], err))
		}
	}
	return errors.Join(found...)
}

// maxPrimary is the limit of values to compare by: more of them need more runs for a verdict.
const maxPrimary = 5

// CheckValue rejects a name that is not a measure of the test, or a value of one.
func (t *Test) CheckValue(name string, known Known) error {
	m, value, dotted := strings.Cut(name, ".")
	there := known.Measures
	if len(t.Measures) > 0 {
		there = t.Measures
	}
	if !kinds.MatchString(m) || dotted && !kinds.MatchString(value) {
		return fmt.Errorf("%q: must be a measure, or one of its values such as fps.framerate", strict.Clip(name))
	}
	if there != nil && !slices.Contains(there, m) && (!t.Vitals || m != known.Claims) {
		return fmt.Errorf("no measure %s here%s", strict.Clip(m), wording.Meant(m, there))
	}
	if values, ok := known.Values[m]; dotted && ok && !slices.Contains(values, value) {
		if n := wording.Nearest(value, values); n != "" {
			return fmt.Errorf("%s is not a value of %s; did you mean %s.%s?", strict.Clip(name), m, m, n)
		}
		return fmt.Errorf("%s is not a value of %s%s", strict.Clip(name), m, wording.Meant(value, values))
	}
	return nil
}

func (t *Test) checkNetwork(known *Known) error {
	n := t.Network
	switch {
	case n.Replay != "" && t.URL == "":
		return problem(at("network", "replay"), "an archive is replayed for a url, and the test has none")
	case n.Replay == "" && n.Determinism != 0:
		return problem(at("network", "determinism"), "determinism needs replay")
	case n.Protocol != "" && !t.Served() && n.Replay == "":
		return problem(at("network", "protocol"),
			"protocol needs a page, a site or an archive, not a url")
	case n.KeyLog && n.Protocol == "" && n.Replay == "":
		return problem(at("network", "key-log"),
			"key-log needs a protocol or an archive")
	}
	if n.Profile == "" {
		return nil
	}
	if !kinds.MatchString(n.Profile) {
		return problem(at("network", "profile"), "profile %q: must be a name such as cable", strict.Clip(n.Profile))
	}
	if known.Networks != nil && !slices.Contains(known.Networks, n.Profile) {
		return problem(at("network", "profile"), "unknown network %q%s", strict.Clip(n.Profile),
			wording.Meant(n.Profile, known.Networks))
	}
	return nil
}

// maxRTT is further than the moon.
const maxRTT = time.Minute

func (n *Network) check(known *Known) error {
	if *n == (Network{}) {
		return problem(nil, "network is empty: use a profile, rtt, down, up, loss, a protocol, or an archive to replay")
	}
	if n.Replay != "" {
		if err := checkBeside(n.Replay, "archive", "replay", known.Dir); err != nil {
			return err
		}
	}
	return n.Link().checkFigures()
}

func (n *Network) short() string { return "profile" }

func (s *Scripts) check(known *Known) error {
	var found problems
	if len(s.Policies) == 0 {
		return problem(nil, "script is empty: name policies such as calls")
	}
	for i, name := range s.Policies {
		if found.full() {
			break
		}
		switch {
		case !kinds.MatchString(name):
			found.add(problem(at("policies", i), "policy %q: must be a name such as calls", strict.Clip(name)))
		case known.Policies != nil && !slices.Contains(known.Policies, name):
			found.add(problem(at("policies", i), "unknown policy %q%s", name, wording.Meant(name, known.Policies)))
		case slices.Contains(s.Policies[:i], name):
			found.add(problem(at("policies", i), "policy %s is given twice", name))
		}
	}
	switch {
	case s.Adapt != "" && s.Adapt != adaptLoads && s.Adapt != AdaptLive:
		found.add(problem(at("adapt"), "adapt %q: must be %s or %s", strict.Clip(s.Adapt), adaptLoads, AdaptLive))
	case s.Share != nil && !(*s.Share >= 1 && *s.Share <= 100):
		found.add(problem(at("share"), "share: must be 1%% to 100%%"))
	case s.Planned() && !slices.Contains(s.Policies, "calls"):
		found.add(problem(at("policies"), "adapt and share need the policy calls"))
	}
	if hasAB := slices.Contains(s.Policies, "ab"); hasAB != (len(s.AB) > 0) {
		found.add(problem(at("ab"), "policy ab and its replacements need each other; "+
			"add ab: [{function: NAME, with: FILE}]"))
	}
	if s.Break && !slices.Contains(s.Policies, "loops") {
		found.add(problem(at("break"), "break needs the policy loops"))
	}
	return errors.Join(found...)
}

func (r *Replacement) check(known *Known) error {
	if r.Text != "" {
		return nil
	}
	return checkBeside(r.With, "replacement", "with", known.Dir)
}

// Check checks the policies of a command line.
func (s *Scripts) Check(known Known) error { return s.check(&known) }

func (s *Scripts) short() string { return "policies" }

func (l *Link) check(*Known) error {
	switch {
	case *l == (Link{}):
		return problem(nil, "network is empty: give a profile, or rtt, down, up, loss")
	case l.Profile != "" && !kinds.MatchString(l.Profile):
		return problem(at("profile"), "profile %q: must be a name such as cable", strict.Clip(l.Profile))
	}
	return l.checkFigures()
}

func (l Link) checkFigures() error {
	switch {
	case l.RTT > maxRTT:
		return problem(at("rtt"), "rtt: must be at most %v", maxRTT)
	case l.Loss != nil && *l.Loss > 100:
		return problem(at("loss"), "loss: must be at most 100%%")
	}
	return nil
}

func (l *Link) short() string { return "profile" }

func (t *Test) checkSync(*Known) error {
	if t.Sync == (Sync{}) {
		if t.URL+t.Site != "" && t.Page == "" {
			return problem(nil,
				"a test of a url or site lacks its end: {end: still 3s}, {end: event NAME} or {end: 20s}")
		}
		t.Sync.Markers = true
	}
	if t.URL == blankPage && t.Sync.Markers {
		return problem(at("sync"),
			"%s has no markers; use {end: still 3s}, {end: event NAME} or {end: 20s}", blankPage)
	}
	for what, d := range map[string]time.Duration{"still": t.Sync.Still, "limit": t.Sync.Limit} {
		if d >= t.Timeout {
			return problem(at("sync"), "%s %v is not over before the run's timeout, %v", what, d, t.Timeout)
		}
	}
	if t.Places == "" {
		t.Places = content
	}
	return nil
}

const blankPage = "about:blank"

// SetEnd replaces a test's end by "markers", "still 3s", "event NAME" or "20s".
func (t *Test) SetEnd(text string) error {
	sync, err := parseSync(text)
	if err != nil {
		return err
	}
	if t.Sync = sync; sync.Limit >= t.Timeout {
		t.Timeout = sync.Limit + DefaultTimeout
	}
	return t.checkSync(nil)
}

// parseSync reads "markers", "still 3s", "event NAME" or "20s".
func parseSync(s string) (Sync, error) {
	const want = "must be markers, still 3s, event NAME or 20s"
	word, rest, _ := strings.Cut(s, " ")
	switch {
	case s == "markers":
		return Sync{Markers: true}, nil
	case word == "still":
		d, err := parseDuration(rest)
		if err == nil && d == 0 {
			err = fmt.Errorf("want more than none")
		}
		if err != nil {
			return Sync{}, fmt.Errorf("still: %w", err)
		}
		return Sync{Still: d}, nil
	case word == "event":
		if err := checkKind(rest); err != nil {
			return Sync{}, err
		}
		return Sync{Event: rest}, nil
	}
	d, err := parseDuration(s)
	if err != nil {
		hint := near(word, "markers", "still", "event")
		if hint == "" && s != "" && '0' <= s[0] && s[0] <= '9' {
			return Sync{}, err
		}
		return Sync{}, fmt.Errorf("unknown end %q: %s%s", strict.Clip(s), want, hint)
	}
	if d == 0 {
		return Sync{}, fmt.Errorf("want more than none")
	}
	return Sync{Limit: d}, nil
}

// String formats as parseSync reads it.
func (s Sync) String() string {
	switch {
	case s.Markers:
		return "markers"
	case s.Still > 0:
		return "still " + s.Still.String()
	case s.Event != "":
		return "event " + s.Event
	}
	return s.Limit.String()
}
