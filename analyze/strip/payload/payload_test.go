package payload

import (
	"bytes"
	"fmt"
	"image"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// page draws messages as test pages do, one packet per frame.
type page struct {
	t        *testing.T
	layout   *frame.Layout
	geo      Geometry
	picture  []byte // BGRX
	sequence int
	clock    int64
}

func newPage(t *testing.T, pixel frame.PixelFormat, width, height int, region image.Rectangle, form Form) *page {
	t.Helper()
	f, err := frame.NewFormat(pixel, width, height)
	if err != nil {
		t.Fatal(err)
	}
	l := analyzetest.Must(frame.NewLayout(f))(t)
	if region.Empty() {
		region = image.Rect(0, 0, width, height)
	}
	p := &page{t: t, layout: l, picture: make([]byte, 4*width*height), clock: 1<<32 - 50_000}
	p.geo = analyzetest.Must(NewGeometry(region, form))(t)
	return p
}

// packets splits a message.
func (p *page) packets(message []byte) (all []Packet) {
	for part := range slices.Chunk(message, p.geo.Size-frameOf) {
		all = append(all,
			Packet{Sequence: uint16(p.sequence), First: len(all) == 0, Clock: uint32(p.clock), Data: part})
		p.sequence++
		p.clock += 16_667
	}
	all[len(all)-1].Last = true
	return all
}

// draw returns the next frame, with one more packet.
func (p *page) draw(packet Packet) []byte {
	p.t.Helper()
	if err := p.geo.Draw(p.picture, p.layout.Format.Width, packet); err != nil {
		p.t.Fatal(err)
	}
	pix := make([]byte, p.layout.Size)
	frame.NewPacker(p.layout).BGRX(pix, p.picture)
	return pix
}

func sampled(n int) timeline.Interval {
	at := timeline.Time(n) * timeline.Time(16_667*time.Microsecond)
	return timeline.Interval{Earliest: at, Latest: at.Add(time.Millisecond)}
}

// messages returns some of the given lengths.
func messages(lengths ...int) (all [][]byte) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range lengths {
		m := make([]byte, n)
		for i := range m {
			m[i] = byte(rnd.Uint32())
		}
		all = append(all, m)
	}
	return all
}

func data(all []Message) (list [][]byte) {
	for _, m := range all {
		list = append(list, m.Data)
	}
	return list
}

func TestMessagesInEveryFormat(t *testing.T) {
	for _, pixel := range frame.PixelFormats() {
		for _, form := range []Form{Exact, Cells} {
			if form == Exact && !pixel.IsRGB() {
				continue
			}
			for _, region := range []image.Rectangle{{}, image.Rect(16, 8, 16+814, 8+320)} {
				t.Run(fmt.Sprintf("%v %s %v", pixel, form, region), func(t *testing.T) {
					p := newPage(t, pixel, 832, 336, region, form)
					d := analyzetest.Must(NewDecoder(p.layout, region, form))(t)
					lengths := []int{1, p.geo.Size - frameOf, p.geo.Size - frameOf + 1, 100}
					if form == Exact {
						lengths = append(lengths, maxMessage)
					}
					sent := messages(lengths...)
					var c Channel
					n, bytes := 0, 0
					for _, m := range sent {
						bytes += len(m)
						for _, packet := range p.packets(m) {
							c.Add(n, sampled(n), d.Read(p.layout.View(p.draw(packet))))
							n++
						}
					}
					a := c.Close()
					if got := data(a.Messages); !slices.EqualFunc(got, sent, slices.Equal) {
						t.Fatalf("%d of %d messages differ", len(got), len(sent))
					}
					if a.Packets != int64(n) || a.Bytes != int64(bytes) || a.Frames != n ||
						a.Lost+a.Broken+a.Cut+a.First > 0 {
						t.Errorf("account %+v of %d packets with %d bytes", a, n, bytes)
					}
					if last := a.Messages[3]; last.Clock <= 1<<32 {
						t.Errorf("clock %d did not continue over the modulus", last.Clock)
					}
					if want := sampled(0).Latest.Add(-micros(1<<32 - 50_000)); a.Zero != want {
						t.Errorf("the page's clock was 0 at %d, want %d", a.Zero, want)
					}
				})
			}
		}
	}
}

func TestExactNeedsColours(t *testing.T) {
	p := newPage(t, frame.NV12, 640, 360, image.Rectangle{}, Cells)
	if _, err := NewDecoder(p.layout, image.Rectangle{}, Exact); err == nil {
		t.Error("a decoder of exact colours for NV12")
	}
	if _, err := NewGeometry(image.Rect(0, 0, 640, 100), Cells); err == nil {
		t.Error("a block between copies of the strip that are closer than it is high")
	}
}

