package synth

import (
	"fmt"
	"slices"
	"strings"
)

// Scene names a scene and says what it shows.
type Scene struct {
	Name, About string
}

// Scenes lists the scenes there are.
func Scenes() []Scene {
	var all []Scene
	for _, s := range scenes() {
		all = append(all, s.Scene)
	}
	return all
}

// drawFunc appends to list what frame n shows, counted from the scene's start. It is pure, and the
// first blit covers the whole frame.
type drawFunc func(n uint64, list []blit) []blit

// script is a scene made ready for a format and a seed.
type script struct {
	draw drawFunc
	// From frame lead on, the changes recur every cycle frames.
	lead, cycle uint64
	truth       Truth // what the scene itself knows, in frames counted from its start
}

// recipe makes a script.
type recipe struct {
	Scene
	build func(*kit) (*script, error)
}

func scenes() []recipe {
	return []recipe{
		{Scene{"static", "a page that never changes"}, buildStatic},
		{Scene{"caret", "a page in which nothing but a text caret blinks"}, buildCaret},
		{Scene{"page", "a page that loads in blocks beside a spinner, scrolls 8 pixels a frame, and rests"}, buildPage},
		{Scene{"web", "a page that loads and then plays a noisy video of 1280x720 at full rate"}, buildWeb},
		{Scene{"noise", "random bytes in every pixel of every frame: nothing can compress it"}, buildNoise},
		{Scene{"fps", "new frames at a chosen rate (rate=24) or with chosen repeats (repeats=1,1,2)"}, buildCadence},
		{Scene{"tear", "disjoint images in turn, some frames torn at known rows"}, buildTear},
		{Scene{"checker", "a page with checkerboard areas that fill in"}, buildChecker},
		{Scene{"pingpong", "an area that changes a known time after each event \"ping\""}, buildPingPong},
		{Scene{"strip", "a page with the code strip; frames are dropped, repeated, swapped or cut"}, buildStrip},
		{Scene{"pattern", "greys, colours, fine lines and texture that stand still: to calibrate noise on"},
			buildPattern},
		{Scene{"pan", "a wide page that moves sideways 8 pixels a frame, and back"}, buildPan},
		{Scene{"fade", "two pages that fade into one another"}, buildFade},
	}
}

func findScene(name string) (recipe, error) {
	all := scenes()
	i := slices.IndexFunc(all, func(r recipe) bool { return r.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	names := make([]string, 0, len(all))
	for _, r := range all {
		names = append(names, r.Name)
	}
	return recipe{}, fmt.Errorf("unknown scene %q: use one of %s", name, strings.Join(names, ", "))
}

// kit is what scenes are built with.
type kit struct {
	config
	geo     *geometry
	mem     *arena // the memory that is played from
	scratch scratch
	fonts   *fonts
}

func (k *kit) screen() rect { return rect{0, 0, k.format.Width, k.format.Height} }

// page returns the page of the seed, or another one for another number.
func (k *kit) page(number uint64) *page {
	return &page{seed: mix(k.seed) + number, fonts: k.fonts}
}

// pageSheet returns a page of w x h pixels and where its blocks stand.
func (k *kit) pageSheet(number uint64, w, h int) (*sheet, []rect, error) {
	var blocks []rect
	s, err := k.drawn(w, h, func(c *canvas) { blocks = k.page(number).draw(c) })
	return s, blocks, err
}

// area returns r as far as it is in the frame.
func (k *kit) area(r rect) Area {
	r = r.in(k.screen())
	return Area{X: r.x, Y: r.y, Width: r.w, Height: r.h}
}
