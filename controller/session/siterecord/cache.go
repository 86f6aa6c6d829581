package siterecord

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
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

// Old is a file of a cache that is no longer needed.
type Old struct {
	Name  string    `json:"name"`
	Bytes int64     `json:"bytes"`
	Used  time.Time `json:"used"` // last replayed or recorded
	Why   string    `json:"why"`
}

// ours reports if a cache makes files of such a name, finished or not.
func ours(name string) bool {
	if name[0] == '.' {
		return strings.Contains(name, ".zip.")
	}
	return strings.HasSuffix(name, ".zip")
}

// Clean returns the files that were last used before an age, the rest of killed recordings, and the
// longest unused ones until the others have at most some bytes; 0: any number. With remove, it
// removes them. A running replay keeps its archive.
func (c Cache) Clean(age time.Duration, bytes int64, remove bool) (old []Old, err error) {
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all []Old
	left := int64(0)
	for _, e := range entries {
		info, e2 := e.Info()
		if e2 != nil || !info.Mode().IsRegular() || !ours(e.Name()) {
			continue
		}
		one := Old{Name: e.Name(), Bytes: info.Size(), Used: info.ModTime()}
		left += one.Bytes
		switch unused := time.Since(one.Used); {
		case e.Name()[0] == '.' && unused > abandoned:
			one.Why = "unfinished"
		case e.Name()[0] == '.':
			continue // it is being written
		case unused > age:
			one.Why = "expired"
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Old) int { return a.Used.Compare(b.Used) })
	for _, one := range all {
		if one.Why != "" {
			left -= one.Bytes
		}
	}
	for _, one := range all {
		if one.Why == "" && bytes > 0 && left > bytes {
			one.Why, left = "over the quota", left-one.Bytes
		}
		if one.Why == "" {
			continue
		}
		if remove {
			err = errors.Join(err, os.Remove(filepath.Join(c.Dir, one.Name)))
		}
		old = append(old, one)
	}
	return old, err
}

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