// TestLostPackets leaves out, damages and cuts frames. Each message is whole or counted.
func TestLostPackets(t *testing.T) {
	for _, form := range []Form{Exact, Cells} {
		for _, c := range []struct {
			name                 string
			lost                 []int // frames that are not captured
			spoil                func(p *page, n int, pix []byte) frame.Image
			packets, broken, cut int64
			whole                int
		}{
			{name: "a frame", lost: []int{4}, whole: 10},
			{name: "frames in turn", lost: []int{1, 3, 5, 7}, whole: 10},
			{name: "two frames", lost: []int{4, 5}, packets: 1, cut: 1, whole: 9},
			{name: "many frames", lost: []int{3, 4, 5, 6, 7, 8}, packets: 5, whole: 6},
			{name: "a bit in one half", whole: 10, broken: 1, spoil: func(p *page, n int, pix []byte) frame.Image {
				if n == 6 {
					flip(p, pix, 0)
				}
				return p.layout.View(pix)
			}},
			{name: "a bit in each frame that shows a packet", packets: 1, broken: 2, whole: 9,
				spoil: func(p *page, n int, pix []byte) frame.Image {
					if n == 6 || n == 7 {
						flip(p, pix, 0)
					}
					return p.layout.View(pix)
				}},
			{name: "missing rows", whole: 10, broken: 2, spoil: func(p *page, n int, pix []byte) frame.Image {
				img := p.layout.View(pix)
				if n == 5 {
					img.Rows = img.Rows[:p.geo.Bounds.Min.Y]
				}
				return img
			}},
			{name: "short rows", whole: 10, broken: 2, spoil: func(p *page, n int, pix []byte) frame.Image {
				img := p.layout.View(pix)
				for y := range img.Rows {
					if n == 5 {
						img.Rows[y] = img.Rows[y][:len(img.Rows[y])/2]
					}
				}
				return img
			}},
		} {
			t.Run(string(form)+" "+c.name, func(t *testing.T) {
				p := newPage(t, frame.BGR4, 640, 360, image.Rectangle{}, form)
				d := analyzetest.Must(NewDecoder(p.layout, image.Rectangle{}, form))(t)
				var channel Channel
				n, told := 0, 0
				for _, m := range messages(3, 3, 3, 2*(p.geo.Size-frameOf), 3, 3, 3, 3, 3, 3) {
					told++
					for _, packet := range p.packets(m) {
						pix := p.draw(packet)
						img := p.layout.View(pix)
						if c.spoil != nil {
							img = c.spoil(p, n, pix)
						}
						if !slices.Contains(c.lost, n) {
							channel.Add(n, sampled(n), d.Read(img))
						}
						n++
					}
				}
				a := channel.Close()
				if a.Lost != c.packets || a.Broken != c.broken || a.Cut != c.cut || len(a.Messages) != c.whole {
					t.Errorf("lost %d, broken %d, cut %d, %d messages; want %d, %d, %d and %d", a.Lost, a.Broken, a.Cut,
						len(a.Messages), c.packets, c.broken, c.cut, c.whole)
				}
				if a.Packets+a.Lost != int64(n) {
					t.Errorf("%d packets and %d lost of %d", a.Packets, a.Lost, n)
				}
				var listed int64
				for _, l := range a.Losses {
					listed += l.Packets
				}
				if listed != a.Lost || len(a.BrokenIn) == 0 != (c.broken == 0) {
					t.Errorf("frames of losses: %v and %v", a.Losses, a.BrokenIn)
				}
			})
		}
	}
}

// flip inverts the pixels of one bit or more of a slot.
func flip(p *page, pix []byte, slot int) {
	for y := p.geo.top(slot); y < p.geo.top(slot)+p.geo.cell; y++ {
		row := p.layout.Row(pix, y)
		for i := range 4 * p.geo.cell {
			row[i] = ^row[i]
		}
	}
}

// TestOrderOfPackets: torn frames show packets late, a page may begin again, and numbers wrap.
func TestOrderOfPackets(t *testing.T) {
	one := func(s int, data string) Slot {
		return Slot{Good, Packet{Sequence: uint16(s), First: true, Last: true, Clock: uint32(s), Data: []byte(data)}}
	}
	for _, c := range []struct {
		name     string
		frames   [][slots]Slot
		want     string
		first    int64
		lost     int64
		restarts int
	}{
		{"in pairs", [][slots]Slot{{one(0, "a")}, {one(0, "a"), one(1, "b")}, {one(2, "c"), one(1, "b")}},
			"abc", 0, 0, 0},
		{"torn", [][slots]Slot{{one(0, "a"), one(1, "b")}, {one(0, "a"), one(3, "d")}, {one(2, "c"), one(3, "d")}},
			"abcd", 0, 0, 0},
		{"torn at first", [][slots]Slot{{{}, one(1, "b")}, {one(0, "a"), one(1, "b")}}, "ab", 0, 0, 0},
		{"from the middle", [][slots]Slot{{one(40, "a"), one(41, "b")}, {one(44, "e"), one(43, "d")}},
			"abde", 40, 1, 0},
		{"over the modulus", [][slots]Slot{{one(65534, "a"), one(65535, "b")}, {one(0, "c"), one(1, "d")}}, "abcd",
			65534, 0, 0},
		{"again", [][slots]Slot{{one(50, "a"), one(51, "b")}, {one(0, "c")}, {one(0, "c"), one(1, "d")}},
			"abcd", 50, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var channel Channel
			for n := range c.frames {
				channel.Add(n, sampled(n), &c.frames[n])
			}
			a := channel.Close()
			got := string(bytes.Join(data(a.Messages), nil))
			if got != c.want || a.First != c.first || a.Lost != c.lost || a.Restarts != c.restarts {
				t.Errorf("%q from %d, lost %d, restarts %d; want %q, %d, %d, %d", got, a.First, a.Lost, a.Restarts,
					c.want, c.first, c.lost, c.restarts)
			}
		})
	}
}

