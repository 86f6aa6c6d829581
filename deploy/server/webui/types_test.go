package webui

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
)

var update = flag.Bool("update", false, "write types/rig.d.ts anew")

// TestTypes: what the page's scripts are checked against is what the program sends.
func TestTypes(t *testing.T) {
	w := typeWriter{seen: map[string]reflect.Type{}}
	w.add(reflect.TypeFor[result.Results]())
	w.add(reflect.TypeFor[session.Record]())
	w.add(reflect.TypeFor[render.Map]())
	w.add(reflect.TypeFor[api.Event]())
	w.add(reflect.TypeFor[api.RecordedEvents]())
	methods := "\nexport interface Methods {\n"
	for _, m := range api.Methods() {
		methods += "  '" + m.Name + "': {params: " + w.name(reflect.TypeOf(m.Params)) + "; result: " +
			w.name(reflect.TypeOf(m.Result)) + "};\n"
	}
	text := "// Written by `go test -run TestTypes -update` from the program's own types.\n" + w.text.String() +
		methods + "}\n"
	const file = "types/rig.d.ts"
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != text {
		t.Errorf("%s is not what the program sends (%v): go test -run TestTypes -update", file, err)
	}
}

// typeWriter writes interfaces of TypeScript.
type typeWriter struct {
	seen map[string]reflect.Type
	text strings.Builder
}

// name returns what a type is called, and sees that it is written.
func (w *typeWriter) name(t reflect.Type) string {
	if t == reflect.TypeFor[json.RawMessage]() {
		return "any"
	}
	if t == reflect.TypeFor[[]byte]() {
		return "string" // base64
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.name(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Map:
		return "{[name: string]: " + w.name(t.Elem()) + "}"
	case reflect.Slice, reflect.Array:
		return w.name(t.Elem()) + "[]"
	case reflect.Struct:
		return w.add(t)
	}
	return "number"
}

// titled is a structure's name; with its package's where another one has the same.
func (w *typeWriter) titled(t reflect.Type) string {
	own := plainName(t.Name())
	for _, name := range []string{own, strings.ToUpper(pkg(t)[:1]) + pkg(t)[1:] + own} {
		if have, there := w.seen[name]; !there || have == t {
			return name
		}
	}
	panic("two types are called " + t.String())
}

// plainName is a type's name; of a generic one with those of its parameters behind it, as
// Asked[time.Duration] is AskedDuration.
func plainName(name string) string {
	of, parameters, _ := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	for parameter := range strings.SplitSeq(parameters, ",") {
		if short := parameter[strings.LastIndexByte(parameter, '.')+1:]; short != "" {
			of += strings.ToUpper(short[:1]) + short[1:]
		}
	}
	return of
}

func pkg(t reflect.Type) string { return t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:] }

func (w *typeWriter) add(t reflect.Type) string {
	name := w.titled(t)
	if _, there := w.seen[name]; there {
		return name
	}
	w.seen[name] = t
	var b strings.Builder
	b.WriteString("\nexport interface " + name + " {\n")
	w.fields(&b, t)
	w.text.WriteString(b.String() + "}\n")
	return name
}

func (w *typeWriter) fields(b *strings.Builder, t reflect.Type) {
	for f := range t.Fields() {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-" || !f.IsExported():
			continue
		case f.Anonymous && tag == "":
			w.fields(b, f.Type)
			continue
		}
		name, null := tag, ""
		if strings.Contains(options, "omitempty") {
			name += "?"
		} else if f.Type.Kind() == reflect.Pointer {
			null = " | null"
		}
		b.WriteString("  " + name + ": " + w.name(f.Type) + null + ";\n")
	}
}
