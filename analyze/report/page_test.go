package report

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eideticker/eideticker/analyze"
)

// someFiles are files of a run, as far as a page looks into them.
func someFiles() fstest.MapFS {
	return fstest.MapFS{
		"video.mp4": {Data: []byte("video")}, "recording.eid": {Data: []byte("pixels")},
		"video.mp4.json": {
			Data: []byte(`{"rate_num":60,"rate_den":1,"slots":[{"frame":100,"time_ns":983316650},{"frame":-1},{"frame":101,"time_ns":1000000000}]}`)},
		"pictures/heatmap.png": {Data: []byte("picture")}, "pictures/heatmap.npy": {Data: []byte("numbers")},
		"pictures/filmstrip.png": {Data: []byte("strip")},
		"pictures/waterfall.svg": {Data: []byte("<svg/>")}, "network.har": {Data: []byte("{}")},
	}
}

func pageOf(t *testing.T, files fs.FS, r *Results, o PageOptions) string {
	t.Helper()
	b, err := Page(files, r, o)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPageSaysEverything(t *testing.T) {
	page := pageOf(t, someFiles(), sample(), PageOptions{})
	quality := strings.Index(page, "2 frames are missing from this recording.")
	for _, want := range []string{
		"canvas.eid", "2 frames were lost before frame 120: ring full", "59.9 frames/s", "58.0 – 60.1", "60 frames/s",
		"two frames are missing",
		"No images are given; name them with --images", "Few frames", "stands for 2 frames, at 1, 2",
		`data-frame="104"`, "pictures/heatmap.png",
		"heatmap.npy", "The green is torn at line 300 in frame 101", "begun again once: the browser did not start",
		"Chromium 140.0.7339.185",
		"Frames drawn", "59 frames<small>58 – 60</small>", "61 frames<small>60 – 62</small>", "63 frames",
		"one is doubtful", `data-frame="103"`,
		"T0 (navigation) 100 ms before the first change, ± 0.05 ms",
		"<code>3g</code>", "1.6 Mbit/s", "1.6 Mbit/s</td><td class=\"number\">1.6 Mbit/s",
		"300 ms</td><td class=\"number\">300.4 ms", "337.6 KiB", "http/1.1, u=0, i, same connection", "/load.html",
		"8.8 KiB unpacked",
		"11 more are in the HAR file", `href="network.har"`, "pictures/waterfall.svg",
	} {
		at := strings.Index(page, want)
		if at < 0 {
			t.Errorf("the page does not say %q", want)
		}
		if strings.Contains(want, "frames/s") && at < quality {
			t.Errorf("%q stands above the quality", want)
		}
	}
}

func TestPageWithoutFiles(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(fstest.MapFS)
		want string
	}{
		{"no video", func(f fstest.MapFS) { delete(f, "video.mp4") }, "Video.mp4 is missing from the folder."},
		{"no map", func(f fstest.MapFS) { delete(f, "video.mp4.json") }, "its map video.mp4.json cannot be read"},
		{"a map that is none", func(f fstest.MapFS) { f["video.mp4.json"] = &fstest.MapFile{Data: []byte("[")} },
			"its map video.mp4.json cannot be read"},
		{"a map without a rate", func(f fstest.MapFS) {
			f["video.mp4.json"] = &fstest.MapFile{Data: []byte(`{"rate_num":60,"slots":[{"frame":1}]}`)}
		}, "rate of 60/0"},
		{"a map of another recording", func(f fstest.MapFS) {
			f["video.mp4.json"] = &fstest.MapFile{Data: []byte(`{"rate_num":60,"rate_den":1,"slots":[{"frame":300}]}`)}
		}, "is it of another recording?"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := someFiles()
			tc.edit(files)
			page := pageOf(t, files, sample(), PageOptions{})
			if !strings.Contains(page, tc.want) {
				t.Errorf("the page does not say %q", tc.want)
			}
			if strings.Contains(page, "<video") {
				t.Error("the page has a video")
			}
		})
	}
}

