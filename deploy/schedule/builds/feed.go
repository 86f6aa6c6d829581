package builds

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
)

// States of a build.
const (
	usable = "usable"
	broken = "broken"
	gone   = "gone"
)

// Bounds of a feed.
const (
	maxListed  = 5000  // builds of an index: the newest
	maxBuilds  = 10000 // of a ledger: the newest
	maxLedger  = 64 << 20
	maxReason  = 300
	maxText    = 2048
	maxSubject = 300 // bytes
)

// Times for which an index is not read again unless it is local: after it was read, and after an
// error.
const (
	fresh  = 10 * time.Second
	failed = time.Minute
)

// source reads an index and opens its builds.
type source interface {
	// list returns the builds of the index, oldest first. known are those of earlier calls.
	list(ctx context.Context, known map[string]api.Build) ([]api.Build, error)
	// open makes a build available. work is an empty folder for its files.
	open(ctx context.Context, b api.Build, work string) (opened, error)
}

// opened is a build's archive or tree.
type opened struct {
	archive string // a file; "": a tree
	tree    string
	inPlace bool // the tree is not copied
	fetched bool // from a server
}

// Feed is an index of builds with its ledger. Its methods may be called from any goroutine.
type Feed struct {
	name string
	path string // of the ledger
	source
	local   bool   // a folder or file of this machine, which is read each time
	partial bool   // a build that is not listed any more is not gone
	rebuilt bool   // the content of a build differs each time it is opened
	sign    string // file of the key that signs builds for other rigs; "": none are signed
	of, app string // content and package of the configuration
	now     func() time.Time

	reading sync.Mutex // held while the index is read, which takes long

	mu     sync.Mutex
	loaded bool
	read   time.Time // of the index
	failed error     // of that reading
	builds []api.Build
}

// ledgerFile is the content of a ledger.
type ledgerFile struct {
	Version int         `json:"version"`
	Builds  []api.Build `json:"builds"` // in order
}

// newFeed makes the feed of a configuration. dir is the data directory.
func newFeed(name, dir string, c config.Feed, now func() time.Time) (*Feed, error) {
	f := &Feed{name: name, path: filepath.Join(dir, ledgers, name+".json"), now: now,
		rebuilt: c.Kind == config.FeedGit, sign: c.Sign, of: cmp.Or(c.Of, config.OfBrowser),
		partial: c.Kind != config.FeedFolder && c.Kind != config.FeedLines, app: c.Package}
	switch c.Kind {
	case config.FeedFolder:
		f.source, f.local = folder{c.Dir, f.of}, true
	case config.FeedLines:
		f.source, f.local = lines{c.URL, c.Key}, !strings.Contains(c.URL, "://")
	case config.FeedChrome:
		f.source = chrome{lines{at: cmp.Or(c.URL, chromeIndex)}, strings.ToLower(c.Channel),
			cmp.Or(c.Platform, "linux64")}
	case config.FeedMozilla:
		f.source = mozilla{lines{at: strings.TrimSuffix(cmp.Or(c.URL, mozillaIndex), "/") + "/"},
			cmp.Or(c.Channel, "nightly"), cmp.Or(c.Platform, "linux64"), now}
	case config.FeedGit:
		f.source = commits{c}
	case config.FeedFleet:
		f.source, f.local = fleet{key: c.Key}, true
	default:
		return nil, fmt.Errorf("feed %s: unknown kind %q", name, c.Kind)
	}
	return f, nil
}

// Builds reads the index and returns all known builds, oldest first. An error about the index comes
// with those of the last time.
func (f *Feed) Builds(ctx context.Context) ([]api.Build, error) {
	f.reading.Lock()
	defer f.reading.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.load()
	switch wait := f.now().Sub(f.read).Abs(); {
	case err != nil:
	case f.local || wait >= failed || wait >= fresh && f.failed == nil:
		err = f.update(ctx)
	default:
		err = f.failed
	}
	if err != nil {
		err = fmt.Errorf("feed %s: %w", f.name, err)
	}
	return slices.Clone(f.builds), err
}

// Check returns an error if a build of a feed cannot be used, or does not exist; "": the newest. It
// writes nothing, and reads no index of another machine: what is not known of it is not an error.
func Check(ctx context.Context, name, dir string, c config.Feed, build string) error {
	f, err := newFeed(name, dir, c, time.Now)
	if err != nil {
		return err
	}
	if err = f.load(); err == nil && f.local {
		var listed []api.Build
		if listed, err = f.list(ctx, f.known()); err == nil {
			f.builds, err = merge(name, f.builds, listed, f.partial)
		}
	}
	usual := func(b api.Build) bool { return b.State == usable }
	switch found, is, _ := f.find(build); {
	case err != nil:
		return fmt.Errorf("feed %s cannot be read: %w", name, err)
	case !f.local && len(f.builds) == 0, build == "" && slices.ContainsFunc(f.builds, usual):
		return nil
	case build == "":
		return fmt.Errorf("feed %s has no usable build yet", name)
	case !is:
		var names []string
		for _, b := range f.builds {
			names = append(names, b.Name)
		}
		return fmt.Errorf("feed %s has no build %s yet%s", name, build, wording.Near(build, names))
	case found.State != usable:
		return fmt.Errorf("build %s of feed %s is %s: %s", found.Name, name, found.State, found.Reason)
	}
	return nil
}

// known returns the known builds by name.
func (f *Feed) known() map[string]api.Build {
	known := map[string]api.Build{}
	for _, b := range f.builds {
		known[b.Name] = b
	}
	return known
}

