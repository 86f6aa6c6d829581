package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestTearingImagesAreDisjoint(t *testing.T) {
	for _, p := range tearingPages() {
		for _, size := range [][2]int{{1280, 720}, {1920, 1080}, {201, 77}} {
			var pixels [tearingImages][]uint32
			for i := range pixels {
				m, err := tearingImage(p, i, size[0], size[1])
				if err != nil {
					t.Fatal(err)
				}
				for y := range size[1] {
					for x := range size[0] {
						r, g, b, _ := m.At(x, y).RGBA()
						pixels[i] = append(pixels[i], r>>8<<16|g>>8<<8|b>>8)
					}
				}
			}
			for i := range pixels {
				for j := range i {
					for k := range pixels[i] {
						if pixels[i][k] == pixels[j][k] {
							t.Fatalf("%s: images %d and %d of %v share pixel %d", p.Name, i, j, size, k)
						}
					}
				}
			}
		}
	}
}

// TestTearingColoursStandApart is what keeps images disjoint behind a codec: each image has its own
// band of luma, however luma is weighted, and no colour passes for a marker's.
func TestTearingColoursStandApart(t *testing.T) {
	for _, weights := range [][3]float64{{0.299, 0.587, 0.114}, {0.2126, 0.7152, 0.0722}} {
		last := -100.0
		for i := range tearingImages {
			low, high := 255.0, 0.0
			for _, c := range tearingColours(i) {
				r, g, b, _ := c.RGBA()
				luma := weights[0]*float64(r>>8) + weights[1]*float64(g>>8) + weights[2]*float64(b>>8)
				low, high = min(low, luma), max(high, luma)
				if int(g>>8)-max(int(r>>8), int(b>>8)) > 100 || int(r>>8)-max(int(g>>8), int(b>>8)) > 120 {
					t.Errorf("image %d: %v is near green or red", i, c)
				}
			}
			if low < last+20 {
				t.Errorf("weights %v: image %d begins at luma %.1f, the one before ends at %.1f", weights, i, low, last)
			}
			last = high
		}
	}
}

func TestManifests(t *testing.T) {
	names, paths := map[string]bool{}, map[string]bool{}
	for _, p := range Pages() {
		if names[p.Name] || paths[p.Path] || p.HoldFrames < 3 || p.DurationMillis < 1000 ||
			p.Markers == (p.Cadence == CadenceWindow) {
			t.Errorf("manifest %+v", p)
		}
		names[p.Name], paths[p.Path] = true, true
		if (p.Cadence == cadenceGaps) != (len(p.Gaps) > 0) {
			t.Errorf("%s: cadence %q with gaps %v", p.Name, p.Cadence, p.Gaps)
		}
		for i, part := range p.Parts {
			if part.Step < 0 || part.Step >= len(p.Steps) || part.Width < 1 || part.Height < 1 || part.X < 0 ||
				part.Y < 0 || part.X+part.Width > 1280 || part.Y+part.Height > 720 {
				t.Errorf("%s: part %d is %+v", p.Name, i, part)
			}
			for j, below := range p.Parts[:i] {
				if below.Step > part.Step && overlap(below.Area, part.Area) {
					t.Errorf("%s: part %d appears under part %d", p.Name, j, i)
				}
			}
		}
		if c := p.Checker; c != nil && (c.Width%c.Cell != 0 || c.Height%c.Cell != 0 || c.Scroll%(2*c.Cell) != 0) {
			t.Errorf("%s: tiles of %dx%d and steps of %d on cells of %d", p.Name, c.Width, c.Height, c.Scroll, c.Cell)
		}
	}
}

func overlap(a, b Area) bool {
	return a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height
}