// TestEndlessMessage: no page of ours sends more than maxMessage bytes.
func TestEndlessMessage(t *testing.T) {
	var c Channel
	part := make([]byte, 10_000)
	for n := range 10 {
		c.Add(n, sampled(n), &[slots]Slot{{Good, Packet{Sequence: uint16(n), First: n == 0, Last: n == 9, Data: part}}})
	}
	if a := c.Close(); len(a.Messages) != 0 || a.Cut != 1 {
		t.Errorf("%d messages, %d cut", len(a.Messages), a.Cut)
	}
}

func TestReadDoesNotAllocate(t *testing.T) {
	for _, form := range []Form{Exact, Cells} {
		p := newPage(t, frame.BGR4, 1280, 720, image.Rectangle{}, form)
		d := analyzetest.Must(NewDecoder(p.layout, image.Rectangle{}, form))(t)
		if want := map[Form]int{Exact: 3840, Cells: 40}[form]; d.Size() != want {
			t.Errorf("%s: packets of %d bytes, want %d", form, d.Size(), want)
		}
		img := p.layout.View(p.draw(p.packets([]byte("message"))[0]))
		if n := testing.AllocsPerRun(20, func() { d.Read(img) }); n > 0 {
			t.Errorf("%s: %v allocations per frame", form, n)
		}
	}
}

// FuzzRead reads arbitrary pixels and joins arbitrary packets. Nothing may panic, and the account
// must add up.
func FuzzRead(f *testing.F) {
	p := newPage(&testing.T{}, frame.BGR4, 192, 64, image.Rectangle{}, Exact)
	drawn := func(seq uint16, first, last bool) []byte {
		pix := make([]byte, len(p.picture))
		_ = p.geo.Draw(pix, 192,
			Packet{Sequence: seq, First: first, Last: last, Clock: 1 << 31, Data: []byte("message")})
		rows := p.geo.Bounds
		return pix[rows.Min.Y*192*4 : rows.Max.Y*192*4]
	}
	f.Add(drawn(0, true, true), drawn(1, true, false), uint16(7))
	f.Add(drawn(1, false, true), drawn(40000, true, true), uint16(0))
	f.Add([]byte{}, []byte{1, 2, 3}, uint16(65535))
	f.Fuzz(func(t *testing.T, a, b []byte, sequence uint16) {
		var channel Channel
		for _, form := range []Form{Exact, Cells} {
			d := analyzetest.Must(NewDecoder(p.layout, image.Rectangle{}, form))(t)
			for n, block := range [][]byte{a, b, a, b} {
				pix := make([]byte, p.layout.Size)
				copy(pix[d.geo.Bounds.Min.Y*192*4:], block)
				read := d.Read(p.layout.View(pix))
				channel.Add(n, sampled(n), read)
				data := block[:min(len(block), 100)]
				flags := byte(len(data))
				channel.Add(n, sampled(n), &[slots]Slot{{Good, Packet{Sequence: sequence * uint16(n+1),
					First: flags&1 > 0, Last: flags&2 > 0, Clock: uint32(len(a)) << 20, Data: data}}})
			}
		}
		s := channel.Close()
		if s.Packets < int64(len(s.Messages)) || s.Lost < 0 || s.Cut > s.Packets+int64(s.Restarts)+1 {
			t.Errorf("account %+v", s)
		}
	})
}

// TestNumbersBeforeTheFirst: a page may draw packet 0 and then one before the modulus.
func TestNumbersBeforeTheFirst(t *testing.T) {
	var c Channel
	for n, sequence := range []uint16{0, 65_533, 1, 2} {
		var block [slots]Slot
		block[sequence%slots] = Slot{Good, Packet{Sequence: sequence, First: true, Last: true, Data: []byte("x")}}
		c.Add(n, timeline.At(timeline.Time(n)), &block)
	}
	if a := c.Close(); a.First != 0 || a.Lost != 2 || len(a.Messages) != 4 {
		t.Errorf("%+v, want 4 messages and 2 lost packets", a)
	}
}
