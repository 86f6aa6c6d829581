package builds

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
)

// badTime is the time after which a second bad download makes a build broken. A proxy may answer
// with a page of its own for a while.
const badTime = time.Hour

// ledgers is the folder of the ledgers. They are data, so it is not within that of the builds.
const ledgers = "feeds"

// Options configure a cache.
type Options struct {
	Dir      string // the data directory
	Feeds    map[string]config.Feed
	MaxBytes int64 // of unpacked builds; 0: no limit
	// Keep lists builds as KIND@FEED:BUILD that are not removed, such as controls. Others are ignored.
	Keep []string
	// Fetch writes the archive with a SHA-256 to a file, from the hub of a fleet. It writes at most one
	// byte above the limit. Nil: the rig is in no fleet.
	Fetch func(ctx context.Context, sum string, to *os.File, limit int64) error
	Log   *slog.Logger
	Now   func() time.Time // nil: the system's
}

// Cache keeps builds of feeds unpacked. Its methods may be called from any goroutine.
type Cache struct {
	dir   string
	max   int64
	keep  []api.Browser
	log   *slog.Logger
	now   func() time.Time
	feeds map[string]*Feed

	changing chan struct{} // holds a value while a build is opened

	mu    sync.Mutex
	used  map[string]int       // jobs that use a folder
	sizes map[string]int64     // of the folders
	asIs  map[string]string    // build in place: its hash without content, when its content was right
	bad   map[string]time.Time // build: its first download that was bad
}

// Open opens the cache of a data directory. It removes the unfinished folders of a killed program.
func Open(o Options) (*Cache, error) {
	c := &Cache{dir: filepath.Join(o.Dir, "builds"), max: o.MaxBytes, log: o.Log, now: o.Now, feeds: map[string]*Feed{},
		changing: make(chan struct{}, 1), used: map[string]int{}, sizes: map[string]int64{}, asIs: map[string]string{},
		bad: map[string]time.Time{}}
	if c.now == nil {
		c.now = time.Now
	}
	for name, f := range o.Feeds {
		feed, err := newFeed(name, o.Dir, f, c.now)
		if err != nil {
			return nil, err
		}
		if of, is := feed.source.(fleet); is {
			of.fetch = o.Fetch
			feed.source = of
		}
		c.feeds[name] = feed
	}
	if len(c.feeds) == 0 {
		return c, nil
	}
	for _, text := range o.Keep {
		if b, err := api.ParseBrowser(text); err == nil && b.Build != "" && c.feeds[b.Feed] != nil {
			c.keep = append(c.keep, b)
		}
	}
	for _, dir := range []string{c.dir, filepath.Join(o.Dir, ledgers)} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, fmt.Errorf("open the builds: %w", err)
		}
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, fmt.Errorf("open the builds: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(c.dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
			err = os.RemoveAll(path)
		case len(e.Name()) == 64 && e.IsDir():
			c.sizes[e.Name()], err = sizeOf(path)
		case strings.HasSuffix(e.Name(), archiveEnding):
			c.sizes[e.Name()], err = sizeOf(path)
		}
		if err != nil {
			return nil, fmt.Errorf("open the builds: %w", err)
		}
	}
	return c, nil
}

func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if st, e := e.Info(); e == nil {
				size += st.Size()
			}
		}
		return err
	})
	return size, err
}

func (c *Cache) feed(name string) (*Feed, error) {
	f := c.feeds[name]
	switch {
	case f != nil:
		return f, nil
	case len(c.feeds) == 0:
		return nil, api.Errorf(api.NotFound, "feed %.80q: no feeds are configured", name)
	}
	return nil, api.Errorf(api.NotFound, "unknown feed %.80q%s", name,
		wording.Near(name, slices.Sorted(maps.Keys(c.feeds))))
}

// Builds returns the builds of a feed as [Feed.Builds] does.
func (c *Cache) Builds(ctx context.Context, feed string) ([]api.Build, error) {
	f, err := c.feed(feed)
	if err != nil {
		return nil, err
	}
	return f.Builds(ctx)
}

