package agent

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// TestWantedBuilds: a rig makes the wanted builds of feeds that it signs, one after the other. A
// build that waits for a quiet rig holds back attempts, as a light folder does.
func TestWantedBuilds(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	busy := false
	a, err := New(Options{Dir: t.TempDir(), Signs: []string{"shop"}, Look: time.Millisecond,
		Devices: func() []api.Device {
			return []api.Device{{Name: "a", State: map[bool]string{true: "running", false: "free"}[busy]}}
		},
		Make: func(_ context.Context, b wire.Build) (wire.Made, error) {
			asked <- b.Build
			if b.Build == "bad" {
				return wire.Made{}, errors.New("exit status 1")
			}
			return wire.Made{Line: json.RawMessage(`{}`)}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { a.makeBuilds(ctx); close(over) }()
	bad, good := wire.Build{Feed: "shop", Build: "bad"}, wire.Build{Feed: "shop", Build: "good"}
	a.want([]wire.Build{{Feed: "other", Build: "x"}, bad, good})
	if one, two := <-asked, <-asked; one != "bad" || two != "good" {
		t.Errorf("it makes %s, then %s", one, two)
	}
	made := func() []wire.Made { return a.report().Made }
	for len(made()) < 2 {
		time.Sleep(time.Millisecond)
	}
	if all := made(); all[0].Error != "exit status 1" || all[0].Build != bad || all[1].Line == nil ||
		all[1].Build != good {
		t.Errorf("%+v", all)
	}
	rests := false
	a.o.Rest = func(is bool) { rests = is }
	busy = true
	if a.sendLight(ctx, nil, nil); !rests || a.held.IsZero() {
		t.Error("a build that waits does not hold back attempts")
	}
	a.want([]wire.Build{bad})
	if a.sendLight(ctx, nil, nil); rests || !a.held.IsZero() {
		t.Error("attempts are held back without a build")
	}
	cancel()
	<-over
	if len(asked) > 0 {
		t.Errorf("it makes %s once more", <-asked)
	}
}
