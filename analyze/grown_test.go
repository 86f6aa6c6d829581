package analyze_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/marker"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/synth"
	"github.com/eideticker/eideticker/capture/timeline"
)

// programme is a film of several scenes, with markers and their faults.
type programme struct {
	*filmtest.Film
	rng    *rand.Rand
	noise  bool
	lossy  bool
	packer *frame.Packer
}

func newProgramme(t testing.TB, seed uint64) *programme {
	rng := rand.New(rand.NewPCG(seed, 5))
	pixels := []frame.PixelFormat{frame.BGR4, frame.BGR4, frame.YUYV, frame.NV12, frame.RGB3}
	f := analyzetest.Must(frame.NewFormat(pixels[rng.IntN(len(pixels))], 96, 54))(t)
	p := &programme{Film: filmtest.New(t, f), rng: rng, noise: f.Pixel == frame.BGR4 &&
		rng.IntN(3) == 0, lossy: rng.IntN(3) == 0}
	p.packer = frame.NewPacker(p.Layout)
	p.plain(0x303030, rng.IntN(3))
	for range 1 + rng.IntN(4) {
		p.window(t)
	}
	if rng.IntN(3) == 0 { // one that no red ends
		p.plain(0x00ff00, 4)
		p.scene(t, "", 10)
	}
	for i := range p.Metas {
		m := &p.Metas[i].Sampled
		m.Earliest = m.Earliest.Add(-time.Duration(rng.IntN(400_000)))
		m.Latest = m.Latest.Add(time.Duration(rng.IntN(400_000)))
	}
	for range 5 {
		p.Log = append(p.Log, timeline.Event{At: p.Metas[rng.IntN(len(p.Metas))].Sampled.Earliest, Kind: "ping",
			Source: "test"})
	}
	return p
}

// take adds a frame, with noise and losses before it.
func (p *programme) take(pix []byte, lost bool) {
	if p.noise {
		pix = slices.Clone(pix)
		for i := range pix {
			pix[i] = byte(min(255, max(0, int(pix[i])+p.rng.IntN(9)-4)))
		}
	}
	n := 0
	if lost && p.lossy && p.rng.IntN(20) == 0 {
		n = 1 + p.rng.IntN(3)
	}
	p.Shoot(pix, n)
}

// colour is a picture of one colour.
func (p *programme) colour(rgb uint32) []byte {
	bgrx := make([]byte, 4*p.Layout.Format.Width*p.Layout.Format.Height)
	for i := 0; i < len(bgrx); i += 4 {
		bgrx[i], bgrx[i+1], bgrx[i+2] = byte(rgb), byte(rgb>>8), byte(rgb>>16)
	}
	pix := make([]byte, p.Layout.Size)
	p.packer.BGRX(pix, bgrx)
	return pix
}

func (p *programme) plain(rgb uint32, frames int) {
	pix := p.colour(rgb)
	for range frames {
		p.take(pix, false)
	}
}

// torn is a picture with another one's rows from top to bottom; for formats with colour in planes
// of their own, all planes' alike.
func (p *programme) torn(upper, lower []byte, share float64) []byte {
	pix := slices.Clone(lower)
	for _, plane := range p.Layout.Format.Planes() {
		n := plane.Stride * int(share*float64(plane.Rows))
		copy(pix[plane.Offset:plane.Offset+n], upper[plane.Offset:plane.Offset+n])
	}
	return pix
}

func (p *programme) scene(t testing.TB, name string, frames int) (last []byte) {
	if scenes := synth.Scenes(); name == "" {
		name = scenes[p.rng.IntN(len(scenes))].Name
	}
	f := p.Layout.Format
	s, _ := filmtest.Scene(t, name,
		fmt.Sprintf("size=%dx%d&format=%v&frames=%d&seed=%d", f.Width, f.Height, f.Pixel, frames, p.rng.Uint32()), nil)
	for _, pix := range s.Pix {
		p.take(pix, true)
	}
	return s.Pix[len(s.Pix)-1]
}

