package visual

import (
	"fmt"
	"math"

	"github.com/eideticker/eideticker/capture/frame"
)

// Frames are the frames of a video, or what a recording has of them.
type Frames interface {
	Len() int
	// Picture returns frame i. At most three are needed at a time; they must stay as they are until
	// two others have been asked for. All must have the same size.
	Picture(i int) (Picture, error)
}

// Rules says which frames the script keeps. [ScriptRules] are those with which browsertime calls
// it.
type Rules struct {
	Orange bool // removes orange frames, and frames before them
	// per cent of width and height, in the middle, that are not looked at for the start; 0 for none
	RenderIgnore   int
	Cropped        bool    // frames were cropped to the viewport: margins at the sides and the top are looked at
	Mobile         bool    // of a phone: with Cropped, the bottom too
	NoiseTolerance float64 // per cent of the compared pixels that may differ from the last frame kept; 0: no such pass
	// The old script's --startwhite and --endwhite.
	StartWhite, EndWhite bool
}

// WhiteRules returns ScriptRules with those for white that the old script has, and that browsertime
// does not ask for: for browsers that are white before they begin and after they end.
func WhiteRules() Rules {
	r := ScriptRules()
	r.StartWhite, r.EndWhite = true, true
	return r
}

// ScriptRules returns the rules with which browsertime calls the script, for frames of which
// nothing had to be cropped away.
func ScriptRules() Rules { return Rules{Orange: true, RenderIgnore: 5} }

// Keep returns the frames that the script keeps, by their indices, in order:
//
//  1. Orange. If one of the first 21 frames is orange (isOrange), those before it are removed.
//     Then those that are orange at the beginning and at the end are. If all are, none is left, and
//     the script fails.
//  2. White, only if requested: of two frames and more, those before the first white one
//     ([IsWhite], of all of the picture) are removed. If none is white, none is left, and the
//     script fails.
//  3. Start. Frames after the first one are removed if they look like it, or are orange. The first
//     that does neither ends this. A pixel looks the same if no sample differs by more than 25 (10
//     % of 255). All of the compared ones must.
//  4. White at the end, only if requested: of three frames and more, the first white one from the
//     third on is removed, and all after it.
//  5. Duplicates at the start, again, with other margins, and including the middle.
//  6. Duplicates at the end: of the last frame and those right before it that look like it, the
//     earliest stays. Here samples may differ by 38 (15 %), and five pixels by more. It needs at
//     least three frames.
//  7. Noise, only if requested: a frame is removed if few of its pixels differ from the last kept
//     one. Few is the tolerated part, at least five. Samples must differ by more than 38. The last
//     frame may be removed too.
//
// The picture without margins (Rules.margins) is compared.
func (r Rules) Keep(frames Frames) ([]int, error) {
	k := keeper{rules: r, frames: frames, left: make([]int, frames.Len())}
	for i := range k.left {
		k.left[i] = i
	}
	for _, pass := range []func() error{k.orange, k.startWhite, k.start, k.endWhite, k.head, k.tail, k.noise} {
		if err := pass(); err != nil {
			return nil, fmt.Errorf("which frames to keep: %w", err)
		}
	}
	return k.left, nil
}

type keeper struct {
	rules  Rules
	frames Frames
	left   []int
}

func (k *keeper) isOrange(i int) (bool, error) {
	p, err := k.picture(i)
	if err != nil {
		return false, err
	}
	return isOrange(p), nil
}

func (k *keeper) picture(i int) (Picture, error) {
	p, err := k.frames.Picture(i)
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return p, fmt.Errorf("frame %d: %w", i, err)
	}
	return p, nil
}

// pair returns two pictures of the same size.
func (k *keeper) pair(i, j int) (a, b Picture, err error) {
	if a, err = k.picture(i); err != nil {
		return a, b, err
	}
	if b, err = k.picture(j); err != nil {
		return a, b, err
	}
	if a.Width != b.Width || a.Height != b.Height {
		err = fmt.Errorf("%w: frame %d has %dx%d pixels, frame %d has %dx%d", errSize, i, a.Width, a.Height, j, b.Width,
			b.Height)
	}
	return a, b, err
}

func (k *keeper) orange() error {
	if !k.rules.Orange {
		return nil
	}
	for n, i := range k.left[:min(21, len(k.left))] {
		is, err := k.isOrange(i)
		if err != nil {
			return err
		}
		if is {
			k.left = k.left[n:]
			break
		}
	}
	for len(k.left) > 0 {
		is, err := k.isOrange(k.left[0])
		if err != nil || !is {
			return errOr(err, k.orangeEnd)
		}
		k.left = k.left[1:]
	}
	return nil
}

func (k *keeper) orangeEnd() error {
	for {
		is, err := k.isOrange(k.left[len(k.left)-1])
		if err != nil || !is {
			return err
		}
		k.left = k.left[:len(k.left)-1]
	}
}

