package rig

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/doctor"
	"github.com/eideticker/eideticker/deploy/fleet/agent"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/enroll"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// reachTime bounds the wait for the hub.
const reachTime = 20 * time.Second

// ReachHub connects to the hub of a fleet as the rig of a data directory. It sends a request if one
// is given.
func ReachHub(ctx context.Context, dir string, f agent.Fleet, seed []byte, request string) error {
	ctx, stop := context.WithTimeout(ctx, reachTime)
	defer stop()
	b, err := bus.Dial(bus.RigOptions{URL: f.Hub, Path: f.Path, Fingerprint: f.Fingerprint, Rig: f.Rig, Seed: seed,
		JWT: func() (string, error) {
			jwt, err := os.ReadFile(filepath.Join(dir, agent.RightsFile))
			return string(jwt), err
		}})
	if err != nil {
		return err
	}
	defer b.Close()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		is, why := b.Connected()
		switch {
		case is && request != "":
			raw, err := b.Request(ctx, request, nil)
			var answer wire.Polled
			if err == nil {
				err = json.Unmarshal(raw, &answer)
			}
			if err == nil && answer.Error != "" { // an older hub
				err = errors.New(terminal.Clean(answer.Error))
			}
			return err
		case is || errors.Is(why, bus.ErrRemoved):
			return why
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return why
		}
	}
}

// Examine states the part of a data directory in a fleet, as a rig and as a hub.
func Examine(ctx context.Context, dir string, now time.Time) []doctor.Finding {
	return append(examineFleet(ctx, dir), examineHub(dir, now)...)
}

// examineFleet states whether the rig of a data directory reaches the hub of its fleet.
func examineFleet(ctx context.Context, dir string) []doctor.Finding {
	f, seed, err := agent.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	found := doctor.Finding{ID: "fleet", Group: "fleet", Object: f.Hub, Found: "the hub knows this rig as " + f.Rig}
	if err == nil {
		err = ReachHub(ctx, dir, f, seed, "")
	}
	if err != nil {
		found.Level, found.Found = doctor.Warn, err.Error()
		found.Advice = "Check the hub and the network. Run eideticker fleet leave if this rig was removed."
	}
	return []doctor.Finding{found}
}

// Limits of a hub that measures too.
const (
	maxHubRigs = 5
	hubWeek    = 7 * 24 * time.Hour
)

// examineHub warns if the hub of a data directory measures beside its rigs' work. The hub's own
// records list the rigs, also while it does not run.
func examineHub(dir string, now time.Time) []doctor.Finding {
	found := doctor.Finding{ID: "fleet-hub", Group: "fleet", Object: dir}
	authority, err := enroll.Open(filepath.Join(dir, filepath.FromSlash(HubSecrets)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // it is not a hub
	case err != nil:
		found.Level, found.Found = doctor.Info, "the rigs of the hub cannot be counted: "+err.Error()
		found.Advice = "Run eideticker doctor as root, or as the owner of the hub's files."
		return []doctor.Finding{found}
	}
	rigs := len(authority.Rigs())
	found.Found = wording.Plural(rigs, "rig") + " enrolled"
	runs, _ := os.ReadDir(filepath.Join(dir, trend.RunsDir)) // without one it does not measure
	own := slices.ContainsFunc(runs, func(f fs.DirEntry) bool {
		st, err := f.Info()
		return err == nil && f.IsDir() && now.Sub(st.ModTime()) < hubWeek
	})
	if own && rigs > maxHubRigs {
		found.Level, found.Found = doctor.Warn, found.Found+", and this hub measures too"
		found.Advice = "Measure on another machine. The hub's work disturbs its own measurements."
	}
	return []doctor.Finding{found}
}
