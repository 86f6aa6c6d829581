package publish

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
)

var keep = flag.String("keep", "", "folder for pictures of the pages")

// strip is a picture of some frames.
func strip() []byte {
	m := image.NewRGBA(image.Rect(0, 0, 640, 90))
	for x := range 640 {
		for y := range 90 {
			m.Set(x, y, color.RGBA{uint8(x / 3), uint8(40 + y), uint8(200 - x/4), 255})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, m) // into memory
	return b.Bytes()
}

// TestInABrowser opens the site from files, in light and dark, and as wide as a phone.
func TestInABrowser(t *testing.T) {
	browsertest.Path(t)
	data, db := rig(t)
	o := options(t, data)
	write(t, db, o)
	b := browsertest.NewTab(t, time.Minute, func(url string) bool {
		return strings.HasPrefix(url, "file://"+o.Dir) || strings.HasPrefix(url, "data:") // of the browser's controls
	})
	open := func(path string) {
		b.Do(chromedp.Navigate("file://" + path))
		_, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](`document.querySelector('.trend-chart .between') !== null`))
		b.Check(err)
	}
	picture := func(name string) {
		if *keep == "" {
			return
		}
		p, err := chromedp.Run(b.Ctx, chromedp.FullScreenshot(100))
		b.Check(err)
		b.Check(os.WriteFile(filepath.Join(*keep, name+".png"), p, 0o644))
	}
	pages, err := filepath.Glob(filepath.Join(o.Dir, folderName, "framerate-*.html"))
	if err != nil || len(pages) != 1 {
		t.Fatal(pages, err)
	}
	for _, look := range []struct {
		scheme string
		width  int64
	}{{"light", 1200}, {"dark", 1200}, {"light", 375}} {
		b.Look(look.scheme, look.width)
		name := look.scheme
		if look.width < 1000 {
			name = "phone"
		}
		open(filepath.Join(o.Dir, indexFile))
		text := browsertest.Eval[string](b, `document.body.textContent`)
		for _, want := range []string{"chrome is ahead of firefox by ", "since build v120 (2026-09-21)", evil[:27],
			"firefox is 13 % lower since build v120"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the overview does not say %q: %s", name, want, text)
			}
		}
		b.Audited(name + " overview")
		picture(name + "-overview")
		open(pages[0])
		b.Audited(name + " value")
		picture(name + "-value")
	}
	if got := browsertest.Eval[int](b, `document.querySelectorAll('video').length`); got != 4 {
		t.Errorf("%d films, want those of two products and of a change", got)
	}
	if browsertest.Eval[bool](b, `window.evil !== undefined`) {
		t.Error("a build's name is run")
	}
	b.Quiet("preload assets", "Connecting to") // axe reads styles
}
