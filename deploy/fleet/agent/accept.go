package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/pattern"
)

// Kinds of jobs, for accept.
const (
	kindSuite  = "suite"
	kindURL    = "url"
	kindUpload = "upload"
)

// refusal returns the reason why the rig's own limits forbid an attempt; "": they permit it. It
// makes no builds of the feeds unbuilt.
func refusal(accept wire.Accept, unbuilt []string, d *wire.Assignment) string {
	if len(accept.Owners) > 0 && !slices.Contains(accept.Owners, d.Owner) {
		return fmt.Sprintf("the rig does not accept jobs of owner %.80q", d.Owner)
	}
	kinds, feeds := asked(d)
	for _, kind := range kinds {
		if len(accept.Kinds) > 0 && !slices.Contains(accept.Kinds, kind) {
			return fmt.Sprintf("the rig does not accept jobs of kind %s", kind)
		}
	}
	for _, feed := range feeds {
		if len(accept.Feeds) > 0 && !slices.Contains(accept.Feeds, feed) {
			return fmt.Sprintf("the rig does not accept builds of feed %.80q", feed)
		}
		if slices.Contains(unbuilt, feed) {
			return fmt.Sprintf("the rig makes no builds of feed %s for the fleet: its file has no command, or no "+
				"label %s = %[1]q", feed, wire.Builder)
		}
	}
	return ""
}

// asked returns the kinds and the feeds of an attempt.
func asked(d *wire.Assignment) (kinds, feeds []string) {
	p := &d.Params
	browsers := slices.Clone(p.Browsers)
	add := func(test, url string, upload bool) {
		switch {
		case upload:
			kinds = append(kinds, kindUpload)
		case url != "":
			kinds = append(kinds, kindURL)
		case test != "":
			kinds = append(kinds, kindSuite)
		}
	}
	add(p.Test, p.URL, p.Upload != nil || d.Upload != "")
	for _, v := range p.Variants {
		add(v.Test, v.URL, v.Upload != nil)
		browsers = append(browsers, v.Browser)
	}
	for _, text := range browsers {
		if b, err := api.ParseBrowser(text); err != nil {
			feeds = append(feeds, text) // no feed has such a name
		} else if b.Feed != "" {
			feeds = append(feeds, b.Feed)
		}
	}
	return kinds, feeds
}

// errUpload is for an upload with another hash than its job states. Another try is useless.
var errUpload = errors.New("the upload is invalid")

// upload gets an upload from the hub by its hash.
func (a *Agent) upload(ctx context.Context, bus Bus, hash string) (*api.Upload, error) {
	raw, err := json.Marshal(wire.Ask{Upload: hash})
	if err == nil {
		raw, err = a.request(ctx, bus, "ask", raw)
	}
	var got wire.Asked
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("get the upload: %w", err)
	case got.Error != "":
		return nil, fmt.Errorf("%w: %s", errUpload, bounded(got.Error))
	}
	if sum := sha256.Sum256(got.Upload); hex.EncodeToString(sum[:]) != strings.ToLower(hash) {
		return nil, fmt.Errorf("%w: it has another hash than the job states", errUpload)
	}
	out := &api.Upload{}
	if err := json.Unmarshal(got.Upload, out); err != nil {
		return nil, fmt.Errorf("%w: %w", errUpload, err)
	}
	return out, nil
}

var sizeForm = pattern.New(`\bsize=([0-9]{2,5}x[0-9]{2,5})\b`)

// labels returns the facts about a device, and the owner's words. The words cannot change facts.
// The signal is the last one that the device had. The mutex is held.
func (a *Agent) labels(d *api.Device) map[string]string {
	known := a.facts[d.Name]
	all := map[string]string{"rig": a.fleet.Rig, "device": d.Name, "model": known.model, "network": known.network,
		"certified": known.certified, "browser": strings.Join(append(slices.Clone(d.Browsers), known.versions), ",")}
	all["browser"] = strings.TrimSuffix(all["browser"], ",")
	all["source"], _, _ = strings.Cut(d.Source, ":")
	switch input, _, _ := strings.Cut(d.Input, ":"); input {
	case "adb":
		all["os"] = "android"
	case "windows":
		all["os"] = "windows"
	case "x11", "uinput":
		all["os"] = runtime.GOOS
	}
	all["os"] = cmp.Or(known.os, all["os"])
	if m := sizeForm.FindStringSubmatch(d.Source); m != nil {
		all["size"] = m[1]
	}
	if d.Signal != nil && a.state.Signals[d.Name] != *d.Signal {
		if a.state.Signals == nil {
			a.state.Signals = map[string]api.Signal{}
		}
		a.state.Signals[d.Name] = *d.Signal
		if err := a.save(); err != nil { // only a restart needs the file
			a.o.Log.Warn("the size of a device could not be kept", "device", d.Name, "error", err)
		}
	}
	if s, is := a.state.Signals[d.Name]; is {
		all["size"] = fmt.Sprintf("%dx%d", s.Width, s.Height)
		if s.PeriodNS > 0 {
			all["hz"] = strconv.FormatFloat(1e9/s.PeriodNS, 'f', 0, 64)
		}
	}
	out := map[string]string{}
	for _, words := range []map[string]string{a.o.Labels[""], a.o.Labels[d.Name], all} {
		for k, v := range words {
			if v = clip(strings.TrimSpace(v), maxLabel); v != "" {
				out[k] = v
			}
		}
	}
	return out
}
