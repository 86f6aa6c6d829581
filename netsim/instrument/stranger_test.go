package instrument_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestStranger builds the policy of docs/policies.md from the files and the line of that page. Its
// counts must be those of the script.
func TestStranger(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	page, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	step := regexp.MustCompile("(?s)\n\\d\\. [^`]*`(netsim/instrument/policy/(\\w+\\.\\w+))`[^\n]*\n" +
		"[^\n]*?\n?```\\w+\n(.*?)```")
	list, err := os.ReadFile("policy/policy.go")
	if err != nil {
		t.Fatal(err)
	}
	const last = "\t\tconcatPolicy(),\n"
	dir, overlay, name := t.TempDir(), map[string]string{}, ""
	for _, m := range step.FindAllStringSubmatch(string(page), -1) {
		text := m[3]
		if m[2] == "policy.go" {
			if !strings.Contains(string(list), last) || !strings.Contains(text, "Policy(),") {
				t.Fatalf("the line %q does not follow %q", text, last)
			}
			text = strings.Replace(string(list), last, last+text, 1)
		} else {
			name, _, _ = strings.Cut(m[2], ".")
		}
		file := filepath.Join(dir, m[2])
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join("policy", m[2])] = file
	}
	if len(overlay) != 3 {
		t.Fatalf("the page has the files %v", overlay)
	}
	overlay["policy/stranger/main.go"] = "testdata/stranger/main.go"
	replaced := map[string]string{}
	for of, with := range overlay {
		of, err1 := filepath.Abs(of)
		with, err2 := filepath.Abs(with)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		replaced[of] = with
	}
	raw, err := json.Marshal(map[string]any{"Replace": replaced})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", "-overlay", filepath.Join(dir, "overlay.json"), "./policy/stranger", name,
		"runtime/testdata/run.mjs")
	cmd.Stdin = strings.NewReader(`const read = text => JSON.parse(text);
		for (let i = 0; i < 5; i++) read('[1]');
		const other = JSON, own = {JSON: {parse: x => x}};
		let twice = JSON.parse('{"a": 1}').a + JSON.parse("2");
		other.parse('3'); own.JSON.parse('4'); if (twice !== 3) throw new Error('changed ' + twice);
		try { JSON.parse('{') } catch (e) { if (!(e instanceof SyntaxError)) throw e }`)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Code   string
		Values []float64
	}
	var got, want struct {
		Thrown, Sentence string
		Rows             []row
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	want.Sentence = "JSON.parse was called 7 times at 3 places."
	want.Rows = []row{{"JSON.parse(text)", []float64{5}}, {`JSON.parse('{"a": 1}')`, []float64{1}},
		{`JSON.parse("2")`, []float64{1}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the report is %+v, want %+v", got, want)
	}
}
