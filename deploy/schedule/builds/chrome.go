package builds

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
)

// chromeIndex is the folder of the JSON files of Chrome for Testing.
const chromeIndex = "https://googlechromelabs.github.io/chrome-for-testing/"

// chrome is the index of Chrome for Testing. Without a channel, its builds are all known-good
// versions. With one, they are its versions since the ledger began: the index has the latest only.
//
// known-good-versions-with-downloads.json is
//
//	{"versions": [{"version": "113.0.5672.0", "revision": "1121455",
//	  "downloads": {"chrome": [{"platform": "linux64", "url": "https://…"}]}}]}
//
// The file last-known-good-versions-with-downloads.json has {"channels": {"Stable": {…}}} with the
// same fields. Neither has hashes.
type chrome struct {
	lines
	channel, platform string
}

type chromeVersion struct {
	Version, Revision string
	Downloads         struct {
		Chrome []struct{ Platform, URL string }
	}
}

func (c chrome) list(ctx context.Context, _ map[string]api.Build) ([]api.Build, error) {
	name := "known-good-versions-with-downloads.json"
	if c.channel != "" {
		name = "last-" + name
	}
	at, err := url.JoinPath(c.at, name)
	if err != nil {
		return nil, err
	}
	raw, err := readIndex(ctx, at)
	if err != nil {
		return nil, err
	}
	return c.parse(raw)
}

func (c chrome) parse(raw []byte) (all []api.Build, err error) {
	var index struct {
		Timestamp time.Time
		Versions  []chromeVersion
		Channels  map[string]chromeVersion
	}
	if err := json.Unmarshal(raw, &index); err != nil {
		return nil, fmt.Errorf("index of Chrome for Testing: %w", err)
	}
	versions := index.Versions
	if c.channel != "" {
		versions = nil
		for name, v := range index.Channels {
			if strings.EqualFold(name, c.channel) {
				versions = append(versions, v)
			}
		}
		if versions == nil {
			return nil, fmt.Errorf("index of Chrome for Testing: unknown channel %q", c.channel)
		}
	}
	for _, v := range versions {
		for _, d := range v.Downloads.Chrome {
			if d.Platform == c.platform {
				b := api.Build{Name: v.Version, Revision: v.Revision, URL: d.URL}
				if c.channel != "" {
					b.WallNS = max(0, index.Timestamp.UnixNano())
				}
				all = append(all, b)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("index of Chrome for Testing: no build for platform %q", c.platform)
	}
	slices.SortStableFunc(all, func(a, b api.Build) int { return wording.Natural(a.Name, b.Name) })
	return all, nil
}
