package site

import (
	"fmt"
	"strings"
)

// Page is the manifest of one test page: the truth that measures are held against.
type Page struct {
	Name    string `json:"name"`  // as in a playlist
	Title   string `json:"title"` // for people
	Path    string `json:"path"`  // on the site
	Draws   string `json:"draws"` // what is seen
	Markers bool   `json:"markers"`
	Strip   bool   `json:"strip"`
	// HoldFrames and HoldMillis say how long green and red are held: at least this many animation
	// frames and at least this long, each.
	HoldFrames int `json:"hold_frames"`
	HoldMillis int `json:"hold_ms"`
	// DurationMillis is how long the content plays; it ends with the first animation frame after it.
	DurationMillis int `json:"duration_ms"`
	// Cadence is in which animation frames the page changes.
	Cadence Cadence `json:"cadence"`
	// Steps are the changes of a page with cadence CadenceSteps, in order, the first at 0. Each is drawn
	// in the first animation frame at or after its time; steps that fall into one frame are one change.
	Steps []Step `json:"steps,omitempty"`
}

// Cadence is how often a page changes what it shows.
type Cadence string

const (
	EveryFrame   Cadence = "every-frame" // each animation frame is a new picture
	CadenceSteps Cadence = "steps"       // at the times of its steps only
)

// Step is one change of a page.
type Step struct {
	AtMillis int    `json:"at_ms"` // after the content's first frame
	Draws    string `json:"draws"`
}

// Pages returns the manifests of all test pages, in the order in which they are played.
func Pages() []Page {
	return []Page{
		{
			Name: "animation", Title: "Animation", Path: "/animation.html",
			Draws:   "a ball, a ring, bars and a counter, all of which move in every frame",
			Markers: true, Strip: true, HoldFrames: 30, HoldMillis: 500, DurationMillis: 1500,
			Cadence: EveryFrame,
		},
		{
			Name: "load", Title: "Load", Path: "/load.html",
			Draws:   "a news page that appears in 12 steps: frames, then words, then pictures",
			Markers: true, Strip: true, HoldFrames: 30, HoldMillis: 500, DurationMillis: 1500,
			Cadence: CadenceSteps,
			Steps: []Step{
				{0, "title bar"}, {120, "article's frame"}, {240, "headline"}, {360, "first paragraph"},
				{480, "second paragraph"}, {600, "author"}, {720, "large picture"}, {840, "two cards"},
				{960, "words on them"}, {1080, "pictures on them"}, {1200, "two more cards with words"},
				{1320, "pictures on them"},
			},
		},
	}
}

// Find returns the page with a name, or an error that lists the names there are.
func Find(name string) (Page, error) {
	var names []string
	for _, p := range Pages() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Page{}, fmt.Errorf("no test page %q: use one of %s", name, strings.Join(names, " "))
}
