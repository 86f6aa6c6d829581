package builds

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/pattern"
)

// mozillaIndex is the folder of the nightly builds of Firefox.
const mozillaIndex = "https://archive.mozilla.org/pub/firefox/nightly/"

// maxNewNightlies bounds the builds that one look at the index adds: each needs three requests.
const maxNewNightlies = 14

// mozilla is the archive of Firefox's nightly builds. It is a tree of HTML listings with links:
//
//	nightly/2026/10/                                    2026-10-01-09-30-21-mozilla-central/
//	nightly/2026/10/2026-10-01-09-30-21-mozilla-central/
//	    firefox-145.0a1.en-US.linux-x86_64.tar.xz       (.tar.bz2 until 2024)
//	    firefox-145.0a1.en-US.linux-x86_64.checksums    lines "HASH sha256 SIZE FILE", also sha512
//	    firefox-145.0a1.en-US.linux-x86_64.txt          the build's time, and …/rev/REVISION
//
// A build is named by its time. The present and the last month are read. A build that is older than
// a known one is never added.
type mozilla struct {
	lines
	channel, platform string
	now               func() time.Time
}

// mozillaBranches are the endings of the folders of each channel.
var mozillaBranches = map[string]string{"nightly": "mozilla-central", "autoland": "autoland"}

var (
	href       = pattern.New(`(?i)href\s*=\s*"([^"]{1,500})"`)
	mozillaDay = pattern.New(`^(\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d)-(.+)$`)
	mozillaRev = pattern.New(`/rev/([0-9a-f]{12,64})\b`)
)

func (m mozilla) list(ctx context.Context, known map[string]api.Build) (all []api.Build, err error) {
	branch := mozillaBranches[m.channel]
	if branch == "" {
		return nil, fmt.Errorf("unknown channel %q; the channels are nightly and autoland", m.channel)
	}
	var days []string
	month := m.now().UTC().AddDate(0, 0, 1-m.now().UTC().Day())
	for _, at := range []time.Time{month.AddDate(0, -1, 0), month} {
		names, err := m.links(ctx, at.Format("2006/01/"))
		if err != nil && at == month && len(days) > 0 {
			continue // the month begins without a folder
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if day := mozillaDay.FindStringSubmatch(name); day != nil && day[2] == branch {
				days = append(days, day[1])
			}
		}
	}
	slices.Sort(days)
	days = slices.Compact(days)
	last := ""
	for day := range known {
		last = max(last, day)
	}
	// an older build would get the number of a newer one
	fresh := slices.DeleteFunc(slices.Clone(days), func(day string) bool { return day <= last })
	for _, day := range days {
		if b, is := known[day]; is {
			all = append(all, api.Build{Name: day, URL: b.URL, SHA256: b.SHA256})
		}
	}
	for _, day := range fresh[max(0, len(fresh)-maxNewNightlies):] {
		b, is, err := m.build(ctx, day, branch)
		if err != nil {
			return nil, err
		}
		if is { // else it is not complete yet
			all = append(all, b)
		}
	}
	return all, nil
}

// links returns the last parts of the links of a listing.
func (m mozilla) links(ctx context.Context, dir string) (names []string, err error) {
	raw, err := readIndex(ctx, m.at+dir)
	if err != nil {
		return nil, err
	}
	return parseLinks(raw), nil
}

func parseLinks(raw []byte) (names []string) {
	for _, match := range href.FindAllSubmatch(raw, maxListed) {
		name := path.Base(html.UnescapeString(string(match[1])))
		if api.BuildName.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}

// build reads the folder of a build. is is false if the folder has no build of the platform.
func (m mozilla) build(ctx context.Context, day, branch string) (b api.Build, is bool, err error) {
	dir := day[:4] + "/" + day[5:7] + "/" + day + "-" + branch + "/"
	names, err := m.links(ctx, dir)
	if err != nil {
		return b, false, err
	}
	platform := m.platform
	if platform == "linux64" {
		platform = "linux-x86_64"
	}
	var archive string
	for _, name := range names {
		base, ending, found := strings.Cut(name, ".en-US."+platform+".tar.")
		if found && strings.HasPrefix(base, "firefox-") && slices.Contains([]string{"xz", "bz2", "gz"}, ending) {
			archive = name
		}
	}
	if archive == "" {
		return b, false, nil
	}
	base, _, _ := strings.Cut(archive, ".tar.")
	if !slices.Contains(names, base+".checksums") {
		return b, false, nil
	}
	sums, err := readIndex(ctx, m.at+dir+base+".checksums")
	if err != nil {
		return b, false, err
	}
	b = api.Build{Name: day, URL: m.at + dir + archive, SHA256: mozillaSum(sums, archive)}
	if b.SHA256 == "" {
		return b, false, fmt.Errorf("%s.checksums has no SHA-256 of %s", base, archive)
	}
	if at, err := time.Parse("2006-01-02-15-04-05", day); err == nil {
		b.WallNS = at.UnixNano()
	}
	if slices.Contains(names, base+".txt") {
		text, err := readIndex(ctx, m.at+dir+base+".txt")
		if err != nil {
			return b, false, err
		}
		if rev := mozillaRev.FindSubmatch(text); rev != nil {
			b.Revision = string(rev[1])
		}
	}
	return b, true, nil
}

var sha256Text = pattern.New(`^[0-9a-f]{64}$`)

// mozillaSum returns the SHA-256 of a file in a list of checksums, or "".
func mozillaSum(sums []byte, name string) string {
	for line := range bytes.Lines(sums) {
		f := strings.Fields(string(line))
		if len(f) == 4 && f[1] == "sha256" && path.Base(f[3]) == name && sha256Text.MatchString(f[0]) {
			return f[0]
		}
	}
	return ""
}
