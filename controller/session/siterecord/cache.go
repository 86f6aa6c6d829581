package siterecord

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/netsim/replay"
)

// Cache has one archive per address, in a folder that only this user can read.
type Cache struct{ Dir string }

// Cached is an archive of a cache.
type Cached struct {
	Name    string // in the cache's folder
	Created time.Time
	// Recorded is the recording that has just been made; nil: the archive existed.
	Recorded *Recorded
}

// name returns the file name of an address: its host for people, and a hash. Scripts see the
// fragment, and sites the user, so addresses that differ there have different archives.
func (Cache) name(page *url.URL, address string) string {
	whole := *page
	if u, err := url.Parse(address); err == nil {
		whole.Fragment, whole.RawFragment, whole.User = u.Fragment, u.RawFragment, u.User
	}
	host := strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '-' {
			return c
		}
		return '-'
	}, page.Host)
	return fmt.Sprintf("%s-%.8x.zip", strings.TrimLeft(host[:min(len(host), 60)], ".-"),
		sha256.Sum256([]byte(whole.String())))
}

// Ensure returns the archive of an address. If there is none that is whole, or if fresh is set, it
// calls begin and records. The old archive stays until the new one is whole.
func (c Cache) Ensure(ctx context.Context, o Options, fresh bool, begin func()) (*Cached, error) {
	page, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	if err := o.check(page); err != nil {
		return nil, err
	}
	found := &Cached{Name: c.name(page, o.URL)}
	o.Path = filepath.Join(c.Dir, found.Name)
	if !fresh {
		if a, err := replay.Open(o.Path, replay.DefaultLimits()); err == nil {
			if _, err := find(a, page); err == nil {
				found.Created = a.Info.Created
				_ = os.Chtimes(o.Path, time.Time{}, time.Now()) // its last use, for Clean
				return found, nil
			}
		}
	}
	if err := c.prepare(o.Path); err != nil {
		return nil, err
	}
	begin()
	found.Created = time.Now()
	found.Recorded, err = Record(ctx, o)
	return found, err
}

// abandoned is the age of a temporary file that no recording writes any more.
const abandoned = time.Hour

// prepare makes the folder and removes what killed recordings of an archive left.
func (c Cache) prepare(path string) error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("create the folder of archives: %w", err)
	}
	if st, err := os.Stat(c.Dir); err != nil || !st.IsDir() {
		return errors.Join(fmt.Errorf("%s is not a folder", c.Dir), err)
	}
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return fmt.Errorf("read the folder of archives: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), tempPrefix(path)) && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(c.Dir, e.Name())) // the next recording tries again
		}
	}
	return nil
}