func errOr(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// firstWhite returns the index of the first white frame from one on. If none is white, it returns
// the number of frames.
func (k *keeper) firstWhite(from int) (int, error) {
	for n := from; n < len(k.left); n++ {
		p, err := k.picture(k.left[n])
		if err != nil || IsWhite(p, true) {
			return n, err
		}
	}
	return len(k.left), nil
}

func (k *keeper) startWhite() error {
	if !k.rules.StartWhite || len(k.left) < 2 {
		return nil
	}
	n, err := k.firstWhite(0)
	k.left = k.left[n:]
	return err
}

func (k *keeper) endWhite() error {
	if !k.rules.EndWhite || len(k.left) < 3 {
		return nil
	}
	n, err := k.firstWhite(2)
	k.left = k.left[:n]
	return err
}

// start drops what looks like the first frame before anything is rendered.
func (k *keeper) start() error {
	return k.dropHead(func(a, b Picture, i int) (bool, error) {
		compared := k.rules.startMargins(a.Width, a.Height)
		if n, some := differing(a, b, 10, compared, k.rules.ignored(a)); some && n == 0 {
			return true, nil
		}
		if !k.rules.Orange {
			return false, nil
		}
		return isOrange(b), nil
	})
}

func (k *keeper) head() error {
	return k.dropHead(func(a, b Picture, _ int) (bool, error) {
		n, some := differing(a, b, 10, k.rules.margins(a.Width, a.Height), frame.Region{})
		return some && n == 0, nil
	})
}

// dropHead drops the frames behind the first for which gone holds, up to the first for which it
// does not.
func (k *keeper) dropHead(gone func(first, p Picture, i int) (bool, error)) error {
	n := 1
	for ; n < len(k.left); n++ {
		a, b, err := k.pair(k.left[0], k.left[n])
		if err != nil {
			return err
		}
		if is, err := gone(a, b, k.left[n]); err != nil || !is {
			if err != nil {
				return err
			}
			break
		}
	}
	if n > 1 {
		k.left = append(k.left[:1], k.left[n:]...)
	}
	return nil
}

func (k *keeper) tail() error {
	if len(k.left) < 3 {
		return nil
	}
	last := len(k.left) - 1
	first := last // the earliest that looks like the last
	for first > 0 {
		a, b, err := k.pair(k.left[last], k.left[first-1])
		if err != nil {
			return err
		}
		if n, some := differing(a, b, 15, k.rules.margins(a.Width, a.Height), frame.Region{}); !some || n > 5 {
			break
		}
		first--
	}
	k.left = k.left[:first+1]
	return nil
}

func (k *keeper) noise() error {
	if k.rules.NoiseTolerance <= 0 || len(k.left) < 3 {
		return nil
	}
	kept := k.left[:1]
	for _, i := range k.left[1:] {
		a, b, err := k.pair(kept[len(kept)-1], i)
		if err != nil {
			return err
		}
		m := k.rules.margins(a.Width, a.Height)
		allowed := max(5, int(float64(m.Width*m.Height)*k.rules.NoiseTolerance/100))
		if n, some := differing(a, b, 15, m, frame.Region{}); !some || n > allowed {
			kept = append(kept, i)
		}
	}
	k.left = kept
	return nil
}

// ignored is the excluded region in the middle.
func (r Rules) ignored(p Picture) frame.Region {
	if r.RenderIgnore <= 0 || r.RenderIgnore > 100 {
		return frame.Region{}
	}
	w, h := p.Width*r.RenderIgnore/100, p.Height*r.RenderIgnore/100
	half := func(n, part int) int { return int(math.Floor(float64(n)/2 - float64(part)/2)) }
	return frame.Region{X: half(p.Width, w), Y: half(p.Height, h), Width: w, Height: h}
}

// startMargins returns the compared region for the start. It excludes 10 lines at the top, 10
// columns at the right and 24 lines at the bottom. For pictures with a side over 400, the margins
// are at least 3 % of the height, 4 % and 4 % of the width, rounded up. If the picture was cropped,
// it excludes only the bottom. For a phone it is all of the picture.
func (r Rules) startMargins(width, height int) frame.Region {
	top, right, bottom := 10, 10, 24
	if height > 400 || width > 400 {
		top = max(top, ceil(height, 0.03))
		right = max(right, ceil(width, 0.04))
		bottom = max(bottom, ceil(width, 0.04))
	}
	return r.within(width, height, top, right, bottom)
}

// margins returns the compared region for duplicates. It excludes 40 lines at the top, 10 columns
// at the right and 10 lines at the bottom. For pictures with a side over 400, the margins are 4 %
// of the height, 4 % and 6 % of the width, rounded up. Cropped pictures are as in startMargins.
func (r Rules) margins(width, height int) frame.Region {
	top, right, bottom := 40, 10, 10
	if height > 400 || width > 400 {
		top, right, bottom = ceil(height, 0.04), ceil(width, 0.04), ceil(width, 0.06)
	}
	return r.within(width, height, top, right, bottom)
}

func (r Rules) within(width, height, top, right, bottom int) frame.Region {
	switch {
	case r.Cropped && r.Mobile:
		return frame.Region{Width: width, Height: height}
	case r.Cropped:
		return frame.Region{Width: width, Height: height - bottom}
	}
	return frame.Region{Y: top, Width: max(width-right, 1), Height: max(height-top-bottom, 1)}
}

func ceil(n int, part float64) int { return int(math.Ceil(float64(n) * part)) }

// differing returns how many pixels of the region differ in a sample by more than percent of 255,
// rounded down: 25 for 10 %, 38 for 15 %. Pixels in ignored count as equal. The region is cut like
// the script's crop, which excludes the picture's last line and last column. some is false if no
// line is left. The script then finds no two frames alike.
func differing(a, b Picture, percent int, region, ignored frame.Region) (n int, some bool) {
	x0, x1 := scriptCut(a.Width, region.X, region.Width)
	y0, y1 := scriptCut(a.Height, region.Y, region.Height)
	if y0 >= y1 {
		return 0, false
	}
	limit := 255 * percent / 100
	for y := y0; y < y1; y++ {
		p, q := a.Row(y, 0, a.Width), b.Row(y, 0, b.Width)
		hidden := y >= ignored.Y && y < ignored.Y+ignored.Height
		for x := x0; x < x1; x++ {
			if hidden && x >= ignored.X && x < ignored.X+ignored.Width {
				continue
			}
			if !near(p[x*4:x*4+3], q[x*4:x*4+3], limit) {
				n++
			}
		}
	}
	return n, true
}

func near(a, b []byte, limit int) bool {
	for i := range 3 {
		if d := int(a[i]) - int(b[i]); d > limit || -d > limit {
			return false
		}
	}
	return true
}

// scriptCut returns what the script's crop takes of n lines or columns.
func scriptCut(n, from, length int) (a, b int) {
	a = min(n-1, max(from, 0))
	return a, min(n-1, max(a+length, 0))
}

// isOrange reports whether the script classifies the picture as one of browsertime's orange ones.
// It scales three parts, at the middle, top and bottom, to 200x200 pixels. A pixel differs if a
// sample is more than 38 from (222, 100, 13). In one part, fewer than 10,000 of the 40,000 pixels
// must differ. isOrange counts pixels of the unscaled part, which must be fewer than a quarter. For
// a frame that is all orange, or has none, the result is the same.
func isOrange(p Picture) bool {
	w, h := p.Width, p.Height
	for _, r := range [...]frame.Region{
		{X: w / 4, Y: h / 3, Width: w / 2, Height: h / 3},
		{X: w / 4, Y: 50, Width: w / 2, Height: h / 5},
		{X: w / 4, Y: h - h/5, Width: w / 2, Height: h / 5},
	} {
		x0, x1 := scriptCut(w, r.X, r.Width)
		y0, y1 := scriptCut(h, r.Y, r.Height)
		if x0 < x1 && y0 < y1 && 4*unlike(p, x0, y0, x1, y1, [3]byte{222, 100, 13}, 38) < (x1-x0)*(y1-y0) {
			return true
		}
	}
	return false
}

// IsWhite reports whether the old script classifies the picture as white. Scaled to 200x200 pixels,
// fewer than 500 of the 40,000 (1.25 %) are farther than 10 % from white. It uses all of the
// picture if the viewport was searched for (whole). Otherwise it uses the middle: half of the width
// and 33 % of the height. browsertime has always searched for a viewport. Today's script has no
// such rule. IsWhite counts pixels of the unscaled picture that differ in a sample by more than 25.
// ImageMagick measures the distance in three dimensions.
func IsWhite(p Picture, whole bool) bool {
	x0, y0, x1, y1 := 0, 0, p.Width, p.Height
	if !whole {
		w, h := max(p.Width/2, 1), max(p.Height*33/100, 1)
		x0, y0 = (p.Width-w)/2, (p.Height-h)/2
		x1, y1 = x0+w, y0+h
	}
	return 80*unlike(p, x0, y0, x1, y1, [3]byte{255, 255, 255}, 25) < (x1-x0)*(y1-y0)
}

func unlike(p Picture, x0, y0, x1, y1 int, colour [3]byte, limit int) (n int) {
	for y := y0; y < y1; y++ {
		row := p.Row(y, x0, x1)
		for i := 0; i < len(row); i += 4 {
			if !near(row[i:i+3], colour[:], limit) {
				n++
			}
		}
	}
	return n
}