// Resolve returns the build that a name means now, without fetching it. The build "" or "latest"
// is the newest usable one. A name can be the part of a build's name up to a point or dash: then
// it means the newest such build.
func (c *Cache) Resolve(ctx context.Context, feed, build string) (api.Build, error) {
	f, err := c.feed(feed)
	if err != nil {
		return api.Build{}, err
	}
	if build != "" && build != api.LatestBuild {
		return c.known(ctx, f, build)
	}
	all, err := f.Builds(ctx)
	if err != nil {
		return api.Build{}, api.Errorf(api.Unavailable, "%v", err)
	}
	for _, b := range slices.Backward(all) {
		if b.State == usable {
			return b, nil
		}
	}
	return api.Build{}, api.Errorf(api.NotFound, "feed %s has no usable build", feed)
}

// known returns a build by name. The index is read only if the ledger has no such build.
func (c *Cache) known(ctx context.Context, f *Feed, name string) (api.Build, error) {
	b, is, err := f.find(name)
	if err == nil && (!is || f.local && b.State == gone) { // it may have come
		if _, err = f.Builds(ctx); err == nil {
			b, is, err = f.find(name)
		}
	}
	switch {
	case err != nil:
		return b, api.Errorf(api.Unavailable, "%v", err)
	case !is:
		return b, api.Errorf(api.NotFound, "feed %s has no build %.100q", f.name, name)
	case b.State == broken || b.State == gone && !c.Ready(b):
		return b, api.Errorf(api.NotFound, "build %s:%s is %s: %s", f.name, b.Name, b.State, b.Reason)
	}
	return b, nil
}

// Ready reports if a build can be used without fetching it.
func (c *Cache) Ready(b api.Build) bool {
	c.mu.Lock()
	_, is := c.sizes[b.SHA256]
	was := c.asIs[b.Feed+":"+b.Name]
	c.mu.Unlock()
	f := c.feeds[b.Feed]
	if is || f == nil || was == "" {
		return is
	}
	o, err := f.open(context.Background(), b, "")
	if err != nil || !o.inPlace {
		return false
	}
	now, _, err := sumTree(context.Background(), o.tree, false)
	return err == nil && now == was
}

// Sum returns the SHA-256 that the ledger has of a build. Builds that are made anew at each use
// have none.
func (c *Cache) Sum(b api.Build) string {
	f := c.feeds[b.Feed]
	if f == nil || f.rebuilt {
		return ""
	}
	b, _, _ = f.find(b.Name) // an unreadable ledger has none
	return b.SHA256
}

// Same keeps the SHA-256 of a build that another rig has used. It is an error if the ledger has
// another one.
func (c *Cache) Same(feed, build, sum string) error {
	f := c.feeds[feed]
	if f == nil || f.rebuilt {
		return nil
	}
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
		return fmt.Errorf("build %s:%s: SHA-256 %.80q has another form", feed, build, sum)
	}
	b, is, err := f.find(build)
	if err != nil || !is || b.Name != build || b.SHA256 == sum {
		return err
	}
	if b.SHA256 != "" {
		return fmt.Errorf("build %s:%s has other content there: its SHA-256 is %.12s…, not %.12s…", feed, build, sum,
			b.SHA256)
	}
	return pin(f, b, sum)
}

// Site reports if the builds of a feed are web sites.
func (c *Cache) Site(feed string) bool {
	return c.feeds[feed] != nil && c.feeds[feed].of == config.OfSite
}

// App returns the Android app of a feed with APKs; "": another feed.
func (c *Cache) App(feed string) string {
	if f := c.feeds[feed]; f != nil {
		return f.app
	}
	return ""
}

