package instrument_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// TestProgramsOfSite: programs have names, places and numbers. Equal texts have equal numbers.
func TestProgramsOfSite(t *testing.T) {
	const src = "<p>\r\n<p>é😀<script>var f=function(){};\nclass A{m(){}static #p=()=>0}\n" +
		"a.b.c=()=>{};({'k-1':()=>0,get g(){return 1}});h(function(){})</script>"
	in := newInstrument(t, "calls")
	h := in.Wrap(site(map[string]answer{"/": {src, asPage, 0},
		"/a.js": {add, asScript, 0}, "/b.js": {add, asScript, 0},
		"/m.js": {"export default ()=>1;export default function(){};function named(){}", asScript, 0}}))
	exchange(h, "/", "Sec-Fetch-Dest", "document")
	var wait sync.WaitGroup
	for range 4 {
		for _, path := range []string{"/a.js", "/b.js"} {
			wait.Go(func() { exchange(h, path, "Sec-Fetch-Dest", "script") })
		}
	}
	wait.Wait()
	exchange(h, "/m.js", "Sec-Fetch-Dest", "script")
	programs := in.Programs()
	if len(programs) != 4 {
		t.Fatalf("%d programs", len(programs))
	}
	var got []string
	for _, f := range programs[0].Functions {
		got = append(got, fmt.Sprintf("%s %d:%d", f.Name, f.Line, f.Column))
	}
	if want := []string{"f 2:21", "m 3:10", "#p 3:24", "a.b.c 4:7", "k-1 4:22", "g 4:33",
		"(anonymous) 4:50", "(script) 2:15"}; !slices.Equal(got, want) {
		t.Errorf("functions %q, want %q", got, want)
	}
	a, b := programs[1], programs[2]
	if a.First != b.First || a.Hash != b.Hash || a.URL == b.URL || a.Count != 4 || b.Count != 4 || a.First != 9 ||
		programs[0].First != 1 || programs[3].First != 11 || a.Added != len(guarded(added))+len("10")-len(add) {
		t.Errorf("programs %+v", programs[1:])
	}
	names := []string{}
	for _, f := range programs[3].Functions {
		names = append(names, f.Name)
	}
	if programs[3].Goal != "module" || !slices.Equal(names, []string{"default", "default", "named", "(module)"}) {
		t.Errorf("a module has the functions %q", names)
	}
}

// TestOriginal converts every place of a served resource back.
func TestOriginal(t *testing.T) {
	const script, doc = "'use strict'\nfunction f(){return 'é😀'+1};function g(){}\nf()",
		"<head>\n<p>é<script>x=()=>'😀';y=()=>2</script>z\n<script>\n\nx=()=>1</script>"
	in := newInstrument(t, "calls")
	h := in.Wrap(site(map[string]answer{"/": {doc, asPage, 0},
		"/a.js": {script, asScript, 0}}))
	for path, src := range map[string]string{"/": doc, "/a.js": script} {
		w := exchange(h, path, "Sec-Fetch-Dest", map[string]string{"/": "document", "/a.js": "script"}[path])
		for i, line := range strings.Split(w.Body.String(), "\n") {
			original := []rune(strings.Split(src, "\n")[i])
			// Each character of the original that is unique in its line must come back to its column.
			for j, r := range original {
				if !strings.ContainsRune("é😀z1p", r) || strings.Count(line, string(r)) != 1 {
					continue
				}
				column := 1 + units(line[:strings.IndexRune(line, r)])
				want := 1 + units(string(original[:j]))
				if l, c := in.Original("http://example.com"+path, i+1, column); l != i+1 || c != want {
					t.Errorf("%s %d:%d becomes %d:%d, want column %d", path, i+1, column, l, c, want)
				}
			}
		}
	}
	for _, c := range [][2]int{{0, 0}, {99, 5}, {1, 1 << 20}} {
		if l, _ := in.Original("http://example.com/a.js", c[0], c[1]); l != c[0] {
			t.Errorf("line %d becomes %d", c[0], l)
		}
	}
	if l, c := in.Original("http://unknown.test/", 3, 4); l != 3 || c != 4 {
		t.Errorf("an unknown place becomes %d:%d", l, c)
	}
}

// units counts UTF-16 code units.
func units(text string) (n int) {
	for _, r := range text {
		if n++; r > 0xFFFF {
			n++
		}
	}
	return n
}

// TestOriginalIsFast: pages claim thousands of places in large scripts. Their search must not
// read a text again and again.
func TestOriginalIsFast(t *testing.T) {
	for _, end := range []string{"\n", ";"} {
		in := newInstrument(t, "calls")
		big := strings.Repeat("function a(){return 1}"+end, 100_000)
		h := in.Wrap(site(map[string]answer{"/big.js": {big, asScript, 0}}))
		served := exchange(h, "/big.js").Body.String()
		const places = 10_000
		began := time.Now()
		length := utf8.RuneCountInString(served)
		walked := time.Since(began)
		began = time.Now()
		for i := range places {
			if end == "\n" {
				in.Original("http://example.com/big.js", 99_999-i%1000, 30)
			} else {
				in.Original("http://example.com/big.js", 1, length-i)
			}
		}
		// Reading the whole text for each place would take places times as long.
		if took := time.Since(began); took > walked*places/5 {
			t.Errorf("%q: %d places took %v; reading the text takes %v", end, places, took, walked)
		}
	}
}
