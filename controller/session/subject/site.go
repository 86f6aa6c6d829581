package subject

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/pattern"
)

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
