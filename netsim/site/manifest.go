package site

import "slices"

// Pages returns the manifests of all test pages, in the order in which they are played.
func Pages() []Page {
	pages := []Page{
		{
			Name: "animation", Title: "Animation", Path: "/animation.html",
			Draws:   "a ball, a ring, bars and a counter, all of which move in every frame",
			Cadence: EveryFrame, DurationMillis: 1500,
		},
		loadPage(),
		slowLoadPage(),
	}
	pages = append(pages, galleryPage())
	pages = append(pages, frameratePages()...)
	pages = append(pages, stutterPage())
	pages = append(pages, tellPage())
	pages = append(pages, tearingPages()...)
	pages = append(pages, checkerboardPages()...)
	pages = append(pages, motionPages()...)
	pages = append(pages, inputPages()...)
	for i := range pages {
		pages[i].Markers = true
	}
	pages = append(pages, windowPage())
	for i := range pages {
		p := &pages[i]
		p.Strip = true
		p.HoldFrames, p.HoldMillis = 30, 500
	}
	return pages
}

func frameratePages() []Page {
	page := Page{Path: "/framerate.html", Cadence: cadenceGaps, DurationMillis: 2000, file: "/framerate.html"}
	every, half, uneven, boast := page, page, page, page

	every.Name, every.Title = "framerate", "Framerate"
	every.Draws = "a dial whose hand moves on by one tick in every animation frame"
	every.Cadence = EveryFrame

	half.Name, half.Title, half.Path = "framerate-half", "Framerate, every second frame", "/framerate-half.html"
	half.Draws = "a dial whose hand moves on in every second animation frame"
	half.Gaps = []int{2}

	uneven.Name, uneven.Title, uneven.Path = "framerate-uneven", "Framerate, uneven", "/framerate-uneven.html"
	uneven.Draws = "a dial whose hand moves on after one to five animation frames, in a known order"
	uneven.Gaps = []int{1, 2, 1, 3, 1, 1, 5, 2, 1, 4}

	boast.Name, boast.Title, boast.Path = "framerate-boast", "Framerate, claimed", "/framerate-boast.html"
	boast.Draws = "a dial whose hand moves on in every third animation frame, while the page claims all of them"
	boast.Gaps, boast.ClaimsCallbacks = []int{3}, true

	css, video, webgl := every, every, every
	css.Name, css.Title, css.Path, css.file = "framerate-css", "Framerate, CSS", "/framerate-css.html", ""
	css.Draws, css.Layer = "boxes that a declared animation moves in every frame, and a number", layerCSS
	video.Name, video.Title, video.Path = "framerate-video", "Framerate, video", "/framerate-video.html"
	video.Draws = "a dial in a video, another picture of which is given in every animation frame"
	video.Layer = layerVideo
	webgl.Name, webgl.Title, webgl.Path, webgl.file = "framerate-webgl", "Framerate, WebGL", "/framerate-webgl.html", ""
	webgl.Draws, webgl.Layer = "a wheel of triangles that turns in every animation frame", layerWebGL

	return []Page{every, half, uneven, boast, css, video, webgl}
}

// stutterPage has a function that holds up two pictures, and a script that holds up one. The page
// claims how long both ran. It ends some pictures after the last.
func stutterPage() Page {
	return Page{
		Name: "stutter", Title: "Stutter", Path: "/stutter.html",
		Draws:   "boxes that move in every frame, and wait for the function slow, a script, and slow again",
		Cadence: EveryFrame, DurationMillis: 3000,
	}
}

// tellPage sends messages inside its pictures: long tasks at known times, garbage collections and
// bytes of its own. It ends after three seconds, or later when the long tasks have been reported.
func tellPage() Page {
	return Page{
		Name: "tell", Title: "Messages", Path: "/tell.html",
		Draws:   "a box that moves in every frame, and messages in a block above the lowest copy of the strip",
		Cadence: EveryFrame, DurationMillis: 3000,
	}
}

