package session

import (
	"hash/maphash"
	"image"
	"io/fs"
	"maps"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/suite"
)

// soaks skips a test that takes long.
func soaks(t *testing.T) {
	t.Helper()
	if os.Getenv("EIDETICKER_SOAK") == "" {
		t.Skip("two runs of each page in each browser take half an hour: make soak")
	}
}

// eachWay plays a test with every call timed, and some times plain.
func eachWay(t *testing.T, plain int, test func() *suite.Test, browser string,
	look func(dir string, made *Made)) (timed *result.Script) {
	t.Helper()
	takeTurn(t)
	for i := range plain + 1 {
		one := test()
		if one.Script.Policies = nil; i == plain {
			one.Script.Policies = []string{"calls"}
		}
		made, dir := playScripts(t, one, browser, "")
		if timed = made.Found.Results.Script; (timed != nil) != (i == plain) {
			t.Fatalf("run %d: script %+v", i, timed)
		}
		look(filepath.Join(dir, made.Dir), made)
	}
	return timed
}

// TestScriptsKeepPicturesOfTestPages: each test page plays as it does without insertions, in both
// browsers. The checks of the page agree. If all pictures of two plain runs are equal, those with
// every call timed are too. Other pages show times, or the browser draws them in several ways.
// Then as many pictures are equal as in plain runs (p ≥ 0.001). The strip names each picture. Its
// clock is left out.
func TestScriptsKeepPicturesOfTestPages(t *testing.T) {
	soaks(t)
	for _, browser := range []string{"chromium", "firefox"} {
		for i, of := range standardTests(t) {
			t.Run(browser+"/"+of.Name, func(t *testing.T) {
				needBrowsers(t, browser)
				seed := maphash.MakeSeed()
				var runs []map[uint32]map[uint64]bool
				timed := eachWay(t, 2, func() *suite.Test {
					test := standardTests(t)[i]
					shorten(test)
					return test
				}, browser, func(dir string, made *Made) {
					if r := made.Record; len(r.ChecksFailed) > 0 {
						t.Errorf("run %d: checks failed: %s", len(runs), checksOf(t, dir))
					}
					runs = append(runs, named(t, seed, opened(t, filepath.Join(dir, runfolder.RecordingFile)),
						made.Found.Results.Windows))
				})
				common := func(a, b map[uint64]bool) bool {
					return slices.ContainsFunc(slices.Collect(maps.Keys(a)), func(p uint64) bool { return b[p] })
				}
				both, same, sameTimed := 0, 0, 0
				var differ []uint32
				for id, plain := range runs[0] {
					again, seen := runs[1][id]
					others, timedToo := runs[2][id]
					if !seen || !timedToo {
						continue
					}
					both++
					if common(plain, again) {
						same++
					}
					if common(plain, others) {
						sameTimed++
					} else {
						differ = append(differ, id)
					}
				}
				p := stats.Fisher(both-sameTimed, both, both-same, both)
				if len(differ) > 0 && (same == both || p < 0.001) {
					t.Errorf("%d of %d pictures are equal in plain runs, %d timed (p = %.2g): not %v", same, both,
						sameTimed, p, differ)
				}
				t.Logf("%d pictures timed, %d of all runs; %d equal in plain runs, %d timed; %d of %d functions called",
					len(runs[2]), both, same, sameTimed, timed.Programs.CalledOfThem, timed.Programs.Functions)
				if len(runs[2]) == 0 || timed.Programs.CalledOfThem == 0 || len(timed.Plain) > 0 {
					t.Errorf("%d pictures; script %+v, plain %+v", len(runs[2]), timed.Programs, timed.Plain)
				}
			})
		}
	}
}

