package render

import (
	"encoding/json"
	"image/color"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/capture/frame"
)

// seekPage seeks to the middle of slots in random order, and keeps three pixels of each. A browser
// reports the end of a seek before it shows the frame. So the page waits for a frame whose own time
// is that of the slot.
const seekPage = `<!doctype html><video id=v src=v.mp4 muted preload=auto></video><script>
var saw;
const order = [130, 0, 149, 61, 60, 59, 1, 100, 75, 2, 148, 90, 31];
v.onerror = () => saw = JSON.stringify({error: v.error.message});
v.onloadedmetadata = async () => {
	const c = document.createElement("canvas"); c.width = v.videoWidth; c.height = v.videoHeight;
	const g = c.getContext("2d"), seen = [];
	for (const n of order) {
		v.currentTime = (n + 0.5) * 1001 / 60000;
		for (let shown = -1; Math.abs(shown * 60000 / 1001 - n) > 0.01;)
			shown = await new Promise(r => v.requestVideoFrameCallback((_, frame) => r(frame.mediaTime)));
		g.drawImage(v, 0, 0);
		const at = (x, y) => [...g.getImageData(x * c.width, y * c.height, 1, 1).data.slice(0, 3)];
		seen.push({slot: n, low: at(0.2, 0.2), high: at(0.8, 0.2), colour: at(0.5, 0.8)});
	}
	saw = JSON.stringify({duration: v.duration, width: c.width, height: c.height, seen});
};
</script>`

// numbered is a frame that shows its number in two greys, and has a colour that reveals the matrix.
func numbered(l *frame.Layout, n int, c color.RGBA) frame.Image {
	w, h := l.Format.Width, l.Format.Height
	src := make([]byte, 4*w*h)
	for y := range h {
		for x := range w {
			p := src[4*(y*w+x):]
			v := byte(30 + n%16*12)
			if x >= w/2 {
				v = byte(30 + n/16*12)
			}
			p[0], p[1], p[2] = v, v, v
			if y >= h/2 {
				p[0], p[1], p[2] = c.B, c.G, c.R
			}
		}
	}
	pix := make([]byte, l.Size)
	frame.NewPacker(l).BGRX(pix, src)
	return l.View(pix)
}

func near(a, b byte, by int) bool { return max(int(a)-int(b), int(b)-int(a)) <= by }

// TestBrowserSeeks plays a video of 720 lines in a real browser: each slot is found at its time,
// with the colours that went in.
func TestBrowserSeeks(t *testing.T) {
	browsertest.Path(t) // before the video is made
	dir := t.TempDir()
	l := layout(t, frame.BGR4, 320, 720)
	v := analyzetest.Must(NewVideo(filepath.Join(dir, "v.mp4"), l, VideoOptions{RateNum: 60000, RateDen: 1001}))(t)
	teal := color.RGBA{R: 0x12, G: 0xa0, B: 0x70, A: 255}
	for n := range 150 {
		analyzetest.Check(t, v.Add(numbered(l, n, teal), Slot{Frame: n, Sequence: uint64(n)}))
	}
	analyzetest.Check(t, v.Close())
	analyzetest.Check(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte(seekPage), 0o644))
	var got struct {
		Error         string
		Duration      float64
		Width, Height int
		Seen          []struct {
			Slot              int
			Low, High, Colour []int
		}
	}
	open(t, dir, &got)
	if got.Error != "" || got.Width != 320 || got.Height != 720 || got.Duration < 2.502 || got.Duration > 2.503 ||
		len(got.Seen) != 13 {
		t.Fatalf("the browser says %+v", got)
	}
	for _, s := range got.Seen {
		if low, high := byte(30+s.Slot%16*12), byte(30+s.Slot/16*12); !near(byte(s.Low[1]), low, 5) ||
			!near(byte(s.High[1]), high, 5) {
			t.Errorf("slot %d shows %v %v, want %d %d", s.Slot, s.Low, s.High, low, high)
		}
		for i, want := range []byte{teal.R, teal.G, teal.B} {
			if !near(byte(s.Colour[i]), want, 6) {
				t.Errorf("slot %d has the colour %v, want %v", s.Slot, s.Colour, teal)
				break
			}
		}
	}
}

// open serves a folder to a browser until its page has seen something.
func open(t *testing.T, dir string, got any) {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	ctx := browsertest.Start(t, 8*time.Minute)
	analyzetest.Must(chromedp.Run(ctx, chromedp.Navigate(server.URL)))(t)
	saw, err := chromedp.Run(ctx, chromedp.Poll[string]("saw", chromedp.WithPollingTimeout(0)))
	if err != nil {
		t.Fatalf("the page has not seen it all: %v", err)
	}
	analyzetest.Check(t, json.Unmarshal([]byte(saw), got))
}