// motionPages move as a whole, by steps that are known.
func motionPages() []Page {
	return []Page{{
		Name: "zoom", Title: "Pan and zoom", Path: "/zoom.html",
		Draws:   "a landscape that is drawn to the left, then enlarged about its middle, then made smaller again",
		Cadence: EveryFrame, DurationMillis: 3000,
	}}
}

// inputPages do nothing until something is done to them. They wait for it as long as they can, and
// play on until it stops.
func inputPages() []Page {
	page := func(name, title, draws string) Page {
		return Page{
			Name: name, Title: title, Path: "/" + name + ".html", Draws: draws,
			Cadence: CadenceInput, DurationMillis: 60_000, QuietMillis: 1500,
		}
	}
	return []Page{
		page("pingpong", "Click latency",
			"a ball that jumps to the other side of a table when a button or a finger comes down anywhere"),
		page("typing", "Typing latency", "typed text in a large field"),
		page("hover", "Hover menu", "menus that unfold while the pointer is over their names"),
		page("scroll", "Scroll", "a long page that is scrolled by wheel, keys or fingers"),
	}
}

// windowPage is for a window that opens: around it, somebody else draws what markers are wanted.
func windowPage() Page {
	return Page{
		Name: "window", Title: "Window", Path: "/window.html",
		Draws:   "what a new window shows: once, and again when the window gets another size",
		Cadence: CadenceWindow, DurationMillis: 1000,
	}
}

func tearingPages() []Page {
	page := func(name, title, draws string, f Flip) Page {
		f.Images, f.Still = tearingImages, 8
		return Page{
			Name: name, Title: title, Path: "/" + name + ".html", file: "/tearing.html",
			Draws: draws, Cadence: cadenceFlips, DurationMillis: 2400, Flip: &f,
		}
	}
	return []Page{
		page("tearing-dom", "Tearing, DOM",
			"four images in turn, another one in every animation frame, by showing and hiding elements",
			Flip{Layers: []layer{layerDOM}}),
		page("tearing-canvas", "Tearing, canvas",
			"four images in turn, another one in every animation frame, painted on a canvas",
			Flip{Layers: []layer{layerCanvas}}),
		page("tearing-video", "Tearing, video", "four images in turn, another one in every picture of a video",
			Flip{Layers: []layer{layerVideo}}),
		page("tearing-combined", "Tearing, combined",
			"four images in turn, each in three bands: elements, a canvas, a video",
			Flip{Layers: []layer{layerDOM, layerCanvas, layerVideo}}),
		page("tearing-drawn", "Tearing, drawn",
			"four images in turn, some of them torn on purpose, in rows that are known",
			Flip{Layers: []layer{layerCanvas}, Torn: true}),
	}
}

func checkerboardPages() []Page {
	checker := Checker{Cell: 16, Colours: [2]string{"#ffffff", "#ccd1d8"}, Width: 160, Height: 144}
	scrolled := checker
	scrolled.Scroll, scrolled.Height = 32, 160
	return []Page{
		{
			Name: "checkerboard", Title: "Checkerboard", Path: "/checkerboard.html", file: "/checkerboard.html",
			Draws:   "a landscape that is painted tile by tile over a checkerboard",
			Cadence: cadenceTiles, DurationMillis: 2000, Checker: &checker,
		},
		{
			Name: "checkerboard-scroll", Title: "Checkerboard, scrolled", Path: "/checkerboard-scroll.html",
			file:    "/checkerboard.html",
			Draws:   "a landscape that is scrolled faster than its tiles are painted",
			Cadence: EveryFrame, DurationMillis: 2000, Checker: &scrolled,
		},
	}
}

// Colours of the load page. None of them recurs where it would hide a change: a part that appears
// changes every pixel of what lay there before, but for the ground around letters.
const (
	ink         = "#1b2430"
	paper       = "#f4f1ea"
	white       = "#ffffff"
	soft        = "#5c6b7d"
	placeholder = "#e3e0d8"
	orange      = "#d9822b"
	leaf        = "#2f7d5b"
	blue        = "#1f5fbf"
	violet      = "#7a4fb5"
	sea         = "#2b7fae"
)