func TestSingleFile(t *testing.T) {
	page := pageOf(t, someFiles(), sample(), PageOptions{SingleFile: true})
	for _, want := range []string{"data:video/mp4;base64,dmlkZW8", "data:image/png;base64,cGljdHVyZQ"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if found := regexp.MustCompile(`(src|href)="[^d#][^"]*"`).FindString(page); found != "" {
		t.Errorf("the page refers to %s", found)
	}
}

func TestSingleFileBounds(t *testing.T) {
	files := &files{folder: someFiles(), inline: true, bytes: maxInline - 3}
	if files.refer("video.mp4"); files.err == nil || !strings.Contains(files.err.Error(), "share the folder") {
		t.Errorf("got %v", files.err)
	}
}

// TestHostileNames makes sure that no text leaves its place, whatever it is.
func TestHostileNames(t *testing.T) {
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(2)> "'` + "`{{.Data}}<!-- \u2028"
	r := sample()
	r.Recording.Name, r.Notes, r.Environment[EnvDUT] = evil, []string{evil}, evil
	q := &r.Network.List[0]
	r.Network.Profile, q.Method, q.URL, q.Protocol, q.Priority = evil, evil, "http://page.test/"+evil, evil, evil
	w := &r.Windows[0]
	w.Name, w.Warnings, w.T0.Source, w.Claims = evil, []string{evil}, evil, map[string]float64{evil: 1}
	w.Times.Lost[0].Cause, w.Pictures[0].Text = evil, evil
	fps := &w.Results[0]
	fps.Measure, fps.Warnings = evil, []string{evil}
	fps.Values[0].Name, fps.Values[0].Unit, fps.Values[0].Note = evil, evil, evil
	fps.Series[0].Name, fps.Series[0].Unit = evil, evil
	fps.Evidence[0].Kind, fps.Evidence[0].Text = evil, evil
	w.Results[1].Refusal, r.Quality.Warnings = evil, []string{evil}
	page := pageOf(t, someFiles(), r, PageOptions{})
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("the page has %d scripts, want 2", n)
	}
	if n := strings.Count(page, "</script"); n != 2 {
		t.Errorf("the page ends %d scripts, want 2", n)
	}
	if strings.Contains(page, "<img src=x") || strings.Contains(page, "<!--") {
		t.Error("the page has a tag of the name's")
	}
}

func TestProgramFitsIntoAScript(t *testing.T) {
	s, err := program()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"</script", "<!--", "\r"} {
		if strings.Contains(s, bad) {
			t.Errorf("the program has %q", bad)
		}
	}
	entries, err := fs.ReadDir(sources, "page")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(scripts())+2 {
		t.Errorf("%d files are embedded, %d scripts and two others are used", len(entries), len(scripts()))
	}
	if strings.Contains(s, "http") && !strings.Contains(s, "http://www.w3.org/2000/svg") {
		t.Error("the program knows an address")
	}
}

func TestPageOfNothing(t *testing.T) {
	r := &Results{Schema: Schema, Version: Version, Quality: analyze.Result{Measure: "quality", State: analyze.Refused,
		Refusal: "there are no frames"}}
	page := pageOf(t, fstest.MapFS{}, r, PageOptions{})
	for _, want := range []string{"Nothing was measured in this recording.", "Nothing is known about the quality",
		"There are no frames"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestPageBoundsLists(t *testing.T) {
	r := sample()
	fps := &r.Windows[0].Results[0]
	for i := range 5000 {
		fps.Values[0].Frames = append(fps.Values[0].Frames, i%300)
		fps.Evidence = append(fps.Evidence, fps.Evidence[0])
		fps.Warnings = append(fps.Warnings, fmt.Sprint("warning ", i))
	}
	page := pageOf(t, someFiles(), r, PageOptions{})
	if n := strings.Count(page, "<button"); n > 2*(mostLinked+mostEvidence)+100 {
		t.Errorf("%d buttons", n)
	}
	if !strings.Contains(page, "more in results.json") {
		t.Error("the page does not say that it leaves some out")
	}
}

func TestWritePage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, PageName)
	if err := WritePage(path, someFiles(), sample(), PageOptions{}); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("got %v %v", st, err)
	}
	if err := WritePage(filepath.Join(dir, "no", PageName), someFiles(), sample(), PageOptions{}); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	r := sample()
	r.Recording.Frames = 1
	if err := WritePage(path, someFiles(), r, PageOptions{}); err == nil {
		t.Error("results that are not valid make a page")
	}
}

func TestPagesAreDeterministic(t *testing.T) {
	a := pageOf(t, someFiles(), sample(), PageOptions{})
	if b := pageOf(t, someFiles(), sample(), PageOptions{}); !bytes.Equal([]byte(a), []byte(b)) {
		t.Error("two pages of the same results differ")
	}
}

func TestNumbers(t *testing.T) {
	exact := func(x float64, unit string) analyze.Value {
		return analyze.Value{Value: x, Low: x, High: x, Unit: unit, State: analyze.Exact}
	}
	bounded := func(x, low, high float64, unit string) analyze.Value {
		return analyze.Value{Value: x, Low: low, High: high, Unit: unit, State: analyze.Bounded}
	}
	for _, tc := range []struct {
		name         string
		v            analyze.Value
		text, bounds string
	}{
		{"count", exact(48_211_930, "pixels"), "48,211,930 pixels", ""},
		{"exact", exact(59.9401, "frames/s"), "59.94 frames/s", ""},
		{"small", exact(0.04126, "ms"), "0.041 ms", ""},
		{"nothing", exact(0, "frames"), "0 frames", ""},
		{"less than nothing", exact(-1234.5, "px"), "−1,234.5 px", ""},
		{"next to nothing", exact(-0.0001, "px"), "0 px", ""},
		{"fraction", exact(0.0413, "fraction"), "4.13 %", ""},
		{"no unit", exact(3, ""), "3", ""},
		{"one", exact(1, "frames"), "1 frame", ""},
		{"one of another kind", exact(1, "ms"), "1 ms", ""},
		{"one in a second", exact(1, "frames/s"), "1 frames/s", ""},
		{"wide bounds", bounded(1204.71, 1150, 1290, "ms"), "1,205 ms", "1,150 – 1,290"},
		{"narrow bounds", bounded(59.94012, 59.93, 59.95, "frames/s"), "59.94 frames/s", "59.93 – 59.95"},
		{"bounds of counts", bounded(102, 102, 105, "frames"), "102 frames", "102 – 105"},
		{"bounds of a clock that hardly jitters", bounded(58.5, 58.49999999, 58.50000001, "frames/s"), "58.50 frames/s",
			"within rounding"},
		{"bounds of a fraction", bounded(0.5, 0.48, 0.52, "fraction"), "50.0 %", "48.0 – 52.0"},
		{"bounds that meet", bounded(3, 3, 3, "ms"), "3 ms", "within rounding"},
		{"bounds that look the same", bounded(3983.3333, 3983.33328, 3983.33332, "ms"), "3,983.3 ms",
			"within rounding"},
		{"a fraction's bounds that look the same", bounded(0.5, 0.4999999, 0.5000001, "fraction"), "50.00 %",
			"within rounding"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := valueText(tc.v); got != tc.text {
				t.Errorf("value is %q, want %q", got, tc.text)
			}
			if got := boundsText(tc.v); got != tc.bounds {
				t.Errorf("bounds are %q, want %q", got, tc.bounds)
			}
		})
	}
}

func FuzzMap(f *testing.F) {
	f.Add(someFiles()["video.mp4.json"].Data)
	f.Add([]byte(`{"width":4,"height":4,"rate_num":60,"rate_den":1,"content":{"width":4,"height":3},"slots":[{"frame":-1}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		folder := fstest.MapFS{"m": {Data: in}, "v": {}}
		film, err := newFilm(&Video{File: "v", Map: "m"}, 10, &files{folder: folder})
		if err != nil {
			return
		}
		if !(film.Rate > 0) || len(film.Frames) == 0 || len(film.Times) != len(film.Frames) {
			t.Errorf("rate %v, %d frames, %d times", film.Rate, len(film.Frames), len(film.Times))
		}
		for _, part := range film.Content {
			if !(part >= 0 && part <= 1) {
				t.Errorf("content %v", film.Content)
			}
		}
	})
}
