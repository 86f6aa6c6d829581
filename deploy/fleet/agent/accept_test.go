package agent

import (
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

func TestAcceptedFeeds(t *testing.T) {
	t.Parallel()
	for browser, want := range map[string]bool{"firefox": true, "firefox@firefox": true, "firefox@feed.firefox": true,
		"firefox@feed.firefox:1": true, "firefox@feed.other": false, "firefox@": false} {
		why := refusal(wire.Accept{Feeds: []string{"firefox"}}, nil,
			&wire.Assignment{Params: api.StartParams{Browsers: []string{browser}}})
		if (why == "") != want {
			t.Errorf("%s: %q", browser, why)
		}
	}
}

// TestUnbuiltFeeds: a hub cannot have a rig run the command of a feed. The rig needs the command
// and the label in its own file.
//
// Fault: A hostile hub wants builds of commits from a rig without the label builder
func TestUnbuiltFeeds(t *testing.T) {
	t.Parallel()
	for browser, want := range map[string]bool{"firefox": true, "firefox@app": true, "firefox@shop": false,
		"firefox@feed.shop:1": false} {
		for _, p := range []api.StartParams{{Browsers: []string{browser}},
			{Variants: []api.Variant{{Browser: browser}}}} {
			if why := refusal(wire.Accept{}, []string{"shop"}, &wire.Assignment{Params: p}); (why == "") != want {
				t.Errorf("%+v: %q", p, why)
			}
		}
	}
}