// update reads the index. It lets go of the mutex meanwhile.
func (f *Feed) update(ctx context.Context) error {
	known := f.known()
	f.mu.Unlock()
	listed, err := f.list(ctx, known)
	f.mu.Lock()
	if err != nil && ctx.Err() != nil {
		return err // the caller gave up
	}
	var merged []api.Build
	if err == nil {
		merged, err = merge(f.name, f.builds, listed[max(0, len(listed)-maxListed):], f.partial)
	}
	if err == nil {
		err = f.save(merged)
	}
	f.read, f.failed = f.now(), err
	return err
}

// merge adds the listed builds to the known ones. A build keeps its number. A new one is the
// newest, unless the index numbers it.
func merge(feed string, known, listed []api.Build, partial bool) ([]api.Build, error) {
	all, at, last := slices.Clone(known), map[string]int{}, int64(0)
	for i, b := range all {
		at[b.Name], last = i, max(last, b.Seq)
	}
	seen := map[string]bool{}
	for _, b := range listed {
		b.Feed, b.State = feed, cmp.Or(b.State, usable)
		i, is := at[b.Name]
		switch {
		case !api.BuildName.MatchString(b.Name):
			return nil, fmt.Errorf("build %.80q: a name has 1 to 100 letters, digits and . _ + -", b.Name)
		case max(len(b.URL), len(b.Revision), len(b.Parent)) > maxText:
			return nil, fmt.Errorf("build %s: a text has over %d bytes", b.Name, maxText)
		case seen[b.Name]:
			return nil, fmt.Errorf("build %s is listed twice", b.Name)
		case is && b.Seq != 0 && b.Seq != all[i].Seq:
			return nil, fmt.Errorf("build %s: its number changed from %d to %d", b.Name, all[i].Seq, b.Seq)
		case !is:
			if b.Seq == 0 {
				b.Seq = last + 1
			}
			last, at[b.Name], all = max(last, b.Seq), len(all), append(all, b)
		default:
			again(&all[i], b)
		}
		seen[b.Name] = true
	}
	for i := range all {
		if b := &all[i]; !partial && !seen[b.Name] && b.State == usable {
			b.State, b.Reason = gone, "it is not listed any more"
		}
	}
	slices.SortFunc(all, func(a, b api.Build) int { return cmp.Compare(a.Seq, b.Seq) })
	for i := 1; i < len(all); i++ {
		if all[i].Seq == all[i-1].Seq {
			return nil, fmt.Errorf("number %d is that of builds %s and %s", all[i].Seq, all[i-1].Name, all[i].Name)
		}
	}
	return all[max(0, len(all)-maxBuilds):], nil
}

// again updates a known build that is listed again.
func again(b *api.Build, listed api.Build) {
	switch {
	case b.State == broken:
	case listed.SHA256 != "" && b.SHA256 != "" && listed.SHA256 != b.SHA256:
		b.State, b.Reason = broken, changed(b.SHA256, listed.SHA256)
	default:
		b.State, b.Reason, b.URL = listed.State, listed.Reason, listed.URL
		b.SHA256, b.Subject = cmp.Or(b.SHA256, listed.SHA256), cmp.Or(listed.Subject, b.Subject)
	}
}

func changed(from, to string) string {
	return fmt.Sprintf("its SHA-256 changed from %.12s… to %.12s…", from, to)
}

// find returns a known build by its name, or the newest whose name goes on with a point or dash.
func (f *Feed) find(name string) (api.Build, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.load(); err != nil {
		return api.Build{}, false, fmt.Errorf("feed %s: %w", f.name, err)
	}
	var like *api.Build
	for i := range f.builds {
		b := &f.builds[i]
		if b.Name == name {
			return *b, true, nil
		}
		if rest, is := strings.CutPrefix(b.Name, name); is && (rest[0] == '.' || rest[0] == '-') && b.State != broken {
			like = b
		}
	}
	if like == nil {
		return api.Build{}, false, nil
	}
	return *like, true, nil
}

// note changes a known build.
func (f *Feed) note(name string, change func(*api.Build)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Clone(f.builds)
	for i := range all {
		if all[i].Name == name {
			change(&all[i])
		}
	}
	return f.save(all)
}

// load reads the ledger. A damaged ledger is an error: builds would get other numbers.
func (f *Feed) load() error {
	if f.loaded {
		return nil
	}
	var kept ledgerFile
	st, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.loaded = true
		return nil
	}
	if err == nil && st.Size() > maxLedger {
		err = fmt.Errorf("it has %d bytes", st.Size())
	}
	var raw []byte
	if err == nil {
		raw, err = os.ReadFile(f.path)
	}
	if err == nil {
		err = json.Unmarshal(raw, &kept)
	}
	if err != nil {
		return fmt.Errorf("read ledger %s.json: %w; restore it from a backup", f.name, err)
	}
	f.builds, f.loaded = kept.Builds, true
	return nil
}

func (f *Feed) save(all []api.Build) error {
	if slices.Equal(all, f.builds) {
		return nil
	}
	raw, err := json.Marshal(ledgerFile{1, all})
	if err == nil {
		err = staging.WriteFile(f.path, raw, 0o640)
	}
	if err != nil {
		return fmt.Errorf("write ledger %s.json: %w", f.name, err)
	}
	f.builds = all
	return nil
}

// subject returns the first line of a text for people, at most maxSubject bytes.
func subject(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(text, "")), "\n")
	if len(line) > maxSubject {
		return strings.ToValidUTF8(line[:maxSubject-len("…")], "") + "…"
	}
	return line
}

func clip(text string) string { return text[:min(len(text), maxReason)] }
