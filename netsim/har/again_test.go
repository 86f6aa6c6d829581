package har

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// drawn is a waterfall's drawing.
func drawn(t testing.TB, w *Waterfall) string {
	t.Helper()
	var b bytes.Buffer
	if err := w.SVG(&b, aPicture(t)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestReadWaterfall: a file that is read and drawn gives the same text as its source.
func TestReadWaterfall(t *testing.T) {
	withoutPackets := aLoad()
	withoutPackets.Flows = nil
	for name, e := range map[string]Evidence{"over a line": aLoad(), "without packets": withoutPackets,
		"of nothing": {}} {
		e.Exchanges = append(e.Exchanges[:0:0], e.Exchanges...)
		if len(e.Exchanges) > 0 {
			e.Exchanges[1].Method, e.Exchanges[1].Urgency, e.Exchanges[1].Incremental = "POST", 0, true
			e.Exchanges[0].URL += "?a=<&>"
		}
		w := New(e)
		w.Recording = "0123456789abcdef"
		var b bytes.Buffer
		if err := w.Write(&b, Options{Creator: Program{Name: "eideticker", Version: "test"}, Title: "a load",
			Wall: 17e17}); err != nil {
			t.Fatal(err)
		}
		again, err := ReadWaterfall(&b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again.Recording != w.Recording {
			t.Errorf("%s: it is of recording %q", name, again.Recording)
		}
		if got, want := drawn(t, again), drawn(t, w); got != want {
			t.Errorf("%s: it is drawn as\n%s\nwant\n%s", name, got, want)
		}
		for i := range again.Requests {
			got, want := again.Requests[i], w.Requests[i]
			got.Served, got.Over = want.Served, want.Over
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: request %d is %+v, want %+v", name, i, got, want)
			}
			if g, x := again.Requests[i].Parts(), w.Requests[i].Parts(); !reflect.DeepEqual(g, x) ||
				again.Requests[i].Over.ID != w.Requests[i].Over.ID {
				t.Errorf("%s: request %d has parts %v over %d, want %v", name, i, g, again.Requests[i].Over.ID, x)
			}
			if o, x := again.Requests[i].Over, w.Requests[i].Over; o.Client != x.Client || o.Server != x.Server ||
				o.Client.IsValid() && o.Network != x.Network {
				t.Errorf("%s: request %d came over %+v, want %+v", name, i, o, x)
			}
			if s, x := again.Requests[i].Served, w.Requests[i].Served; s.From != x.From || s.To != x.To {
				t.Errorf("%s: request %d is bytes %d to %d, want %d to %d", name, i, s.From, s.To, x.From, x.To)
			}
			if s, x := again.Requests[i].Served, w.Requests[i].Served; s.Urgency != x.Urgency ||
				s.Incremental != x.Incremental {
				t.Errorf("%s: request %d has priority %d %v, want %d %v", name, i, s.Urgency, s.Incremental, x.Urgency,
					x.Incremental)
			}
		}
	}
}

// TestLargeHeadsAreReadAgain: sites that send very long headers do not make a file too large to be
// read. Omitted parts are reported.
func TestLargeHeadsAreReadAgain(t *testing.T) {
	e := aLoad()
	w := New(e)
	one := w.Requests[0]
	one.Served.ResponseHeader = http.Header{"X-Long": {strings.Repeat("<x>", 1<<18)}}
	w.Requests = make([]Request, 80)
	for i := range w.Requests {
		w.Requests[i] = one
	}
	var b bytes.Buffer
	if err := w.Write(&b, Options{Creator: Program{Name: "eideticker", Version: "test"}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), " more requests are left out.") {
		t.Error("nothing is left out")
	}
	again, err := ReadWaterfall(&b)
	if err != nil || len(again.Requests) == 0 {
		t.Fatalf("of %d bytes: %v", b.Len(), err)
	}
}

// Fault: The HAR of a run that is measured again is broken, huge or missing
func TestReadWaterfallRefuses(t *testing.T) {
	whole := string(written(t))
	with := func(old, new string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("%s is not in the file", old)
		}
		return strings.Replace(whole, old, new, 1)
	}
	const first = `{"request":{"method":"GET"},` +
		`"_moments":{"sent":{"at_ns":1,"earliest_ns":1,"latest_ns":1,"by":"line"}}}`
	for want, text := range map[string]string{
		"unexpected EOF":            whole[:len(whole)/2],
		"invalid character":         with(`"entries":`, `"entries" 1 `),
		"stands behind its end":     whole + "{}",
		"0 logs with 0":             `{}`,
		"1 logs with 2":             with(`"entries":`, `"entries": [], "entries":`),
		"log.version":               with(`"version": "1.2"`, `"version": "3"`),
		"at byte 0, want {":         `[]`,
		"want [":                    with(`"entries": [`, `"entries": 5, "were": [`),
		"no times on a recording's": fmt.Sprintf(least, minimal),
		"over 20000 entries":        fmt.Sprintf(least, strings.Repeat(first+",", maxEntries)+first),
		"method is":                 with(`"POST"`, `"P T"`),
		"status is":                 with(`"status": 404`, `"status": 4040`),
		"a size of":                 with(`"_wireBytes": `, `"_wireBytes": -`),
		"a moment at":               with(`"by": "line"`, `"by": "guess"`),
		"bytes, at most 40":         with(`"_protocol": "h2"`, `"_protocol": "`+strings.Repeat("h", 41)+`"`),
		"url of":                    with(`"https://cdn.test/`, `"https://cdn.test/`+strings.Repeat("u", maxURL)),
	} {
		if _, err := ReadWaterfall(strings.NewReader(text)); !errors.Is(err, errFile) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for old, new := range map[string]string{`"at_ns": 1`: `"at_ns": 9`, `"at_ns": `: `"at_ns": -`,
		`"earliest_ns": 1`: `"earliest_ns": 8`, `"latest_ns": 1`: `"latest_ns": 9000000`} {
		if _, err := ReadWaterfall(strings.NewReader(with(old, new))); !errors.Is(err, errFile) ||
			!strings.Contains(err.Error(), "a moment at") {
			t.Errorf("%s for %s: %v", new, old, err)
		}
	}
}

// endless is a file that never ends.
type endless struct{ read int64 }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	if e.read == 0 {
		copy(b, `{"log":`)
	}
	e.read += int64(len(b))
	return len(b), nil
}

// Fault: The HAR of a run that is measured again is broken, huge or missing
func TestReadWaterfallTooLarge(t *testing.T) {
	from := &endless{}
	const most = 2 << 20
	if _, err := readWaterfall(from, most); !errors.Is(err, errFile) || !strings.Contains(err.Error(), "over 2 MiB") {
		t.Error(err)
	}
	if from.read > 2*most {
		t.Errorf("%d bytes were read", from.read)
	}
	from = &endless{}
	if _, err := ReadWaterfall(from); !errors.Is(err, errFile) || !strings.Contains(err.Error(), "over 64 MiB") {
		t.Error(err)
	}
	if from.read > 2*maxOwnBytes {
		t.Errorf("%d bytes were read", from.read)
	}
}

// FuzzReadWaterfall: a file of anybody is refused, or can be drawn.
func FuzzReadWaterfall(f *testing.F) {
	f.Add(written(f))
	f.Add(fmt.Appendf(nil, least, minimal))
	f.Fuzz(func(t *testing.T, raw []byte) {
		w, err := ReadWaterfall(bytes.NewReader(raw))
		if err != nil {
			return
		}
		if err := w.SVG(io.Discard, Picture{From: at(0), To: at(900)}); err != nil {
			t.Error(err)
		}
	})
}

func TestRowLabel(t *testing.T) {
	for address, want := range map[string]string{
		"/gallery.html":    "/gallery.html",
		"/load.html?run=1": "/load.html?run=1",
		"/gallery.html?run=0123456789abcdef&entry=gallery-home": "/gallery.html?run=012…y=gallery-home",
		"/a/path/of/thirty-three/letters/x?run=01":              "/a/path/of/thirty-three/letters/x?…",
		"/a/path/that/has/more/letters/than/36.png":             "/a/path/that…ore/letters/than/36.png",
		"/a/path/that/has/more/letters/than/36.png?a=b":         "/a/path/that…re/letters/than/36.png?",
		"/?" + strings.Repeat("q", 50) + "end": "/?" + strings.Repeat("q", 11) + "…" +
			strings.Repeat("q", 19) + "end",
	} {
		got := rowLabel(address, maxLabel)
		if got != want || len([]rune(got)) > maxLabel {
			t.Errorf("%s is shown as %s, want %s", address, got, want)
		}
	}
}

// TestLabelsInTheDrawing: a query gives way to the path that it belongs to.
func TestLabelsInTheDrawing(t *testing.T) {
	e := aLoad()
	e.Exchanges = e.Exchanges[:1]
	e.Exchanges[0].URL = "http://page.test/gallery.html?run=0123456789abcdef0123456789abcdef&entry=1"
	if text := drawn(t, New(e)); !strings.Contains(text, ">/gallery.html?run=") {
		t.Errorf("the path is not to be read: %s", text[strings.Index(text, `<g class="row">`):])
	}
}
