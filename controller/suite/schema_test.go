package suite

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/internal/schematest"
)

func TestSchemaTakesWhatIsATest(t *testing.T) {
	s := schematest.Compile(t, Schema(), "")
	files := map[string]string{"everything": everything}
	all, err := Tests(Known{}, Standard())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range all {
		files[test.Name] = string(test.Text)
		asJSON, err := json.Marshal(test)
		if err != nil {
			t.Fatal(err)
		}
		files[test.Name+" as it is written"] = string(asJSON)
	}
	for name, text := range files {
		v, err := schematest.Instance(text)
		if err == nil {
			err = s.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// beyond is what only Parse refuses: what there is, what other parts of a file say, what numbers
// add up to.
var beyond = []string{
	"key twice", "merge", "tag", "name of a file", "page that is not there", "page above", "nothing marked", "measure",
	"measure twice", "primary", "threshold of nothing",
	"primary, value", "primary, second value", "primary, no such value", "primary, value with dots",
	"threshold of no value", "budget of no value",
	"network", "network in short", "policy", "policy in short", "policy, nothing near", "policy without replacements",
	"replacements without their policy", "replacement that is not there", "replacement elsewhere",
	"share", "share, too large", "share of nothing",
	"loss of more than all", "site, host", "site above", "archive for a site", "archive for a page",
	"archive that is not there",
	"archive elsewhere", "determinism of nothing", "protocol of a url", "keys of nothing", "end that does not come",
	"timeout, long", "two launches", "launch again and again", "key", "key, near",
	"key of a plus", "selector on a page", "selector of nothing", "click outside, percent", "pinch", "replay",
	"replay from elsewhere", "wait, in",
	"wait, longer than it may", "ping", "repetitions in each other",
	"steps without end", "replay of what is none", "script", "window too small", "region outside the window",
	"region outside any window", "mask outside the window",
	"click on nothing", "line without a network", "line that is not there", "line further than the moon",
	"line that loses more than all",
	"break", "profile, map without samples", "profile, rate of nothing",
}

func TestSchemaRefusesWhatIsNoTest(t *testing.T) {
	s := schematest.Compile(t, Schema(), "")
	names := map[string]bool{}
	for _, tc := range bad {
		names[tc.name] = true
		t.Run(tc.name, func(t *testing.T) {
			for _, of := range []string{"not YAML", "nested more", "larger than", "not UTF-8", "control character",
				"second document", "aliases make"} {
				if strings.Contains(tc.want, of) {
					return // which does not depend on the YAML
				}
			}
			v, err := schematest.Instance(tc.file)
			if err != nil {
				return
			}
			if err, known := s.Validate(v), slices.Contains(beyond, tc.name); (err == nil) != known {
				t.Errorf("beyond the schema: %v, but it says %v", known, err)
			}
		})
	}
	for _, name := range beyond {
		if !names[name] {
			t.Errorf("no bad file is called %q", name)
		}
	}
}

// node is a part of the schema.
type node = map[string]any

func schemaTree(t *testing.T) node {
	t.Helper()
	var root node
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	return root
}

// object returns the part of a schema that says what keys a mapping has: itself, or the one of its
// alternatives that is an object.
func object(s node) node {
	if s["properties"] != nil {
		return s
	}
	alternatives, _ := s["anyOf"].([]any)
	for _, a := range alternatives {
		if n := a.(node); n["properties"] != nil {
			return n
		}
	}
	return nil
}

// TestSchemaIsThatOfTheTypes: schema and types have the same keys. Each key of the schema has the
// bounds of its type.
func TestSchemaIsThatOfTheTypes(t *testing.T) {
	root := schemaTree(t)
	defs := root["$defs"].(node)
	compareKeys(t, "test", root, reflect.TypeFor[Test]())
	for name, typ := range map[string]reflect.Type{
		"network": reflect.TypeFor[Network](), "finger": reflect.TypeFor[Finger](),
		"recorded": reflect.TypeFor[Recorded](), "expect": reflect.TypeFor[Expect](),
	} {
		compareKeys(t, name, defs[name].(node), typ)
	}
	steps := defs["step"].(node)["properties"].(node)
	names := verbNames()
	slices.Sort(names)
	if there := slices.Sorted(maps.Keys(steps)); !slices.Equal(names, there) {
		t.Errorf("steps are %v, in the schema %v", names, there)
	}
	for _, v := range verbs() {
		if len(fields(reflect.TypeOf(v.blank))) > 0 {
			compareKeys(t, v.name, steps[v.name].(node), reflect.TypeOf(v.blank))
			compareDefaults(t, v.name, steps[v.name].(node), reflect.ValueOf(v.blank))
		}
	}
	compareDefaults(t, "test", root, blank(reflect.TypeFor[Test]()))
	compareDefaults(t, "expect", defs["expect"].(node), blank(reflect.TypeFor[Expect]()))
	compareDefaults(t, "recorded", defs["recorded"].(node), blank(reflect.TypeFor[Recorded]()))
}

func compareKeys(t *testing.T, what string, s node, typ reflect.Type) {
	t.Helper()
	o := object(s)
	if o == nil {
		t.Errorf("%s: the schema knows no mapping", what)
		return
	}
	if o["additionalProperties"] != false {
		t.Errorf("%s: the schema takes any key", what)
	}
	properties := o["properties"].(node)
	var keys, needed []string
	for _, f := range fields(typ) {
		keys = append(keys, f.key)
		if f.also != "" {
			keys = append(keys, f.also)
		}
		if f.Tag.Get("need") != "" {
			needed = append(needed, f.key)
		}
		p, ok := properties[f.key].(node)
		if !ok {
			continue // is reported below
		}
		for tag, bound := range map[string]string{"min": "minimum", "max": "maximum"} {
			want := f.Tag.Get(tag)
			if f.Type == reflect.TypeFor[time.Duration]() {
				if more := p["$ref"] == "#/$defs/time"; tag == "min" && more != (want != "") {
					t.Errorf("%s: %s: more than none is wanted: %v in the type, %v in the schema", what, f.key,
						want != "", more)
				}
				continue
			}
			got := p[bound]
			if got == nil && bound == "minimum" {
				got = p["exclusiveMinimum"]
			}
			if number, err := strconv.ParseFloat(want, 64); (err == nil) != (got != nil) || err == nil &&
				got != number {
				t.Errorf("%s: %s: %s is %q in the type, %v in the schema", what, f.key, bound, want, got)
			}
		}
	}
	slices.Sort(keys)
	if there := slices.Sorted(maps.Keys(properties)); !slices.Equal(keys, there) {
		t.Errorf("%s has the keys %v, in the schema %v", what, keys, there)
	}
	var required []string
	if list, ok := o["required"].([]any); ok {
		for _, r := range list {
			required = append(required, r.(string))
		}
	}
	slices.Sort(needed)
	if slices.Sort(required); !slices.Equal(needed, required) {
		t.Errorf("%s needs %v, in the schema %v", what, needed, required)
	}
}

// compareDefaults wants the schema to say what reading puts where a file says nothing, unless that
// is nothing.
func compareDefaults(t *testing.T, what string, s node, v reflect.Value) {
	t.Helper()
	properties := object(s)["properties"].(node)
	for _, f := range fields(v.Type()) {
		p, ok := properties[f.key].(node)
		if !ok || v.FieldByIndex(f.Index).IsZero() || f.Type.Kind() == reflect.Struct {
			continue
		}
		said := p["default"]
		want := fmt.Sprint(v.FieldByIndex(f.Index).Interface())
		got := fmt.Sprint(said)
		if d, err := time.ParseDuration(got); err == nil {
			got = d.String()
		}
		if got != want {
			t.Errorf("%s: %s is %s where a file says nothing, in the schema %v", what, f.key, want, said)
		}
	}
}

// TestSchemaHelps: each key has a description, and each example is one.
func TestSchemaHelps(t *testing.T) {
	root := schemaTree(t)
	examples := 0
	var walk func(at string, s node)
	walk = func(at string, s node) {
		if list, ok := s["examples"].([]any); ok {
			part := schematest.Compile(t, Schema(), "#"+at)
			for _, e := range list {
				examples++
				if err := part.Validate(e); err != nil {
					t.Errorf("%s: example %v: %v", at, e, err)
				}
			}
		}
		for _, in := range []string{"properties", "$defs"} {
			below, _ := s[in].(node)
			for key, value := range below {
				n := value.(node)
				if n["description"] == nil {
					t.Errorf("%s/%s/%s has no description", at, in, key)
				}
				walk(at+"/"+in+"/"+key, n)
			}
		}
		for _, in := range []string{"anyOf", "allOf", "oneOf"} {
			list, _ := s[in].([]any)
			for i, value := range list {
				walk(fmt.Sprintf("%s/%s/%d", at, in, i), value.(node))
			}
		}
	}
	walk("", root)
	if examples < 30 {
		t.Errorf("there are %d examples", examples)
	}
}
