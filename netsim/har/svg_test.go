package har

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/netsim/serve"
)

// elements reads a drawing as XML, and counts its elements by name and class.
func elements(t testing.TB, raw []byte) map[string]int {
	t.Helper()
	n := map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(raw))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatalf("%v\n%.2000s", err, raw)
		}
		if e, ok := token.(xml.StartElement); ok {
			class := ""
			for _, a := range e.Attr {
				if a.Name.Local == "class" {
					class = "." + a.Value
				}
				if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "data:image/") ||
					strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("%s has %s=%.80q", e.Name.Local, a.Name.Local, a.Value)
				}
			}
			n[e.Name.Local]++
			if class != "" {
				n[e.Name.Local+class]++
			}
		}
	}
}

func shot(t testing.TB, c color.Color) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 160, 90))
	for i := 0; i < 160*90; i++ {
		m.Set(i%160, i/160, c)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func aPicture(t testing.TB) Picture {
	p := Picture{Title: "load, Firefox", About: "3g: 1.6 Mbit/s down, 768 kbit/s up, RTT 300 ms", From: at(0),
		To: at(900), Marks: []Mark{{at(400), "start render"}, {at(700), "last change"}}}
	for i, s := range FilmTimes(p.From, p.To, FilmShots(16.0/9)) {
		p.Film = append(p.Film, Shot{At: s, Type: "image/jpeg", Data: shot(t, color.RGBA{uint8(i * 30), 120, 200, 255}),
			Aspect: 16.0 / 9})
	}
	p.Curve = []Point{{at(0), 0}, {at(400), 0.3}, {at(550), 0.6}, {at(700), 1}}
	return p
}

func TestSVG(t *testing.T) {
	var b bytes.Buffer
	if err := New(aLoad()).SVG(&b, aPicture(t)); err != nil {
		t.Fatal(err)
	}
	n := elements(t, b.Bytes())
	for what, want := range map[string]int{"g.row": 4, "image": 8, "path.mark": 2, "path.line": 1,
		"rect.c-connect": 2 + 1, "rect.c-name": 1 + 1, "rect.c-tls": 1 + 1, "rect.f-load": 3 + 1, "rect.f-open": 1,
		"script": 0} {
		if n[what] != want {
			t.Errorf("%d %s, want %d", n[what], what, want)
		}
	}
	text := b.String()
	// The axis is that of the frames. The left edge is the first frame, the right edge the last.
	connect := fmt.Sprintf(`class="c-connect" x="%.1f"`, svgLeft+120.0/900*(svgRight-svgLeft))
	for _, want := range []string{connect, "connect: 101 ms, from 0.120 s", "a connection that was there",
		"not whole: the client went away", "404 "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the drawing", want)
		}
	}
	if path := os.Getenv("EIDETICKER_WATERFALL"); path != "" { // to look at
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// Hundreds of requests are bounded: those behind the rows share one, and a sentence says how many
// they are.
//
// Fault: A page makes too many requests for a picture or table
func TestSVGOfMany(t *testing.T) {
	var e Evidence
	for i := range 1000 {
		e.Exchanges = append(e.Exchanges,
			serve.Exchange{ID: i + 1, Connection: 1, URL: fmt.Sprintf("http://page.test/%d", i), Status: 200,
				Began: at(float64(i)), FirstByte: at(float64(i) + 30), Ended: at(float64(i) + 40), ResponseBytes: 1000})
	}
	var b bytes.Buffer
	if err := New(e).SVG(&b, Picture{From: at(0), To: at(1200)}); err != nil {
		t.Fatal(err)
	}
	if n := elements(t, b.Bytes()); n["g.row"] != maxRows || n["rect.f-load"] > maxRows+1+200 {
		t.Errorf("%d rows, %d bars", n["g.row"], n["rect.f-load"])
	}
	if want := "and 800 more requests, 781.2 KiB"; !strings.Contains(b.String(), want) || b.Len() > 1<<20 {
		t.Errorf("%d bytes without %q", b.Len(), want)
	}
}

func TestSVGRefuses(t *testing.T) {
	w := New(aLoad())
	for _, p := range []Picture{
		{From: at(5), To: at(5)},
		{From: at(0), To: at(1), Film: []Shot{{Type: "image/svg+xml", Aspect: 1}}},
		{From: at(0), To: at(1), Film: []Shot{{Type: "image/png", Aspect: 0}}},
		{From: at(0), To: at(1), Film: make([]Shot, maxShots+1)},
	} {
		if err := w.SVG(io.Discard, p); !errors.Is(err, errPicture) {
			t.Errorf("%v of %+v", err, p)
		}
	}
}

// FuzzSVG: whatever names and addresses are, the drawing is XML that loads and runs nothing.
func FuzzSVG(f *testing.F) {
	f.Add(`http://a.test/<script>alert(1)</script>?"'&`, `"><script>`, int64(900e6), 404)
	f.Add("http://[::1\x00\xff/", "\x1b]]>", int64(400e6), 0)
	f.Add("http://a.test/", "x", int64(-1), 200)
	f.Add("data:text/html,"+strings.Repeat("é", 500), "", int64(1<<62), 200)
	f.Fuzz(func(t *testing.T, address, name string, to int64, status int) {
		e := aLoad()
		e.Exchanges[0].URL, e.Exchanges[0].Method, e.Exchanges[0].Status, e.Exchanges[0].Error = address, name, status,
			name
		e.Connections[0].Protocol = name
		var b bytes.Buffer
		err := New(e).SVG(&b, Picture{Title: name, About: address, From: at(0), To: at(0).Add(time.Duration(to)),
			Marks: []Mark{{at(1), name}}})
		if err != nil {
			return
		}
		if n := elements(t, b.Bytes()); n["script"] > 0 || n["foreignObject"] > 0 {
			t.Error("it has a script")
		}
	})
}
