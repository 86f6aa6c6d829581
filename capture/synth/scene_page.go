package synth

import "math"

// The page's timeline, in frames of a cycle of 480. The content is chosen so that a cycle at
// 1920x1080 costs lossless x264 as much as browsers' pages. That is 31 KB a frame with seed 1, and
// 22 to 25 KB with others. To reproduce it, pipe raw frames into this command:
//
//	ffmpeg -f rawvideo -pix_fmt bgr0 -s 1920x1080 -i - -c:v libx264rgb -preset ultrafast -qp 0
const (
	loadFirst   = 4 // the header; before it there is nothing but paper
	loadEnd     = 120
	spinnerEnd  = 126
	scrollFirst = 150
	scrollSteps = 300
	scrollStep  = 8 // pixels
	pageCycle   = 480

	spinnerSide   = 32
	spinnerPhases = 30
)

// load is a page that appears block by block.
type load struct {
	blank, doc *sheet
	blocks     []Load
	last       uint64 // all is there from this frame on
	spinner    []*sheet
	at         rect // of the spinner
	spins      Run
}

// newLoad draws a page of the given height. The blocks of the first screen appear between frames
// loadFirst and last.
func (k *kit) newLoad(height int, last, spinnerEnd uint64) (*load, error) {
	w := k.format.Width
	doc, blocks, err := k.pageSheet(0, w, height)
	if err != nil {
		return nil, err
	}
	l := &load{doc: doc, last: last, spins: Run{loadFirst, spinnerEnd}}
	if l.blank, err = k.solid(w, k.format.Height, paper); err != nil {
		return nil, err
	}
	for _, b := range blocks {
		if b.y < k.format.Height {
			l.blocks = append(l.blocks, Load{Area: k.area(b)})
		}
	}
	for i := range l.blocks {
		l.blocks[i].Frame = loadFirst + uint64(i)*(last-1-loadFirst)/uint64(max(1, len(l.blocks)-1))
	}
	return l, l.drawSpinner(k, doc)
}

// drawSpinner draws a spinner's phases, over the header's right end.
func (l *load) drawSpinner(k *kit, doc *sheet) error {
	l.at = rect{max(0, k.format.Width-56) &^ 1, 16, spinnerSide, spinnerSide}
	for i := range spinnerPhases {
		angle := 2 * math.Pi * float64(i) / spinnerPhases
		s, err := k.drawn(spinnerSide, spinnerSide, func(c *canvas) {
			c.fill(c.bounds(), 0x324a5f)
			c.ring(spinnerSide/2, spinnerSide/2, 11, 3, angle, white)
		})
		if err != nil {
			return err
		}
		l.spinner = append(l.spinner, s)
	}
	return nil
}

// draw appends what frame n shows, scrolled by offset once all is there.
func (l *load) draw(n uint64, offset int, list []blit) []blit {
	if n < l.last {
		list = append(list, whole(l.blank, 0, 0))
		for i := range l.blocks {
			if b := &l.blocks[i]; b.Frame <= n {
				list = append(list, part(l.doc, rect{b.X, b.Y, b.Width, b.Height}))
			}
		}
	} else {
		list = append(list, blit{from: l.doc, sy: offset, w: l.doc.w, h: l.doc.h})
	}
	if l.spins.Holds(n) {
		list = append(list, whole(l.spinner[n%spinnerPhases], l.at.x, l.at.y))
	}
	return list
}

func (l *load) tell(k *kit, t *Truth) {
	t.Load = l.blocks
	area := k.area(l.at)
	area.Shown = &Run{l.spins.First, l.spins.End}
	t.Spinner = &area
}

func buildPage(k *kit) (*script, error) {
	l, err := k.newLoad(k.format.Height+scrollSteps*scrollStep, loadEnd, spinnerEnd)
	if err != nil {
		return nil, err
	}
	s := &script{lead: 1, cycle: pageCycle}
	s.draw = func(n uint64, list []blit) []blit {
		n %= pageCycle
		steps := min(scrollSteps, max(0, int(n)-(scrollFirst-1)))
		return l.draw(n, steps*scrollStep, list)
	}
	l.tell(k, &s.truth)
	s.truth.Scroll = &Motion{Frames: []Run{{scrollFirst, scrollFirst + scrollSteps}}, DX: []int{0},
		DY: []int{-scrollStep}}
	return s, nil
}
