package rig

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/deploy/schedule/builds"
)

// TestSameBuilds: the first rig that reports a build's content decides. A rig with other content
// under that name makes no point, also after a restart of the hub.
//
// Fault: Two rigs have different builds under one name
func TestSameBuilds(t *testing.T) {
	data, feed := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(feed, "b-1.zip"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() *builds.Cache {
		c, err := builds.Open(builds.Options{Dir: data, MaxBytes: 1 << 30, Log: slog.New(slog.DiscardHandler),
			Feeds: map[string]config.Feed{"shop": {Kind: config.FeedFolder, Dir: feed, Of: config.OfSite}}})
		if err == nil {
			_, err = c.Builds(t.Context(), "shop")
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first, second := strings.Repeat("a1", 32), strings.Repeat("b2", 32)
	for i, report := range []struct{ rig, name, sum, want string }{
		{"lab-1", "chromium@shop:b-1", "short", "has another form"},
		{"lab-1", "chromium@shop:b-1", first, ""},
		{"lab-2", "firefox@shop:b-1", first, ""},
		{"lab-2", "chromium@shop:b-1", second, "rig lab-2: build shop:b-1 has other content there: its SHA-256 is " +
			"b2b2b2b2b2b2…, not a1a1a1a1a1a1…"},
		{"lab-2", "chromium@other:b-1", second, ""}, // no feed of the hub
		{"lab-2", "chromium@shop:b-2", second, ""},  // no build that the hub knows
	} {
		set := filepath.Join(t.TempDir(), report.rig, "s-1.1")
		if err := os.MkdirAll(set, 0o755); err != nil {
			t.Fatal(err)
		}
		raw := fmt.Sprintf(`{"runs": [], "build_sha256": {%q: %q}}`, report.name, report.sum)
		if err := os.WriteFile(filepath.Join(set, "set.json"), []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
		err := sameBuilds(open(), set)
		if (err == nil) != (report.want == "") || err != nil && !strings.Contains(err.Error(), report.want) {
			t.Errorf("report %d: %v, want %q", i, err, report.want)
		}
	}
}

// TestUnbuilt: a rig makes builds of commits for a fleet if its file has a command and the label.
func TestUnbuilt(t *testing.T) {
	made := config.Feed{Kind: config.FeedGit, Command: []string{"make"}}
	c := config.Config{Labels: config.Labels{"": {"builder": "app,bare"}}, Feed: map[string]config.Feed{"app": made,
		"shop": made, "bare": {Kind: config.FeedGit}, "nightly": {Kind: config.FeedMozilla}}}
	got := unbuilt(&c)
	if slices.Sort(got); !slices.Equal(got, []string{"bare", "shop"}) {
		t.Errorf("%v", got)
	}
}

// TestBuilderDoubts: serve and schedule check state why builds cannot be signed or checked.
func TestBuilderDoubts(t *testing.T) {
	private, public := keys(t)
	git := config.Feed{Kind: config.FeedGit, Command: []string{"make"}, Sign: private}
	lost := git
	lost.Sign = "/nowhere"
	swapped := git
	swapped.Sign = public
	const label = "feed shop: no other rig gets its builds; set labels = { builder = \"shop\" }"
	for _, tc := range []struct {
		feed          config.Feed
		label, accept string
		want          string
	}{
		{git, "shop", "", "[]"}, {git, "app,shop", "shop", "[]"}, {git, "app", "", label}, {git, "shop", "app", label},
		{lost, "shop", "", "[feed shop: read key: open /nowhere"},
		{swapped, "shop", "", "a.pem has no PEM block PRIVATE KEY]"},
		{config.Feed{Kind: config.FeedFleet, Key: public}, "", "", "[]"},
		{config.Feed{Kind: config.FeedFleet, Key: "/nowhere"}, "", "", "[feed shop: read key: open /nowhere"},
		{config.Feed{Kind: config.FeedFolder}, "", "", "[]"},
	} {
		c := config.Config{Feed: map[string]config.Feed{"shop": tc.feed},
			Labels: config.Labels{"": {wire.Builder: tc.label}}}
		if tc.accept != "" {
			c.Accept.Feeds = []string{tc.accept}
		}
		if got := fmt.Sprint(ScheduleDoubts(t.Context(), &c, nil, false)); !strings.Contains(got, tc.want) {
			t.Errorf("%+v: %s, want %s", tc, got, tc.want)
		}
	}
}
