package api

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/pattern"
)

// LatestBuild names the newest usable build of a feed.
const LatestBuild = "latest"

// FeedName and BuildName match valid names of feeds and builds. They are parts of file names.
var (
	FeedName  = pattern.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)
	BuildName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$`)
)

// Browser is a browser as clients write it: KIND for the installed one, KIND@FEED[:BUILD] for a
// build of a feed.
type Browser struct {
	Kind  string
	Feed  string // "": the installed browser
	Build string // "": the newest
}

// ParseBrowser parses a browser. A feed NAME can be written as feed.NAME, a build as latest, and
// chromium as chrome.
func ParseBrowser(text string) (Browser, error) {
	kind, of, is := strings.Cut(text, "@")
	if !is {
		return Browser{Kind: text}, nil
	}
	feed, build, given := strings.Cut(strings.TrimPrefix(of, "feed."), ":")
	if kind == "chrome" {
		kind = "chromium"
	}
	switch {
	case kind == "" || !FeedName.MatchString(feed) || given && !BuildName.MatchString(build):
		return Browser{}, fmt.Errorf("browser %.80q: must be KIND, KIND@FEED or KIND@FEED:BUILD", text)
	case build == LatestBuild:
		build = ""
	}
	return Browser{kind, feed, build}, nil
}

// String returns the browser as clients write it.
func (b Browser) String() string {
	switch {
	case b.Feed == "":
		return b.Kind
	case b.Build == "":
		return b.Kind + "@" + b.Feed
	}
	return b.Kind + "@" + b.Feed + ":" + b.Build
}
