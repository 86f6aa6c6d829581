package report

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
)

// sample has a value for every field.
func sample() *result.Results {
	r, err := result.Read("../result/testdata/results.golden.json")
	if err != nil {
		panic(err) // package result tests it
	}
	return r
}

// someFiles are files of a run, as far as a page looks into them.
func someFiles() fstest.MapFS {
	return fstest.MapFS{
		"video.mp4": {Data: []byte("video")}, "recording.eid": {Data: []byte("pixels")},
		"video.mp4.json": {
			Data: []byte(`{"rate_num":60,"rate_den":1,"slots":[
				{"frame":100,"time_ns":983316650},{"frame":-1},{"frame":101,"time_ns":1000000000}]}`)},
		"pictures/heatmap.png": {Data: []byte("picture")}, "pictures/heatmap.npy": {Data: []byte("numbers")},
		"pictures/filmstrip.png": {Data: []byte("strip")},
		"pictures/waterfall.svg": {Data: []byte("<svg/>")}, "network.har": {Data: []byte("{}")},
		"script.log": {Data: []byte("EIDSLOG1")},
	}
}

func pageOf(t *testing.T, files fs.FS, r *result.Results, o PageOptions) string {
	t.Helper()
	b := analyzetest.Must(Page(files, r, o))(t)
	return string(b)
}

// Fault: A video is missing or belongs to another recording
func TestPageWithoutFiles(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(fstest.MapFS)
		want string
	}{
		{"no video", func(f fstest.MapFS) { delete(f, "video.mp4") }, "video.mp4 is missing from the folder."},
		{"no map", func(f fstest.MapFS) { delete(f, "video.mp4.json") }, "map video.mp4.json cannot be read"},
		{"a map that is none", func(f fstest.MapFS) { f["video.mp4.json"] = &fstest.MapFile{Data: []byte("[")} },
			"map video.mp4.json cannot be read"},
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
			if !strings.Contains(page, `"map":null`) {
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
	if found := regexp.MustCompile(`"files":\{[^}]*:"[^d"][^"]*"`).FindString(page); found != "" {
		t.Errorf("the page refers to a file: %.200s", found)
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
	r.Recording.Name, r.Notes, r.Environment[result.EnvDUT] = evil, []string{evil}, evil
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
	var s string
	for _, program := range []string{"report", "compare", "set"} {
		one := analyzetest.Must(Bundle(program, Modules()))(t)
		s += one
	}
	for _, bad := range []string{"</script", "<!--", "\r"} {
		if strings.Contains(s, bad) {
			t.Errorf("the program has %q", bad)
		}
	}
	names := analyzetest.Must(fs.Glob(Modules(), "*.js"))(t)
	for _, name := range names {
		if !strings.Contains(s, "const module_"+strings.TrimSuffix(name, ".js")+" = ") {
			t.Errorf("%s is part of no program", name)
		}
	}
	if strings.Contains(strings.ReplaceAll(s, "http://www.w3.org/2000/svg", ""), "http") {
		t.Error("the program has an address")
	}
}

func TestBundle(t *testing.T) {
	folder := func(texts ...string) fstest.MapFS {
		all := fstest.MapFS{}
		for i, text := range texts {
			all[string(rune('a'+i))+".js"] = &fstest.MapFile{Data: []byte(text)}
		}
		return all
	}
	got, err := Bundle("a", folder("import {f} from './b.js';\nf();\n", "const x = 1;\nexport function f() {}\n"))
	want := "const module_b = (() => {\nconst x = 1;\nfunction f() {}\n\nreturn {f};\n})();\n" +
		"const module_a = (() => {\nconst {f} = module_b;\nf();\n\nreturn {};\n})();\n"
	if err != nil || !strings.Contains(got, want) {
		t.Errorf("%v: %s", err, got)
	}
	for _, tc := range []struct {
		name, want string
		folder     fstest.MapFS
	}{
		{"cycle", "imports itself", folder("import {f} from './b.js';\n", "import {g} from './a.js';\n")},
		{"default", `unsupported "export default 1;"`, folder("export default 1;\n")},
		{"elsewhere", `unsupported "import {f} from 'x';"`, folder("import {f} from 'x';\n")},
		{"missing", "file does not exist", folder("import {f} from './z.js';\n")},
	} {
		if _, err := Bundle("a", tc.folder); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestWritePage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, PageName)
	analyzetest.Check(t, WritePage(path, someFiles(), sample(), PageOptions{}))
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

func FuzzMap(f *testing.F) {
	f.Add(someFiles()["video.mp4.json"].Data)
	f.Add([]byte(`{"width":4,"height":4,"rate_num":60,"rate_den":1,
		"content":{"width":4,"height":3},"slots":[{"frame":-1}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		folder := fstest.MapFS{"m": {Data: in}, "v": {}}
		m, err := readVideo(&result.Video{File: "v", Map: "m"}, 10, &files{folder: folder})
		if err != nil {
			return
		}
		if m.RateNum < 1 || m.RateDen < 1 || len(m.Slots) == 0 {
			t.Errorf("rate %d/%d, %d slots", m.RateNum, m.RateDen, len(m.Slots))
		}
		for _, s := range m.Slots {
			if s.Frame < -1 || s.Frame >= 10 {
				t.Errorf("frame %d of 10", s.Frame)
			}
		}
	})
}
