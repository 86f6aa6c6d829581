package instrument_test

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/netsim/instrument"
)

// in encodes a text.
func in(t testing.TB, charset, text string) string {
	t.Helper()
	e, err := htmlindex.Get(charset)
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.NewEncoder().String(text)
	if err != nil {
		t.Fatalf("%s: %v", charset, err)
	}
	return out
}

// charsets have letters of their own. The second byte of some is that of a quote, \ or bracket.
var charsets = map[string]string{
	"shift_jis": "ソ表能ｱ", "gbk": "乗乗乗", "gb18030": "乗㐀", "big5": "功許蓋", "euc-jp": "日本", "euc-kr": "한글",
	"utf-16le": "ソ😀", "utf-16be": "ソ😀", "windows-1252": "é€", "windows-1251": "Ж", "iso-8859-2": "ł", "koi8-r": "Ж",
	"x-user-defined": "\uf7ff", "macintosh": "é",
}

// TestCharsets: programs and documents keep the bytes of their charset. Their text is that of the
// same program in UTF-8.
func TestCharsets(t *testing.T) {
	for charset, letters := range charsets {
		t.Run(charset, func(t *testing.T) {
			// The letters in quotes would end a string if their bytes were read as ASCII.
			program := "function f(){return '" + letters + "'+1}\nvar " + "x=()=>'" + letters + "'/*" + letters + "*/"
			doc := "<title>" + letters + "</title><script>" + program + "</script><script src=a.js></script>"
			kind := []string{"Content-Type", "text/html;charset=" + charset}
			for name, c := range map[string]struct{ path, src, dest, referer string }{
				"script": {"/a.js", program, "script", ""}, "document": {"/", doc, "document", ""},
				// The document's charset is that of its scripts, also of those that a script adds.
				"element": {"/b.js", program, "script", ""},
				"referer": {"/c.js", program, "script", "http://example.com/?"},
			} {
				mine, utf8 := newInstrument(t, "calls"), newInstrument(t, "calls")
				coded := strings.Replace(doc, "src=a.js", "src=b.js", 1)
				h := mine.Wrap(site(map[string]answer{"/a.js": {in(t, charset, program), []string{"Content-Type",
					js + ";charset=" + charset}, 0}, "/": {in(t, charset, coded), kind, 0},
					"/b.js": {in(t, charset, program), asScript, 0}, "/c.js": {in(t, charset, program), asScript, 0}}))
				if name == "element" || name == "referer" {
					exchange(h, "/?", "Sec-Fetch-Dest", "document")
				}
				w := exchange(h, c.path+"?", "Sec-Fetch-Dest", c.dest, "Referer", c.referer)
				plain := utf8.Wrap(site(map[string]answer{c.path: {c.src, []string{"Content-Type",
					map[string]string{"document": "text/html"}[c.dest] + ";charset=utf-8"}, 0}}))
				if c.dest == "script" && (name == "element" || name == "referer") {
					// The numbers follow those of the document, which has the same program.
					exchange(utf8.Wrap(site(map[string]answer{"/": {doc, asPage, 0}})), "/")
				}
				want := exchange(plain, c.path, "Sec-Fetch-Dest", c.dest).Body.String()
				if name == "document" {
					want = strings.Replace(want, "src=a.js", "src=b.js", 1)
				}
				if got := w.Body.String(); got != in(t, charset, want) {
					t.Errorf("%s: got %.3000q\nwant %.3000q; programs %+v", name, got, in(t, charset, want),
						mine.Programs())
				}
			}
		})
	}
}

// TestCharsetStatements: a mark precedes a header; then come elements and documents.
func TestCharsetStatements(t *testing.T) {
	const program, elsewhere = "x=()=>'ソ'", "x=()=>'é'"
	const call = "GUARDB$nonce(2);x=()=>R$nonce(E$nonce(1),'ソ');{let x$nonce=Q$nonce(2)}"
	const moduleCall = "GUARDlet d$nonce=E$nonce(2,3);x=()=>R$nonce(E$nonce(1),'ソ');R$nonce(d$nonce)"
	behind := " " + strings.Replace(call, "B$", " B$", 1) // a mark
	sjis, latin := in(t, "shift_jis", program), in(t, "windows-1252", elsewhere)
	for _, c := range []struct{ name, doc, header, script, kind, want, reason string }{
		{"attribute", "<script src=a.js charset=x-sjis></script>", "", sjis, js, in(t, "shift_jis", call), ""},
		{"meta", "<meta charset=Shift_JIS><script src=a.js></script>", "", sjis, js, in(t, "shift_jis", call), ""},
		{"pragma", `<meta http-equiv=Content-Type content="text/html; charset='sjis'"><script src=a.js></script>`, "",
			sjis, js, in(t, "shift_jis", call), ""},
		{"header of the script", "<meta charset=big5><script src=a.js></script>", "", sjis, js + ";charset=sjis",
			in(t, "shift_jis", call), ""},
		{"header of the document", "<meta charset=big5><script src=a.js></script>", "text/html;charset=sjis", sjis, js,
			in(t, "shift_jis", call), ""},
		{"meta cannot state UTF-16", "<meta charset=utf-16><script src=a.js></script>", "", program, js, call, ""},
		{"unknown label", "<meta charset=x><meta charset=sjis><script src=a.js></script>", "", sjis, js,
			in(t, "shift_jis", call), ""},
		{"mark", "<meta charset=big5><script src=a.js></script>", "", "\xef\xbb\xbf" + program, js + ";charset=sjis",
			"\xef\xbb\xbf" + behind, ""},
		{"mark of UTF-16", "<script src=a.js></script>", "", in(t, "utf-16le", "\ufeff"+program), js,
			in(t, "utf-16le", "\ufeff"+behind), ""},
		{"module", "<meta charset=sjis><script type=module src=a.js></script>", "", program, js + ";charset=sjis",
			moduleCall, ""},
		{"imported module", "", "", program + ";export{x}", js + ";charset=windows-1252",
			strings.NewReplacer("(1)", "(3)", "(2,", "(4,", ";R$", ";export{x};R$").Replace(moduleCall), ""},
		{"none", "<script src=a.js></script>", "", latin, js, latin, "1:8: invalid UTF-8"},
		{"with a state", "", "", "x=()=>'\x1b$B%=\x1b(B'", js + ";charset=iso-2022-jp", "x=()=>'\x1b$B%=\x1b(B'",
			`the charset "iso-2022-jp" is not supported`},
		{"a cut character", "", "", "x=()=>'a';\x83", js + ";charset=sjis",
			"GUARDB$nonce(2);x=()=>R$nonce(E$nonce(1),'a');\x83;{let x$nonce=Q$nonce(2)}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := newInstrument(t, "calls")
			h := own.Wrap(site(map[string]answer{"/": {c.doc, []string{"Content-Type",
				map[bool]string{true: c.header, false: "text/html"}[c.header != ""]}, 0},
				"/a.js": {c.script, []string{"Content-Type", c.kind}, 0}}))
			exchange(h, "/", "Sec-Fetch-Dest", "document")
			w := exchange(h, "/a.js?", "Sec-Fetch-Dest", "script")
			want := strings.NewReplacer("GUARD", guarded(""), in(t, "utf-16le", "GUARD"),
				in(t, "utf-16le", guarded(""))).Replace(c.want)
			unmark := strings.NewReplacer(in(t, "utf-16le", "\v"), "", "\v", "")
			p := own.Programs()
			got := w.Body.String()
			if unmark.Replace(got) != unmark.Replace(want) || len(p) == 0 || p[len(p)-1].Reason != c.reason {
				t.Errorf("got\n%q\nwant\n%q; programs %+v", got, want, p)
			}
		})
	}
}