// window adds green, content and red, and their faults.
func (p *programme) window(t testing.TB) {
	green, red := p.colour(0x00ff00), p.colour(0xff0000)
	p.plain(0x00ff00, 3+p.rng.IntN(4))
	if p.rng.IntN(3) == 0 { // torn green
		p.take(p.torn(p.colour(0x8080c0), green, 0.1+0.8*p.rng.Float64()), true)
	}
	var last []byte
	if p.rng.IntN(5) > 0 {
		last = p.scene(t, "", 4+p.rng.IntN(40))
	} else { // disjoint images
		last = p.scene(t, "tear", 100+p.rng.IntN(200))
	}
	switch p.rng.IntN(6) {
	case 0: // content with full-width red in it that stands
		band := p.torn(red, last, 0.3)
		for range 1 + p.rng.IntN(6) {
			p.take(band, true)
		}
		last = p.scene(t, "", 5)
	case 1: // a red that is not held, and was torn
		p.take(p.torn(red, last, 0.5), true)
		for range 1 + p.rng.IntN(2) {
			p.take(red, true)
		}
		last = p.scene(t, "", 5)
	}
	if p.rng.IntN(2) == 0 {
		share := 0.0
		for range 1 + p.rng.IntN(4) {
			share = min(0.95, share+0.1+0.4*p.rng.Float64())
			p.take(p.torn(red, last, share), true)
		}
	}
	p.plain(0xff0000, 3+p.rng.IntN(3))
	p.plain(0x202020, p.rng.IntN(4))
}

// grown is a film as it was after so many frames, with a period that was fitted to these.
type grown struct {
	*filmtest.Film
	n int
}

func (g grown) Frames() int { return g.n }

func (g grown) Segments() []frame.Segment {
	s := g.Film.Segments()[:1]
	var fit timeline.PeriodFit
	for _, m := range g.Metas[:g.n] {
		fit.Add(m.Sequence, m.Sampled.Mid())
	}
	s[0].Frames, s[0].FemtoPeriod = g.n, fit.FemtoPeriod()
	return s
}

func (p *programme) options() (o analyze.Options, minPixels int) {
	if p.rng.IntN(6) > 0 { // the others take long
		o.Load.Variants = []string{"pixel", "histogram"}
	}
	if p.noise {
		o.Tolerance, minPixels = p.rng.IntN(12), p.rng.IntN(20)
	}
	if p.rng.IntN(4) == 0 {
		o.Region = frame.Region{X: p.rng.IntN(30), Y: p.rng.IntN(20), Width: 40, Height: 20}
	}
	if p.rng.IntN(4) == 0 {
		o.Masks = []frame.Region{{X: p.rng.IntN(60), Y: p.rng.IntN(40), Width: 1 + p.rng.IntN(30),
			Height: 1 + p.rng.IntN(20)}}
	}
	return o, minPixels
}

// A window is measured in the growing recording as soon as its red is held. Every digit is as in
// the finished one.
func TestGrowingIsAsFinished(t *testing.T) {
	programmes := analyzetest.Seeds(uint64(60))
	windows := 0
	for seed := range programmes {
		p := newProgramme(t, seed)
		o, minPixels := p.options()
		d, last := marker.New(marker.Options{}), measure.None
		for step, err := range p.Steps(0, len(p.Metas)) {
			if err != nil {
				t.Fatal(err)
			}
			analyzetest.Check(t, d.Add(step, nil))
			m, ok := d.Newest()
			if !ok || m.Start == last {
				continue
			}
			windows, last = windows+1, m.Start
			box := m.Region
			w := measure.Window{
				Kind: measure.ByMarkers, Green: m.Green, Held: m.Green - m.GreenFrom, Start: m.Start, End: m.End,
				Red:       m.Red,
				Region:    frame.Region{X: box.Min.X, Y: box.Min.Y, Width: box.Dx(), Height: box.Dy()},
				MinPixels: minPixels,
			}
			sooner, errSooner := analyze.Analyze(t.Context(), grown{p.Film, step.Number + 1}, w, o)
			later, errLater := analyze.Analyze(t.Context(), grown{p.Film, len(p.Metas)}, w, o)
			if !reflect.DeepEqual(sooner, later) || fmt.Sprint(errSooner) != fmt.Sprint(errLater) {
				t.Fatalf("programme %d, window %+v:\ngrowing %+v %v\nfinished %+v %v", seed, m, sooner, errSooner,
					later, errLater)
			}
		}
	}
	if windows < int(programmes) {
		t.Errorf("only %d windows were found", windows)
	}
}
