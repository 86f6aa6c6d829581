package marker

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// FuzzAdd gives a detector frames, spans and images of any kind: each frame is 12 bytes of script.
func FuzzAdd(f *testing.F) {
	layouts := []*frame.Layout{}
	for _, p := range []frame.PixelFormat{frame.BGR4, frame.NV12, frame.GREY} {
		format := analyzetest.Must(frame.NewFormat(p, 200, 12))(f)
		l := analyzetest.Must(frame.NewLayout(format))(f)
		layouts = append(layouts, l)
	}
	record := func(fields ...byte) []byte { return append(fields, make([]byte, 12-len(fields))...) }
	var film []byte
	for _, colour := range []byte{1, 1, 1, 1, 0, 3, 2, 2, 2, 2} {
		film = append(film, record(0, colour, 1)...)
	}
	f.Add(film)
	f.Add(append(film, record(1, 1, 0)...))
	f.Add(append(film[:60:60], record(0, 2, 7, 0xff, 0xff, 0xff, 0xff, 3, 0, 0, 1)...))
	f.Add(append(film[:60:60], record(0, 2, 16+32+64)...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, script []byte) {
		d := New(Options{Nonce: "run"})
		number := 0
		for len(script) >= 12 && number < 400 {
			s := script[:12]
			script = script[12:]
			l := layouts[int(s[0])%len(layouts)]
			step := frame.Step{Number: number, Meta: frame.Meta{Sequence: binary.LittleEndian.Uint64(s[4:])},
				Image: frame.Image{Layout: l}}
			number++
			switch {
			case s[2]&1 != 0:
				step.Change = everything(l)
			case s[2]&2 != 0:
				at := func(i int) int32 { return int32(int16(binary.LittleEndian.Uint16(s[i:]))) }
				step.Change = &frame.Change{Spans: []frame.Span{{Row: at(3), Start: at(5), End: at(7)},
					{Row: at(8), Start: at(9), End: at(10)}}}
			case s[2]&4 != 0:
				step.Change = &frame.Change{}
			}
			if s[2]&8 != 0 {
				step.Number -= int(s[11])
			}
			if s[2]&16 != 0 {
				step.Image.Layout = nil
			}
			d.Add(&step, func() (frame.Image, error) {
				switch {
				case s[2]&32 != 0:
					return frame.Image{}, errors.New("no pixels")
				case s[2]&64 != 0:
					return frame.Image{Layout: l, Rows: make([][]byte, int(s[11]))}, nil
				case s[2]&128 != 0:
					l = layouts[int(s[11])%len(layouts)]
				}
				return l.View(colours(l, s[1], int(s[3]))), nil
			})
			d.windows()
		}
		windows, err := d.close()
		var problems *Error
		if err != nil && (!errors.As(err, &problems) || problems.Error() == "" ||
			len(problems.Problems) > maxProblems) {
			t.Errorf("%v", err)
		}
		for _, w := range windows {
			if w.GreenFrom > w.Green || w.Green >= w.Start || w.End >= w.Red || w.Red > w.RedTo || w.Region.Empty() {
				t.Errorf("%+v", w)
			}
		}
	})
}

// colours returns a frame in a colour from some line on: white, green, red or a mixture.
func colours(l *frame.Layout, which byte, from int) []byte {
	src := make([]byte, 4*200*12)
	for i := range 200 * 12 {
		c := [][3]byte{{255, 255, 255}, {0, 255, 0}, {0, 0, 255}, {byte(i), byte(i >> 3), 9}}[which%4]
		if i/200 >= from%16 {
			copy(src[4*i:], c[:])
		}
	}
	pix := make([]byte, l.Size)
	if l.Format.Pixel != frame.GREY {
		frame.NewPacker(l).BGRX(pix, src)
	}
	return pix
}
