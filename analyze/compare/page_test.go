package compare

import (
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/analyze/result"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// filmSet returns a set of runs with recordings and four values.
func filmSet(t *testing.T, path string, rates ...float64) *Set {
	t.Helper()
	s := &Set{Path: path}
	for i, v := range rates {
		run := filmRun(t, fmt.Sprintf("run-%d", i+1), 1, 2, int(v))
		w := &run.Windows[0]
		w.StartNS, w.EndNS = 1e9, 1e9+3*16_666_667
		fps := &w.Results[0]
		fps.Values[0] = rate(v)
		freeze := rate(100 - v)
		freeze.Name, freeze.Unit, freeze.Better = "longest_freeze", "ms", analyze.Lower
		late := freeze
		late.Name, late.Unit = "late_frames", "frames"
		frames := rate(v)
		frames.Name, frames.Unit, frames.Better = "frames", "frames", analyze.Neither
		fps.Values = append(fps.Values, freeze, late, frames)
		s.Runs = append(s.Runs, run)
	}
	return s
}

// written writes the folder of a comparison.
func written(t *testing.T, a, b *Set, single bool) string {
	t.Helper()
	c := analyzetest.Must(Compare(a, b, Options{Primary: []string{"fps.framerate", "fps.longest_freeze"}}))(t)
	dir := filepath.Join(t.TempDir(), "difference")
	f := analyzetest.Must(BeginFolder(dir))(t)
	f.SingleFile = single
	analyzetest.Check(t, f.Write(t.Context(), c, untold{}))
	return dir
}

// shown opens a page and waits until it is drawn.
func shown(b *browsertest.Tab, url string) (text string) {
	b.Helper()
	b.Do(chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("h1")))
	return browsertest.Eval[string](b, `document.getElementById('main').textContent`)
}

// sameOrFile admits pictures and the page itself.
func sameOrFile(url string) bool {
	return strings.HasPrefix(url, "file://") || strings.HasPrefix(url, "data:") || strings.HasPrefix(url, "blob:")
}

const headings = `[...document.querySelectorAll('h1, h2')].slice(1).map((e) => e.tagName + ' ' + e.textContent)
	.join('; ')`

// TestPage: the answer comes first, and every run is a dot. No value is there twice. The page is
// accessible.
func TestPage(t *testing.T) {
	browsertest.Path(t)
	browsertest.Axe(t)
	network := analyzetest.Must(os.ReadFile("../result/testdata/results.golden.json"))(t)
	a, b := filmSet(t, "before", 60, 61, 62, 60, 61, 62), filmSet(t, "after", 50, 51, 52, 50, 51, 52)
	b.Runs[0].Environment = result.Environment{"browser": "Firefox 151"}
	for _, s := range []*Set{a, b} {
		for i := range s.Runs {
			s.Runs[i].functions = &functions{all: true, times: map[string]functionTime{
				"<i>rank</i> (src/rank.ts:12)": {self: 60, total: result.Span{Value: 190, Low: 189, High: 191}}}}
		}
	}
	for _, s := range []*Set{a, b} {
		for _, r := range s.Runs {
			analyzetest.Check(t, os.WriteFile(filepath.Join(r.Dir, result.FileName), network, 0o644))
		}
	}
	tab := browsertest.NewTab(t, 4*time.Minute, sameOrFile)
	for _, single := range []bool{false, true} {
		dir := written(t, a, b, single)
		if single { // the page alone is enough
			page := filepath.Join(t.TempDir(), PageName)
			analyzetest.Check(t, os.Rename(filepath.Join(dir, PageName), page))
			dir = filepath.Dir(page)
		}
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{360, 1280} {
				tab.Look(scheme, width)
				text := shown(tab, "file://"+filepath.Join(dir, PageName))
				i := strings.Index(text, "after is worse than before: Framerate slower by 16")
				if j := strings.Index(text, "Primary values"); i < 0 || j < i {
					t.Errorf("the verdict does not come first: %.300s", text)
				}
				if single == (width == 360) || os.Getenv("EIDETICKER_SOAK") != "" { // both have the same elements
					tab.Audited(fmt.Sprintf("single %v, %s, %d", single, scheme, width))
				}
			}
		}
		want := "H2 Primary values; H2 Functions; H2 Differences and warnings; H2 Side by side; H2 Network; " +
			"H2 Where pixels changed more often; H2 First difference; H2 Both in one video; H2 Other values"
		if got := browsertest.Eval[string](tab, headings); got != want {
			t.Errorf("headings: %s", got)
		}
		if n := browsertest.Eval[int](tab, `document.querySelectorAll('.dots circle').length`); n != 5*12 {
			t.Errorf("%d dots, want one for each run of 4 values and a function", n)
		}
		names := browsertest.Eval[string](tab,
			`[...document.querySelectorAll('tbody th code')].map((e) => e.textContent).join()`)
		if names != "fps.framerate,fps.longest_freeze,<i>rank</i> (src/rank.ts:12),fps.late_frames,fps.frames" {
			t.Errorf("values %s", names)
		}
		folded := browsertest.Eval[string](tab,
			`[...document.querySelectorAll('details tbody th code')].map((e) => e.textContent).join()`)
		if folded != "fps.frames" {
			t.Errorf("behind the fold: %s; a regressed value must not be", folded)
		}
		if n := browsertest.Eval[int](tab,
			`[...document.querySelectorAll('.picture img')].filter((e) => e.alt.length > 3).length`); n != 4 {
			t.Errorf("%d pictures with a text, want two filmstrips and the first difference", n)
		}
		if browsertest.Eval[bool](tab, `[...document.querySelectorAll('.picture img')].some((e) =>
			e.src.startsWith('data:') !== `+fmt.Sprint(single)+`)`) {
			t.Errorf("single %v: pictures are elsewhere", single)
		}
	}
	tab.Quiet()
}

