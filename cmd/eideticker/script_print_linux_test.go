package main

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/terminal"
)

// printedResults returns the printed sample of package result, in 80 columns.
func printedResults(t *testing.T, all bool, edit func(*result.Results)) string {
	t.Helper()
	terminalEnv(t, "xterm", "1", "C.UTF-8")
	r, err := result.Read("../../analyze/result/testdata/results.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	edit(r)
	return shownOn(t, 80, func(tty io.Writer) {
		if err := terminal.Results(terminal.NewWriter(tty), r, all); err != nil {
			t.Error(err)
		}
	})
}

func TestPrintScript(t *testing.T) {
	text := printedResults(t, true, func(r *result.Results) {
		s := r.Script
		for range 30 {
			s.Functions = append(s.Functions, s.Functions[1])
		}
		s.Functions[1].Name = "Cart.prototype.\x1b[31mrenderAllProductsOfTheFirstCategory"
		s.Errors = append(s.Errors, result.ScriptError{Kind: result.ErrorResource, Message: "img", Count: 1, Frame: -1,
			URL: "https://page.test/" + strings.Repeat("very/", 30) + "long.png"})
		s.Reports = []result.PolicyReport{{Policy: "loops", Sentence: "1 loop ran for long.", Points: 3, Active: 3,
			Columns: []result.PolicyColumn{{Name: "iterations"}, {Name: "last run", Unit: "ms"}}, Left: 5}}
		row := result.PolicyRow{Name: "for (const x of veryLongNamesOfThings) go()", URL: "https://page.test/app.js",
			Line: 3, Values: []float64{1234567, 2.5}, Verdict: "fail"}
		for range 22 {
			s.Reports[0].Rows = append(s.Reports[0].Rows, row)
		}
	})
	_, text, found := strings.Cut(text, "\nScripts\n")
	if !found {
		t.Fatal("there is no section of scripts")
	}
	text, _, _ = strings.Cut(text, "The page claims")
	for _, want := range []string{
		"6 errors; slow (app.js:12) ran longest: 40 (39–41) ms; 1 loop ran for long.\n",
		"  ! 1,234 records of scripts are lost in 1 gap: ring full. Calls may be missing.\n",
		"  ! the clock of a worker is bounded from two questions only\n",
		"  frame 104: The first change came after 33 ms. slow (app.js:12) ran for 30\n" +
			"  (29–31) ms, within each (src/app.ts:7), of it 29 ms in JSON.parse()\n" +
			"  (app.js:14) meanwhile. Too brief to record: 70,000 calls, most of each\n" +
			"  (src/app.ts:7, app.js:14).\n",
		"\n  JSON.parse() (app.js:14)  ",
		"\nslow app.js:12  ", "\n…lProductsOfTheFirstCategory  ", "12 more functions in results.json\n",
		"TypeError: x is not a function\n", "resource  long.png   1      –      img\n",
		"4 later errors left out\n",
		"\nloops: 1 loop ran for long.\nplace     code                      iterations  last run\n" +
			"app.js:3  for (const x of veryLon…   1,234,567   2.50 ms  fail\n",
		"7 more places in results.json\n",
		"3 of 41 programs are not instrumented: unexpected : at 1:5 (2), service worker\n(1). 412 of",
		"The instrumentation cost 85 (80–90) ns per call, calibrated in the page, and\n" +
			"0.41 (0.38–0.44) ms of the recording. Too brief to record: 80,000 calls, most of\n" +
			"each (src/app.ts:7, app.js:14). Their time counts for their callers.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if utf8.RuneCountInString(line) > 80 && strings.Contains(strings.TrimSpace(line), " ") ||
			strings.ContainsRune(line, '\x1b') {
			t.Errorf("a line of %d columns: %q", utf8.RuneCountInString(line), line)
		}
	}
}

// TestPrintScriptInShort: findings, warnings and costs are printed, but no tables. So are late
// frames in which scripts ran.
func TestPrintScriptInShort(t *testing.T) {
	const found = "\nScripts\n5 errors; slow (app.js:12) ran longest: 40 (39–41) ms.\n"
	const late = "  frame 104: The first change came after 33 ms. slow (app.js:12) ran for 30\n" +
		"  (29–31) ms, within each (src/app.ts:7), of it 29 ms in JSON.parse()\n" +
		"  (app.js:14) meanwhile. Too brief to record: 70,000 calls, most of each\n" +
		"  (src/app.ts:7, app.js:14).\n"
	const reported = "loops: 1 loop ran for long.\nThe instrumentation cost"
	for name, tc := range map[string]struct {
		edit      func(*result.Results)
		want, not string
	}{
		"warnings": {func(*result.Results) {}, found + "  ! 1,234 records of scripts are lost", "TypeError"},
		"fine": {func(r *result.Results) {
			r.Script.Lost, r.Script.Gaps, r.Script.Warnings = 0, nil, nil
			r.Script.Reports = []result.PolicyReport{{Policy: "loops", Sentence: "1 loop ran for long."}}
		}, found + late + reported, "iterations"},
		"three late frames": {func(r *result.Results) {
			s := r.Script
			s.Lost, s.Gaps, s.Warnings, s.Reports = 0, nil, nil, []result.PolicyReport{{Policy: "loops",
				Sentence: "1 loop ran for long."}}
			idle := result.LateFrame{Frame: 104, FromNS: s.Late[0].FromNS, ToNS: s.Late[0].ToNS}
			hardly := s.Late[0]
			hardly.UnexplainedNS.Value = 0.95 * float64(hardly.ToNS-hardly.FromNS)
			hardly.UnexplainedNS.High = float64(hardly.ToNS - hardly.FromNS)
			s.Late = []result.LateFrame{idle, hardly, s.Late[0], idle, s.Late[0], s.Late[0], s.Late[0]}
		}, late + late + late + reported, late + late + late + late},
		"none": {func(r *result.Results) { r.Script = nil }, "", "Scripts\n"},
	} {
		if text := printedResults(t, false, tc.edit); !strings.Contains(text, tc.want) || strings.Contains(text,
			tc.not) {
			t.Errorf("%s: want %q, and no %q:\n%s", name, tc.want, tc.not, text)
		}
	}
}