// Program returns the path of a build's program or APK, or the folder of a site. It fetches and
// unpacks the build if the cache has not got it. The build stays until release is called.
func (c *Cache) Program(ctx context.Context, kind string, b api.Build) (path string, release func(), err error) {
	f, err := c.feed(b.Feed)
	if err != nil {
		return "", nil, err
	}
	select {
	case c.changing <- struct{}{}:
		defer func() { <-c.changing }()
	case <-ctx.Done():
		return "", nil, context.Cause(ctx)
	}
	if b, err = c.known(ctx, f, b.Name); err != nil {
		return "", nil, err
	}
	dir, err := c.place(ctx, f, b)
	if bad := (*brokenError)(nil); errors.As(err, &bad) {
		err = errors.Join(err, f.note(b.Name, func(b *api.Build) { b.State, b.Reason = broken, clip(bad.Error()) }))
	}
	switch {
	case err != nil:
	case f.of == config.OfBrowser:
		path, err = findProgram(dir, kind)
	case lacks(dir, f.of) != "":
		err = errors.New("it has no " + lacks(dir, f.of))
	case f.of == config.OfSite:
		path = findSite(dir)
	default:
		path = findAPK(dir)
	}
	if err != nil {
		return "", nil, fmt.Errorf("build %s:%s: %w", b.Feed, b.Name, err)
	}
	c.mu.Lock()
	c.used[dir]++
	c.mu.Unlock()
	c.evict()
	return path, sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.used[dir]--; c.used[dir] == 0 {
			delete(c.used, dir)
		}
	}), nil
}

// brokenError is the error of a build that will not become usable.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

// place returns the folder of a build, which is fetched if the cache has not got it.
func (c *Cache) place(ctx context.Context, f *Feed, b api.Build) (string, error) {
	c.mu.Lock()
	_, is := c.sizes[b.SHA256]
	c.mu.Unlock()
	if is {
		dir := filepath.Join(c.dir, b.SHA256)
		err := os.Chtimes(dir, c.now(), c.now()) // its last use
		if !errors.Is(err, fs.ErrNotExist) {
			return dir, err
		}
		c.mu.Lock()
		delete(c.sizes, b.SHA256) // somebody removed it
		c.mu.Unlock()
	}
	return c.bring(ctx, f, b)
}

// bring returns the folder of a build, which is fetched or made.
func (c *Cache) bring(ctx context.Context, f *Feed, b api.Build) (string, error) {
	work, err := os.MkdirTemp(c.dir, ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work) // a remainder is removed by the next Open
	o, err := f.open(ctx, b, work)
	if err != nil {
		return "", err
	}
	if o.inPlace {
		return o.tree, c.inPlace(ctx, f, b, o.tree)
	}
	dir, err := c.take(ctx, f, b, o, work)
	if bad := (*brokenError)(nil); o.fetched && errors.As(err, &bad) && !c.badAgain(b) {
		err = fmt.Errorf("%w; it is fetched again for the next job", bad.error)
	}
	return dir, err
}

// badAgain reports if an earlier download of a build was bad too.
func (c *Cache) badAgain(b api.Build) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := b.Feed + ":" + b.Name
	first, is := c.bad[key]
	if !is {
		c.bad[key] = c.now()
	}
	return is && c.now().Sub(first) >= badTime
}

// inPlace checks a tree that is not copied. Its content is read again only if sizes or times differ
// from those of the last check.
func (c *Cache) inPlace(ctx context.Context, f *Feed, b api.Build, tree string) error {
	before, _, err := sumTree(ctx, tree, false)
	c.mu.Lock()
	was := c.asIs[b.Feed+":"+b.Name]
	c.mu.Unlock()
	if err != nil || was == before {
		return err
	}
	sum, _, err := sumTree(ctx, tree, true)
	if err == nil {
		err = compare(f, b, sum)
	}
	if err == nil {
		err = pin(f, b, sum)
	}
	if err == nil {
		c.mu.Lock()
		c.asIs[b.Feed+":"+b.Name] = before
		c.mu.Unlock()
	}
	return err
}

// compare compares a hash with that of the index or of the first use.
func compare(f *Feed, b api.Build, sum string) error {
	if b.SHA256 != "" && b.SHA256 != sum && !f.rebuilt {
		return &brokenError{errors.New(changed(b.SHA256, sum))}
	}
	return nil
}