// FuzzCharsets: without the insertions, a response has the original bytes in any charset.
func FuzzCharsets(f *testing.F) {
	for charset, letters := range charsets {
		f.Add(charset, []byte(in(f, charset, "function a(){return '"+letters+"'}\nx=()=>'"+letters+"'")))
		f.Add(charset, []byte("function a(){return '\x83\\'}\x83"))
	}
	f.Add("big5", []byte("x=()=>'\x88\x62\x88'"))
	f.Add("\nutf-16", []byte("A"))
	f.Fuzz(func(t *testing.T, charset string, src []byte) {
		charset = strings.TrimSpace(charset) // as Get does
		e, err := htmlindex.Get(charset)
		if err != nil || len(src) > 1<<12 {
			return
		}
		h := newInstrument(t, "calls").Wrap(site(map[string]answer{"/a.js": {string(src), []string{"Content-Type",
			fmt.Sprintf("text/javascript;charset=%q", charset)}, 0}}))
		got := exchange(h, "/a.js", "Sec-Fetch-Dest", "script").Body.Bytes()
		if bytes.Equal(got, src) {
			return
		}
		// The insertions are ASCII, so the original is a subsequence with the right text.
		rest := src
		for _, b := range got {
			if len(rest) > 0 && rest[0] == b {
				rest = rest[1:]
			}
		}
		text, err := e.NewDecoder().Bytes(got)
		if len(rest) > 0 || err != nil || !bytes.Contains(text, []byte("$nonce")) {
			t.Errorf("%s: %q becomes %q", charset, src, got)
		}
	})
}

// TestShiftJISInChromium: a page in Shift-JIS shows the same with instrumentation.
func TestShiftJISInChromium(t *testing.T) {
	const inline = "function show(s){document.getElementById('out').textContent+=s+' '+s.length+'|'}\nshow('ソ表');" +
		"show(document.characterSet);window.later=()=>'能';"
	const added = "addEventListener('DOMContentLoaded',()=>{" + // b.js needs a.js
		"var e=document.createElement('script');e.src='b.js';document.head.append(e)});"
	doc := "<meta charset=Shift_JIS><title>表</title><p id=out></p><script>" + inline + added + "</script>" +
		"<script src=a.js></script>"
	files := map[string]answer{"/": {in(t, "shift_jis", doc), []string{"Content-Type", "text/html"}, 0},
		"/a.js": {in(t, "shift_jis", "function 関数(){show('ソ'+later())}関数()"), asScript, 0},
		"/b.js": {in(t, "shift_jis", "(()=>{show('予\\\\');show(関数.name);window.done=true})()"), asScript, 0}}
	own := newInstrument(t, "calls")
	tab := browsertest.NewTab(t, patience, func(string) bool { return true })
	show := func(in *instrument.Instrument) (text string) {
		h := site(files)
		if in != nil {
			h = in.Wrap(h)
		}
		server := httptest.NewServer(h)
		defer server.Close()
		tab.Do(chromedp.Navigate(server.URL))
		_, err := chromedp.Run(tab.Ctx, chromedp.Poll[bool]("window.done === true", chromedp.WithPollingTimeout(0)))
		tab.Check(err)
		return browsertest.Eval[string](tab, "document.title + document.getElementById('out').textContent")
	}
	plain, changed := show(nil), show(own)
	if plain != "表ソ表 2|Shift_JIS 9|ソ能 2|予\\ 2|関数 2|" || changed != plain {
		t.Errorf("the page shows %q, plain %q", changed, plain)
	}
	for _, p := range own.Programs() {
		if p.Reason != "" || len(p.Functions) == 0 {
			t.Errorf("%s: %s, functions %v", p.URL, p.Reason, p.Functions)
		}
	}
}
