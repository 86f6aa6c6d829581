// Package subject names and checks the sides of a comparison. They are variants of a test, builds
// of a site, and versions of the functions of a test.
package subject

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/pattern"
)

// keys are the changes that a variant can have.
const keys = "test, archive, site, network, browser, device"

var key = pattern.New(`^([a-z]+):`)

// Change is a change of a test by a variant. The keys are test, archive, site, network, browser
// and device.
type Change struct{ Key, Value string }

// Parse parses a variant: NAME=TEST, or NAME=KEY:VALUE with further ones after commas.
func Parse(text string) (name string, changes []Change, err error) {
	name, what, ok := strings.Cut(text, "=")
	if !ok || name == "" || what == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return "", nil, fmt.Errorf("%q must be NAME=TEST or NAME=KEY:VALUE; the keys are %s", text, keys)
	}
	if ofSet(name) {
		return "", nil, fmt.Errorf("%s: a file of the set has this name", name)
	}
	for _, part := range strings.Split(what, ",") {
		prefix := key.FindString(part)
		switch known := slices.Contains(strings.Split(keys, ", "), strings.TrimSuffix(prefix, ":")); {
		case known:
			changes = append(changes, Change{strings.TrimSuffix(prefix, ":"), part[len(prefix):]})
		case len(changes) > 0: // a comma in a name
			changes[len(changes)-1].Value += "," + part
		default:
			changes = append(changes, Change{"test", part})
		}
	}
	for _, change := range changes {
		if change.Value == "" {
			return "", nil, fmt.Errorf("%s: %s is empty", name, change.Key)
		}
	}
	return name, changes, nil
}

// ofSet reports if a file in the folder of a set has a name.
func ofSet(name string) bool {
	return slices.Contains(append(append(compare.FolderFiles(), session.FolderNames()...), report.PageName), name)
}

// CheckSite checks the folder of a site. A test that plays none is rejected later.
func CheckSite(dir string, t *suite.Test) error {
	st, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, staging.WithoutPath(err))
	}
	if !st.IsDir() {
		return fmt.Errorf("%s: it is not a folder", dir)
	}
	u, err := url.Parse(t.Site)
	if err != nil || t.Site == "" {
		return err
	}
	page := u.Path
	if strings.HasSuffix(page, "/") {
		page += "index.html"
	}
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(page))); err != nil {
		return fmt.Errorf("%s: it has no %s, which test %s plays", dir, page, t.Name)
	}
	return nil
}

var notInName = pattern.New(`[^A-Za-z0-9_.-]+`)

// SiteNames returns names of variants for folders: the last part of their paths in which they
// differ, and more parts if that is not enough.
func SiteNames(dirs []string) (names []string) {
	var parts [][]string
	shortest, longest := 0, 0
	for i, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			abs = filepath.Clean(dir)
		}
		p := strings.FieldsFunc(abs, func(c rune) bool { return c == filepath.Separator })
		longest = max(longest, len(p))
		if parts = append(parts, p); i == 0 || len(p) < shortest {
			shortest = len(p)
		}
	}
	same := 0 // last parts that all have
	for same < shortest-1 && !slices.ContainsFunc(parts, func(p []string) bool {
		return p[len(p)-1-same] != parts[0][len(parts[0])-1-same]
	}) {
		same++
	}
	for n := 1; ; n++ {
		names = nil
		for _, p := range parts {
			name := strings.Join(p[max(0, len(p)-same-n):len(p)-same], "-")
			if name = strings.Trim(notInName.ReplaceAllString(name, "-"), ".-"); name == "" || ofSet(name) {
				name = "site-" + name
			}
			names = append(names, name)
		}
		if n >= longest || len(slices.Compact(slices.Sorted(slices.Values(names)))) == len(names) {
			return names
		}
	}
}

// Versions returns a test with the originals and with the replacements of its functions, if it has
// some. Their runs take turns.
func Versions(all []session.Subject) ([]session.Subject, error) {
	for _, s := range all {
		if len(s.Test.Script.AB) > 0 && len(all) > 1 {
			return nil, fmt.Errorf("test %s replaces functions, which is compared with itself; name one test",
				s.Test.Name)
		}
	}
	if len(all) == 0 || len(all[0].Test.Script.AB) == 0 {
		return all, nil
	}
	original, replaced := *all[0].Test, *all[0].Test
	original.Script.Version, replaced.Script.Version = suite.Original, suite.Replaced
	return []session.Subject{{Name: string(suite.Original), Test: &original},
		{Name: string(suite.Replaced), Test: &replaced}}, nil
}
