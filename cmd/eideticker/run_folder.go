package main

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/pattern"
)

// onSites gives the sides the folders of --site. Several folders are sides of one test.
func (c runCmd) onSites(all []session.Subject) ([]session.Subject, error) {
	switch {
	case len(c.Site) > 1 && len(all) > 1:
		return nil, usagef("--site is given %d times, which compares one test; name one test", len(c.Site))
	case len(c.Site) > 1:
		t := all[0].Test
		all = nil
		for i, name := range siteNames(c.Site) {
			if slices.ContainsFunc(all, func(s session.Subject) bool { return s.Name == name }) {
				return nil, usagef("--site %s is given twice", c.Site[i])
			}
			own := *t
			all = append(all, session.Subject{Name: name, Test: &own, Site: c.Site[i]})
		}
	case len(c.Site) == 1:
		for i := range all {
			if all[i].Site == "" {
				all[i].Site = c.Site[0]
			}
		}
	}
	for i := range all {
		if all[i].Site == "" {
			continue
		}
		if err := checkFolder(all[i].Site, all[i].Test); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// checkFolder checks the folder of a site. A test that plays none is rejected later.
func checkFolder(dir string, t *suite.Test) error {
	st, err := os.Stat(dir)
	if err != nil {
		return usagef("--site %s: %w", dir, withoutPath(err))
	}
	if !st.IsDir() {
		return usagef("--site %s: it is not a folder", dir)
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
		return usagef("--site %s: it has no %s, which test %s plays", dir, page, t.Name)
	}
	return nil
}

var notInName = pattern.New(`[^A-Za-z0-9_.-]+`)

// siteNames returns names of variants for folders: the last part of their paths in which they
// differ, and more parts if that is not enough.
func siteNames(dirs []string) (names []string) {
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
