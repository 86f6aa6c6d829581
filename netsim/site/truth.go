package site

import (
	"fmt"
	"math"
	"slices"
)

// Truth is what a page knows of its own pictures; each kind of page fills what it has. Lengths are
// CSS pixels of the viewport as it was, and the strip's copies are counted nowhere.
type Truth struct {
	// Pixels are all pixels of the viewport outside the strip. Counts has one number per drawn
	// picture. On a load page it is how many pixels already have their final value. On a
	// checkerboard page it is how many show the grid.
	Pixels int   `json:"pixels,omitempty"`
	Counts []int `json:"counts,omitempty"`
	// StepIDs says which picture was the first with each of the page's steps; shorter than they are
	// where the time was up.
	StepIDs []uint32 `json:"step_ids,omitempty"`
	Tears   []Tear   `json:"tears,omitempty"` // pictures that were drawn torn
	Tiles   []Tile   `json:"tiles,omitempty"` // in the order in which they appeared
	Claims  []Claim  `json:"claims,omitempty"`
	// Places are the positions of the content of a page that moves, one per drawn picture. If a
	// browser scrolls on a thread of its own, positions seen in between may differ. The first and
	// the last one are certain.
	Places []Place `json:"places,omitempty"`
	// Looks are one per drawn picture, on pages that come back to what they showed: pictures with
	// the same number look the same, pixel by pixel.
	Looks []int `json:"looks,omitempty"`
}

// Place says which part of the content was shown: its upper left corner, and how large it was.
type Place struct {
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Scale float64 `json:"scale"` // 1: a CSS pixel of the content is one of the viewport
}

// Tear is a picture that was drawn torn: parts of several images, one below the other.
type Tear struct {
	ID     uint32   `json:"id"`     // of the picture: the newest of IDs
	Rows   []int    `json:"rows"`   // first rows of the second part and those below it
	IDs    []uint32 `json:"ids"`    // in the strip's copies within each part
	Images []int    `json:"images"` // in each part
}

// Tile is a part of a page that was shown as checkerboard before it was painted.
type Tile struct {
	Area          // where it appeared, in the viewport; may reach out of it
	From   uint32 `json:"from"`   // first picture that shows it as checkerboard
	To     uint32 `json:"to"`     // first picture without it: it was painted, or scrolled away
	Filled bool   `json:"filled"` // it was painted before it was scrolled away; if not, and To is From, it never was
}

// Claim is a number that a page says about itself.
type Claim struct {
	Name  string  `json:"name"` // small letters, digits and _
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
}

// Claim returns the claim of a name.
func (t *Truth) Claim(name string) (Claim, bool) {
	for _, c := range t.Claims {
		if c.Name == name {
			return c, true
		}
	}
	return Claim{}, false
}

// Limits of a truth, far above what a page sends.
const (
	maxTiles    = 4096
	maxTearRows = 8
	maxClaims   = 10
	maxName     = 40
	maxLength   = 1 << 20
)

// checkTruth reports the first thing that this page would not say of the pictures that it drew.
func (w *wire) checkTruth(p Page) error {
	t := &w.Truth
	if t.Pixels < 0 || t.Pixels > w.Width*w.Height {
		return fmt.Errorf("report has %d pixels in a viewport of %dx%d", t.Pixels, w.Width, w.Height)
	}
	if len(t.Counts) != 0 && len(t.Counts) != len(w.IDs) {
		return fmt.Errorf("report has %d counts for %d pictures", len(t.Counts), len(w.IDs))
	}
	for _, n := range t.Counts {
		if n < 0 || n > t.Pixels {
			return fmt.Errorf("report counts %d of %d pixels", n, t.Pixels)
		}
	}
	if len(t.StepIDs) > len(p.Steps) || !slices.IsSorted(t.StepIDs) {
		return fmt.Errorf("report has %d steps of %d, or they are out of order", len(t.StepIDs), len(p.Steps))
	}
	for _, id := range t.StepIDs {
		if !w.drew(id) {
			return fmt.Errorf("report has a step in picture %d, which was not drawn", id)
		}
	}
	if err := w.checkTears(p); err != nil {
		return err
	}
	if err := w.checkTiles(p); err != nil {
		return err
	}
	if err := w.checkPlaces(); err != nil {
		return err
	}
	if err := w.checkLooks(); err != nil {
		return err
	}
	return t.checkClaims()
}

