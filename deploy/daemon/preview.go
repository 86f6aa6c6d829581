package daemon

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/deploy/api"
)

// Preview shows a device's screen to any number of viewers. It watches frames of a recording, or
// gets them while nothing is recorded.
//
// It never costs a frame. It takes a limited number of frames a second. It takes none in these
// cases: without viewers, while the ring fills, and while the last one is still being packed by
// another goroutine. Of a frame it copies the pixels of the small picture, on the caller's
// goroutine. That is about a thousandth of its time.
type Preview struct {
	device string
	now    func() time.Time

	fill    func() float64 // how full the ring is
	layout  *frame.Layout
	conv    *frame.Converter
	line    []byte
	step    int       // pixels of the screen to one of the picture
	took    time.Time // when the last frame was taken
	changed bool      // the screen, since then

	signal  atomic.Pointer[api.Signal]
	viewers atomic.Int32  // changed with the mutex held
	visit   atomic.Uint64 // counts how often the last viewer has left; changed with the mutex held
	packing atomic.Bool
	wanted  atomic.Bool     // a viewer has come: the next frame is taken, changed or not
	taken   chan *takenView // has room for one
	givenUp atomic.Bool     // by a recording, since that was last told

	mu     sync.Mutex
	number uint64 // of pictures so far
	latest *Picture
	newer  chan struct{} // closed when there is one
}

var _ interface {
	recorder.Watcher
	GivenUp()
	Returns() time.Duration
} = (*Preview)(nil)

// Picture is what viewers are sent.
type Picture struct {
	Number uint64 // one more than the one before
	JPEG   []byte // with a [wire.PictureInfo] in its comment; not to be changed
	// TakenWallNS is the time of its frame.
	TakenWallNS int64
}

// takenView is a picture that is not packed yet.
type takenView struct {
	image *image.RGBA
	info  api.PictureInfo
	visit uint64 // in which it was taken
}

const (
	previewEvery   = time.Second / api.PreviewRate
	previewFill    = 1.0 / 8 // above this no picture is taken
	previewQuality = 75
)

func newPreview(device string, now func() time.Time) *Preview {
	return &Preview{device: device, now: now, fill: empty, taken: make(chan *takenView, 1), newer: make(chan struct{})}
}

func empty() float64 { return 0 }

// Begin implements rig.Watcher.
func (p *Preview) Begin(_ func(), fill func() float64) { p.fill, p.layout = fill, nil }

// End implements rig.Watcher.
func (p *Preview) End(int, bool) {
	p.fill, p.layout = empty, nil
	p.signal.Store(nil)
}

// GivenUp is called while a recording needs all of its ring.
func (p *Preview) GivenUp() { p.givenUp.Store(true) }

// Returns says that frames are shown to it again when the ring has emptied: none of those between
// is missed.
func (*Preview) Returns() time.Duration { return time.Second }

// Frame implements rig.Watcher.
func (p *Preview) Frame(step *frame.Step, _ timeline.Time) {
	if step.Image.Layout != p.layout {
		p.enter(step.Image.Layout)
	}
	p.changed = p.changed || step.Change == nil || len(step.Change.Spans) > 0
	visit := p.visit.Load() // before it is looked who views: a picture is never of a later visit than it says
	if p.viewers.Load() == 0 {
		return
	}
	now := p.now()
	if since := now.Sub(p.took); since >= 0 && since < previewEvery {
		return
	}
	if !p.changed && !p.wanted.Load() || p.fill() > previewFill || p.packing.Swap(true) {
		return
	}
	p.took, p.changed = now, false
	p.wanted.Store(false)
	v := p.take(step.Image, now)
	v.visit = visit
	p.taken <- v // it has room: nothing was being packed
}

// enter begins with frames of another format.
func (p *Preview) enter(l *frame.Layout) {
	f := l.Format
	p.layout, p.conv, p.changed = l, frame.NewConverter(l), true
	p.line = make([]byte, 4*f.Width)
	p.step = max(1, (max(f.Width, f.Height)+api.PreviewWidth-1)/api.PreviewWidth)
	p.signal.Store(&api.Signal{Width: f.Width, Height: f.Height, PixelFormat: f.Pixel.String()})
}

// take makes the small picture: of every so many rows one, in which neighbours are averaged.
func (p *Preview) take(m frame.Image, now time.Time) *takenView {
	f := p.layout.Format
	w, h := f.Width/p.step, f.Height/p.step
	img := image.NewRGBA(image.Rect(0, 0, max(w, 1), max(h, 1)))
	for y := range img.Rect.Dy() {
		p.conv.RGBARow(p.line, m, min(y*p.step+p.step/2, f.Height-1), 0, f.Width)
		average(img.Pix[y*img.Stride:(y+1)*img.Stride], p.line, p.step)
	}
	return &takenView{image: img, info: api.PictureInfo{Device: p.device, TimeWallNS: now.UnixNano(), Width: f.Width,
		Height: f.Height}}
}

// average fills a row with the means of step pixels each.
func average(dst, src []byte, step int) {
	for i := 0; i+4 <= len(dst); i += 4 {
		var r, g, b, n int
		for x := i * step; x < (i+4)*step && x+4 <= len(src); x += 4 {
			r, g, b, n = r+int(src[x]), g+int(src[x+1]), b+int(src[x+2]), n+1
		}
		n = max(n, 1)
		dst[i], dst[i+1], dst[i+2], dst[i+3] = byte(r/n), byte(g/n), byte(b/n), 255
	}
}

// run packs taken frames until end is closed.
func (p *Preview) run(end <-chan struct{}) error {
	for {
		select {
		case <-end:
			return nil
		case v := <-p.taken:
			packed, err := pack(v)
			if err != nil {
				return fmt.Errorf("make a picture of what device %s shows: %w", p.device, err)
			}
			p.publish(v, packed)
			p.packing.Store(false)
		}
	}
}

// publish shows a picture to the viewers. If those for whom it was taken have left, it is dropped,
// and new viewers get a current one.
func (p *Preview) publish(v *takenView, packed []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v.visit != p.visit.Load() {
		p.wanted.Store(true)
		return
	}
	p.number++
	p.latest = &Picture{p.number, packed, v.info.TimeWallNS}
	close(p.newer)
	p.newer = make(chan struct{})
}

// pack makes a JPEG with the picture's metadata in its comment.
func pack(v *takenView) ([]byte, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, v.image, &jpeg.Options{Quality: previewQuality}); err != nil {
		return nil, err
	}
	comment, err := json.Marshal(v.info)
	if err != nil {
		return nil, err
	}
	const start = 2 // bytes of the marker that begins it
	plain := b.Bytes()
	out := append(make([]byte, 0, len(plain)+4+len(comment)), plain[:start]...)
	out = append(out, 0xff, 0xfe)
	out = binary.BigEndian.AppendUint16(out, uint16(2+len(comment)))
	out = append(out, comment...)
	return append(out, plain[start:]...), nil
}

// Latest returns the latest picture, or nil before the first. The channel is closed when a newer
// one exists.
func (p *Preview) Latest() (*Picture, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latest, p.newer
}

// view counts one viewer more.
func (p *Preview) view() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.viewers.Add(1)
	p.wanted.Store(true)
}

// leave removes a viewer. The last one drops the current picture and the one being packed: the next
// viewer must not see an old one.
func (p *Preview) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.viewers.Add(-1) == 0 {
		p.latest = nil
		p.visit.Add(1)
	}
}
