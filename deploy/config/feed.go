package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/pattern"
)

// Kinds of feeds.
const (
	FeedFolder  = "folder"
	FeedLines   = "jsonl"
	FeedChrome  = "chrome-for-testing"
	FeedMozilla = "mozilla"
	FeedGit     = "git"
	FeedFleet   = "fleet"
)

// Content of a feed's builds.
const (
	OfBrowser = "browser" // of this machine
	OfSite    = "site"    // a web site
	OfAndroid = "android" // an APK of a browser of Android
)

// Feed says where builds of browsers, or of a web site, come from.
type Feed struct {
	Kind     FeedKind `toml:"kind"`
	Of       string   `toml:"of"`       // not of indexes of browsers: browser, site, android; "": browser
	Package  string   `toml:"package"`  // of = "android": of the APKs
	Dir      string   `toml:"dir"`      // folder: of the builds; git: the repository
	URL      string   `toml:"url"`      // of the index; jsonl: or its file
	Key      string   `toml:"key"`      // jsonl, fleet: file of the public key of the builds' signatures
	Sign     string   `toml:"sign"`     // git: file of the private key that signs builds for other rigs
	Channel  string   `toml:"channel"`  // chrome-for-testing, mozilla
	Platform string   `toml:"platform"` // chrome-for-testing, mozilla
	Branch   string   `toml:"branch"`   // git
	Command  []string `toml:"command"`  // git: makes a build of a commit; empty: rigs of the fleet have it
	Output   string   `toml:"output"`   // git: the build's folder or archive, within the commit's files
	Timeout  Duration `toml:"timeout"`  // git: of the command
}

// FeedKind is a kind of feed.
type FeedKind string

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *FeedKind) UnmarshalText(text []byte) error {
	*k = FeedKind(text)
	return oneOf("kind", string(text), FeedFolder, FeedLines, FeedChrome, FeedMozilla, FeedGit, FeedFleet)
}

// maxFeeds bounds the feeds of a rig.
const maxFeeds = 50

var (
	feedName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`) // as api.FeedName
	word     = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$`)
)

// feedKeys are the keys of each kind: the first ones are required.
var feedKeys = map[FeedKind]struct{ need, may []string }{
	FeedFolder:  {need: []string{"dir"}, may: []string{"of", "package"}},
	FeedLines:   {need: []string{"url"}, may: []string{"key", "of", "package"}},
	FeedChrome:  {may: []string{"url", "channel", "platform"}},
	FeedMozilla: {may: []string{"url", "channel", "platform"}},
	FeedGit: {need: []string{"dir"}, may: []string{"branch", "command", "of", "output", "package", "sign",
		"timeout"}},
	FeedFleet: {need: []string{"key"}, may: []string{"of", "package"}},
}

// checkFeeds returns the name of the first feed with a problem, and the problem.
func (c *Config) checkFeeds() (string, error) {
	if n := len(c.Feed); n > maxFeeds {
		return "", fmt.Errorf("feed has %d tables: must be at most %d", n, maxFeeds)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Feed)) {
		if !feedName.MatchString(name) {
			return name, fmt.Errorf("feed.%.80q: a name has 1 to 32 letters, digits, - or _", name)
		}
		f := c.Feed[name]
		if err := f.check(); err != nil {
			return name, fmt.Errorf("feed.%s: %w", name, err)
		}
	}
	return "", nil
}

func (f Feed) check() error {
	if f.Kind == "" {
		return fmt.Errorf("kind is missing")
	}
	given := map[string]bool{"dir": f.Dir != "", "url": f.URL != "", "key": f.Key != "", "channel": f.Channel != "",
		"platform": f.Platform != "", "branch": f.Branch != "", "command": len(f.Command) > 0, "output": f.Output != "",
		"timeout": f.Timeout != 0, "of": f.Of != "", "sign": f.Sign != "",
		"package": f.Package != ""}
	keys := feedKeys[f.Kind]
	for _, key := range keys.need {
		if !given[key] {
			return fmt.Errorf("%s is missing; kind %s needs it", key, f.Kind)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if given[key] && !slices.Contains(keys.need, key) && !slices.Contains(keys.may, key) {
			return fmt.Errorf("kind %s has no key %s", f.Kind, key)
		}
	}
	for key, text := range map[string]string{"channel": f.Channel, "platform": f.Platform, "branch": f.Branch} {
		if text != "" && (!word.MatchString(text) || strings.Contains(text, "..")) {
			return fmt.Errorf("%s is %.80q: must have letters, digits and . _ / - only", key, text)
		}
	}
	if f.Of != "" {
		if err := oneOf("of", f.Of, OfBrowser, OfSite, OfAndroid); err != nil {
			return err
		}
	}
	if (f.Of == OfAndroid) != (f.Package != "") {
		return fmt.Errorf("of = %q and package, such as org.mozilla.fenix, need each other", OfAndroid)
	}
	if f.Package != "" && !device.IsPackage(f.Package) {
		return fmt.Errorf("package is %.80q: must be a name such as org.mozilla.fenix", f.Package)
	}
	if given["command"] != given["output"] {
		return fmt.Errorf("command and output belong together")
	}
	if given["sign"] && !given["command"] {
		return fmt.Errorf("sign needs command: only a rig that makes builds signs them")
	}
	if f.Output != "" && !filepath.IsLocal(f.Output) {
		return fmt.Errorf("output is %.80q: must be a path within the commit's files", f.Output)
	}
	if t := time.Duration(f.Timeout); t != 0 && (t < time.Second || t > 24*time.Hour) {
		return fmt.Errorf("timeout is %v: must be 1s to 24h", t)
	}
	if f.URL != "" && strings.Contains(f.URL, "://") {
		if u, err := url.Parse(f.URL); err != nil || !Fetchable(u) {
			return fmt.Errorf("url is %.200q: must begin with https://, or with http:// on the loopback", f.URL)
		}
	} else if f.URL != "" && f.Kind != FeedLines {
		return fmt.Errorf("url is %.200q: must begin with https://", f.URL)
	}
	return nil
}

// Fetchable reports if a rig downloads from an address: by https, or by http from its loopback.
func Fetchable(u *url.URL) bool {
	switch host := u.Hostname(); {
	case host == "" || u.User != nil:
		return false
	case u.Scheme == "https":
		return true
	case u.Scheme != "http":
		return false
	default:
		ip, err := netip.ParseAddr(host)
		return host == "localhost" || err == nil && ip.IsLoopback()
	}
}

// placeFeeds resolves the paths of feeds against the folder of the file.
func (c *Config) placeFeeds(file string) {
	for name, f := range c.Feed {
		f.Dir, f.Key, f.Sign = beside(file, f.Dir), beside(file, f.Key), beside(file, f.Sign)
		if !strings.Contains(f.URL, "://") {
			f.URL = beside(file, f.URL)
		}
		c.Feed[name] = f
	}
}

// feedError adds the line of a feed's table.
func (c *Config) feedError(file, text string) error {
	name, err := c.checkFeeds()
	if err == nil {
		return nil
	}
	return &fileError{file, cmp.Or(lineOf(text, toml.Key{"feed", name}), lineOf(text, toml.Key{"feed"})), err.Error()}
}