// named returns the hashes of all whole pictures, by the number in their strip.
func named(t *testing.T, seed maphash.Seed, r *recording.Reader, windows []result.Window) map[uint32]map[uint64]bool {
	t.Helper()
	all := map[uint32]map[uint64]bool{}
	for _, w := range windows {
		for n := w.Start; n <= w.End; n++ {
			img, err := r.Image(n)
			if err != nil {
				t.Fatal(err)
			}
			of := image.Rect(w.Region[0], w.Region[1], w.Region[0]+w.Region[2], w.Region[1]+w.Region[3])
			d, err := strip.NewDecoder(img.Layout, of)
			if err != nil {
				t.Fatal(err)
			}
			read := d.Read(img)
			if read.State != strip.Whole || read.Code.OnMarker() {
				continue
			}
			picture := frame.NewConverter(img.Layout).Picture(img)
			for _, b := range d.Geometry().Bounds() {
				for y := b.Min.Y; y < b.Max.Y; y++ {
					clear(picture.Pix[picture.PixOffset(b.Min.X, y):picture.PixOffset(b.Max.X-1, y)])
				}
			}
			if all[read.Code.ID] == nil {
				all[read.Code.ID] = map[uint64]bool{}
			}
			all[read.Code.ID][maphash.Bytes(seed, picture.Pix)] = true
		}
	}
	return all
}

// TestScriptsKeepPicturesOfArchives: archives of sites from ten build tools show the same pictures
// if every call is timed, in both browsers. Functions have places in sources by their maps.
func TestScriptsKeepPicturesOfArchives(t *testing.T) {
	soaks(t)
	needNetwork(t)
	const root, drawn = "../../out/archives", 12 // testdata/archives/src: the first one, ten steps, the square
	tools, err := os.ReadDir(root)
	if err != nil || len(tools) < 10 {
		t.Fatalf("%d archives: %v; make archives", len(tools), err)
	}
	for _, browser := range []string{"chromium", "firefox"} {
		for _, tool := range tools {
			t.Run(browser+"/"+tool.Name(), func(t *testing.T) {
				needBrowsers(t, browser)
				seed := maphash.MakeSeed()
				all, last := []map[uint64]bool{}, []uint64{}
				address := "https://" + tool.Name() + ".example/"
				files := filesOf(t, filepath.Join(root, tool.Name()), address)
				dir := fstest.MapFS{"shop.har": {Data: archiveOf(t, files...)}}
				timed := eachWay(t, 1, func() *suite.Test {
					test := shopTest(t, dir, address, "{rtt: 40ms, replay: shop.har}")
					test.Sync.Still = 5 * time.Second // a busy machine may begin late
					return test
				}, browser, func(dir string, made *Made) {
					seen, end := pictures(t, seed, opened(t, filepath.Join(dir, runfolder.RecordingFile)),
						&made.Found.Results.Windows[0])
					all, last = append(all, seen), append(last, end)
				})
				union := maps.Clone(all[0])
				maps.Copy(union, all[1])
				t.Logf("%d pictures plain, %d timed, %d in all; %d of %d functions were called", len(all[0]),
					len(all[1]), len(union), timed.Programs.CalledOfThem, timed.Programs.Functions)
				// A busy machine misses some of either run. Browsers may show parts of the first one.
				if len(union) > max(drawn, len(all[0]), len(all[1])) || min(len(all[0]), len(all[1])) < drawn/2 ||
					last[0] != last[1] {
					t.Errorf("%d pictures, want %d; the last ones are %x and %x", len(union), drawn, last[0], last[1])
				}
				if timed.Programs.CalledOfThem < 3 || len(timed.Plain) > 0 || len(timed.Errors) > 0 {
					t.Errorf("programs %+v, plain %+v, errors %+v", timed.Programs, timed.Plain, timed.Errors)
				}
				mapped := slices.ContainsFunc(timed.Functions, func(f result.Function) bool {
					return strings.HasSuffix(f.Source, "widths.js")
				})
				want := slices.Contains([]string{"esbuild", "webpack", "parcel", "tsc"}, tool.Name())
				if mapped != want {
					t.Errorf("the source of widths is known: %v, want %v: %+v", mapped, want, timed.Functions)
				}
			})
		}
	}
}

// filesOf returns the files of a site as responses at an address.
func filesOf(t *testing.T, root, address string) (all [][3]string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		kind := mime.TypeByExtension(filepath.Ext(path))
		if filepath.Ext(path) == ".map" {
			kind = "application/json"
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(root)+"/")
		all = append(all, [3]string{address + strings.TrimSuffix(name, "index.html"), kind, string(text)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