// pin keeps the hash of a build that was found good.
func pin(f *Feed, b api.Build, sum string) error {
	return f.note(b.Name, func(b *api.Build) { b.SHA256 = sum })
}

// take checks the hash of an opened build, unpacks it and puts its folder in place.
func (c *Cache) take(ctx context.Context, f *Feed, b api.Build, o opened, work string) (string, error) {
	var sum string
	var err error
	if o.archive != "" {
		sum, err = sumFile(ctx, o.archive)
	} else {
		sum, _, err = sumTree(ctx, o.tree, true)
	}
	if err == nil {
		err = compare(f, b, sum)
	}
	if err == nil && o.archive != "" {
		o.tree = filepath.Join(work, "tree")
		isAPK := false
		if err = os.Mkdir(o.tree, 0o755); err == nil && f.of == config.OfAndroid {
			isAPK, err = takeAPK(ctx, o.archive, o.tree)
		}
		if err == nil && !isAPK {
			err = c.unpack(ctx, o.archive, o.tree)
		}
	}
	if err == nil {
		if what := lacks(o.tree, f.of); what != "" {
			err = &brokenError{errors.New("it has no " + what)}
		}
	}
	if err != nil {
		return "", err
	}
	size, err := sizeOf(o.tree)
	if err == nil {
		err = pin(f, b, sum)
	}
	if err != nil {
		return "", err
	}
	if f.sign != "" {
		if err := c.keepArchive(o.archive, sum); err != nil {
			return "", err
		}
	}
	dir := filepath.Join(c.dir, sum)
	if err := os.Rename(o.tree, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	c.mu.Lock()
	c.sizes[sum] = size
	delete(c.bad, b.Feed+":"+b.Name)
	c.mu.Unlock()
	if c.log != nil {
		c.log.Info("build fetched", "feed", b.Feed, "build", b.Name, "bytes", size, "sha256", sum)
	}
	return dir, os.Chtimes(dir, c.now(), c.now())
}

func (c *Cache) unpack(ctx context.Context, archive, tree string) error {
	from, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer from.Close() // only read
	into, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	err = errors.Join(unpack(ctx, from, into, usual), into.Close())
	if errors.Is(err, errRefused) {
		err = &brokenError{err}
	}
	return err
}

// evict removes the folders that were not used for longest, until the others keep the limit. Kept
// builds stay.
func (c *Cache) evict() {
	kept := map[string]bool{}
	for _, k := range c.keep {
		b, _, err := c.feeds[k.Feed].find(k.Build)
		if err != nil {
			if c.log != nil {
				c.log.Warn("no build is removed: the hash of a control is unknown", "control", k.String(), "error", err)
			}
			return
		}
		kept[b.SHA256] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	type old struct {
		name string
		used time.Time
	}
	var free []old
	all := int64(0)
	for name, size := range c.sizes {
		all += size
		if st, err := os.Stat(filepath.Join(c.dir, name)); err == nil && c.used[filepath.Join(c.dir, name)] == 0 &&
			!kept[strings.TrimSuffix(name, archiveEnding)] {
			free = append(free, old{name, st.ModTime()})
		}
	}
	slices.SortFunc(free, func(a, b old) int {
		return cmp.Or(a.used.Compare(b.used), strings.Compare(a.name, b.name))
	})
	for _, o := range free {
		if c.max == 0 || all <= c.max {
			return
		}
		path, hidden := filepath.Join(c.dir, o.name), filepath.Join(c.dir, ".old-"+o.name)
		err := os.Rename(path, hidden) // a killed program leaves no half of it
		if err == nil {
			all -= c.sizes[o.name]
			delete(c.sizes, o.name)
			err = os.RemoveAll(hidden)
		}
		if err != nil && c.log != nil {
			c.log.Warn("a build could not be removed", "build", o.name, "error", err)
		}
	}
}
