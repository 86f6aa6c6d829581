package suite

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/controller/internal/strict"
)

// Profile selects the recorded activity of the device's processes during a run. It adds load.
type Profile struct {
	Native string `yaml:"native"` // "": none, unless another key asks for more
	JS     string `yaml:"js"`     // "": map, if native code is sampled and that works
	// Sockets records the socket calls.
	Sockets bool `yaml:"sockets"`
	Rate    int  `yaml:"rate" min:"1" max:"20000"` // samples per second; 0: 997
	// While is the recorded part: content, between the markers, or run.
	While  string `yaml:"while"`
	Limit  Bytes  `yaml:"limit"`  // of an engine's files; 0: 2GiB
	Strict bool   `yaml:"strict"` // a profile that is not complete rejects the run
}

// The ways. Native code takes the first four, and JavaScript the last three. Both take none.
const (
	ProfileSamples   = "samples"
	profileFunctions = "functions"
	profileImports   = "imports"
	ProfileNone      = "none"
	ProfileAuto      = "auto"  // the first of functions, imports and samples that works; of map and trace
	ProfileMap       = "map"   // samples have the names of JavaScript's functions
	profileTrace     = "trace" // of the browser itself
)

// The parts of a run that a profile records.
const (
	profileContent = "content"
	profileRun     = "run"
)

// Given reports if anything is recorded.
func (p Profile) Given() bool {
	return p.native() || p.JS == profileTrace || p.JS == ProfileAuto || p.Sockets
}

func (p Profile) native() bool { return p.Native != "" && p.Native != ProfileNone }

// OnlyContent reports if nothing outside of the content is recorded.
func (p Profile) OnlyContent() bool { return p.While != profileRun }

// Text returns the parts, such as samples, js map, sockets.
func (p Profile) Text() string {
	var parts []string
	if p.native() {
		parts = append(parts, p.Native)
	}
	if p.JS != "" && p.JS != ProfileNone {
		parts = append(parts, "js "+p.JS)
	}
	if p.Sockets {
		parts = append(parts, "sockets")
	}
	return strings.Join(parts, ", ")
}

// ParseProfile reads a list of parts, such as samples,js,sockets.
func ParseProfile(list string) (p Profile, err error) {
	for _, name := range strings.Split(list, ",") {
		native, js := p.Native, p.JS
		switch name = strings.TrimSpace(name); name {
		case ProfileSamples, profileFunctions, profileImports, ProfileAuto:
			p.Native = name
		case ProfileMap, profileTrace:
			p.JS = name
		case "js":
			if p.JS = profileTrace; strings.Contains(list, ProfileSamples) {
				p.JS = ProfileAuto
			}
		case "sockets":
			p.Sockets = true
		default:
			return p, fmt.Errorf("unknown part %q: use samples, functions, imports, auto, js, map, trace, sockets",
				strict.Clip(name))
		}
		if native != "" && native != p.Native || js != "" && js != p.JS {
			return p, fmt.Errorf("%s cannot be with another way", name)
		}
	}
	return p, p.check(nil)
}

func (p *Profile) check(*Known) error {
	var found problems
	of := func(key string, value string, all ...string) {
		if value != "" && !slices.Contains(all, value) {
			found.add(problem(at(key), "%s %q: must be one of %s", key, strict.Clip(value), strings.Join(all, ", ")))
		}
	}
	of("native", p.Native, ProfileSamples, profileFunctions, profileImports, ProfileAuto, ProfileNone)
	of("js", p.JS, ProfileMap, profileTrace, ProfileAuto, ProfileNone)
	switch {
	case len(found) > 0:
	case p.JS == ProfileMap && p.Native != ProfileSamples:
		found.add(problem(at("js"), "js: map names functions of samples; add native: samples"))
	case !p.Given():
		found.add(problem(nil, "profile is empty: add native, js or sockets"))
	case p.Rate > 0 && p.Native != ProfileSamples && p.Native != ProfileAuto:
		found.add(problem(at("rate"), "rate needs native: samples"))
	case p.While != "" && p.While != profileContent && p.While != profileRun:
		found.add(problem(at("while"), "while %q: must be %s or %s", strict.Clip(p.While), profileContent, profileRun))
	}
	return errors.Join(found...)
}

func (p *Profile) short() string { return "native" }
