package instrument

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// FuzzDocument: without the insertions, a document is the original. All insertions are known.
func FuzzDocument(f *testing.F) {
	for _, s := range []string{"", "<!doctype html><html><head><script>x=()=>1</script>",
		"<script src=a integrity=b><svg><script>a</script></svg><script/>x=()=>1</script>",
		"<!-- <script> --><script>'</script'</script><textarea><script>x=()=>1",
		"<base href='http://[x'><script type=importmap>{\"integrity\":1}</script><a onclick=x href=javascript:y>",
		"<template><template></template><script>x=()=>1</script>", "\x00<script\x00>x=()=>1</script\x00>",
		"<![CDATA[<script>]]><math><mi><script>x=()=>1</script>", "<plaintext><script>x=()=>1</script>",
		"<meta http-equiv=content-security-policy content=default-src><script>async()=>{await 1}</script>"} {
		f.Add(s)
	}
	all, err := policy.Named("calls,errors")
	if err != nil {
		f.Fatal(err)
	}
	address := &url.URL{Scheme: "http", Host: "a.test", Path: "/"}
	f.Fuzz(func(t *testing.T, src string) {
		in, err := New(Options{Nonce: "$nonce", Secret: "s", Policies: all,
			Collector: func(string, bool) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		const origin = "http://rig.test"
		page := in.editor(address, origin, "")
		page.src = src
		if page.document() != nil {
			return
		}
		text := page.out.String()
		if lines(text) != lines(src) {
			t.Errorf("%q has other lines: %q", src, text)
		}
		var rest strings.Builder
		done, prelude := 0, 0
		for _, s := range page.spans {
			if s.at < done || s.at+s.length > len(text) {
				t.Fatalf("span %+v of %d bytes, after %d", s, len(text), done)
			}
			rest.WriteString(text[done:s.at])
			done = s.at + s.length
			switch inserted := text[s.at:done]; {
			case s.more != s.length: // a policy
				return
			case inserted == "<script>"+in.prelude(origin).text+"</script>":
				prelude++
			case inserted != "data-" && !strings.Contains(inserted, "nonce") &&
				strings.Trim(inserted, "\v\f;()}\"") != "":
				t.Errorf("%q: insertion %q", src, inserted)
			}
		}
		rest.WriteString(text[done:])
		if rest.String() != src || prelude != 1 {
			t.Errorf("%q becomes %q, and back %q; %d preludes", src, text, rest.String(), prelude)
		}
	})
}

// TestAttributes reads tags as browsers do.
func TestAttributes(t *testing.T) {
	const tag = `<a B='1>2' c = "&lt;" d=e/f / g =h==i j`
	want := [][2]string{{"b", "1>2"}, {"c", "<"}, {"d", "e/f"}, {"g", "h==i"}, {"j", ""}}
	got := attributesOf(tag, 2, len(tag))
	if len(got) != len(want) {
		t.Fatalf("%d attributes: %+v", len(got), got)
	}
	for i, a := range got {
		if a.name != want[i][0] || a.decoded != want[i][1] {
			t.Errorf("attribute %d is %+v, want %q", i, a, want[i])
		}
	}
}

// TestHostileDocument: the time is in proportion to the text. Quadratic steps would need minutes.
func TestHostileDocument(t *testing.T) {
	all, err := policy.Named("calls")
	if err != nil {
		t.Fatal(err)
	}
	in, err := New(Options{Nonce: "$nonce", Secret: "s", Policies: all,
		Collector: func(string, bool) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	const n = 600_000
	var attributes strings.Builder
	for i := range n {
		fmt.Fprintf(&attributes, " a%d", i)
	}
	meta := "<meta http-equiv=content-security-policy content=\"script-src 'self'\">"
	address := &url.URL{Scheme: "http", Host: "a.test", Path: "/"}
	for name, c := range map[string]struct{ src, problem string }{
		"attributes": {"<p" + attributes.String() + ">", ""},
		"open":       {strings.Repeat("<svg>", n) + strings.Repeat("</template>", n), ""},
		"policies":   {strings.Repeat(meta, 101), "more than 100 content security policies"},
	} {
		begin := time.Now()
		e := in.editor(address, "http://rig.test", "")
		e.src = c.src
		err := e.document()
		if got := fmt.Sprint(err); c.problem == "" && err != nil || !strings.Contains(got, c.problem) {
			t.Errorf("%s: %v, want %q", name, err, c.problem)
		}
		if time.Since(begin) > time.Minute {
			t.Errorf("%s took %v", name, time.Since(begin))
		}
	}
}

// TestPanic: a panic of the rewriter gives the unchanged program.
func TestPanic(t *testing.T) {
	in := &Instrument{o: Options{Nonce: "$nonce"}, times: true, cache: map[codeKey]*code{}} // has no map of numbers
	c := in.rewrite("()=>1", scriptGoal, "")
	if c.result.Text != "()=>1" || !strings.Contains(c.reason, "the rewriter failed: assignment to entry in nil map") {
		t.Errorf("%q, %s", c.result.Text, c.reason)
	}
}