// TestPageOfHostileNames: names from outside are text.
//
// Fault: Names of pages, frames or files contain HTML or scripts
func TestPageOfHostileNames(t *testing.T) {
	browsertest.Path(t)
	const evil = `</script><script>window.evil=1</script><img src=x onerror="window.evil=2">` + "'`\u2028"
	a, b := filmSet(t, evil, 60), filmSet(t, evil, 50)
	for _, s := range []*Set{a, b} {
		s.Runs[0].Name, s.Runs[0].Environment = evil, result.Environment{evil: s.Runs[0].Dir}
		s.Runs[0].Windows[0].Results[0].Values[0].Unit = evil
		s.Without = []string{evil}
	}
	tab := browsertest.NewTab(t, 4*time.Minute, sameOrFile)
	text := shown(tab, "file://"+filepath.Join(written(t, a, b, false), PageName))
	if strings.Count(text, evil) < 5 {
		t.Errorf("the names are not shown: %s", text)
	}
	if browsertest.Eval[bool](tab, `'evil' in window`) {
		t.Error("a name was run")
	}
	tab.Quiet()
}

// TestPageWithoutEvidence: a comparison without recordings states why pictures are missing.
func TestPageWithoutEvidence(t *testing.T) {
	browsertest.Path(t)
	a, b := filmSet(t, "a", 60, 61), filmSet(t, "b", 60, 61, 62)
	for _, s := range []*Set{a, b} {
		for i := range s.Runs {
			s.Runs[i].Recording.File = "none.eid"
		}
	}
	server := httptest.NewServer(http.FileServerFS(os.DirFS(written(t, a, b, false))))
	defer server.Close()
	tab := browsertest.NewTab(t, 4*time.Minute, func(url string) bool {
		return strings.HasPrefix(url, server.URL) || sameOrFile(url)
	})
	_, err := chromedp.Call(tab.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
	tab.Check(err)
	text := shown(tab, server.URL+"/"+PageName)
	if n := strings.Count(text, "has no none.eid"); n < 3 {
		t.Errorf("%d of 3 refusals: %s", n, text)
	}
	tab.Quiet()
}

// TestZeros: an axis begins at T0 only where both have one that can be true.
func TestZeros(t *testing.T) {
	at := func(start, t0 int64) *result.Window {
		return &result.Window{StartNS: start, T0: &result.T0{AtNS: t0}}
	}
	for _, tc := range []struct {
		name   string
		a, b   *result.Window
		fromT0 bool
	}{
		{"both", at(5e9, 4e9), at(9e9, 8e9), true},
		{"one", at(5e9, 4e9), &result.Window{StartNS: 9e9}, false},
		{"after the start", at(5e9, 6e9), at(9e9, 8e9), false},
		{"hours before", at(5e9, -5e12), at(9e9, 8e9), false},
		{"out of range", at(5e9, -1<<63), at(9e9, 8e9), false},
	} {
		zero, fromT0 := zeros(tc.a, tc.b)
		if want := tc.a.StartNS; fromT0 != tc.fromT0 || !fromT0 && int64(zero[0]) != want {
			t.Errorf("%s: %v, %v", tc.name, zero, fromT0)
		}
	}
}

// TestStrips: both filmstrips have as many pictures, each of the frame that was on the screen.
func TestStrips(t *testing.T) {
	a, b := filmSet(t, "a", 60), filmSet(t, "b", 50)
	b.Runs[0].Windows[0].End = 1
	c := analyzetest.Must(Compare(a, b, Options{}))(t)
	f := analyzetest.Must(BeginFolder(filepath.Join(t.TempDir(), "out")))(t)
	analyzetest.Check(t, f.Write(t.Context(), c, untold{}))
	s := c.JSON().Strips
	if s.Step != 4e6 || len(s.FramesA) != len(s.FramesB) || s.FramesA[0] != 0 || s.FramesB[0] != 0 {
		t.Fatalf("%+v", s)
	}
	for k := range s.FramesA {
		n := int(time.Duration(k) * s.Step / 16_666_667)
		if s.FramesA[k] != min(2, n) || s.FramesB[k] != min(1, n) {
			t.Errorf("picture %d is of frames %d and %d, want frame %d", k, s.FramesA[k], s.FramesB[k], n)
		}
	}
}

// TestChosenStrips: a step that is chosen is used, up to a number of pictures.
func TestChosenStrips(t *testing.T) {
	for _, tc := range []struct {
		step     time.Duration
		want     time.Duration
		pictures int
		warned   bool
	}{
		{time.Second, 1e9, 2, false}, {20 * time.Millisecond, 20e6, 3, false}, {time.Microsecond, 224e3, 150, true},
	} {
		c := analyzetest.Must(Compare(filmSet(t, "a", 60), filmSet(t, "b", 50), Options{}))(t)
		before := len(c.Warnings)
		f := analyzetest.Must(BeginFolder(filepath.Join(t.TempDir(), "out")))(t)
		f.FilmstripStep = tc.step
		analyzetest.Check(t, f.Write(t.Context(), c, untold{}))
		s := c.JSON().Strips
		if s.Refusal != "" || s.Step != tc.want || len(s.FramesA) != tc.pictures || len(s.FramesB) != tc.pictures ||
			(len(c.Warnings) > before) != tc.warned {
			t.Errorf("%v: %+v with %d pictures; %q", tc.step, s, len(s.FramesA), c.Warnings[before:])
		}
		picture := analyzetest.Must(os.Open(s.Pictures[0]))(t)
		size, err := png.DecodeConfig(picture)
		if err := errors.Join(err, picture.Close()); err != nil || size.Width > 1<<15 || size.Width%tc.pictures != 0 {
			t.Errorf("%v: a picture of %d pixels for %d frames, %v", tc.step, size.Width, tc.pictures, err)
		}
	}
}

func TestRoundStep(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		0: time.Millisecond, 1_200_000: 1_500_000, 250 * time.Millisecond: 250 * time.Millisecond,
		251 * time.Millisecond: 300 * time.Millisecond, 9 * time.Second: 10 * time.Second,
	} {
		if got := roundStep(d); got != want {
			t.Errorf("%v: %v, want %v", d, got, want)
		}
	}
}
