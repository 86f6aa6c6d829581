package server

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

// TestExamples sends the calls of API.md, and compares the answers. "…" matches anything.
func TestExamples(t *testing.T) {
	t.Parallel()
	d := daemontest.New("local")
	d.About = device.Local()
	d.About.About = "a browser on this machine"
	defer d.Hold()()
	s := serveRig(t, daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil), nil)
	if examples := s.examples("jsonrpc", s.socket(), nil); examples < 10 {
		t.Errorf("%d examples were found", examples)
	}
}

// examples sends the calls in blocks of a kind, with words replaced, and compares the answers. It
// returns the number of calls.
func (s *served) examples(kind string, conn *websocket.Conn, words *strings.Replacer) (examples int) {
	t := s.t
	t.Helper()
	if words == nil {
		words = strings.NewReplacer()
	}
	var early [][]byte
	for _, block := range strings.Split(readFile(t, specification), "```"+kind+"\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for line := range strings.Lines(block) {
			text := words.Replace(strings.TrimSpace(line[4:]))
			switch line[:4] {
			case "--> ":
				if err := conn.WriteMessage(1, []byte(text)); err != nil {
					t.Fatal(err)
				}
				examples++
			case "<-- ":
				got := next(t, conn, strings.Contains(text, `"method": "event"`), &early)
				if why := differs(t, []byte(text), got); why != "" {
					t.Errorf("%s:\n%s\nAPI.md has\n%s", why, got, text)
				}
			default:
				t.Errorf("%q is neither sent nor got", line)
			}
		}
	}
	return examples
}

// next is the next message that is an event, or that is none. Others stay for later: events and
// answers do not wait for each other.
func next(t testing.TB, conn *websocket.Conn, event bool, early *[][]byte) []byte {
	t.Helper()
	is := func(text []byte) bool { return bytes.Contains(text, []byte(`"method":"event"`)) == event }
	if i := slices.IndexFunc(*early, is); i >= 0 {
		text := (*early)[i]
		*early = slices.Delete(*early, i, i+1)
		return text
	}
	for {
		_, text, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if is(text) {
			return text
		}
		*early = append(*early, text)
	}
}

// differs says where two values are not the same.
func differs(t testing.TB, want, got []byte) string {
	t.Helper()
	var w, g any
	for _, one := range []struct {
		raw  []byte
		into *any
	}{{want, &w}, {got, &g}} {
		d := json.NewDecoder(bytes.NewReader(one.raw))
		d.UseNumber()
		if err := d.Decode(one.into); err != nil {
			t.Fatalf("%v: %s", err, one.raw)
		}
	}
	return unlike("", w, g)
}

func unlike(at string, want, got any) string {
	if want == "…" {
		return ""
	}
	switch w := want.(type) {
	case map[string]any:
		g, is := got.(map[string]any)
		if !is {
			return at + " is not an object"
		}
		for k := range g {
			if _, there := w[k]; !there {
				return at + "." + k + " is not told"
			}
		}
		for k, v := range w {
			o, there := g[k]
			if !there {
				return at + "." + k + " is not there"
			}
			if why := unlike(at+"."+k, v, o); why != "" {
				return why
			}
		}
		return ""
	case []any:
		g, is := got.([]any)
		if !is || len(g) != len(w) {
			return at + " has another length"
		}
		for i := range w {
			if why := unlike(at+"[]", w[i], g[i]); why != "" {
				return why
			}
		}
		return ""
	}
	if want != got {
		return at + " is another value"
	}
	return ""
}

// Every method is there, and so is its description.
func TestOpenRPC(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	res, text := s.ask("GET", "/api/v1/openrpc.json", "")
	var doc struct {
		OpenRPC string `json:"openrpc"`
		Methods []struct {
			Name   string           `json:"name"`
			Params []map[string]any `json:"params"`
		} `json:"methods"`
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || res.StatusCode != 200 || doc.OpenRPC == "" {
		t.Fatal(err, res.StatusCode)
	}
	described := map[string]bool{}
	for _, m := range doc.Methods {
		described[m.Name] = true
		if s.api.methods[m.Name] == nil {
			t.Errorf("nothing carries out %s", m.Name)
		}
	}
	for name := range s.api.methods {
		if !described[name] {
			t.Errorf("%s is not described", name)
		}
	}
	for _, promised := range strings.Fields(`rig.status sources.list suite.list run.start run.cancel run.list run.get
run.delete record.start record.stop record.keepLast device.list device.reserve device.quarantine device.power
analyze.start compare subscribe preview.start`) {
		if !described[promised] {
			t.Errorf("%s was promised", promised)
		}
	}
	for _, ref := range strings.Split(text, `"$ref": "#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(ref, `"`)
		if doc.Components.Schemas[name] == nil {
			t.Errorf("%s is referred to, and not there", name)
		}
	}
}