// TestMarkCode holds the hash against one that was computed by another program: printf abc |
// sha256sum.
func TestMarkCode(t *testing.T) {
	if id, clock := MarkCode("abc"); id != 0xba7816 || clock != 0xbf8f01 {
		t.Errorf("nonce abc has id %06x and clock %06x", id, clock)
	}
	s, err := New(Options{Nonce: "abc", MarkCode: true, Strip: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, body, _ := ask(s, "GET", s.Start(), "", ""); !strings.Contains(body,
		fmt.Sprintf(`"mark":{"id":%d,"clock":%d}`, 0xba7816, 0xbf8f01)) {
		t.Errorf("a page of the run is not told the code: %.600s", body)
	}
	if _, body, _ := ask(s, "GET", "/load.html", "", ""); !strings.Contains(body, `"mark":null`) {
		t.Error("a page outside the run is told its code")
	}
	if _, err := New(Options{MarkCode: true}); err == nil || !strings.Contains(err.Error(), "geometry") {
		t.Errorf("a code without a strip: %v", err)
	}
}

// truthful is a report with a truth, of a page and in a playlist that has only that one.
func truthful(t testing.TB, page string, truth map[string]any) (*Site, map[string]any) {
	s := newSite(t, page)
	m := good(0, s.clock.Now())
	m["truth"] = truth
	return s, m
}

func TestTruthArrives(t *testing.T) {
	s, m := truthful(t, "tearing-drawn", map[string]any{
		"pixels": 900, "counts": []int{0, 5, 900},
		"tears": []any{map[string]any{"id": 2, "rows": []int{8, 100}, "ids": []int{2, 1, 0},
			"images": []int{2, 1, 0}}},
		"claims": []any{map[string]any{"name": "torn_frames", "unit": "frames", "value": 1}},
	})
	r, err := s.parseReport([]byte(text(t, m)), s.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Truth.Tears) != 1 || r.Truth.Tears[0].Rows[1] != 100 || r.Truth.Counts[2] != 900 {
		t.Errorf("truth %+v", r.Truth)
	}
	if c, ok := r.Truth.Claim("torn_frames"); !ok || c.Value != 1 {
		t.Errorf("claims %+v", r.Truth.Claims)
	}
	if _, ok := r.Truth.Claim("other"); ok {
		t.Error("it claims what it does not")
	}
}

func TestRefusesTruths(t *testing.T) {
	tear := func(id int, rows, ids, images []int) map[string]any {
		return map[string]any{"tears": []any{map[string]any{"id": id, "rows": rows, "ids": ids, "images": images}}}
	}
	tile := func(from, to, width, x int) map[string]any {
		return map[string]any{"tiles": []any{map[string]any{"x": x, "y": 0, "width": width, "height": 9, "from": from,
			"to": to, "filled": true}}}
	}
	claim := func(name, unit string, value any) map[string]any {
		return map[string]any{"claims": []any{map[string]any{"name": name, "unit": unit, "value": value}}}
	}
	for _, tc := range []struct {
		name, page string
		truth      map[string]any
		has        string
	}{
		{"pixels", "load", map[string]any{"pixels": 1 << 30}, "pixels in a viewport"},
		{"negative pixels", "load", map[string]any{"pixels": -1}, "pixels in a viewport"},
		{"few counts", "load", map[string]any{"pixels": 9, "counts": []int{1}}, "1 counts for 3"},
		{"large count", "load", map[string]any{"pixels": 9, "counts": []int{1, 2, 10}}, "counts 10 of 9"},
		{"negative count", "load", map[string]any{"pixels": 9, "counts": []int{1, 2, -1}}, "counts -1"},
		{"many steps", "load", map[string]any{"step_ids": make([]int, 13)}, "13 steps of 12"},
		{"steps go back", "load", map[string]any{"step_ids": []int{2, 1}}, "out of order"},
		{"step not drawn", "load", map[string]any{"step_ids": []int{7}}, "was not drawn"},
		{"tear elsewhere", "load", tear(1, []int{8}, []int{1, 0}, []int{1, 0}), "tears in 3 pictures of page"},
		{"tear not drawn", "tearing-dom", tear(9, []int{8}, []int{9, 0}, []int{1, 0}), "not drawn"},
		{"tear without rows", "tearing-dom", tear(1, []int{}, []int{1}, []int{1}), "0 rows"},
		{"tear of many rows", "tearing-dom", tear(1, make([]int, 9), make([]int, 10), make([]int, 10)), "9 rows"},
		{"tear of few ids", "tearing-dom", tear(1, []int{8}, []int{1}, []int{1, 0}), "1 ids"},
		{"tear at the top", "tearing-dom", tear(1, []int{0}, []int{1, 0}, []int{1, 0}), "row 0"},
		{"tear below", "tearing-dom", tear(1, []int{720}, []int{1, 0}, []int{1, 0}), "row 720"},
		{"tear rows go back", "tearing-dom", tear(2, []int{8, 8}, []int{2, 1, 0}, []int{1, 0, 1}), "row 8 below row 8"},
		{"tear of the future", "tearing-dom", tear(1, []int{8}, []int{2, 1}, []int{1, 0}), "with id 2"},
		{"tear of no image", "tearing-dom", tear(1, []int{8}, []int{1, 0}, []int{4, 0}), "image 4"},
		{"tiles elsewhere", "load", tile(0, 1, 9, 0), "1 tiles of page"},
		{"too many tiles", "checkerboard", map[string]any{"tiles": make([]map[string]any, maxTiles+1)}, "4097 tiles"},
		{"empty tile", "checkerboard", tile(0, 1, 0, 0), "tile of 0x9"},
		{"far tile", "checkerboard", tile(0, 1, 9, -1<<40), "at -1099511627776"},
		{"tile not drawn", "checkerboard", tile(0, 9, 9, 0), "not drawn"},
		{"tile goes back", "checkerboard", tile(2, 1, 9, 0), "out of order"},
		{"claim's name", "load", claim("<b>", "ms", 1), "not names"},
		{"claim's unit", "load", claim("a", "", 1), "not names"},
		{"claim's size", "load", claim("a", "ms", 1e13), "claims 1e+13"},
		{"many claims", "load", map[string]any{"claims": make([]map[string]any, 11)}, "11 claims"},
		{"claims twice", "load", map[string]any{"claims": []any{
			map[string]any{"name": "a", "unit": "ms", "value": 1},
			map[string]any{"name": "a", "unit": "ms", "value": 2},
		}}, "twice"},
		{"unknown key", "load", map[string]any{"other": 1}, "unknown field"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, m := truthful(t, tc.page, tc.truth)
			status, body, _ := ask(s, "POST", "/report", "application/json", text(t, m))
			if status != 400 || !strings.Contains(body, tc.has) {
				t.Errorf("status %d, %q, want 400 with %q", status, body, tc.has)
			}
		})
	}
}

func FuzzTruth(f *testing.F) {
	pages := []string{"load", "tearing-drawn", "checkerboard"}
	for i, seed := range []string{
		`{"pixels":900,"counts":[1,2,3],"step_ids":[0,0,2]}`,
		`{"tears":[{"id":2,"rows":[8,100],"ids":[2,1,0],"images":[2,1,0]}],` +
			`"claims":[{"name":"a","unit":"ms","value":1.5}]}`,
		`{"tiles":[{"x":-5,"y":700,"width":160,"height":144,"from":0,"to":2,"filled":true}]}`,
	} {
		f.Add(i, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, page int, truth []byte) {
		if !json.Valid(truth) {
			return
		}
		s := newSite(t, pages[uint(page)%uint(len(pages))])
		m := good(0, s.clock.Now())
		m["truth"] = json.RawMessage(truth)
		r, err := s.parseReport([]byte(text(t, m)), s.clock.Now())
		if err != nil {
			return
		}
		for _, tear := range r.Truth.Tears {
			if len(tear.Images) != len(tear.Rows)+1 || len(tear.Rows) == 0 || tear.Rows[0] < 1 {
				t.Errorf("tear %+v was let through", tear)
			}
		}
		for _, e := range r.Events() {
			if err := e.Validate(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestAnswersArrive: what a page says it answered comes with the rig's times, and what no page
// would say is refused.
func TestAnswersArrive(t *testing.T) {
	answer := func(kind string, at, id int64) map[string]any {
		return map[string]any{"kind": kind, "at_us": at, "id": id}
	}
	for _, tc := range []struct {
		name, page string
		answers    func(times []int64) []any
		want       string // part of the refusal
	}{
		{"two", "pingpong", func(at []int64) []any {
			return []any{answer("pointerdown", at[0]+50, 1), answer("pointerdown", at[1]+50, 2)}
		}, ""},
		{"none", "pingpong", func([]int64) []any { return nil }, ""},
		{"a page that answers nothing", "framerate", func(at []int64) []any { return []any{answer("wheel", at[0], 1)} },
			"1 answers of page"},
		{"a picture that was not drawn", "typing", func(at []int64) []any { return []any{answer("input", at[0], 9)} },
			"picture 9"},
		{"an answer before its event", "hover",
			func(at []int64) []any { return []any{answer("pointerenter", at[1]+eventSlack+1, 1)} },
			"behind its answer"},
		{"out of order", "scroll", func(at []int64) []any {
			return []any{answer("wheel", at[1], 2), answer("wheel", at[1]-eventSlack-1, 2)}
		}, "out of order"},
		{"no event", "scroll", func(at []int64) []any { return []any{answer("<b>", at[0], 1)} }, "not an event"},
		{"too many", "scroll", func(at []int64) []any {
			all := make([]any, maxAnswers+1)
			for i := range all {
				all[i] = answer("wheel", at[0], 1)
			}
			return all
		}, "limit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSite(t, tc.page)
			m := good(0, s.clock.Now())
			m["answers"] = tc.answers(m["times_us"].([]int64))
			status, said, _ := ask(s, "POST", "/report", "application/json", text(t, m))
			if tc.want != "" {
				if status != 400 || !strings.Contains(said, tc.want) {
					t.Errorf("%d %s, want %q", status, said, tc.want)
				}
				return
			}
			if status != 200 {
				t.Fatal(status, said)
			}
			r := <-s.reports
			for i, a := range r.Answers {
				if drawn := r.Drawn[i].At; a.ID != uint32(i+1) || a.At.Earliest <= drawn.Earliest ||
					a.At.Width() != drawn.Width() {
					t.Errorf("answer %d is %+v, and the picture before it was drawn at %v", i, a, drawn)
				}
			}
		})
	}
}

func TestPlacesAreChecked(t *testing.T) {
	place := func(y, scale float64) map[string]any { return map[string]any{"x": 0, "y": y, "scale": scale} }
	for want, places := range map[string][]any{
		"":              {place(0, 1), place(40, 1), place(41, 2)},
		"1 places for":  {place(0, 1)},
		"0 times as":    {place(0, 1), place(0, 0), place(0, 1)},
		"its content a": {place(0, 1), place(1e9, 1), place(0, 1)},
	} {
		s, m := truthful(t, "zoom", map[string]any{"places": places})
		status, said, _ := ask(s, "POST", "/report", "application/json", text(t, m))
		if (status == 200) != (want == "") || !strings.Contains(said, want) {
			t.Errorf("%v: %d %s, want %q", places, status, said, want)
		}
	}
}

// TestPageSaysThatItCannotPlay: the waiter for its report gets the error at once.
func TestPageSaysThatItCannotPlay(t *testing.T) {
	s := newSite(t, "load", "framerate-webgl")
	for body, status := range map[string]int{
		`{"run":"abc","entry":7,"reason":"x"}`: 400,
		`{"run":"other","entry":1}`:            403,
		`{`:                                    400,
		`{"run":"abc","entry":0,"reason":"` + strings.Repeat("x", maxText+1) + `"}`: 400,
	} {
		if got, said, _ := ask(s, "POST", "/failure", "application/json", body); got != status {
			t.Errorf("%.60s: %d %s, want %d", body, got, said, status)
		}
	}
	for range 3 { // as often as it likes
		if got, said, _ := ask(s, "POST", "/failure", "application/json",
			`{"run":"abc","entry":1,"reason":"no WebGL"}`); got != 200 {
			t.Fatal(got, said)
		}
	}
	_, err := s.Next(t.Context())
	var failed *PageError
	if !errors.As(err, &failed) || failed.Page != "framerate-webgl" || !strings.Contains(err.Error(), "no WebGL") {
		t.Errorf("%v", err)
	}
}