func loadPage() Page {
	return Page{
		Name: "load", Title: "Load", Path: "/load.html", file: "/load.html",
		Draws:   "a news page that appears in 12 steps: frames, then words, then pictures, the largest of them late",
		Cadence: CadenceParts, DurationMillis: 2400,
		Steps: []Step{
			{0, "paper and title bar"}, {150, "title"}, {300, "sections"}, {450, "article's frame and a spinner"},
			{600, "headline"}, {750, "first paragraph"}, {900, "three cards"}, {1050, "pictures on them"},
			{1250, "words on them"}, {1450, "second paragraph"}, {1800, "large picture in place of the spinner"},
			{2100, "footer"},
		},
		Parts: loadParts(),
	}
}

// slowLoadPage is the load page with each step twice as late. Comparisons must find it slower.
func slowLoadPage() Page {
	p := loadPage()
	p.Name, p.Title, p.Path = "load-slow", "Load, slower", "/load-slow.html"
	p.Draws = "the load page, each step of it twice as late"
	p.DurationMillis *= 2
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		p.Steps[i].AtMillis *= 2
	}
	return p
}

func loadParts() []Part {
	box := func(step, x, y, w, h int, colour string) Part {
		return Part{Kind: partBox, Step: step, Area: Area{x, y, w, h}, Colour: colour}
	}
	text := func(step, x, y, w, h, size int, bold bool, colour, ground, words string) Part {
		return Part{Kind: partLetters, Step: step, Area: Area{x, y, w, h}, Colour: colour, Ground: ground, Text: words,
			Size: size, Bold: bold}
	}
	parts := []Part{
		box(0, 0, 0, 1280, 720, paper),
		box(0, 0, 0, 1280, 88, ink),
		text(1, 40, 22, 560, 48, 34, true, white, ink, "The Daily Frame"),
		text(1, 860, 34, 380, 26, 14, false, "#aebccb", ink, "Eideticker test page: load"),
	}
	for i, colour := range []string{orange, leaf, blue, violet, soft} {
		parts = append(parts, box(2, 40+i*128, 104, 112, 28, colour))
	}
	parts = append(parts,
		box(3, 40, 148, 752, 524, white),
		box(3, 64, 192, 704, 296, placeholder),
		Part{Kind: partSpinner, Step: 3, Area: Area{372, 296, 88, 88}, Colour: orange, Ground: placeholder, Until: 10,
			TurnMillis: 80},
		text(4, 64, 504, 704, 36, 24, true, ink, white, "Sixty pictures a second, all of them kept"),
		text(5, 64, 546, 704, 48, 15, false, soft, white,
			"A page does not appear at once. First its frame, then its words, then its pictures, each at a moment "+
				"that somebody who waits will notice."),
	)
	for i, card := range []struct{ colour, title, words string }{
		{sea, "The sea", "Flat today, wave height nil. Swimmers are advised to count."},
		{orange, "The markets", "Frames were up, drops were down, and jitter closed unchanged."},
		{leaf, "The weather", "None of it on this page. Some blocks are expected by noon."},
	} {
		y := 104 + i*192
		parts = append(parts,
			box(6, 816, y, 424, 176, white),
			box(7, 816, y, 152, 176, card.colour),
			text(8, 988, y+28, 232, 30, 18, true, ink, white, card.title),
			text(8, 988, y+66, 232, 84, 14, false, soft, white, card.words),
		)
	}
	return append(parts,
		text(9, 64, 600, 704, 48, 15, false, soft, white,
			"This one appears in known steps at known times, so that whoever measures how it loads can be told "+
				"exactly how wrong they are."),
		Part{Kind: partPicture, Step: 10, Area: Area{64, 192, 704, 296}, Colour: sea},
		box(11, 0, 684, 1280, 36, ink),
		text(11, 816, 692, 424, 20, 13, false, "#aebccb", ink, "This page claims to be complete after 2,100 ms."),
	)
}