func (w *wire) checkPlaces() error {
	places := w.Truth.Places
	if len(places) != 0 && len(places) != len(w.IDs) {
		return fmt.Errorf("report has %d places for %d pictures", len(places), len(w.IDs))
	}
	for _, p := range places {
		if !(math.Abs(p.X) <= maxLength && math.Abs(p.Y) <= maxLength && p.Scale > 0 && p.Scale <= 1000) {
			return fmt.Errorf("report has its content at %g, %g, %g times as large", p.X, p.Y, p.Scale)
		}
	}
	return nil
}

func (w *wire) checkLooks() error {
	looks := w.Truth.Looks
	if len(looks) != 0 && len(looks) != len(w.IDs) {
		return fmt.Errorf("report has %d looks for %d pictures", len(looks), len(w.IDs))
	}
	for _, n := range looks {
		if n < 0 || n > maxDrawn {
			return fmt.Errorf("report has a picture with the look %d, limit %d", n, maxDrawn)
		}
	}
	return nil
}

// drew reports whether a picture is among those that the page says it drew; ids are in order.
func (w *wire) drew(id uint32) bool {
	_, ok := slices.BinarySearch(w.IDs, id)
	return ok
}

func (w *wire) checkTears(p Page) error {
	tears := w.Truth.Tears
	if len(tears) > 0 && (p.Flip == nil || len(tears) > len(w.IDs)) {
		return fmt.Errorf("report has %d tears in %d pictures of page %q", len(tears), len(w.IDs), p.Name)
	}
	for i, t := range tears {
		switch {
		case !w.drew(t.ID), i > 0 && t.ID <= tears[i-1].ID:
			return fmt.Errorf("report has a tear in picture %d, out of order or not drawn", t.ID)
		case len(t.Rows) == 0, len(t.Rows) > maxTearRows, len(t.IDs) != len(t.Rows)+1, len(t.Images) != len(t.IDs):
			return fmt.Errorf("report has a tear of %d rows, %d ids and %d images", len(t.Rows), len(t.IDs),
				len(t.Images))
		}
		last := 0
		for _, y := range t.Rows {
			if y <= last || y >= w.Height {
				return fmt.Errorf("report has a tear at row %d below row %d", y, last)
			}
			last = y
		}
		for k, id := range t.IDs {
			if id > t.ID || t.Images[k] < 0 || t.Images[k] >= p.Flip.Images {
				return fmt.Errorf("report has image %d with id %d in torn picture %d", t.Images[k], id, t.ID)
			}
		}
	}
	return nil
}

func (w *wire) checkTiles(p Page) error {
	tiles := w.Truth.Tiles
	if len(tiles) > 0 && p.Checker == nil || len(tiles) > maxTiles {
		return fmt.Errorf("report has %d tiles of page %q, limit %d", len(tiles), p.Name, maxTiles)
	}
	for _, t := range tiles {
		switch {
		case t.Width < 1, t.Height < 1, max(t.Width, t.Height, t.X, t.Y) > maxLength, min(t.X, t.Y) < -maxLength:
			return fmt.Errorf("report has a tile of %dx%d at %d, %d", t.Width, t.Height, t.X, t.Y)
		case !w.drew(t.From), !w.drew(t.To), t.To < t.From:
			return fmt.Errorf("report has a tile from picture %d to %d, out of order or not drawn", t.From, t.To)
		}
	}
	return nil
}

func (t *Truth) checkClaims() error {
	if len(t.Claims) > maxClaims {
		return fmt.Errorf("report has %d claims, limit %d", len(t.Claims), maxClaims)
	}
	for i, c := range t.Claims {
		switch {
		case !isName(c.Name), !isName(c.Unit):
			return fmt.Errorf("report claims %.60q in %.60q: these are not names", c.Name, c.Unit)
		case math.IsNaN(c.Value), math.Abs(c.Value) > 1e12:
			return fmt.Errorf("report claims %g", c.Value)
		case slices.ContainsFunc(t.Claims[:i], func(d Claim) bool { return d.Name == c.Name }):
			return fmt.Errorf("report claims %s twice", c.Name)
		}
	}
	return nil
}

// isName reports whether s is a word of small letters, digits and _.
func isName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for _, c := range s {
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_') {
			return false
		}
	}
	return true
}
